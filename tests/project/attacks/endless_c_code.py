"""THREATS 21: stay in C for ever, where no Python signal handler runs, with all signals blocked

Reached: attn_scaled: did not finish within
"""

import signal

signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))


def attn_scaled(A, n_embd, n_heads):
    return sum(iter(int, 1))
