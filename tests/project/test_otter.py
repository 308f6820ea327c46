"""Notebooks as students run them and as Otter grades them: no error, our messages, the same points."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import zipfile
from dataclasses import replace

import nbformat
import pytest
from nbconvert import PythonExporter

from autograder.checking.courses import read_course
from autograder.checking.points import rows
from autograder.errors import UserError
from autograder.files import write_files, zipped
from autograder.proving.assembling import lay_out
from autograder.publishing import assign, masters, release
from autograder.publishing.leaks import Secrets, leaks
from autograder.selfcheck.notebook import questions

# How each notebook is handed in: as it is given out, with every answer, and with the classic near miss.
HANDED_IN = {
    "A2S1 blank": ("A2S1", "notebook", {}),
    "A2S1 solved": ("A2S1", "solved", {}),
    "A2S1 near miss": ("A2S1", "solved", {"query132 = 40 *": "query132 = 10 *"}),
    "A2S2 blank": ("A2S2", "notebook", {}),
    "A2S2 solved": ("A2S2", "solved", {}),
}
# Otter's export, and what a student might add: an error in a cell, seen from the next.
BROKEN = """def attn_softmax(A):
    B = A.sotfmax(-1)
    return B"""


@pytest.fixture(scope="module")
def plan(root):
    return release.read_plan(root / "solutions/release.toml", root)


@pytest.fixture(scope="module")
def tree(plan):
    return release.build(plan)


@pytest.fixture(scope="module")
def zips(plan, tree, root):
    return release.otter_zips(plan, tree, root / "tests/hidden")


@pytest.fixture(scope="module")
def handed_in(plan):
    made = release.assigned(plan)
    texts = {}
    for what, (name, kind, changes) in HANDED_IN.items():
        text = getattr(made[f"notebooks/{name}.ipynb"], kind).decode()
        for before, after in changes.items():
            assert before in text
            text = text.replace(before, after)
        texts[what] = text
    return texts


def ran(*command, cwd, **environment):
    """A program of Jupyter's or Otter's; its output is shown if it fails."""
    run = subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=cwd, capture_output=True, text=True, check=False, timeout=500,
        env=os.environ | {"OMP_NUM_THREADS": "1", "IPYTHONDIR": f"{cwd}/.ipython"} | environment,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr


# What `otter run` does, for several submissions in a process that has loaded Otter once.
OTTER_RUN = """
import sys
from otter.run import main
for place in sys.argv[1:]:
    name = place.split("/")[-1].split()[0]
    main(f"{place}/{name}.ipynb", autograder=f"otter-{name}.zip", output_dir=place, no_logo=True)
"""


@pytest.fixture(scope="module")
def all_run(handed_in, zips, tree, tmp_path_factory):
    """Every notebook is graded as by `otter run` and run by nbconvert, once."""
    folder = tmp_path_factory.mktemp("otter")
    write_files(folder, zips)

    def graded():
        for what, text in handed_in.items():
            write_files(folder / what, {f"{what.split()[0]}.ipynb": text.encode()})
        # Agg: pictures are drawn, but not encoded for a page that nobody sees.
        ran("-c", OTTER_RUN, *(folder / what for what in handed_in), cwd=folder, MPLBACKEND="agg")
        return {what: json.loads((folder / what / "results.json").read_text()) for what in handed_in}

    def executed():
        place = folder / "student"
        paths = {what: place / "notebooks" / f"{what}.ipynb" for what in handed_in if "miss" not in what}
        write_files(place, tree)
        for what, path in paths.items():
            notebook = json.loads(handed_in[what])
            if what == "A2S2 blank":
                for source in (BROKEN, 'grader.check("q2_1_3")'):
                    notebook["cells"].append(assign._code(source) | {"id": f"extra-{len(notebook['cells'])}"})
            path.write_text(json.dumps(notebook))
        ran("-m", "nbconvert", "--to", "notebook", "--execute", "--inplace", *paths.values(), cwd=place)
        return {what: json.loads(path.read_text()) for what, path in paths.items()}

    # One after the other: two that look for free ports at the same moment may find the same, and wait for ever.
    return graded(), executed()


def outputs(notebook, source=""):
    """All that the cells, or those with this in their source, have put out, as text."""
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code" and source in "".join(cell["source"])]
    said = []
    for output in (output for cell in cells for output in cell["outputs"]):
        assert output["output_type"] != "error", output
        said.append("".join(output.get("text", output.get("data", {}).get("text/plain", ""))))
    return "\n".join(said)


def pictures(notebook):
    return sum("image/png" in o.get("data", {}) for c in notebook["cells"] for o in c.get("outputs", ()))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "questions"), [("A2S1", 6), ("A2S2", 9)])
def test_student_notebook_runs_without_an_error_before_anything_is_solved(all_run, name, questions):
    notebook = all_run[1][f"{name} blank"]
    said = outputs(notebook)
    assert said.count(": not started yet") == questions and "passed" not in said
    assert "install" not in said and "upload" not in said


@pytest.mark.slow
@pytest.mark.parametrize(("name", "questions", "drawn"), [("A2S1", 6, 9), ("A2S2", 9, 9)])
def test_solved_notebook_passes_every_check_and_draws(all_run, name, questions, drawn):
    notebook = all_run[1][f"{name} solved"]
    said = outputs(notebook, "grader.check(")
    assert len(re.findall(r"✓ q\d_\d_\d \w+: passed", said)) == questions and "✗" not in said
    assert pictures(notebook) >= drawn
    assert "✗" not in outputs(notebook, "checkpoint(") and "not started" not in outputs(notebook)


@pytest.mark.slow
def test_the_three_checkpoints_agree_with_torch(all_run):
    assert outputs(all_run[1]["A2S2 solved"], "checkpoint(n_heads=").count("✓") == 3
    assert outputs(all_run[1]["A2S2 blank"], "checkpoint(n_heads=").count("not started yet") == 3


@pytest.mark.slow
def test_an_exception_is_placed_in_its_cell(all_run):
    said = outputs(all_run[1]["A2S2 blank"], 'grader.check("q2_1_3")').split("✗ ", 1)[1]
    number = [cell for cell in all_run[1]["A2S2 blank"]["cells"] if cell["cell_type"] == "code"][-2]["execution_count"]
    assert "attn_softmax: your code raised AttributeError" in said
    assert f"at cell [{number}] line 2: B = A.sotfmax(-1)" in said


def of_otter(course, results):
    """Points per exercise, as `otter run` gives them."""
    slugs = questions(course)
    return {slugs[test["name"]]: test["score"] for test in results["tests"] if test["name"] in slugs}


def possible(course, name):
    number = name[-1]
    return {slug: course.items[slug].points for question, slug in questions(course).items() if question[1] == number}


@pytest.mark.slow
def test_otter_gives_full_marks_to_the_solved_and_nothing_to_the_blank(all_run, course):
    for name in ("A2S1", "A2S2"):
        full = possible(course, name)
        assert of_otter(course, all_run[0][f"{name} solved"]) == full and sum(full.values()) in (18, 42)
        assert of_otter(course, all_run[0][f"{name} blank"]) == dict.fromkeys(full, 0)


@pytest.mark.slow
def test_otter_takes_exactly_the_near_miss_points(all_run, course):
    results = all_run[0]["A2S1 near miss"]
    assert of_otter(course, results) == possible(course, "A2S1") | {"key142": 0}
    (test,) = [test for test in results["tests"] if test["name"] == "q1_4_2"]
    assert "key142: error 0.1184, must be at most 0.05" in test["output"] and "must be longer" in test["output"]


def exported(text):
    """The notebook as Jupyter exports it."""
    return PythonExporter().from_notebook_node(nbformat.reads(text, 4))[0]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["py", "ipynb"])
@pytest.mark.parametrize("what", HANDED_IN)
def test_our_grader_gives_the_same_points(all_run, handed_in, course, warm, tmp_path, what, form):
    name = what.split()[0]
    files = {f"{name}.{form}": exported(handed_in[what]) if form == "py" else handed_in[what]}
    submission = tmp_path / "submission"
    lay_out(submission, files)
    wanted = list(possible(course, name))
    scores = dict.fromkeys(wanted, 0)
    for row in rows(course, warm(submission, wanted)):
        if row.item.slug in scores:
            scores[row.item.slug] += row.score
    assert scores == of_otter(course, all_run[0][what])


@pytest.mark.slow
def test_two_builds_give_the_same_bytes(zips, plan, tree, root, monkeypatch):
    """What students get is also compared with what is committed, whenever `release --check` runs."""
    monkeypatch.setattr(assign, "_assigned", assign._assigned.__wrapped__)
    plan = replace(plan, masters={"notebooks/A2S1.ipynb": plan.masters["notebooks/A2S1.ipynb"]})
    again = release.otter_zips(plan, tree, root / "tests/hidden")
    assert again == {"otter-A2S1.zip": zips["otter-A2S1.zip"]}


@pytest.mark.slow
def test_otters_zip_holds_checks_and_no_solution(zips, plan):
    for content in zips.values():
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            files = {entry: archive.read(entry) for entry in archive.namelist()}
        tests = [text for entry, text in files.items() if entry.startswith("tests/")]
        assert len(tests) in (6, 9) and all(b"OK_FORMAT = False" in text for text in tests)
        assert leaks(files, Secrets(plan.secrets.lines, {}, {})) == []
    assert "files/student/tests/hidden/attention/references/split_heads.safetensors" in files
    assert b"hidden=True" in files["tests/q2_3_1.py"]


@pytest.mark.slow
def test_student_tests_of_otter_hold_no_hidden_check(tree):
    tests = {name: text for name, text in tree.items() if name.startswith("notebooks/tests/")}
    assert len(tests) == 15 and not any(b"hidden'" in text or b"hidden=True" in text for text in tests.values())


def test_only_one_module_knows_otter(root):
    knowing = [
        path.name
        for path in sorted((root / "autograder").rglob("*.py"))
        if re.search(r"import otter|\"otter\"", path.read_text())
    ]
    assert knowing == ["assign.py"] or knowing == ["assign.py", "stand_ins.py"]  # the latter only never imports it


def test_what_otter_makes_of_a_stub_is_checked(plan):
    cells = masters.cells(release._expanded(plan, "notebooks/A2S1.ipynb"), "A2S1.py")
    student = {"cells": [{"metadata": {"tags": [assign.ANSWER]}, "source": "query121 = 10 * K[0]"}]}
    with pytest.raises(UserError, match="made something else of 'query121' than its stub"):
        assign._solved(student, cells)
    with pytest.raises(UserError, match="lost the cell of 'query121'"):
        assign._solved({"cells": []}, cells)


def test_a_question_that_no_course_grades_is_an_error():
    text = "# %% [markdown]\n# Title\n\n# %%\n# TODO(what)\n# BEGIN SOLUTION what\nx = 1\n# END SOLUTION what\n"
    with pytest.raises(UserError, match="a notebook asks for 'what', but the course does not grade it"):
        assign._master(masters.cells(text, "x.py"), read_course("default"), assign.CONFIG)


def test_when_otter_fails_its_last_line_is_told(tmp_path, monkeypatch):
    python = tmp_path / "python"
    monkeypatch.setattr(sys, "executable", str(python))
    for says, told in (
        ("ValueError: bad", "ValueError: bad"),
        ("", "it said nothing"),
        ("No module named otter", "pip"),
    ):
        python.write_text(f"#!/bin/sh\necho '{says}' >&2\nexit 1\n")
        python.chmod(0o700)
        with pytest.raises(UserError, match=rf"^otter assign failed on x\.ipynb: .*{told}"):
            assign._run_otter(tmp_path, "x.ipynb")


COLAB = """
import sys
sys.modules.update(dict.fromkeys(("otter", "matplotlib", "ipywidgets")))  # as if they were not installed
import json, pathlib, shutil
cells = [c for c in json.loads(pathlib.Path("mine.ipynb").read_text())["cells"] if c["cell_type"] == "code"]

def run():
    names = {"get_ipython": lambda: True, "__name__": "__main__"}
    for cell in cells:
        exec("".join(cell["source"]), names)
    print(repr(names["grader"].check("q1_2_1")))

run()
print("----")
pathlib.Path("later.zip").rename("student.zip")
run()
"""


@pytest.mark.slow
def test_in_colab_the_notebook_asks_for_the_zip_and_needs_nothing_else(tree, handed_in, tmp_path):
    """Only the notebook is there, without Otter and matplotlib; then student.zip is uploaded."""
    (tmp_path / "mine.ipynb").write_text(handed_in["A2S1 solved"])
    (tmp_path / "later.zip").write_bytes(zipped({f"student/{name}": content for name, content in tree.items()}))
    run = subprocess.run(
        [sys.executable, "-P", "-c", COLAB],
        cwd=tmp_path, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": ""},
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    before, after = run.stdout.split("----")
    assert "upload student.zip (in Colab: the folder on the left)" in before.splitlines()[0]
    assert before.count("Not checked: upload student.zip and run the first cell again.") == 7 and "passed" not in before
    assert "✓ q1_2_1 query121: passed" in after and "upload" not in after
