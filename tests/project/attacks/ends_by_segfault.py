r"""THREATS 26: read from address 0

Reached: attn_scaled: your code crashed Python \(segmentation fault\)
"""

import ctypes


def attn_scaled(A, n_embd, n_heads):
    ctypes.string_at(0)
