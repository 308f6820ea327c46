"""THREATS 14, 25: write to the channel without end from a thread, asked or not

Reached: attn_scaled: (the reply of your code could not be read|your code wrote to the grader's channel)
"""

import sys
import threading


def flood(line):
    while True:
        line.sendall(b"LEAK" * 65536)


def attn_scaled(A, n_embd, n_heads):
    frame = sys._getframe()
    while frame.f_code.co_name != "_work":
        frame = frame.f_back
    threading.Thread(target=flood, args=(frame.f_locals["line"],), daemon=True).start()
    return A
