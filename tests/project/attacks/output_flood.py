"""THREATS 25: print without end, and write to the descriptors past Python

Reached: your code printed more than 10 million characters
"""

import os
import sys


def attn_scaled(A, n_embd, n_heads):
    while True:
        print("LEAK" * 1_000_000)


def merge_heads(y):
    for _ in range(2000):
        os.write(1, b"LEAK" * 250_000)
        os.write(2, b"LEAK" * 250_000)
    sys.stdout = sys.stderr = open("/dev/null", "w")
    return y
