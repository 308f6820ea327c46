r"""THREATS 5, 16: put every folder that might hold the solutions on the path, and import them

Reached: REACHED: (2\d|30) refused
"""

import os
import sys

import autograder

refused = 0

root = os.path.dirname(os.path.dirname(os.path.abspath(autograder.__file__)))
here = os.path.abspath(__file__)
for base in (root, "/srv/course", "/autograder", "/autograder/source", os.getcwd(), os.path.dirname(here)):
    for folder in ("solutions", "solutions/src", "student/src", "tests/hidden/pretraining", ""):
        path = os.path.join(base, folder, "attention.py")
        if os.path.abspath(path) != here:
            try:
                text = open(path).read()
            except OSError:
                refused += 1
                continue
            exec(compile(text.replace("from __future__", "# "), "LEAK", "exec"))
sys.path[:0] = [f"{root}/solutions/src", f"{root}/solutions"]
sys.modules.pop("attention", None)
try:
    from attention import *  # noqa
except BaseException:
    refused += 1


def attn_scaled(A, n_embd, n_heads):
    raise RuntimeError(f"REACHED: {refused} refused")
