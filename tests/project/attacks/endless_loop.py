r"""THREATS 21: loop for ever, deaf to signals

Reached: at src/attention\.py line \d+: (while True:|pass)
"""

import signal

for number in (signal.SIGTERM, signal.SIGALRM, signal.SIGINT):
    signal.signal(number, signal.SIG_IGN)


def attn_scaled(A, n_embd, n_heads):
    while True:
        pass
