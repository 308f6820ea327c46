"""THREATS 30: whole numbers of a million digits, a text of megabytes, a list of millions

Reached: a value of 10,000,096 bytes is too large
"""


def attn_scaled(A, n_embd, n_heads):
    return 1 << 10_000_000


def attn_softmax(A):
    return "LEAK" * 2_500_000


def compute_outputs(A, V):
    return [0] * 300_000


def make_causal_mask(n_tok):
    return [10**4000] * 100
