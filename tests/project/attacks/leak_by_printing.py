"""THREATS 18, 25: print hidden inputs to every stream and descriptor there is, also through warnings and logging

Reached: REACHED: printed
"""

import logging
import os
import sys
import warnings


def attn_scaled(A, n_embd, n_heads):
    text = f"LEAK {A}\n"
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        print(text, file=stream, flush=True)
    for descriptor in (0, 1, 2):
        os.write(descriptor, text.encode())
    warnings.warn(text)
    logging.getLogger().critical(text)
    sys.unraisablehook = sys.displayhook = sys.__stderr__.write
    raise RuntimeError("REACHED: printed")
