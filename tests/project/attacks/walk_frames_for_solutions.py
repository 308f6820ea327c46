r"""THREATS 4, 5: a forked process still has the frames of its parents; look there for texts and tensors

Reached: REACHED: [1-9]\d frames, to <module>
"""

import sys

frame = sys._getframe()
names = []
while frame:
    names.append(frame.f_code.co_name)
    for thing in list(frame.f_locals.values()):
        for text in getattr(thing, "texts", {}).values():
            if "def attn_scaled" in text and "is not started yet" not in text:
                exec(compile(text.replace("from __future__", "# "), "LEAK", "exec"))
    frame = frame.f_back


def attn_scaled(A, n_embd, n_heads):
    raise RuntimeError(f"REACHED: {len(names)} frames, to {names[-1]}")
