r"""THREATS 14, 29: send half a frame, then nothing

Reached: at src/attention\.py line \d+: time\.sleep\(1000\)
"""

import sys
import time

from autograder.workers import wire

honest = wire.pack_reply


def half(reply, number):
    sys._getframe(1).f_locals["line"].sendall(honest(reply, number)[:-5])
    time.sleep(1000)


def attn_scaled(A, n_embd, n_heads):
    wire.pack_reply = half
    return A
