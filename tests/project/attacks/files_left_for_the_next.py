r"""THREATS 43: leave compiled modules, caches and settings where the next submission would read them

Reached: REACHED: \d+ refused
"""

import importlib.util
import os
import py_compile

refused = 0
for folder in (os.path.expanduser("~"), os.getcwd(), os.path.dirname(__file__), "/tmp", "/var/tmp"):
    for name in (
        ".cache/attack-was-here",
        "__pycache__/attention.cpython-311.pyc",
        ".pythonrc",
        ".config/matplotlibrc",
    ):
        try:
            os.makedirs(os.path.dirname(f"{folder}/{name}"), exist_ok=True)
            with open(f"{folder}/{name}", "w") as file:
                file.write("LEAK attack-was-here")
        except OSError:
            refused += 1
try:
    py_compile.compile(__file__, importlib.util.cache_from_source(__file__))
except OSError:
    refused += 1
torch.hub.set_dir("attack-was-here")


def attn_scaled(A, n_embd, n_heads):
    raise RuntimeError(f"REACHED: {refused} refused")
