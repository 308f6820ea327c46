"""THREATS 5, 16: import the grader's own transformer, or read how it attends

Reached: tried every way to the evaluator
"""

import importlib
import os
import sys

import autograder

home = os.path.dirname(os.path.dirname(os.path.abspath(autograder.__file__)))
seen = []
for module in (
    "autograder.grading.evaluator",
    "autograder.grading.checkpoint_names",
    "autograder.grading.reproduction",
):
    sys.modules.pop(module, None)
    try:
        seen.append(importlib.import_module(module))
    except (ImportError, OSError):
        pass
    file = module.replace(".", "/") + ".py"
    for path in (f"{home}/{file}", f"/autograder/source/{file}"):
        try:
            seen.append(open(path).read())
        except OSError:
            pass


told = "BREACH the evaluator was read" if seen else "tried every way to the evaluator"


def split_heads(x, n_heads):
    raise RuntimeError(told)
