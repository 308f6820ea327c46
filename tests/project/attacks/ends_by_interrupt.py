"""THREATS 26: claim that somebody pressed Ctrl-C"""


def attn_scaled(A, n_embd, n_heads):
    raise KeyboardInterrupt("LEAK")
