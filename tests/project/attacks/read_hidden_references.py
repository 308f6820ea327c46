r"""THREATS 16: read the hidden reference files, by every path there might be

Reached: REACHED: [1-9]\d* refused
"""

import glob
import os
import sys

import autograder

root = os.path.dirname(os.path.dirname(os.path.abspath(autograder.__file__)))
bases = {root, "/srv/course", "/autograder/source", *sys.path}
bases |= {f"/proc/self/fd/{number}/.." for number in range(3, 30)} | {"/proc/self/cwd/../../..", "/proc/1/cwd"}
bases |= {f"/proc/{os.getppid()}/cwd", f"/proc/{os.getppid()}/root/srv/course", "/proc/thread-self/root/srv/course"}
refused = 0
found = {}
for base in bases:
    for name in ("hidden", "public"):
        path = f"{base}/tests/{name}/attention/references/attn_scaled.safetensors"
        for attempt in (path, *glob.glob(f"{base}/**/attn_scaled.safetensors")):
            try:
                found[name] = open(attempt, "rb").read()
            except OSError:
                refused += 1


def attn_scaled(A, n_embd, n_heads):
    if found:
        raise RuntimeError(f"LEAK BREACH read the references {list(found)}")
    raise RuntimeError(f"REACHED: {refused} refused")
