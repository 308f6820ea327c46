r"""THREATS 55: files that are deleted and still mapped, a page of each: no folder shows them, and no descriptor

Reached: make_causal_mask: your code wrote too many files, or too much into them
"""

import mmap
import os
import time

held = []


def make_causal_mask(n_tok):
    for number in range(20):  # 80 MB, more than is allowed
        descriptor = os.open(f"attack-was-here-{number}", os.O_CREAT | os.O_RDWR)
        os.write(descriptor, bytes(4 << 20))
        held.append(mmap.mmap(descriptor, 4096))
        os.close(descriptor)
        os.unlink(f"attack-was-here-{number}")
    time.sleep(1.5)
    raise RuntimeError(f"LEAK BREACH holds {len(held) * 4} MB of the disk in mapped files")
