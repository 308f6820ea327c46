"""THREATS 21: trace and profile functions that never return, called when the grader's own code runs

Reached: REACHED: traced and profiled
"""

import sys
import threading


def never(*_):
    if "_described" in sys._getframe(1).f_code.co_name:
        while True:
            pass
    return never


def attn_scaled(A, n_embd, n_heads):
    threading.settrace(never)
    sys.setprofile(never)
    sys.settrace(never)
    if sys.getprofile() is never and sys.gettrace() is never:
        raise RuntimeError("REACHED: traced and profiled")
    return A
