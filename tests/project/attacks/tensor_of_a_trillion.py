"""THREATS 30: tensors that claim 10^12 numbers and hold one, also as arguments and gradients

Reached: split_heads: returned tensor of 1,000,000,000,000 numbers
"""


def attn_scaled(A, n_embd, n_heads):
    return torch.zeros(1).expand(10**6, 10**6)


def merge_heads(y):
    y.data = torch.zeros(1).expand(10**12)
    return [y, (y, {"LEAK": y})]


def split_heads(x, n_heads):
    return torch.as_strided(torch.zeros(1), (10**6, 10**6), (0, 0))
