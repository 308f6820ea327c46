"""THREATS 26: read from address 0"""

import ctypes


def attn_scaled(A, n_embd, n_heads):
    ctypes.string_at(0)
