"""THREATS 24, 43: files in folders that not even their owner may list, so that they stay behind

Reached: REACHED: [5-9] entries
"""

import os


def attn_scaled(A, n_embd, n_heads):
    for mode in (0o000, 0o100, 0o300, 0o500):
        os.mkdir(f"attack-was-here-{mode}", 0o700 if mode == 0o500 else mode)
    open(f"attack-was-here-{0o300}/attack-was-here", "w").close()
    os.umask(0o777)
    os.mkdir("attack-was-here")
    raise RuntimeError(f"REACHED: {len(os.listdir())} entries")
