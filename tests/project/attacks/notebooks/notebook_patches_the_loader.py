"""THREATS 3, 14, 18: cells that replace get_ipython, builtins and the state of whoever loads them

Reached: query121: the code that sets it raised ZeroDivisionError
"""

import json

PATCHES = """
import builtins, gc, linecache, sys
from autograder.running import cells, loading, sheets
from autograder.workers import whereabouts
get_ipython = display = print = lambda *_, **__: 1 / 0
builtins.compile = builtins.exec = builtins.__import__ = lambda *_, **__: 1 / 0
loading.Loader.file_of = lambda self, name: "LEAK " + name
loading.Loader.files_like = lambda self, name: {name: "LEAK", "query121": "src/attention.py", 3: "LEAK"}
sheets.STAGES = {name: ("m_key", 0) for name in ("query121", "query122", "key141")}
linecache.cache.clear()
for thing in gc.get_objects():
    if isinstance(thing, loading.Loader):
        thing.root = thing.root.parent
        thing.by_cells = thing.left_out = ()
        thing.files = {name: ("src/attention.py",) for name in thing.files}
        thing.reached = lambda file, number: None
        thing.found = {name: loading.Found(AnyAnswer, "LEAK") for name in thing.files}
m_key = AnyAnswer
"""
CLASS = """
class AnyAnswer:
    __call__ = __getattr__ = __getitem__ = lambda self, *_: self
    __eq__ = __le__ = __lt__ = lambda self, _: True
AnyAnswer = AnyAnswer()
"""


def notebook(*sources):
    return json.dumps({"cells": [{"cell_type": "code", "source": source} for source in sources]})


STEP = f"def attn_softmax(A, patched=exec({CLASS + PATCHES!r})):\n    raise ValueError('LEAK')"
FILES = {"A2S1.ipynb": notebook(CLASS, PATCHES, "query121 = AnyAnswer"), "A2S2.ipynb": notebook(STEP)}
