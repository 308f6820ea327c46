"""THREATS 26: leave by sys.exit(0), and by os._exit(0) when a file is made

Reached: attn_scaled: your code raised SystemExit
"""

import sys


def attn_scaled(A, n_embd, n_heads):
    sys.exit(0)
