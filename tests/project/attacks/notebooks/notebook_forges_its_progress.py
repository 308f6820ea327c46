"""THREATS 14, 18: forge the note of which statement runs, then die, so that something else is left out or told

Reached: query121: while your file was loaded: your code ended Python itself
"""

import json

FORGED = """
import os, signal, tempfile
note = os.path.join(tempfile.gettempdir(), ".reached")
def forge(text):
    try:
        os.unlink(note)
        if text:
            open(note, "w").write(text)
        else:
            os.symlink("/etc/passwd", note)
    except OSError:
        pass
"""


def notebook(*sources):
    return json.dumps({"cells": [{"cell_type": "code", "source": source} for source in (FORGED, *sources)]})


TEXTS = ["1 LEAK.ipynb", "0 src/attention.py", "999999 A2S1.ipynb", "-1 A2S1.ipynb", "x" * 100_000, ""]
DEATHS = [f"forge({text!r})\nos._exit(0)" for text in TEXTS]
FILES = {"A2S1.ipynb": notebook(*DEATHS, "query121 = (1, 2)"), "A2S2.ipynb": notebook(*DEATHS)}
