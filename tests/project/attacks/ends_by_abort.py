"""THREATS 26: abort"""

import os


def attn_scaled(A, n_embd, n_heads):
    os.abort()
