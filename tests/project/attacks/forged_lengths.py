"""THREATS 14, 22: announce a frame of four gigabytes

Reached: attn_scaled: the reply of your code could not be read
"""

from autograder.workers import wire


def attn_scaled(A, n_embd, n_heads):
    wire.pack_reply = lambda reply, number: b"\xff" * 8 + b"LEAK" * 1000
    return A
