r"""THREATS 22: allocate six gigabytes, a bit at a time

Reached: used more than 1 GB of memory|make_causal_mask: did not finish within
"""

hoard = []


def make_causal_mask(n_tok):
    for _ in range(192):
        hoard.append(torch.ones(8 << 20))  # 32 MB
    return hoard[0]
