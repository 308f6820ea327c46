r"""THREATS 17, 27: read the memory of other processes by system calls: ptrace, process_vm_readv, pidfd_getfd, kcmp

Reached: REACHED: [1-9]\d* refused
"""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
parents = [os.getppid(), *(os.getpid() - back for back in range(1, 20)), *range(1, 30)]
refused = 0
found = []
for pid in (pid for pid in parents if pid > 0 and pid != os.getpid()):
    for number, arguments in (
        (101, (16, pid, 0, 0)),
        (101, (0x4206, pid, 0, 0)),
        (310, (pid, 0, 0, 0, 0, 0)),
        (434, (pid, 0)),
        (312, (pid, pid, 0, 0, 0)),
        (440, (pid, 0, 0, 0, 0)),
    ):
        if libc.syscall(number, *arguments) != -1:
            found.append((pid, number))
        else:
            refused += 1


def attn_scaled(A, n_embd, n_heads):
    if found:
        raise RuntimeError(f"LEAK BREACH {found}")
    raise RuntimeError(f"REACHED: {refused} refused")
