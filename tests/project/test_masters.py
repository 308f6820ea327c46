"""Notebook masters: what Jupyter's tools take them for, and nothing in them that is kept in step by hand."""

from __future__ import annotations

import ast

import jupytext
import pytest

from autograder.errors import UserError
from autograder.publishing import masters
from autograder.publishing.parallel import parallels

NOTEBOOKS = ("A2S1", "A2S2")
MODULE = '''import math


def f(x):
    """Do."""
    # TODO(f): do
    # BEGIN SOLUTION f
    return math.sqrt(x)
    # END SOLUTION f


@staticmethod
def g():
    pass


y = 1
'''


@pytest.fixture(scope="session")
def modules(root):
    return {path.stem: path.read_text() for path in (root / "solutions/src").glob("*.py")}


def read(root, name):
    return (root / f"solutions/notebooks/{name}.py").read_text()


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_jupytext_reads_the_same_cells(root, modules, name):
    """Percent format is jupytext's; ours is a strict part of it."""
    text = masters.expanded(read(root, name), name, modules)
    theirs = [(cell.cell_type, cell.source) for cell in jupytext.reads(text, fmt="py:percent").cells]
    ours = [(cell.kind, cell.text) for cell in masters.cells(text, name)]
    code = [pair for pair in ours if pair[0] == "code"]
    assert [kind for kind, _ in ours] == [kind for kind, _ in theirs]
    assert code == [pair for pair in theirs if pair[0] == "code"]
    for cell, (kind, source) in zip(masters.cells(text, name), theirs, strict=True):
        if kind == "markdown" and not cell.regions:
            assert cell.stub == cell.solved == source


def test_included_definitions_are_those_of_the_module(root, modules):
    """With docstring, TODO and regions: the stubs of notebook and module cannot differ."""
    expanded = masters.expanded(read(root, "A2S2"), "A2S2.py", modules)
    assert "# include" not in expanded
    ours = {node.name: ast.unparse(node) for node in ast.parse(modules["attention"]).body if hasattr(node, "name")}
    theirs = {node.name: ast.unparse(node) for node in ast.parse(expanded).body if hasattr(node, "name")}
    shared = [name for name in theirs if name in ours]
    assert len(shared) == 11 and all(theirs[name] == ours[name] for name in shared)
    stubs = [cell.stub for cell in masters.cells(expanded, "A2S2.py") if cell.kind == "code"]
    assert parallels("A2S2.py", expanded, "\n\n".join(stubs)) == []


def test_include_takes_comments_and_decorators_along():
    taken = masters.expanded(
        "# %%\nfrom m import f  # include\n\n# %%\nfrom m import g  # include\n", "x", {"m": MODULE}
    )
    first, second = masters.cells(taken, "x.py")
    assert first.solved.endswith("# TODO(f): do\n    return math.sqrt(x)") and len(first.regions) == 1
    assert first.stub.endswith('raise NotImplementedError("f is not started yet")')
    assert second.stub == "@staticmethod\ndef g():\n    pass"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("# %%\nfrom m import h  # include\n", "x.py:2: there is no 'h' in m.py"),
        ("# %%\nfrom n import f  # include\n", "x.py:2: there is no 'f' in n.py"),
        ("# %%\nfrom m import f # include\n", "x.py:2: write 'from module import name  # include'"),
        ("# %%\nfrom broken import f  # include\n", "broken.py:1: "),
        ("import torch\n# %%\n", "x.py:1: a master begins with '# %%'"),
        ("# %%\n# %% [raw]\n", "x.py:2: a cell begins with"),
        ("# %%\n\n# %%\n# BEGIN SOLUTION a\n", "x.py:4: 'a' is never closed"),
    ],
)
def test_every_complaint_names_the_line(text, complaint):
    with pytest.raises(UserError) as error:
        masters.cells(masters.expanded(text, "x.py", {"m": MODULE, "broken": "def f(:"}), "x.py")
    assert str(error.value).startswith(complaint)


def test_text_cells_lose_their_hashes_and_keep_their_stub():
    text = "# %% [markdown]\n# # Title\n#\n# BEGIN SOLUTION a\n# Because.\n# STUB\n# # _Here._\n# END SOLUTION a\n"
    (cell,) = masters.cells(text, "x.py")
    assert (cell.kind, cell.stub, cell.solved) == ("markdown", "# Title\n\n_Here._", "# Title\n\nBecause.")
