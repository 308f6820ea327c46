"""THREATS 24, 43: file names of 255 bytes, with newlines, no UTF-8, and option-like ones

Reached: REACHED: 1[4-9] entries
"""

import os


def attn_scaled(A, n_embd, n_heads):
    for name in (b"x" * 255, b"LEAK\nLEAK", b"\xff\xfe", b"-rf", b"*", b"$(LEAK)", "\u202eLEAK".encode()):
        os.close(os.open(name, os.O_CREAT))
        os.mkdir(b"d" + name[:250])
    raise RuntimeError(f"REACHED: {len(os.listdir())} entries")
