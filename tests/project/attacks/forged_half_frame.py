"""THREATS 14, 29: send half a frame, then nothing"""

import time

from autograder import wire


def pack_reply(reply, number):
    frame = sys._getframe(1)
    frame.f_locals["line"].sendall(honest(reply, number)[:-5])
    time.sleep(1000)


import sys

honest = wire.pack_reply


def attn_scaled(A, n_embd, n_heads):
    wire.pack_reply = pack_reply
    return A
