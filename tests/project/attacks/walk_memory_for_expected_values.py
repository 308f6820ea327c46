"""THREATS 4: read its own memory page by page for the header of a reference file

Reached: REACHED: (FileNotFoundError|PermissionError) at its own map
"""

import ctypes
import re

found, refused = [], "nothing was"
try:
    for line in open("/proc/self/maps"):
        start, end = (int(part, 16) for part in line.split()[0].split("-"))
        if "rw-p" in line and end - start < 1 << 30:
            found += re.findall(rb'"cases": .{50}', ctypes.string_at(start, end - start))
except OSError as error:
    refused = type(error).__name__


def attn_scaled(A, n_embd, n_heads):
    if found:
        raise RuntimeError(f"LEAK BREACH {found[:2]}")
    raise RuntimeError(f"REACHED: {refused} at its own map of memory")
