r"""THREATS 14, 29: send the largest frame allowed, a byte at a time

Reached: at src/attention\.py line \d+: (time\.sleep\(0\.01\)|line\.sendall)|attn_scaled: did not finish within \d+ s, though
"""

import sys
import time

from autograder.workers import protocol, wire


def pack_reply(reply, number):
    line = sys._getframe(1).f_locals["line"]
    line.sendall(protocol.PREFIX.pack(protocol.MAX_HEADER, protocol.MAX_BODY))
    while True:
        line.sendall(b" ")
        time.sleep(0.01)


def attn_scaled(A, n_embd, n_heads):
    wire.pack_reply = pack_reply
    return A
