r"""THREATS 54: give the grader something to do, and fill memory meanwhile

Reached: your code used more than 1 GB of memory
"""

import threading
import time

hoard = []
most = 0


def fill():
    global most
    while True:
        while len(hoard) < 40:  # 2.5 GB, more than twice what is allowed
            hoard.append(torch.ones(16 << 20))
            most = max(most, len(hoard))
        time.sleep(0.3)
        hoard.clear()  # before the next question comes


def self_attention(Q, K, V, n_heads=1, causal=True):
    if most >= 32:
        raise RuntimeError(f"LEAK BREACH held {most * 64} MB")
    if not hoard:
        threading.Thread(target=fill, daemon=True).start()
    return torch.ones(2, 4 << 20, dtype=torch.bool)  # becomes 64 MB for whoever compares it
