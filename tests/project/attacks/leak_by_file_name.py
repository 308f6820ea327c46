"""THREATS 18: raise from code that is compiled under a made-up file name, also a syntax error's

Reached: SyntaxError: LEAK
"""

import os

here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def attn_scaled(A, n_embd, n_heads):
    exec(compile("raise ValueError", f"{here}/LEAK {float(A.flatten()[0])}.py", "exec"))


def merge_heads(y):
    raise SyntaxError("LEAK", (f"{here}/LEAK{float(y.flatten()[0])}.py", 7, 7, f"LEAK {y}"))
