r"""THREATS 17: environment, command line, memory, maps and descriptors of every process in sight

Reached: REACHED: [1-9]\d* refused
"""

import os

refused = 0
found = []
for pid in {os.getppid(), *range(1, 400), *(os.getpid() - back for back in range(40))} - {0, os.getpid()}:
    for name in ("environ", "cmdline", "maps", "mem", "stat", "fd/0", "auxv", "cwd/tests"):
        try:
            with open(f"/proc/{pid}/{name}", "rb") as file:
                found.append((pid, name, file.read(9)))
        except OSError:
            refused += 1
    for name in ("cwd", "exe", "root", "fd/1", "fd/3"):
        try:
            found.append((pid, name, os.readlink(f"/proc/{pid}/{name}")))
        except OSError:
            refused += 1


def attn_scaled(A, n_embd, n_heads):
    if found:
        raise RuntimeError(f"LEAK BREACH {found[:3]}")
    raise RuntimeError(f"REACHED: {refused} refused")
