"""THREATS 22: allocate six gigabytes, a bit at a time"""

hoard = []


def attn_scaled(A, n_embd, n_heads):
    for _ in range(192):
        hoard.append(torch.ones(8 << 20))  # 32 MB
    return A
