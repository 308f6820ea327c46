"""Every way to fail has its message: what a student reads when the real grader meets it, public and hidden."""

from __future__ import annotations

import json
import sys

import pytest

from autograder.checking.courses import read_course
from autograder.classroom.roster import read_roster
from autograder.grading.grade import Setting, grade
from autograder.isolation import probe
from autograder.pages.submission_page import page
from autograder.workers.remote import Limits

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="isolation needs Linux")

COURSE = """
title = "One exercise"
output = "text"
[totals]
required = 4
extra_credit = 0
[[section]]
title = "2 Heads"
files = ["src/attention.py"]
deadline = 2
exercises = [{ slug = "merge_heads", handout = "2.3", public = 1, hidden = 3 }]
"""
RIGHT = "import torch\n\ndef merge_heads(y):\n    return y.transpose(1, 2).flatten(-2)\n"


def body(*lines: str) -> str:
    return "import torch\n\ndef merge_heads(y):\n" + "".join(f"    {line}\n" for line in lines)


# name -> (the file, what the public check says, what the hidden one says); None: no file at all
FAILURES = {
    "file missing": (
        None,
        ["merge_heads: src/attention.py is not in the submission"],
        ["not found in your submission"],
    ),
    "wrong name": (
        RIGHT.replace("merge_heads", "mergeHeads"),
        ["src/attention.py does not define merge_heads", "It defines mergeHeads: is that the one? Rename it."],
        ["not found in your submission"],
    ),
    "syntax error": (
        "import torch\n\ndef merge_heads(y:\n    return y\n",
        [
            "merge_heads: src/attention.py has a syntax error in line 3",
            "SyntaxError: '(' was never closed",
            "    def merge_heads(y:\n                   ^",
        ],
        ["the file could not be loaded", "SyntaxError, src/attention.py line 3"],
    ),
    "import error": (
        "import einops_of_mine\n" + RIGHT,
        [
            "src/attention.py line 1 imports `einops_of_mine`, which is not installed where we grade",
            "at src/attention.py line 1: import einops_of_mine",
            "Only torch, numpy, einops, Python's own modules and the files that you hand in are there.",
        ],
        ["the file could not be loaded", "ModuleNotFoundError, src/attention.py line 1"],
    ),
    "exception": (
        "def helper(y):\n    return y.nothing\n\ndef merge_heads(y):\n    return helper(y)\n",
        [
            "merge_heads: your code raised AttributeError",
            "at src/attention.py line 2: return y.nothing",
            "called from src/attention.py line 5: return helper(y)",
        ],
        ["your code raised an exception", "AttributeError, src/attention.py line 2"],
    ),
    "wrong type": (
        body("return y.tolist()"),
        ["merge_heads: returned list, expected a torch.Tensor", "torch.stack or torch.cat makes one of a list."],
        ["the result has the wrong type"],
    ),
    "returns None": (
        body("y.transpose(1, 2).flatten(-2)"),
        ["merge_heads: returned None", "Did you forget the return?"],
        ["the result has the wrong type"],
    ),
    "wrong number of arguments": (
        "def merge_heads(y, n_heads):\n    return y\n",
        [
            "merge_heads: does not take the arguments that it is called with",
            "missing 1 required positional argument: 'n_heads'",
            "Yours is merge_heads(y, n_heads).",
        ],
        ["it does not take the arguments that the handout names"],
    ),
    "wrong shape": (
        body("return y"),
        ["merge_heads: shape (1, 2, 2, 2), expected (1, 2, 4)", "As many entries as expected, but axes are split."],
        ["the result has the wrong shape"],
    ),
    "wrong dtype": (
        body("return y.transpose(1, 2).flatten(-2).half()"),
        ["merge_heads: dtype float16, expected float32", "Keep the dtype of the inputs."],
        ["the result has the wrong dtype"],
    ),
    "NaN": (
        body("return y.transpose(1, 2).flatten(-2) / torch.zeros(1)"),
        ["merge_heads: infinity at batch 0, token 0, feature 0"],
        ["the result holds NaN or infinity where it should not"],
    ),
    "timed out in a loop": (
        body("n = 0", "while n < 10:", "    n = n * 1", "return y"),
        [
            "merge_heads: did not finish within 2 s of processor time",
            "It was in the loop of line 5: does that end?",
            "at src/att",
        ],
        ["your code did not finish in time", "did not finish within 2 s of processor time"],
    ),
    "timed out in C": (
        body("torch.rand(4000, 4000).matrix_power(10**6)", "return y"),
        ["merge_heads: did not finish within 2 s", "at src/attention.py line 4: torch.rand(4000, 4000)"],
        ["did not finish within 2 s"],
    ),
    "out of memory": (
        body("return [torch.ones(10**7) for _ in range(1000)]"),
        ["merge_heads: your code used more than 0.25 GB of memory and was stopped"],
        ["your code used too much memory"],
    ),
    "printed too much": (
        body("while True:", "    print('x' * 10**6)"),
        ["RuntimeError: your code printed more than 10 million characters; take out the print"],
        ["your code raised an exception", "RuntimeError, src/attention.py line 5"],
    ),
    "not started": (
        body('raise NotImplementedError("merge_heads is not started yet")'),
        ["merge_heads: merge_heads is not started yet"],
        ["not started yet"],
    ),
    "ended Python": (
        "import os\n" + body("os._exit(3)"),
        ["merge_heads: your code ended Python itself; do not call exit"],
        ["your code ended the Python process"],
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def told(tmp_path_factory, root):
    """All of them, graded in one go by the real grader: (part, name) -> what it said."""
    folder = tmp_path_factory.mktemp("ways")
    course = folder / "one.toml"
    course.write_text(COURSE)
    paths = []
    for name, (text, _, _) in FAILURES.items():
        path = folder / name.replace(" ", "_")
        (path / "src").mkdir(parents=True)
        (path / "src" / ("notes.txt" if text is None else "attention.py")).write_text(text or "x = 1\n")
        paths.append(path)
    folders = (root / "tests/public", root / "tests/hidden")
    setting = Setting(read_course(str(course)), probe(), Limits(memory=1 << 28), folders, 2)
    found = {}
    for name, one in zip(FAILURES, grade(read_roster(paths), setting, folder / "out", page=page), strict=True):
        assert one.score == 0
        results = folder / "out" / one.id
        for row in json.loads((results / "results.json").read_text())["tests"]:
            found[row["extra_data"]["part"], name] = row["output"]
        assert (results / "report.html").read_text().startswith("<!DOCTYPE html>")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", FAILURES)
def test_every_way_to_fail_is_told(told, name):
    _, public, hidden = FAILURES[name]
    for part, expected in (("public", public), ("hidden", hidden)):
        text = told[part, name]
        flat = " ".join(text.split())
        for line in expected:
            assert (line in text) or (line in flat), text
        assert max(map(len, text.splitlines())) <= 80
        if part == "hidden":
            assert "y of shape" not in text and "expected (" not in text
