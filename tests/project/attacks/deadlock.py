r"""THREATS 29: threads that wait for each other, for the import lock and for input that never comes

Reached: at src/attention\.py line \d+: with lock, lock:
"""

import sys
import threading

lock = threading.Lock()


def attn_scaled(A, n_embd, n_heads):
    try:
        input("LEAK")
    except RuntimeError:
        pass
    sys.stdin.read()
    with lock, lock:
        return A
