r"""THREATS 1: write a results.json with full marks wherever one might be read

Reached: REACHED: [3-7]\d refused
"""

import json
import os

import autograder

root = os.path.dirname(os.path.dirname(os.path.abspath(autograder.__file__)))
own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
full = json.dumps({"score": 100, "tests": [{"name": "LEAK", "score": 100, "max_score": 100}]})
refused = 0
places = [".", "..", own, f"{own}/..", f"{own}/../..", root, "/tmp", "/var/tmp", "/dev/shm", "/autograder/results"]
for place in [*places, "results", f"{root}/results", os.path.expanduser("~")]:
    for name in ("results.json", "attack-was-here.json"):
        for mode in ("w", "a", "r+"):
            try:
                with open(os.path.join(place, name), mode) as file:
                    file.write(full)
            except OSError:
                refused += 1


def attn_scaled(A, n_embd, n_heads):
    raise RuntimeError(f"REACHED: {refused} refused")
