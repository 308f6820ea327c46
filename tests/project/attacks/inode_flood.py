"""THREATS 24: as many empty files as fit into the time

Reached: make_causal_mask: your code wrote too many files
"""

import os


def make_causal_mask(n_tok):
    for number in range(8_000):
        os.close(os.open(f"attack-was-here-{number}", os.O_CREAT))
    return None
