"""THREATS 26: break Python under the grader's feet: no builtins, no imports, no exceptions, no lock

Reached: attn_scaled: your code ended Python itself
"""

import builtins
import sys


def attn_scaled(A, n_embd, n_heads):
    builtins.isinstance = builtins.getattr = builtins.len = builtins.type = None
    builtins.BaseException = builtins.Exception = None
    sys.modules.clear()
    sys.setswitchinterval(1000)
    return A
