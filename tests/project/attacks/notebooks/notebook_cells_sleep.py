"""THREATS 21, 29: cells that sleep and loop, before and between those that would answer

Reached: split_heads: the code that sets it was stopped
"""

import json

ASLEEP = "import time\ntime.sleep(10_000)\nquery121 = [0, 0, 0]"
ENDLESS = "try:\n    while True:\n        pass\nexcept BaseException:\n    pass"
DEFAULT = "def split_heads(x, n_heads, wait=__import__('time').sleep(10_000)):\n    return x"


def notebook(*sources):
    return json.dumps({"cells": [{"cell_type": "code", "source": source} for source in sources]})


FILES = {"A2S1.ipynb": notebook(ASLEEP, ENDLESS), "A2S2.ipynb": notebook(DEFAULT)}
