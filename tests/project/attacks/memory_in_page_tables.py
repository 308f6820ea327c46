r"""THREATS 54: read one byte of every two megabytes: no page is its own, but the tables that say so are

Reached: make_causal_mask: your code used more than 1 GB of memory
"""

import ctypes
import mmap
import time

libc = ctypes.CDLL(None, use_errno=True)
held = []


def make_causal_mask(n_tok):
    for _ in range(10):  # 1.3 GB of tables, more than is allowed
        size = 64 << 30
        area = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_NORESERVE)
        area.madvise(mmap.MADV_NOHUGEPAGE)
        held.append(area)
        area[:: 2 << 20]
    time.sleep(0.2)
    raise RuntimeError(f"LEAK BREACH holds {len(held) * 128} MB of page tables")
