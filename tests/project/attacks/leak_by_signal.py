r"""THREATS 52: say a hidden input by the signal that ends the process

Reached: REACHED: a public case[\s\S]*your code ended the Python process
"""

import os
import signal

calls = 0
NUMBERS = [signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV, signal.SIGTRAP, signal.SIGXCPU, signal.SIGXFSZ]


def attn_scaled(A, n_embd, n_heads):
    global calls
    calls += 1
    if calls <= 3:  # the public cases
        raise RuntimeError("REACHED: a public case")
    number = NUMBERS[int(A.double().abs().sum() * 1000) % len(NUMBERS)]
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    os._exit(1)  # the first process of a namespace is deaf to its own signals
