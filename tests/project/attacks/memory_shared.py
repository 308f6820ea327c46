"""THREATS 22, 43: memory that outlives a process: System V, POSIX, memfd, anonymous and shared, /dev/shm

Reached: REACHED: 4 refused
"""

import ctypes
import mmap
import os
from multiprocessing import shared_memory

libc = ctypes.CDLL(None, use_errno=True)
refused = 0
found = []
for attempt in (
    lambda: mmap.mmap(-1, 1 << 20),
    lambda: os.memfd_create("attack-was-here"),
    lambda: shared_memory.SharedMemory("attack-was-here", create=True, size=4096),
    lambda: open("/dev/shm/attack-was-here", "w"),
):
    try:
        found.append(attempt())
    except OSError:
        refused += 1
found += [number for number in (29, 64, 68) if libc.syscall(number, 0x1EA, 4096, 0o1666) != -1]


def attn_scaled(A, n_embd, n_heads):
    if found:
        raise RuntimeError(f"LEAK BREACH {found}")
    raise RuntimeError(f"REACHED: {refused} refused")
