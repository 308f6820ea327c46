r"""THREATS 26: abort

Reached: attn_scaled: your code crashed Python \((abort|segmentation fault)\)
"""

import os


def attn_scaled(A, n_embd, n_heads):
    os.abort()
