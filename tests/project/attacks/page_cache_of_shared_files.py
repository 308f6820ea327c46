r"""THREATS 53: ask which pages of Python's own files are in memory, and change that: a word to the next submission

Reached: REACHED: 11 refused
"""

import ctypes
import fcntl
import mmap
import os

libc = ctypes.CDLL(None, use_errno=True)
shared = os.open(os.__file__, os.O_RDONLY)
pages = mmap.mmap(shared, 4096, mmap.MAP_PRIVATE)
here = ctypes.addressof(ctypes.c_char.from_buffer(pages))
done, refused = [], 0


def checked(result):
    if result == -1:
        raise OSError(ctypes.get_errno(), "refused")


for name, attempt in {
    "fadvise": lambda: os.posix_fadvise(shared, 0, 4096, os.POSIX_FADV_DONTNEED),
    "RWF_NOWAIT": lambda: os.preadv(shared, [bytearray(1)], 0, os.RWF_NOWAIT),
    "mincore": lambda: checked(libc.mincore(ctypes.c_void_p(here), 4096, ctypes.create_string_buffer(1))),
    "readahead": lambda: checked(libc.readahead(shared, ctypes.c_long(0), 4096)),
    "cachestat": lambda: checked(libc.syscall(451, shared, (ctypes.c_uint64 * 2)(0, 4096), (ctypes.c_uint64 * 5)(), 0)),
    "WILLNEED": lambda: checked(libc.madvise(ctypes.c_void_p(here), 4096, 3)),
    "COLD": lambda: checked(libc.madvise(ctypes.c_void_p(here), 4096, 20)),
    "PAGEOUT": lambda: checked(libc.madvise(ctypes.c_void_p(here), 4096, 21)),
    "POPULATE_READ": lambda: checked(libc.madvise(ctypes.c_void_p(here), 4096, 22)),
    "flock": lambda: fcntl.flock(shared, fcntl.LOCK_EX | fcntl.LOCK_NB),
    "see locks": lambda: fcntl.fcntl(shared, fcntl.F_GETLK, bytes(32)),
}.items():
    try:
        attempt()
        done.append(name)
    except OSError:
        refused += 1


def attn_scaled(A, n_embd, n_heads):
    if done:
        raise RuntimeError(f"LEAK BREACH {done}")
    raise RuntimeError(f"REACHED: {refused} refused")
