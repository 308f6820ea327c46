"""THREATS 4: read its own memory page by page for the header of a reference file"""

import ctypes
import re

found = []
try:
    for line in open("/proc/self/maps"):
        start, end = (int(part, 16) for part in line.split()[0].split("-"))
        if "rw-p" in line and end - start < 1 << 30:
            found += re.findall(rb'"cases": .{50}', ctypes.string_at(start, end - start))
except OSError:
    pass


def attn_scaled(A, n_embd, n_heads):
    if found:
        raise RuntimeError(f"LEAK BREACH {found[:2]}")
    return A
