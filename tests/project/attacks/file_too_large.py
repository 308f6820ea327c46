"""THREATS 24: one file without end, also a sparse one

Reached: merge_heads: your code raised OSError
"""


def attn_scaled(A, n_embd, n_heads):
    with open("attack-was-here", "wb") as file:
        file.truncate(1 << 50)


def merge_heads(y):
    with open("attack-was-here", "wb") as file:
        for _ in range(300):
            file.write(bytes(1 << 20))
