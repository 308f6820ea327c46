"""A whole class: resumed runs, the gradebook, the overview, single looks, and a cluster."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from autograder.__main__ import main
from autograder.course import read_course
from autograder.gradebook import gradebook, harmless, summary
from autograder.records import Record, read_result
from autograder.roster import Student

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="isolation needs Linux")

COURSE = """
title = "Heads"
[totals]
required = 8
extra_credit = 0
[[section]]
title = "2 Heads"
files = ["src/attention.py"]
deadline = 5
exercises = [
    { slug = "split_heads", handout = "2.3", public = 1, hidden = 3 },
    { slug = "merge_heads", handout = "2.3", public = 1, hidden = 3 },
]
"""
SPLIT = "def split_heads(x, n_heads):\n    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)\n"
MERGE = "def merge_heads(y):\n    return y.transpose(1, 2).flatten(-2)\n"
WRONG = "def merge_heads(y):\n    return y.reshape(y.size(0), y.size(2), -1)\n"
SUBMISSIONS = {
    "ada": SPLIT + MERGE,
    "bob": SPLIT + WRONG,
    "cleo": SPLIT,
    "dan": "def split_heads(:\n",
    "eve": "import os\n" + SPLIT + "def merge_heads(y):\n    os._exit(1)\n",
}
SCORES = {"ada": 8, "bob": 4, "cleo": 4, "dan": 0, "eve": 4}


@pytest.fixture
def course(tmp_path) -> Path:
    path = tmp_path / "heads.toml"
    path.write_text(COURSE)
    return path


@pytest.fixture
def class_folder(tmp_path) -> Path:
    folder = tmp_path / "class"
    for name, text in SUBMISSIONS.items():
        (folder / name / "src").mkdir(parents=True)
        (folder / name / "src" / "attention.py").write_text(text)
    (folder / "broken.zip").write_bytes(b"PK\x03\x04 this is no zip")
    return folder


def grade(root, course, out, *arguments) -> int:
    return main(["--root", str(root), "grade", "--course", str(course), "--out", str(out), *map(str, arguments)])


def contents(out: Path) -> dict[str, str]:
    """Every file of a run, without the times in it."""
    return {
        path.relative_to(out).as_posix(): re.sub(r'"execution_time": [\d.]+', "", path.read_text())
        for path in sorted(out.rglob("*"))
        if path.is_file()
    }


def test_a_class_is_graded_into_all_its_files(root, course, class_folder, tmp_path, capsys):
    out = tmp_path / "out"
    assert grade(root, course, out, class_folder) == 1  # one zip is broken
    assert "5 graded, 1 could not be graded" in capsys.readouterr().out
    assert {name: read_result(out / name / "results.json")["score"] for name in SCORES} == SCORES
    rows = list(csv.DictReader(io.StringIO((out / "gradebook.csv").read_bytes().decode("utf-8-sig"))))
    assert {row["Submission"]: row["Total"] for row in rows} == {k: str(v) for k, v in SCORES.items()} | {"broken": ""}
    assert [row["merge_heads"] for row in rows if row["Submission"] == "bob"] == ["0"]
    overview = json.loads((out / "summary.json").read_text())
    assert [one["cause"] for one in overview["mistakes"]] == ["merge_heads.reshape_without_transpose"]
    assert "not a zip" in next(one["trouble"] for one in overview["students"] if one["id"] == "broken")
    assert (out / "index.html").read_text().startswith("<!DOCTYPE html>")


def test_what_is_graded_is_kept_until_something_changes(root, course, class_folder, tmp_path, capsys):
    out = tmp_path / "out"
    grade(root, course, out, class_folder)
    before = contents(out)
    capsys.readouterr()
    grade(root, course, out, class_folder)
    shown = capsys.readouterr().out
    assert "(5 of them before)" in shown and contents(out) == before
    (class_folder / "bob/src/attention.py").write_text(SPLIT + MERGE)
    grade(root, course, out, class_folder)
    assert "(4 of them before)" in capsys.readouterr().out
    assert read_result(out / "bob/results.json")["score"] == 8
    course.write_text(COURSE.replace("deadline = 5", "deadline = 6"))
    grade(root, course, out, class_folder)
    assert "of them before" not in capsys.readouterr().out
    grade(root, course, out, class_folder, "--regrade", "--only", "a*")
    assert "ada" in (shown := capsys.readouterr().out) and "(kept)" not in shown and "bob" not in shown


def test_a_damaged_result_is_made_anew(root, course, class_folder, tmp_path):
    out = tmp_path / "out"
    grade(root, course, out, class_folder / "ada")
    whole = contents(out)
    (out / "ada/results.json").write_bytes((out / "ada/results.json").read_bytes()[:-20])
    for spoil in (b"", b"{", b'{"score": 8}', b"[]", (out / "ada/results.json").read_bytes()):
        (tmp_path / "spoilt.json").write_bytes(spoil)
        assert read_result(tmp_path / "spoilt.json") is None
    grade(root, course, out, class_folder / "ada")
    assert contents(out) == whole


def test_killed_at_any_moment_the_same_command_goes_on(root, course, class_folder, tmp_path):
    whole = tmp_path / "whole"
    grade(root, course, whole, class_folder)
    out = tmp_path / "out"
    command = [sys.executable, "-m", "autograder", "--root", str(root), "grade", "--course", str(course)]
    command += ["--out", str(out), "--jobs", "1", str(class_folder)]
    for enough, how in [(1, signal.SIGKILL), (3, signal.SIGINT)]:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=root)
        while process.poll() is None and len(list(out.glob("*/results.json"))) < enough:
            time.sleep(0.01)
        process.send_signal(how)
        process.wait()
    grade(root, course, out, class_folder)
    assert contents(out) == contents(whole)


def test_no_submission_takes_the_place_of_a_file_about_the_class(root, course, tmp_path):
    """A file's name is the student's own choice."""
    folder, out = tmp_path / "class", tmp_path / "out"
    for name in ("index.html", "Gradebook.csv", "similar"):
        (folder / name / "src").mkdir(parents=True)
        (folder / name / "src" / "attention.py").write_text(SPLIT + MERGE)
    assert grade(root, course, out, folder) == 0
    assert (out / "index.html").is_file() and (out / "gradebook.csv").is_file()
    assert {path.parent.name for path in out.glob("*/results.json")} == {"index.html-2", "Gradebook.csv-2", "similar-2"}


def test_one_student_is_shown_in_full(root, course, class_folder, tmp_path, capsys):
    out = tmp_path / "out"
    assert grade(root, course, out, class_folder, "--student", "bob") == 0
    shown = capsys.readouterr().out
    assert "Fix first: merge_heads: Heads and tokens are mixed up" in " ".join(shown.split())
    assert "merge_heads (hidden): 0 / 3" in shown and max(map(len, shown.splitlines())) <= 80
    assert not (out / "gradebook.csv").exists()
    assert grade(root, course, out, class_folder, "--student", "nobody") == 2
    assert "no submission matches nobody" in capsys.readouterr().err
    assert grade(root, course, out, class_folder, "--student", "*") == 2
    assert "6 submissions match *" in capsys.readouterr().err


def record(**fields) -> Record:
    student = Student(
        **{"id": "s1", "name": "Ada", **{k: v for k, v in fields.items() if k in ("id", "name", "email")}}
    )
    usual = {"score": 8, "exercises": {"split_heads": 4, "merge_heads": 4}, "lost": (), "causes": {}, "advice": ""}
    usual |= {"trouble": "", "isolation": "ordinary user", "seconds": 1.0}
    return Record(student, **(usual | {k: v for k, v in fields.items() if k in usual}))


@pytest.mark.parametrize("name", ["=HYPERLINK(1)", "+1", "-1", "@x", "\t=1", " =1", '=cmd|"/c calc"!A1'])
def test_no_name_is_a_formula(course, name):
    text = gradebook(read_course(str(course)), [record(name=name, id="x", email=name)]).decode("utf-8-sig")
    row = next(csv.DictReader(io.StringIO(text)))
    assert row["Student"].startswith("'") and row["Email"].startswith("'") and row["Total"] == "8"
    assert harmless("Ada O'Neil-Smith") == "Ada O'Neil-Smith"


def test_the_summary_counts_roots_and_leaves_out_what_could_not_be_graded(course):
    mistakes = {"merge_heads.x": "You mix."}
    records = [
        record(id="a", score=4, exercises={"split_heads": 4, "merge_heads": 0}, causes=mistakes),
        record(id="b", score=4, exercises={"split_heads": 4, "merge_heads": 0}, causes=mistakes),
        record(id="c"),
        record(id="d", trouble="not a zip", score=0, exercises={}),
    ]
    made = summary(read_course(str(course)), records)
    assert [(one["slug"], one["full"]) for one in made["exercises"]] == [("split_heads", 3), ("merge_heads", 1)]
    assert [(one["cause"], one["count"], one["students"]) for one in made["mistakes"]] == [
        ("merge_heads.x", 2, ["a", "b"])
    ]


def test_a_cluster_gives_the_same_files_though_a_worker_is_killed(root, course, class_folder, tmp_path, monkeypatch):
    """A real local cluster of three worker processes; one of them is killed while it works."""
    distributed = pytest.importorskip("distributed")
    from autograder import class_run

    here, there = tmp_path / "here", tmp_path / "there"
    for number in range(6):  # enough for all workers to have something to do
        (class_folder / f"more{number}" / "src").mkdir(parents=True)
        (class_folder / f"more{number}" / "src" / "attention.py").write_text(SPLIT + MERGE + f"# {number}\n")
    grade(root, course, here, class_folder)
    with distributed.LocalCluster(
        n_workers=3, threads_per_worker=1, processes=True, dashboard_address=None, local_directory=str(tmp_path)
    ) as cluster:
        victim = next(iter(cluster.workers.values())).pid
        killed = []
        told = class_run.Progress.told

        def and_kill(self, one):
            if not killed and not one.trouble:
                killed.append(victim)
                os.kill(victim, signal.SIGKILL)
            told(self, one)

        monkeypatch.setattr(class_run.Progress, "told", and_kill)
        grade(root, course, there, class_folder, "--dask", cluster.scheduler_address)
    assert killed and contents(there) == contents(here)


def test_no_scheduler_is_one_line(root, course, class_folder, tmp_path, capsys, monkeypatch):
    from autograder import cluster

    monkeypatch.setattr(cluster, "PATIENCE", 1)
    assert grade(root, course, tmp_path / "out", class_folder, "--dask", "tcp://127.0.0.1:1") == 2
    assert "no Dask scheduler answers at tcp://127.0.0.1:1" in capsys.readouterr().err
