r"""THREATS 53: what it may not read has a size and times, which tell when it was changed, and by how much

Reached (root with namespaces): REACHED: 5 refused of 5
Reached: REACHED: \d refused of 5
"""

import os

import autograder

root = os.path.dirname(os.path.dirname(os.path.abspath(autograder.__file__)))
names = ("tests/hidden", "tests/hidden/attention/references", "solutions/src/attention.py", "solutions", "data")
seen = [name for name in names if os.path.exists(f"{root}/{name}")]


def attn_scaled(A, n_embd, n_heads):
    # Only a root folder of its own hides what is there: Landlock is about contents.
    raise RuntimeError(f"REACHED: {len(names) - len(seen)} refused of {len(names)}")
