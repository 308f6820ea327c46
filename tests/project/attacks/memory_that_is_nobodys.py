r"""THREATS 22: share memory with itself through /dev/zero and give it up: it stays, and no process has it

Reached: (FileNotFoundError|PermissionError): \[Errno \d+\][^\n]*/dev/zero
"""

import mmap
import time

kept = []


def attn_scaled(A, n_embd, n_heads):
    with open("/dev/zero", "r+b", buffering=0) as zero:
        for _ in range(9):  # 1.1 GB, more than is allowed
            area = mmap.mmap(zero.fileno(), 128 << 20, mmap.MAP_SHARED)
            torch.frombuffer(area, dtype=torch.uint8).fill_(1)
            area.madvise(mmap.MADV_DONTNEED)
            kept.append(area)
    time.sleep(0.2)
    raise RuntimeError(f"LEAK BREACH holds {len(kept) * 128} MB unseen")
