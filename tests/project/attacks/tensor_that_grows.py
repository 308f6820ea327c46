r"""THREATS 30, 22: the most bytes that may be returned, as truth values that become eight times as large as numbers

Reached: self_attention: shape \(2, 4194304\)
"""


def self_attention(Q, K, V, n_heads=1, causal=True):
    return torch.ones(2, 4 << 20, dtype=torch.bool)
