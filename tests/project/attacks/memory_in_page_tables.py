r"""THREATS 54: read one byte of every two megabytes: no page is its own, but the tables that say so are

Reached: your code used more than 1 GB of memory
"""

import mmap
import time

held = []


def attempt(*_):
    """A little in each call, because it takes its time: 1.25 GB of tables in the end, more than is allowed."""
    if len(held) < 20:
        area = mmap.mmap(-1, 32 << 30, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)  # MAP_NORESERVE
        area.madvise(mmap.MADV_NOHUGEPAGE)
        held.append(area)
        area[:: 2 << 20]
        return torch.zeros(1)
    time.sleep(0.2)
    raise RuntimeError(f"LEAK BREACH holds {len(held) * 64} MB of page tables")


pairwise_similarities = attn_scaled = attn_softmax = compute_outputs = apply_causal_mask = attempt
make_causal_mask = split_heads = merge_heads = self_attention = attempt
