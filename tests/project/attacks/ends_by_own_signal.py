r"""THREATS 26: kill itself, or stop itself and never go on

Reached: at src/attention\.py line \d+: (os\.kill\(os\.getpid\(\), signal\.SIGSTOP\)|time\.sleep\(1000\))|attn_scaled: did not finish within|attn_scaled: your code was killed
"""

import os
import signal
import time


def attn_scaled(A, n_embd, n_heads):
    os.kill(os.getpid(), signal.SIGSTOP)
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(1000)
