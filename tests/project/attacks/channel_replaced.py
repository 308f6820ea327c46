"""THREATS 14: put a pipe in the place of the channel

Reached: attn_scaled: your code (ended Python itself|closed the grader's channel)
"""

import os

reader, writer = os.pipe()


def attn_scaled(A, n_embd, n_heads):
    for descriptor in range(3, 256):
        if descriptor not in (reader, writer):
            os.dup2(writer, descriptor)
    return A
