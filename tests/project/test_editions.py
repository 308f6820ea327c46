"""Names that a notebook or script defines more than once: the best definition counts, for public and hidden checks."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path

import pytest

from autograder.__main__ import main
from autograder.checking.courses import read_course
from autograder.checking.points import rows, score
from autograder.files import zipped
from autograder.running.editions import MOST, Edition, Step, editions
from autograder.running.loading import Loader
from autograder.running.perform import Performer, Reply
from autograder.workers.remote import Limits, RemoteChannel

CHECKS = [Path(__file__).parents[1] / part for part in ("public", "hidden")]


def notebook(*cells: str) -> str:
    return json.dumps({"cells": [{"cell_type": "code", "source": cell} for cell in cells], "nbformat": 4})


def of(name: str, *cells: str) -> list[int]:
    """Before which statements the editions end; every cell here is one statement."""
    steps = [Step(number, "n", 1, ast.parse(cell).body[0]) for number, cell in enumerate(cells, 1)]
    return [one.before for one in editions(name, steps)]


F, G, USES = "def f(): return 1", "def g(): return 2", "def f(): return g()"
STUB = "def f(): raise NotImplementedError"


@pytest.mark.parametrize(
    ("cells", "ends"),
    [
        ([F], [0]),
        ([G], []),
        ([F, G, F], [0, 3]),  # the last one, in the whole file, and the first, before it is defined again
        ([STUB, F], [0]),  # to fill in a stub is not to redefine it
        ([F, STUB], [0, 2]),
        ([G, USES, G], [0, 3]),  # a step below is redefined
        ([USES, "def g(): pass", G], [0]),  # a step is filled in
        ([G, F, G, G], [0]),  # f does not use it
        ([G, "def h(): return g()", "def f(): return h()", "g = 3"], [0, 4]),  # used by what it uses
        ([G, USES, F, G], [0, 3]),
        ([G, USES, G, USES], [0, 4, 3]),
        (["x = 1", "def f(x): return x", "x = 2", "x = 3"], [0]),  # a name of its own
        ([F] * 9, [0, 2, 9, 8]),
        ([G, *[USES, G] * 9], None),
    ],
)
def test_editions_end_before_something_is_defined_again(cells, ends):
    found = of("f", *cells)
    assert len(found) <= MOST and (ends is None or found == ends)


def test_an_edition_has_only_what_stands_before_its_end(tmp_path):
    cells = ["def step(x):\n    return x", "def twice(x):\n    return 2 * step(x)", "def step(x):\n    return -x"]
    (tmp_path / "A2S2.ipynb").write_text(notebook(*cells))
    loader = Loader(tmp_path, {"twice": ("A2S2.ipynb",), "step": ("A2S2.ipynb",)})
    assert loader.find("twice")(3) == -6
    assert loader.editions("twice") == [Edition(0, "A2S2.ipynb, cell 2", 1), Edition(3, "A2S2.ipynb, cell 2", 1)]
    loader.use("twice", 3)
    assert loader.find("twice")(3) == 6 and loader.find("step")(3) == 3 and loader.file_of("twice") == "A2S2.ipynb"
    loader.use("twice", 0)
    assert loader.find("twice")(3) == -6


def test_modules_and_answers_have_no_editions(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src/m.py").write_text("def f():\n    return 1\ndef f():\n    return 2\n")
    (tmp_path / "A2S1.py").write_text("query121 = 1\nquery121 = 2\n")
    loader = Loader(tmp_path, {"f": ("src/m.py",), "query121": ("A2S1.py",)}, by_cells=("A2S1.py",))
    assert loader.find("f")() == 2 and loader.editions("f") == []
    assert loader.find("query121") == 2 and loader.editions("query121") == []


# Verdicts

WRONG = "def self_attention(Q, K, V, n_heads=1, causal=True):\n    return Q + 1\n"
NO_SOFTMAX = "def attn_softmax(A):\n    return A\n"
ONES = "def make_causal_mask(n_tok):\n    return torch.ones(n_tok, n_tok)\n"
CASES = {
    "experiment_later": lambda right: [right, WRONG],
    "fixed_later": lambda right: [WRONG, right],
    "stub_first": lambda right: ["def self_attention(Q, K, V):\n    raise NotImplementedError\n", right],
    "stub_last": lambda right: [right, "def self_attention(Q, K, V):\n    raise NotImplementedError\n"],
    "step_redefined": lambda right: [right, NO_SOFTMAX],
    "steps_redefined": lambda right: [right, NO_SOFTMAX, ONES],
    "both": lambda right: [right, NO_SOFTMAX + ONES, WRONG],
    "many": lambda right: [right, *[WRONG] * 7],
    "assigned": lambda right: [right, "self_attention = lambda *a, **k: None"],
}
STEPS = ["attn_softmax", "make_causal_mask", "self_attention"]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", ["ipynb", "py"])
def test_the_best_definition_counts(examine, course, sources, case, kind):
    cells = CASES[case](sources.solved()["src/attention.py"])
    text = notebook(*cells) if kind == "ipynb" else "\n\n".join(f"# In[{n}]:\n{cell}" for n, cell in enumerate(cells))
    outcomes = examine({"src/attention.py": "", f"A2S2.{kind}": text}, STEPS)
    assert {(row.item.slug, row.part): row.score == row.points for row in rows(course, outcomes)}
    wrong = [(one.name, one.part, one.finding.headline if one.finding else one.trouble) for one in outcomes
             if one.verdict != "passed" and one.counts != "note"]  # fmt: skip
    assert wrong == []
    told = {one.note for one in outcomes if one.exercise == "self_attention" and "definition" in one.note}
    assert bool(told) == (case not in ("fixed_later", "stub_first"))
    assert all(note.startswith(f"taken from the definition in A2S2.{kind}") for note in told)


def test_where_no_definition_is_right_the_last_one_is_judged(examine, course):
    outcomes = examine(
        {"src/attention.py": "", "A2S2.ipynb": notebook("import torch", WRONG, WRONG)}, ["self_attention"]
    )
    assert score(course, outcomes) == 0 and not any(one.note for one in outcomes)


def test_public_and_hidden_checks_judge_the_same_definition(examine, sources, monkeypatch):
    """Decided by the public checks, once."""
    seen = []
    monkeypatch.setattr(Performer, "begin", lambda _, exercise, part: seen.append(part))
    use = Performer.use
    monkeypatch.setattr(
        Performer, "use", lambda self, name, one: seen.append(one.before if one else 0) or use(self, name, one)
    )
    cells = [sources.solved()["src/attention.py"], NO_SOFTMAX, WRONG]
    outcomes = examine({"src/attention.py": "", "A2S2.ipynb": notebook(*cells)}, ["self_attention"], list(CHECKS))
    assert {one.verdict for one in outcomes if one.counts != "note"} == {"passed"}
    assert seen[:2] == ["public", 0] and seen.count("hidden") == 1
    assert seen[-2:] == ["hidden", max(one for one in seen[:-2] if isinstance(one, int)) - 1]


# In workers


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="isolation needs Linux")
def test_workers_and_the_students_own_check_agree(root, tmp_path, sources, capsys):
    right = sources.solved()["src/attention.py"]
    slow = "def self_attention(Q, K, V, n_heads=1, causal=True):\n    import os\n    os._exit(0)\n"
    for name, cells in {"experiment": [right, NO_SOFTMAX + ONES, WRONG], "deadly": [right, slow]}.items():
        (tmp_path / f"{name}.zip").write_bytes(zipped({"A2S2.ipynb": notebook(*cells)}))
    paths = [str(tmp_path / f"{name}.zip") for name in ("experiment", "deadly")]
    assert main(["--root", str(root), "grade", "--out", str(tmp_path / "out"), *paths]) == 0
    for name in ("experiment", "deadly"):
        content = json.loads((tmp_path / "out" / name / "results.json").read_text())
        tests = {one["name"]: one for one in content["tests"]}
        for part in ("public", "hidden"):
            assert tests[f"self_attention ({part})"]["score"] == tests[f"self_attention ({part})"]["max_score"], name
        assert "taken from the definition in A2S2.ipynb, cell 1" in tests["self_attention (public)"]["output"]
        assert content["score"] == 42


@pytest.mark.parametrize(
    "told",
    [
        None, 3, "x", {"a": 1}, [1, 2], [(0, "A2S2.ipynb, cell 9", 1)], [(0, "A2S2.ipynb, cell 1", 99)],
        [(-1, "A2S2.ipynb, cell 1", 1)], [("0", "A2S2.ipynb, cell 1", 1)], [(0, "LEAK", 1)],
        [(0, "A2S2.ipynb, cell 1")],
    ],
)  # fmt: skip
def test_a_worker_is_believed_no_edition_that_cannot_be(tmp_path, monkeypatch, told):
    (tmp_path / "A2S2.ipynb").write_text(notebook("x = 1"))
    channel = RemoteChannel(None, Path(tmp_path), ("A2S2.ipynb",), read_course("default"), None, Limits(), None)  # type: ignore[arg-type]
    monkeypatch.setattr(channel, "perform_all", lambda _: [Reply(told)])
    assert channel.editions("split_heads") == []
    monkeypatch.setattr(channel, "perform_all", lambda _: [Reply([(n, "A2S2.ipynb, cell 1", 1) for n in range(99)])])
    assert len(channel.editions("split_heads")) == MOST
