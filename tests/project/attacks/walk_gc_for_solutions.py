r"""THREATS 4, 5: look through the grader's objects in memory for the text of a solution, and run it

Reached: REACHED: [1-9]\d* texts of the grader's
"""

import gc

gc.unfreeze()
texts = []
for thing in gc.get_objects():
    if str(type(thing).__module__).startswith("autograder"):
        for held in gc.get_referents(thing):
            texts += [held] if type(held) is str else list(held.values()) if type(held) is dict else []
for text in texts:
    if type(text) is str and "def attn_scaled" in text and "is not started yet" not in text:
        exec(compile(text.replace("from __future__", "# "), "LEAK", "exec"))


def attn_scaled(A, n_embd, n_heads):
    raise RuntimeError(f"REACHED: {len(texts)} texts of the grader's")
