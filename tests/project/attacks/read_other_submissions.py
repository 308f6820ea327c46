r"""THREATS 16: look beside its own folder for the other submissions, and list what is above

Reached: REACHED: [1-9]\d* refused
"""

import os

refused = 0
found = []
here = os.path.abspath(__file__)
own = os.path.dirname(os.path.dirname(here))
den = os.path.dirname(os.path.dirname(own))
for number in range(200):
    for name in ("src/attention.py", "../work-", "A2S1.py"):
        path = f"{den}/{number}/submission/{name}"
        if not path.startswith(own):
            try:
                found.append(open(path).read())
            except OSError:
                refused += 1
for folder in (den, f"{own}/..", "/tmp", "/", "/root", "/home", "/work", "/etc", os.path.expanduser("~/..")):
    try:
        found += [name for name in os.listdir(folder) if "submission" in name or "work-" in name or "shadow" in name]
    except OSError:
        refused += 1


def attn_scaled(A, n_embd, n_heads):
    if [name for name in found if name not in ("submission", os.path.basename(os.getcwd()))]:
        raise RuntimeError(f"LEAK BREACH saw {found}")
    raise RuntimeError(f"REACHED: {refused} refused")
