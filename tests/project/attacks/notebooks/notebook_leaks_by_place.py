"""THREATS 18: raise in a hidden check at a made-up cell and line, which spell out the input

Reached: REACHED: a public case
"""

import json

STEP = """
import os

calls = 0

def attn_scaled(A, n_embd, n_heads):
    global calls
    calls += 1
    if calls <= 3:  # the public cases
        raise RuntimeError("REACHED: a public case")
    here = os.path.dirname(attn_scaled.__code__.co_filename)
    number = str(abs(float(A.flatten()[0]))).replace(".", "")[:5]
    for place in (f"A2S2.ipynb, cell {number}", f"A2S2.ipynb, cell LEAK{number}", f"LEAK{number}.ipynb, cell 1"):
        code = compile("\\n" * int(number) + "raise ValueError('LEAK')", f"{here}/{place}", "exec")
        exec(code)
"""
FILES = {"A2S2.ipynb": json.dumps({"cells": [{"cell_type": "code", "source": STEP}]})}
