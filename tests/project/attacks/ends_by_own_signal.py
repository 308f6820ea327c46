"""THREATS 26: kill itself, or stop itself and never go on"""

import os
import signal
import time


def attn_scaled(A, n_embd, n_heads):
    os.kill(os.getpid(), signal.SIGSTOP)
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(1000)
