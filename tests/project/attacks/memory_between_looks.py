r"""THREATS 22: answer so quickly that nobody looks at the memory that a thread fills meanwhile

Reached: used more than 1 GB of memory|pairwise_similarities: shape \(1,\)
"""

import threading
import time

hoard = []


def fill():
    while len(hoard) < 32:  # 2 GB, twice what is allowed
        hoard.append(torch.ones(16 << 20))


def attempt(*_):
    if not hoard:
        threading.Thread(target=fill, daemon=True).start()
    time.sleep(0.045)
    if len(hoard) >= 24:
        raise RuntimeError(f"LEAK BREACH holds {len(hoard) * 64} MB")
    return torch.zeros(1)


pairwise_similarities = attn_scaled = attn_softmax = compute_outputs = make_causal_mask = attempt
