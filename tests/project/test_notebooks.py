"""Notebooks and exported scripts, graded by real workers: the same points from every form."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from autograder.__main__ import main
from autograder.checking.courses import read_course
from autograder.files import zipped
from autograder.intake.clean_tree import take_in
from autograder.publishing import regions
from autograder.running.cells import Places
from autograder.running.perform import Reply
from autograder.selfcheck.command import main as check
from autograder.workers.remote import Limits, RemoteChannel

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="isolation needs Linux")

QUERIES = ("query121", "query122", "query131", "query132", "key141", "key142")
STEPS = (
    "pairwise_similarities", "attn_scaled", "attn_softmax", "compute_outputs", "make_causal_mask", "apply_causal_mask",
    "split_heads", "merge_heads", "self_attention",
)  # fmt: skip
SECONDS = 3


def notebook(*sources):
    picture = {"output_type": "display_data", "data": {"image/png": "iVBOR" * 1000}}
    cells = [
        {"cell_type": "code", "source": source.splitlines(keepends=True), "outputs": [picture], "metadata": {}}
        for source in sources
    ]
    cells.insert(1, {"cell_type": "markdown", "source": "# In words", "metadata": {}})
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)


def exported(*sources):
    """As nbconvert does it: markers, and magics as calls."""
    text = "#!/usr/bin/env python\n# coding: utf-8\n"
    for number, source in enumerate(sources, 1):
        if source.startswith("%%"):
            magic, _, code = source.partition("\n")
            source = f"get_ipython().run_cell_magic({magic[2:]!r}, '', {code + chr(10)!r})"
        lines = [
            f"get_ipython().system({line[1:]!r})" if line.startswith("!")
            else "get_ipython().run_line_magic({!r}, {!r})".format(*line[1:].split(" ", 1)) if line.startswith("%")
            else line
            for line in source.split("\n")
        ]  # fmt: skip
        text += f"\n# In[{number}]:\n\n\n" + "\n".join(lines) + "\n\n"
    return text


def a2s1(scale=40, broken=()):
    """The first notebook in the original's form, m_key and all. `broken`: cells put in between."""
    return [
        "!pip install -q plotly\n%matplotlib inline\nimport torch\nimport matplotlib.pyplot as plt",
        "import plotly_of_nobody",
        "key = torch.tensor([[0.47, 0.65, 0.60], [0.64, 0.50, -0.59], [-0.03, -0.48, -0.88], [0.43, -0.83, 0.35]])\n"
        "value = torch.tensor([[-0.07, -0.88, 0.47], [0.37, -0.93, -0.07], [-0.25, -0.75, 0.61], [0.94, 0.20, 0.28]])\n"
        "def attend(q, k=key):\n    return torch.softmax(q @ k.T, dim=-1) @ value\n"
        "def show(q):\n    fig, axes = plt.subplots(1, 2)\n    axes[0].bar(range(4), q)\n    plt.show()",
        "%%time\nS = 10\nquery121 = S * key[0]",
        *broken,
        "query122 = 1e6 * key\nshow(query122)",
        "query131 = key.mean(0)\nplotly_of_nobody.bar(query131)",
        f"S = {scale}\nquery132 = S * (key[0] + key[1]) / 2\nassert attend(query132).shape == (3,)",
        "m_key = key.clone()\nm_key[2] = (key[0] + key[1]) / 2\nprint(attend(query132, m_key))",
        "m_key = key.clone()\nm_key[2] = query132 / query132.norm()\nprint(attend(query132, m_key))",
    ]


def a2s2(text):
    """The second one: the steps in cells, and a training run that must not happen."""
    parts = re.split(r"\n\n\n(?=def |class )", text.split("from __future__ import annotations\n", 1)[1])
    steps = [re.sub(r" *# (?:BEGIN|END) SOLUTION.*\n", "", part) for part in parts]
    return [
        "!wget https://example.org/input.txt\n%load_ext autoreload\nfrom google.colab import drive\ndrive.mount('/x')",
        *(f"%%time\n{step}" if number % 3 == 1 else step for number, step in enumerate(steps)),
        "text = open('input.txt').read()\nchars = sorted(set(text))",
        "import time, os\nfor epoch in range(10**9):\n    time.sleep(1)\nos._exit(3)",
        "losses = [float(torch.randn(()) ** 2) for _ in iter(int, 1)]\nplt.plot(losses)",
    ]


LOOPING = [
    "import math",
    "def attn_scaled(A, n_embd, n_heads):\n    total = 0\n    while True:\n        total += 1",
    "def attn_softmax(A):\n    if A.dim() > 2:\n        raise ValueError(f'LEAK {A}')\n    return A.softmax(-1)",
]


@pytest.fixture(scope="module")
def graded(root, sources, tmp_path_factory, with_deadlines):
    """Everything in one run: results by name of submission."""
    place = tmp_path_factory.mktemp("notebooks")
    (place / "quick.toml").write_text(with_deadlines(dict.fromkeys(("queries", "attention"), SECONDS)))
    blank = {name: regions.stubbed(code, name) for name, code in sources.texts.items() if name.startswith("src/")}
    steps = a2s2(sources.texts["src/attention.py"])
    bad = "K ="
    submissions = {
        "notebooks": {"A2S1.ipynb": notebook(*a2s1()), "A2S2.ipynb": notebook(*steps)},
        "exported": {"hw/A2S1.py": exported(*a2s1()), "hw/A2S2.py": exported(*steps)},
        "near": {"A2S1.ipynb": notebook(*a2s1(10)), "A2S2.ipynb": notebook(*LOOPING)},
        "nearer": {"A2S1.py": exported(*a2s1(2))},
        "harmed": {
            "A2S1.ipynb": notebook(*a2s1(broken=["while True:\n    pass", "import os\nos._exit(0)", bad, "1 / 0"])),
            "A2S2.py": "import os\n\ndef attn_softmax(A, dim=os._exit(1)):\n    pass\n" + exported(*steps),
        },
        "hopeless": {"A2S1.ipynb": notebook(*a2s1(broken=["import os", *["os._exit(0)\nquery131 = 1"] * 5]))},
    }
    for name, files in submissions.items():
        (place / f"{name}.zip").write_bytes(zipped(blank | files))
    paths = [str(place / f"{name}.zip") for name in submissions]
    out = place / "out"
    assert main(["--root", str(root), "grade", "--out", str(out), "--course", str(place / "quick.toml"), *paths]) == 0
    return {name: json.loads((out / name / "results.json").read_text()) for name in submissions}, out


def points(content, slugs):
    return {
        slug: sum(test["score"] for test in content["tests"] if test["extra_data"]["exercise"] == slug)
        for slug in slugs
    }  # fmt: skip


def row(content, name):
    return next(test for test in content["tests"] if test["name"] == f"{name} (public)")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "folder", "suffix"), [("notebooks", "", "ipynb"), ("exported", "hw/", "py")])
def test_solved_notebooks_get_full_marks_in_every_form(graded, name, folder, suffix):
    """Beside the untouched src/attention.py; and the report says which file was used."""
    content = graded[0][name]
    assert points(content, QUERIES) == dict.fromkeys(QUERIES, 3)
    assert points(content, STEPS) == dict.fromkeys(STEPS[:-1], 4) | {"self_attention": 10}
    assert row(content, "query121")["extra_data"]["file"] == f"{folder}A2S1.{suffix}"
    assert row(content, "attn_scaled")["output"].endswith(f"Taken from {folder}A2S2.{suffix}.")
    assert row(content, "precompute_rotary_emb")["extra_data"]["file"] == "src/attention.py"
    assert f"{folder}A2S2.{suffix}" in (graded[1] / name / "report.html").read_text()
    given = next(test for test in content["tests"] if test["name"] == "split_heads_qkv (given)")
    assert given["status"] == "passed"


@pytest.mark.slow
def test_every_answer_reports_its_error_also_when_it_passes(graded):
    content, out = graded
    for slug, error in {"query121": "0.0004", "query131": "0.0201", "key142": "0.0014"}.items():
        test = row(content["notebooks"], slug)
        assert test["extra_data"]["checks"][0]["note"] == f"error {error} ≤ 0.05"
        assert f"(error {error} ≤ 0.05)" in test["output"]
        assert f"(error {error} ≤ 0.05)" in (out / "notebooks/report.html").read_text()


@pytest.mark.slow
def test_near_misses_lose_exactly_their_points_and_are_told_a_direction(graded):
    near, nearer = graded[0]["near"], graded[0]["nearer"]
    assert points(near, QUERIES) == dict.fromkeys(QUERIES, 3) | {"key142": 0}
    told = row(near, "key142")["output"]
    assert "error 0.1184, must be at most 0.05" in told and "query132 is too short" in told
    # One query serves all three: with 2 (k0 + k1) / 2 no key can bring out more.
    assert points(nearer, QUERIES) == dict.fromkeys(QUERIES, 3) | {"query132": 0, "key141": 0, "key142": 0}
    told = row(nearer, "query132")["output"]
    assert "error 0.0926, must be at most 0.05" in told and "tokens 2 and 3 still get weight" in told
    assert "The weights of the four tokens are" in told


@pytest.mark.slow
def test_a_cell_that_never_ends_or_ends_python_costs_only_itself(graded):
    content = graded[0]["harmed"]
    assert points(content, QUERIES) == dict.fromkeys(QUERIES, 3)
    steps = points(content, STEPS)
    assert steps["attn_softmax"] == 4  # defined again, rightly, further down
    assert sum(steps.values()) == 42


@pytest.mark.slow
def test_after_three_of_them_the_rest_is_not_run_but_what_came_before_counts(graded):
    content = graded[0]["hopeless"]
    assert points(content, QUERIES) == dict.fromkeys(QUERIES, 0) | {"query121": 3}
    told = row(content, "query132")["output"]
    assert "query132: the code that sets it was stopped" in told
    assert "A2S1.ipynb, cell 13, line 2" in told
    assert "not run, because code before it ended Python itself; do not call exit" in told


@pytest.mark.slow
def test_messages_name_cell_and_line(graded):
    told = row(graded[0]["near"], "attn_scaled")["output"]
    assert f"did not finish within {SECONDS} s" in told and "It was in the loop of line 3" in told
    assert re.search(r"at A2S2\.ipynb, cell 2, line [34]: (while True:|total \+= 1)", told)
    tests = graded[0]["near"]["tests"]
    hidden = next(test["output"] for test in tests if test["name"] == "attn_softmax (hidden)")
    assert "ValueError, A2S2.ipynb, cell 3, line 3" in hidden and "LEAK" not in hidden


def test_a_notebook_of_twenty_megabytes_is_taken_in(tmp_path):
    book = json.loads(notebook(*a2s1()))
    book["cells"][0]["outputs"] = [{"data": {"image/png": "iVBOR/+9" * 2_600_000}}]
    for name in ("in", "out"):
        (tmp_path / name).mkdir()
    path = tmp_path / "in/x.zip"
    path.write_bytes(zipped({"A2S1.ipynb": json.dumps(book)}))
    taken = take_in(path, tmp_path / "out")
    assert taken.files == ("A2S1.ipynb",) and (taken.root / "A2S1.ipynb").stat().st_size > 20_000_000
    assert Places(taken.root, taken.files).lines("A2S1.ipynb, cell 4")[2] == "query121 = S * key[0]"


def test_a_notebook_that_is_not_utf8_is_read_as_latin_1_with_a_note(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "A2S1.ipynb").write_bytes(notebook("x = 'é'").replace("\\u00e9", "é").encode("latin-1"))
    taken = take_in(tmp_path / "A2S1.ipynb", tmp_path / "out")
    assert taken.notes == ("A2S1.ipynb is not UTF-8; it was read as Latin-1",)
    assert Places(taken.root, taken.files).lines("A2S1.ipynb, cell 1") == ["x = 'é'"]


@pytest.mark.slow
def test_the_students_own_check_reads_notebooks_by_the_same_code(repository, capsys):
    student = repository / "student"
    (student / "A2S1.ipynb").write_text(notebook(*a2s1(10)))
    steps = ["import math\nimport torch", "def attn_softmax(A):\n    return torch.softmax(A, -1)"]
    (student / "A2S2.ipynb").write_text(
        notebook(*steps, "def attn_scaled(A, n_embd, n_heads):\n    return A / nothing")
    )
    assert check([*QUERIES, "attn_softmax", "attn_scaled"], student) == 1
    shown = capsys.readouterr().out
    assert "✓ query121                1 of 1 checks (error 0.0004 ≤ 0.05)" in shown
    assert "key142: error 0.1184" in shown and "→ A2S1.ipynb, handout 1.4" in shown
    assert "✓ attn_softmax" in shown
    assert "at A2S2.ipynb, cell 3, line 2: return A / nothing" in shown and "→ A2S2.ipynb, handout 2.1" in shown


@pytest.mark.parametrize(
    ("told", "believed"),
    [
        ({"attn_scaled": "A2S2.ipynb"}, "A2S2.ipynb"),
        ({"attn_scaled": "hw/A2S2.py"}, "hw/A2S2.py"),
        ({"attn_scaled": "src/other.py"}, ""),  # handed in, but not one that may hold it
        ({"attn_scaled": "A2S2.py"}, ""),  # not handed in
        ({"attn_scaled": "../A2S2.ipynb"}, ""),
        ({"attn_scaled": 3}, ""),
        ({"query121": "A2S2.ipynb"}, ""),
        ("A2S2.ipynb", ""),
    ],
)
def test_a_worker_is_believed_a_file_only_if_it_may_be_true(tmp_path, told, believed):
    names = ("A2S2.ipynb", "hw/A2S2.py", "src/other.py")
    course = read_course("default")
    channel = RemoteChannel(None, tmp_path, names, course, None, Limits(), None)  # type: ignore[arg-type]
    channel._learn(Reply(told), course.files["attn_scaled"])
    channel._learn(Reply({"attn_scaled": "hw/A2S2.py" if believed == "A2S2.ipynb" else 0}), course.files["attn_scaled"])
    assert channel.file_of("attn_scaled") == believed  # said once, it stays
    assert channel.file_of("query121") == ""


def test_a_cell_that_does_not_exist_is_told_to_nobody(tmp_path):
    (tmp_path / "A2S2.ipynb").write_text(notebook("x = 1"))
    places = Places(Path(tmp_path), {"A2S2.ipynb"})
    assert [len(places.lines(f"A2S2.ipynb, cell {number}")) for number in (1, 2, 99999, 100000)] == [1, 0, 0, 0]
