"""Notebooks and exported scripts are run statement by statement; what fails costs only what depends on it."""

from __future__ import annotations

import ast
import json

import pytest
import torch

from autograder.judging.submission import failure
from autograder.running.definitions import Definitions
from autograder.running.loading import Loader, Unloadable, forget
from autograder.running.perform import Performer, Request
from autograder.running.sheets import LeftOut
from autograder.running.stand_ins import INERT, Inert
from autograder.running.statements import started

FILES = ("src/attention.py", "A2S2.py", "A2S2.ipynb")


def notebook(*sources):
    return json.dumps({"cells": [{"cell_type": "code", "source": source} for source in sources]})


@pytest.fixture
def load(tmp_path):
    """A loader of some files. Every name that is asked for may be in every one of them."""

    class Anything(dict):
        def get(self, name, default=()):
            return tuple(file for file in (*FILES, "A2S1.ipynb", "A2S1.py") if (tmp_path / file).exists())

    def make(files, **options):
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text)
        return Loader(tmp_path, Anything(), ("A2S1.ipynb", "A2S1.py"), **options)

    yield make
    forget(tmp_path)


def said(loader, name):
    """What a student reads who does not get `name`."""
    trouble = Performer(loader).perform(Request("value", name))
    finding = failure(trouble, name).finding
    return [finding.headline, *finding.evidence]


# Cell by cell


def test_a_broken_cell_costs_only_what_depends_on_it(load):
    loader = load(
        {
            "A2S1.ipynb": notebook(
                "K = 2\nimport no_such_package, math",
                "query121 = K\nplot = no_such_package.figure()\nquery122 = math.sqrt(K * 2)",
                "query131 = undefined * 2",
                "raise SystemExit",
                "query132 = (",
                "key141 = query131 + 1",
                "query121 = 10 * query121\nget_ipython().system('ls')\ndisplay(query121)",
            )
        }
    )
    assert loader.find("query121") == 20  # the value at the end
    assert loader.find("query122") == 2.0
    assert said(loader, "query131") == [
        "query131: the code that sets it raised NameError",
        "NameError: name 'undefined' is not defined",
        "at A2S1.ipynb, cell 3, line 1: query131 = undefined * 2",
    ]
    assert said(loader, "query132")[:2] == [
        "query132: A2S1.ipynb, cell 5 has a syntax error in line 1",
        "SyntaxError: '(' was never closed",
    ]
    assert said(loader, "key141")[3] == "The code that sets query131 raised NameError."
    assert (
        said(loader, "plot")[0]
        == "plot: A2S1.ipynb, cell 2, line 2 uses `no_such_package`, which is not installed where we grade"
    )
    assert said(loader, "key142") == ["key142: A2S1.ipynb does not define key142"]


M_KEY = {
    "A2S1.ipynb": notebook("key = [1]", "m_key = key.copy()\nm_key[0] = 41", "m_key", "m_key[0] = 42", "m_key = 0"),
    "A2S1.py": """key = [1]

# In[2]:

m_key = key.copy()

m_key[0] = 41

# In[3]:

m_key[0] = 42

# In[4]:
m_key = 0
""",
    "unmarked": """key = [1]

m_key = key.copy()
row = 41
m_key[0] = row

print(m_key)

m_key = key.copy()
m_key[0] = 42
""",
}


@pytest.mark.parametrize("form", M_KEY)
def test_the_originals_m_key_is_taken_after_the_first_and_after_the_second_cell_that_sets_it(load, form):
    loader = load({form if "." in form else "A2S1.py": M_KEY[form]})
    assert (loader.find("key141"), loader.find("key142")) == ([41], [42])


def test_m_key_is_only_for_those_who_have_no_key141(load):
    loader = load({"A2S1.ipynb": notebook("m_key = [1]", "key141 = [3]\nkey142 = None")})
    assert loader.find("key141") == [3] and loader.find("key142") is None
    loader = load({"A2S1.ipynb": notebook("m_key = [1]", "m_key = undefined")})
    assert loader.find("key141") == [1] and loader.find("key142") == [1]  # as in Jupyter: it was not changed


def test_stages_are_copies_also_of_tensors_that_need_gradients(load):
    code = "m_key = torch.ones(2, requires_grad=True) * 1", "m_key.data[0] = 5"
    loader = load({"A2S1.ipynb": notebook("import torch", *code)})
    assert loader.find("key141").tolist() == [1, 1] and loader.find("key142").tolist() == [5, 1]


def test_what_a_notebook_takes_for_granted_is_there(load):
    loader = load(
        {
            "A2S1.ipynb": notebook(
                "from __future__ import annotations\nfrom dataclasses import dataclass",
                "import otter, IPython.display as show\nfrom IPython.display import display",
                "from google.colab import drive",
                "from matplotlib import pyplot as plt\nfrom ipywidgets import interact\nimport matplotlib.pyplot",
                "grader = otter.Notebook('A2S1.ipynb')\ngrader.check('q1')\ndrive.mount('/x')\nshow.clear_output()",
                "with plt.style.use():\n    plt.gca().lines[0] = 1\n    plt.rc.x = 2\nfor line in plt.lines: 1 / 0",
                "@interact(x=3)\ndef seen(x: Undefined) -> int:\n    return x\n@interact\ndef too(): return 2",
                "@dataclass\nclass Pair:\n    one: int\npair = Pair(3)",
                "colab = 'google.colab' in str(get_ipython())\nif __name__ == '__main__':\n    main = True",
                "assert not get_ipython() and matplotlib.pyplot.figure() is not None\nlast = [*plt.axes()]",
            )
        }
    )
    assert loader.find("seen")(4) == 4 and loader.find("too")() == 2
    assert loader.find("pair").one == 3
    assert loader.find("colab") is False and loader.find("main") is True and loader.find("last") == []


@pytest.mark.parametrize("module", INERT)
def test_what_draws_or_asks_is_never_imported_even_if_it_is_there(load, module):
    loader = load({"A2S1.ipynb": notebook(f"import {module} as one", f"from {module} import two, three as four")})
    assert all(isinstance(loader.find(name), Inert) for name in ("one", "two", "four"))


def test_statements_that_ended_a_worker_are_left_out(load):
    files = {"A2S1.ipynb": notebook("a = 1\nb = 2", "c = 3\nd = 4", "e = 5")}
    loader = load(files, left_out=[LeftOut("A2S1.ipynb", 2, "did not finish within 3 s")])
    assert [loader.find(name) for name in "acde"] == [1, 3, 4, 5]
    assert said(loader, "b") == [
        "b: the code that sets it was stopped",
        "A2S1.ipynb, cell 1, line 2",
        "did not finish within 3 s",
    ]
    loader = load(files, left_out=[LeftOut("A2S1.ipynb", 3, "crashed Python", and_rest=True)])
    assert [loader.find(name) for name in "ab"] == [1, 2]
    assert said(loader, "e")[1:] == ["A2S1.ipynb, cell 3, line 1", "not run, because code before it crashed Python"]


def test_the_worker_is_told_of_every_statement_before_it_runs(load):
    seen = []
    load({"A2S1.ipynb": notebook("a = 1", "b = (", "c = 3")}, reached=lambda *place: seen.append(place)).find("c")
    assert seen == [("A2S1.ipynb", 0), ("A2S1.ipynb", 1), ("A2S1.ipynb", 3), ("", 0)]


def test_an_unreadable_notebook_is_one_line(load):
    assert said(load({"A2S1.ipynb": '{"cells": 3}'}), "query121") == [
        "query121: a file could not be loaded",
        "ImportError: A2S1.ipynb cannot be read as a notebook: it is JSON, but has no list of cells",
    ]


# Definitions only

SCRIPT = """#!/usr/bin/env python
# coding: utf-8

# In[1]:


get_ipython().system('pip install datasets')
get_ipython().run_line_magic('matplotlib', 'inline')
import math, urllib.request
import datasets_of_nobody
from pathlib import Path
import torch
import torch.nn as nn
from torch.nn import functional as F
import matplotlib.pyplot as plt

torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
if torch.backends.mps.is_available():
    device = torch.device("mps")
N_HEADS, scale = 2, 1 / math.sqrt(4)
urllib.request.urlretrieve("https://example.org/input.txt", "input.txt")
text = Path("input.txt").read_text()
data = datasets_of_nobody.load("wiki")


# In[2]:


get_ipython().run_cell_magic('time', '', 'def twice(x):\\n    return 2 * x * scale * N_HEADS\\n')


# In[3]:


def train(model, steps=10**12):
    for step in range(steps):
        pass

def words():
    return text.split()

def corpus():
    return datasets_of_nobody.load("wiki")

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)

try:
    import nothing_of_that_name
except ImportError:
    nothing = None
    train(None)

# In[4]:


model = Block().to(device)
losses = train(model)
Path("was-here").write_text("x")
for step in range(10**12):
    pass
plt.plot(losses)
plt.show()
assert False
while True:
    exit()
"""


def at(beginning):
    return next(number for number, line in enumerate(SCRIPT.split("\n"), 1) if line.startswith(beginning))


def test_a_script_that_downloads_trains_and_plots_is_taken_for_its_functions(load, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    loader = load({"A2S2.py": SCRIPT})
    assert loader.find("twice")(3) == 6
    assert isinstance(loader.find("Block")(), torch.nn.Module)
    assert not (tmp_path / "was-here").exists()
    assert loader.find("nothing") is None
    assert said(loader, "losses") == [
        "losses: A2S2.py does not define losses in a way that can be used",
        f"A2S2.py line {at('losses =')} sets losses, but is not run: of this file, only imports, functions, "
        "classes and simple assignments are.",
    ]
    performer = Performer(loader)
    trouble = performer.perform(Request("call", "words"))
    assert trouble.text.splitlines()[1].startswith(f"A2S2.py line {at('text =')} sets text, but is not run")
    trouble = performer.perform(Request("call", "corpus"))
    assert trouble.text == "uses `datasets_of_nobody`, which is not installed where we grade"
    assert trouble.frames[-1][:2] == ("A2S2.py", at("    return datasets_of_nobody"))


RUN = [
    "n = 3", "a, b = 1, 'x'", "x: int = 3", "names = {'a': [1, (2,)]}", "eps = float('-inf')", "n **= 2",
    "device = 'cuda' if torch.cuda.is_available() else 'cpu'", "d = torch.device('cpu')", "half = torch.float16",
    "root = m.sqrt(2 * n)", "f = lambda x: train(x)", "softmax = torch.nn.Softmax(dim=-1)", "q = np.array([1, 2])",
    "g = partial(train, 3)", "P = namedtuple('P', 'a b')", "c = Config(n=3)", "mask = torch.ones(3, 3).tril().bool()",
    "s = f'{n} heads'", "stoi = {c: i for i, c in enumerate('abc')}", "w = 'a b'.split()", "table[0] = 1",
    "Block.forward = train", "os.environ['X'] = '1'", "p = os.path.join('a', 'b')", "root = Path('data') / 'x'",
    "import torch", "def f(): pass", "class C: pass", "async def f(): pass",
    "if n > 2:\n    k = 1\nelse:\n    k = train()",
    "try:\n    import x\nexcept ImportError:\n    x = None", "sqrt2 = sqrt(2)", "top = max(1, *range(3))",
]  # fmt: skip
NOT_RUN = [
    "model = train()", "x = list(map(train, y))", "y = [train(x) for x in y]", "r = requests.get('u')", "t = open('f')",
    "d = torch.load('f')", "print(3)", "train()", "for i in x: pass", "while True: pass", "with open('f') as f: pass",
    "x = (y := train())", "del n", "assert n", "x = len(3)", "i = input()", "m = Model()", "o = model.train()",
    "if train():\n    k = 1", "if n:\n    train()", "try:\n    train()\nexcept OSError:\n    pass", "x: int",
    "raise ValueError",
    "z = torch.utils.data.DataLoader(d)", "e = eval('1')", "x = __import__('os')", "os._exit(0)",
]  # fmt: skip
BEFORE = """
import torch, os, math as m, numpy as np, requests
from math import sqrt
from functools import partial
from collections import namedtuple
from pathlib import Path
from dataclasses import dataclass
def train(): pass
def len(x): pass
class Model: pass
@dataclass
class Config:
    n: int
"""


def is_definition(code):
    definitions = Definitions()
    for node in ast.parse(BEFORE).body:
        assert definitions.of(node) is node
    return definitions.of(ast.parse(code).body[0])


@pytest.mark.parametrize("code", RUN)
def test_imports_functions_classes_and_simple_assignments_are_definitions(code):
    assert is_definition(code) is not None


@pytest.mark.parametrize("code", NOT_RUN)
def test_whatever_may_take_long_is_no_definition(code):
    assert is_definition(code) is None


def test_of_a_condition_only_the_definitions_are_run():
    assert ast.unparse(is_definition("if n > 2:\n    train()\n    k = 1\nelse:\n    train()")) == "if n > 2:\n    k = 1"


# Which file


STUB = 'def twice(x):\n    """Doubles."""\n    raise NotImplementedError("twice is not started yet")\n'
LEANING = "def both(x):\n    return twice(x), twice(x)\n"
REAL = "def twice(x):\n    return 2 * x\n"


@pytest.mark.parametrize(
    ("files", "used"),
    [
        ({"src/attention.py": STUB}, "src/attention.py"),
        ({"src/attention.py": STUB, "A2S2.ipynb": notebook(REAL)}, "A2S2.ipynb"),
        ({"src/attention.py": REAL, "A2S2.ipynb": notebook(REAL)}, "src/attention.py"),
        ({"src/attention.py": "x = (", "A2S2.py": STUB, "A2S2.ipynb": notebook(REAL)}, "A2S2.ipynb"),
        ({"src/attention.py": STUB, "A2S2.py": REAL, "A2S2.ipynb": notebook(REAL)}, "A2S2.py"),
        ({"A2S2.py": "other = 1", "A2S2.ipynb": notebook(REAL)}, "A2S2.ipynb"),
    ],
)
def test_the_first_file_that_really_defines_a_function_is_used(load, files, used):
    loader = load(files)
    loader.find("twice")
    assert loader.file_of("twice") == used


def test_an_attempt_that_fails_says_more_than_a_stub(load):
    loader = load({"src/attention.py": STUB, "A2S2.ipynb": notebook("x = 1", "def twice(x):\n    return 2x")})
    assert said(loader, "twice")[0] == "twice: A2S2.ipynb, cell 2 has a syntax error in line 2"
    assert loader.file_of("twice") == "A2S2.ipynb"


def test_given_code_that_stands_on_stubs_gives_way_to_a_file_without_them(load):
    loader = load({"src/attention.py": STUB + LEANING, "A2S2.ipynb": notebook(REAL, LEANING)})
    assert loader.find("both")(3) == (6, 6) and loader.file_of("both") == "A2S2.ipynb"
    assert load({"src/attention.py": STUB + LEANING, "A2S2.ipynb": "{}"}).find("both")


@pytest.mark.parametrize("nothing", ["None", "..."])
def test_an_answer_that_is_nothing_is_not_one_yet(load, nothing):
    loader = load({"A2S1.ipynb": notebook(f"query121 = {nothing}"), "A2S1.py": "query121 = [1]"})
    assert loader.find("query121") == [1] and loader.file_of("query121") == "A2S1.py"


def test_classes_with_a_stub_in_them_are_not_started():
    code = "class A:\n    def f(self):\n        raise NotImplementedError\nclass B:\n    f = lambda: A()\n"
    assert started(ast.parse(code).body) == {"A": 0, "B": 1}
    code = 'def a():\n    """Doc."""\n    ...\ndef b():\n    pass\ndef c():\n    return 1\n'
    assert started(ast.parse(code).body) == {"a": 0, "b": 0, "c": 2}


def test_notebooks_import_what_is_beside_them_and_in_src(load):
    loader = load(
        {
            "src/attention.py": "def once(x):\n    return x\n",
            "A2S2.ipynb": notebook("import sys\nsys.path.append('x')", "from attention import once\ntwice = once"),
        }
    )
    assert loader.find("twice")(2) == 2


def test_files_are_told_for_all_names_that_share_them(tmp_path):
    (tmp_path / "A2S2.ipynb").write_text(notebook(REAL))
    loader = Loader(tmp_path, {"twice": ("A2S2.ipynb",), "both": ("A2S2.ipynb",), "other": ("A2S1.ipynb",)})
    with pytest.raises(Unloadable):
        loader.find("both")
    assert loader.files_like("both") == {"twice": "A2S2.ipynb", "both": ""}
