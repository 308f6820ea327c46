r"""THREATS 57: take the machine's places for asynchronous reading, and make all of it write its files out

Reached: REACHED: 4 refused
"""

import ctypes

libc = ctypes.CDLL(None, use_errno=True)
done, refused = [], 0
for name, number, arguments in (
    ("io_setup", 206, (16, ctypes.byref(ctypes.c_ulong()))),
    ("io_uring_setup", 425, (8, ctypes.create_string_buffer(128))),
    ("sync", 162, ()),
    ("syncfs", 306, (0,)),
):
    if libc.syscall(number, *arguments) == -1:
        refused += 1
    else:
        done.append(name)


def attn_scaled(A, n_embd, n_heads):
    if done:
        raise RuntimeError(f"LEAK BREACH {done}")
    raise RuntimeError(f"REACHED: {refused} refused")
