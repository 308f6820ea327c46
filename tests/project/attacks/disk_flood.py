r"""THREATS 24: reserve gigabytes in its own folder, file by file, faster than one can write

Reached: at src/attention\.py line \d+: os\.posix_fallocate
"""

import os


def attn_scaled(A, n_embd, n_heads):
    for number in range(64):  # 4 GB; nothing but this number bounds it
        descriptor = os.open(f"attack-was-here-{number}", os.O_CREAT | os.O_RDWR)
        os.posix_fallocate(descriptor, 0, 64 << 20)
        os.close(descriptor)
    used = sum(os.stat(name).st_blocks * 512 for name in os.listdir("."))
    raise RuntimeError(f"LEAK BREACH holds {used >> 20} MB of the disk")
