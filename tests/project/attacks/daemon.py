r"""THREATS 28, 1: fork twice with a session of its own, outlive the grading, and write results

Reached: PermissionError: \[Errno 1\][^\n]*\n.*if os\.fork\(\) == 0
"""

import os
import time


def attn_scaled(A, n_embd, n_heads):
    try:
        os.setsid()
    except OSError:
        pass
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for _ in range(100):
                open("/tmp/attack-was-here", "w").close()
                time.sleep(0.1)
        os._exit(0)
    raise RuntimeError("LEAK BREACH forked")
