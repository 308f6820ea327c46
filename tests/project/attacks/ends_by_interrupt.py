"""THREATS 26: claim that somebody pressed Ctrl-C

Reached: KeyboardInterrupt: LEAK
"""


def attn_scaled(A, n_embd, n_heads):
    raise KeyboardInterrupt("LEAK")
