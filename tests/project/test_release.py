"""The student release: generated, proven, never half-written, and without anything secret."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from autograder.__main__ import main
from autograder.publishing import release
from autograder.publishing.leaks import Secrets, leaks, normalised
from autograder.publishing.parallel import imports, parallels


def run(repository: Path, *arguments: str) -> int:
    return main(["--root", str(repository), "release", *arguments])


def contents(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_committed_student_tree_is_up_to_date(root, capsys):
    assert main(["--root", str(root), "release", "--check"]) == 0, capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("changed", ["solutions/src/attention.py", "student/src/attention.py", "solutions/README.md"])
def test_check_catches_one_changed_line_and_changes_nothing(repository, capsys, changed):
    path = repository / changed
    path.write_text(path.read_text().replace("Axes are always", "Axes are never", 1).replace("need", "want", 1))
    before = contents(repository / "student")
    assert run(repository, "--check") == 1
    assert "student/ is not up to date" in capsys.readouterr().err
    assert contents(repository / "student") == before


@pytest.mark.slow
def test_check_catches_missing_and_extra_files(repository, capsys):
    (repository / "student/check.py").unlink()
    (repository / "student/mine.py").write_text("x = 1\n")
    assert run(repository, "--check") == 1
    errors = capsys.readouterr().err
    assert "check.py is missing" in errors and "mine.py was not made by release" in errors


@pytest.mark.slow
def test_release_repairs_the_tree(repository):
    (repository / "student/check.py").unlink()
    (repository / "student/src/dataset.py").write_text("spoilt\n")
    assert run(repository) == 0
    assert run(repository, "--check") == 0


@pytest.mark.slow
def test_release_never_deletes_what_it_did_not_make(repository, capsys):
    mine = repository / "student/notes.txt"
    mine.write_text("a day's work\n")
    assert run(repository) == 2
    assert "notes.txt was not made by release; move it away, or delete it with --prune" in capsys.readouterr().err
    assert mine.read_text() == "a day's work\n"
    assert run(repository, "--prune") == 0
    assert not mine.exists()


@pytest.mark.slow
def test_malformed_marker_is_one_line_and_leaves_the_tree_alone(repository, capsys):
    path = repository / "solutions/src/dataset.py"
    path.write_text(path.read_text().replace("# END SOLUTION span_corruption", "# END SOLUTION span"))
    before = contents(repository / "student")
    assert run(repository) == 2
    errors = capsys.readouterr().err
    assert errors.count("\n") == 1 and "dataset.py:" in errors and "'span' ends" in errors
    assert contents(repository / "student") == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "text", "complaint"),
    [
        ("solutions/handout/2-attention.md", "\nHint: `return torch.softmax(A, dim=-1)`\n", "copy of the solution at"),
        ("solutions/handout/2-attention.md", "\n    return A/math.sqrt( n_embd/n_heads )\n", "copy of the solution at"),
        ("solutions/src/attention.py", "\n# return y.transpose(1, 2).flatten(-2)\n", "copy of the solution at"),
        (
            "solutions/notebooks/A2S2.py",
            "\n# %% [markdown]\n# Hint: `return torch.softmax( A, dim = -1 )`\n",
            "notebooks/A2S2.ipynb: cell ",
        ),
        ("solutions/src/attention.py", "\n# END OF SOLUTION\n", None),
        ("solutions/README.md", "\n5AtOb?lWy3 d(nG)k1 JxQ8 fMvH6zcTp/RsE:iB uDq\n", "holds text of tests/hidden"),
    ],
)
def test_leaks_stop_the_release(repository, capsys, file, text, complaint):
    path = repository / file
    path.write_text(path.read_text() + text)
    before = contents(repository / "student")
    code = run(repository)
    if complaint is None:  # not a marker, not a secret
        assert code == 0
        return
    assert code == 1
    errors = capsys.readouterr().err
    assert complaint in errors and "nothing was written" in errors
    assert contents(repository / "student") == before


@pytest.mark.slow
def test_hidden_tensor_in_a_file_stops_the_release(repository, capsys):
    hidden = (repository / "tests/hidden/attention/references/split_heads.safetensors").read_bytes()
    public = repository / "tests/public/attention/references/split_heads.safetensors"
    public.write_bytes(hidden)
    assert run(repository) == 1
    assert "holds tests/hidden/attention/references/split_heads.safetensors: x of case" in capsys.readouterr().err


@pytest.mark.slow
def test_held_out_answers_stop_the_release(repository, capsys):
    answers = repository / "data/held_out/birth_test.tsv"
    answers.parent.mkdir(parents=True)
    answers.write_text("Where was Mara Quell born?\tLisbon\n")
    readme = repository / "solutions/README.md"
    readme.write_text(readme.read_text() + "\nWhere was Mara Quell born?\tLisbon\n")
    assert run(repository) == 1
    assert "README.md holds text of data/held_out/birth_test.tsv" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["{}\t{}", '["{}", "{}"]'])
def test_answers_to_test_questions_stop_the_release_and_those_to_dev_questions_do_not(form, tmp_path):
    names = {"dev": "Mara Quell", "test": "Ivo Brandt"}
    pairs = {split: [[f"Where was {name} born?", "Lisbon"]] for split, name in names.items()}
    (tmp_path / "answers.json").write_text(json.dumps(pairs | {"vocabulary": "abc"}))
    secrets = Secrets.read(tmp_path, solutions=[], answers=["answers.json"])
    texts = {split: form.format(*pair[0]).encode() for split, pair in pairs.items()}
    assert leaks(texts | {"questions": b"Where was Ivo Brandt born?\n"}, secrets) == ["test holds text of answers.json"]


def test_marker_in_the_tree_is_a_leak():
    found = leaks({"a.md": b"text\n# BEGIN SOLUTION x\n"}, Secrets({}, {}, {}))
    assert found == ["a.md:2 holds a marker"]


def planted(**cell):
    cells = [{"cell_type": "code", "source": ["x = 1\n"], "metadata": {}, "outputs": []}]
    return json.dumps({"cells": [*cells, {**cells[0], **cell}], "metadata": cell.get("notebook", {})}).encode()


@pytest.mark.parametrize(
    ("notebook", "place"),
    [
        (planted(source=["y = 2\n", 'print("α")\n', "    return  math.sqrt(A) / B  # why\n"]), "a.ipynb: cell 2"),
        (planted(source="    return math.sqrt(A) / B"), "a.ipynb: cell 2"),
        (
            planted(outputs=[{"data": {"text/plain": ["def f():\n", "    return math.sqrt(A)/B"]}}]),
            "a.ipynb: cell 2's outputs",
        ),
        (planted(metadata={"otter": {"tests": {"q1": "\n\nreturn math.sqrt(A) / B\n"}}}), "a.ipynb: cell 2"),
        (planted(notebook={"note": "return math.sqrt(A) / B"}), "a.ipynb: metadata"),
    ],
)
def test_solution_line_in_a_notebook_is_a_leak_wherever_it_is(notebook, place):
    secrets = Secrets({normalised("return math.sqrt(A) / B"): "s.py:2"}, {}, {})
    found = leaks({"a.ipynb": notebook}, secrets)
    assert any(line.startswith(place) and "copy of the solution at s.py:2" in line for line in found)
    assert leaks({"a.ipynb": notebook}, Secrets({}, {}, {})) == []


def test_hidden_text_and_markers_in_a_notebook_are_leaks():
    notebook = planted(source=["# BEGIN SOLUTION x\n", "corpus = 'été \"quoted\" text'\n"])
    found = leaks({"a.ipynb": notebook}, Secrets({}, {'été "quoted" text': "tests/hidden/test_x.py:3"}, {}))
    assert found == ["a.ipynb: cell 2 holds text of tests/hidden/test_x.py:3", "a.ipynb: cell 2:1 holds a marker"]


def test_a_notebook_that_lost_a_cell_is_not_fit_to_go_out(root):
    plan = release.read_plan(root / "solutions/release.toml", root)
    tree = release.build(plan)
    notebook = json.loads(tree["notebooks/A2S1.ipynb"])
    notebook["cells"] = [cell for cell in notebook["cells"] if "def error(" not in "".join(cell["source"])]
    wrong = release.prove(plan, tree | {"notebooks/A2S1.ipynb": json.dumps(notebook).encode()})
    assert any("'error' has another signature" in line for line in wrong)
    assert any(line.startswith("notebooks/A2S1.ipynb: a cell is missing or changed: 'def attention") for line in wrong)


@pytest.mark.slow
def test_pattern_that_matches_nothing_is_an_error(repository, capsys):
    (repository / "solutions/requirements.txt").unlink()
    assert run(repository) == 2
    assert "solutions/requirements.txt matches no file" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("text", ["copy = 3", "[[copy]]\nfrom = 'solutions'", "not toml"])
def test_wrong_release_file_is_one_line(repository, capsys, text):
    (repository / "solutions/release.toml").write_text(text)
    assert run(repository) == 2
    errors = capsys.readouterr().err
    assert errors.count("\n") == 1 and "release.toml" in errors


@pytest.mark.slow
def test_zip_is_reproducible_and_complete(repository):
    made = []
    for _ in range(2):
        assert run(repository, "--zip") == 0
        made.append((repository / "dist/student.zip").read_bytes())
        (repository / "dist/student.zip").unlink()
    assert made[0] == made[1]
    tree = release.build(release.read_plan(repository / "solutions/release.toml", repository))
    (repository / "student.zip").write_bytes(made[0])
    with zipfile.ZipFile(repository / "student.zip") as archive:
        assert archive.testzip() is None
        assert sorted(archive.namelist()) == sorted(f"student/{name}" for name in tree)


def test_parallel_trees_notice_signatures_defaults_docstrings():
    solution = (
        'def f(x, n=1):\n    """Do."""\n    # TODO(f): do\n    # BEGIN SOLUTION f\n    return 1\n    # END SOLUTION f\n'
    )
    stub = 'def f(x, n=1):\n    """Do."""\n    # TODO(f): do\n    raise NotImplementedError("f is not started yet")\n'
    assert parallels("a.py", solution, stub) == []
    for spoilt in (stub.replace("n=1", "n=2"), stub.replace("Do.", "Done."), stub.replace("(x,", "(y,")):
        assert parallels("a.py", solution, spoilt) == ["a.py: 'f' has another signature or docstring than the solution"]
    assert "no TODO(f)" in parallels("a.py", solution.replace("TODO(f)", "Note"), stub)[0]
    assert "does not parse" in parallels("a.py", solution, "def f(:\n")[0]


def test_release_that_does_not_import_is_noticed():
    assert imports({"src/a.py": b"import nothing_of_that_name\n"}) == [
        "src/a.py does not import: ModuleNotFoundError: No module named 'nothing_of_that_name'"
    ]
    assert imports({"src/a.py": b"import os\nos._exit(0)\n"}) == ["importing the release ended the process"]
    assert imports({"src/a.py": b"import autograder\n"})[0].startswith("src/a.py does not import")


def test_normalised_sees_through_disguise():
    assert normalised("    return A / B  # quick") == normalised("# RETURN A/B")


@pytest.mark.slow
def test_student_tree_stands_alone(repository, tmp_path_factory):
    """The check runs from the student tree alone, outside of the repository."""
    alone = tmp_path_factory.mktemp("alone")
    for name, content in contents(repository / "student").items():
        (alone / name).parent.mkdir(parents=True, exist_ok=True)
        (alone / name).write_bytes(content)
    for name in ("src/attention.py", "src/dataset.py", "notebooks/A2S1.py"):
        (alone / name).write_text((repository / "solutions" / name).read_text())
    for trained in (repository / "solutions/trained").iterdir():
        shutil.copy(trained, alone)
    run_check = subprocess.run([sys.executable, "check.py"], cwd=alone, capture_output=True, text=True, check=False)
    assert run_check.returncode == 0, run_check.stdout + run_check.stderr
    assert "27 of 27 pass" in run_check.stdout
