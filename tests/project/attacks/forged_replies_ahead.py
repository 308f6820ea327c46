r"""THREATS 14: write a reply to the next request before it was asked

Reached: right shape \(1, 2, 2\), wrong values
"""

import socket
import sys

from autograder.workers import protocol


def attn_scaled(A, n_embd, n_heads):
    frame = sys._getframe()
    while frame.f_code.co_name != "_work":
        frame = frame.f_back
    for number in range(frame.f_locals["number"], frame.f_locals["number"] + 20):
        value = {"number": number, "value": A, "arguments": (A, n_embd, n_heads), "gradients": {}}
        frame.f_locals["line"].sendall(protocol.encode(value))
    raise RuntimeError("REACHED: 20 replies ahead")
