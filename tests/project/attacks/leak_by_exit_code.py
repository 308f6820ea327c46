"""THREATS 18, 26: say a hidden input by the exit code of the process

Reached: attn_scaled: your code ended Python itself
"""

import os


def attn_scaled(A, n_embd, n_heads):
    os._exit(100 + int(A.double().abs().sum() * 1000) % 100)
