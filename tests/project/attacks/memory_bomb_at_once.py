"""THREATS 22: ask for far more than there is, also of Python itself

Reached: split_heads: your code raised MemoryError
"""


def attn_scaled(A, n_embd, n_heads):
    return torch.ones(10**13)


def merge_heads(y):
    return [0] * 10**13


def split_heads(x, n_heads):
    return 1 << (1 << 62)
