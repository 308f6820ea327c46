r"""THREATS 23, 44: as many threads as it gets, each busy outside Python's lock, while the others are graded

Reached: at src/attention\.py line \d+: (threading\.Thread|time\.sleep\(1\.9\))|attn_scaled: did not finish within
"""

import threading
import time


def busy():
    x = torch.ones(400, 400)
    while True:
        torch.mm(x, x)


def attn_scaled(A, n_embd, n_heads):
    try:
        for _ in range(10_000):
            threading.Thread(target=busy, daemon=True).start()
    except RuntimeError:
        time.sleep(1.9)
    return A
