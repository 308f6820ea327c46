"""A whole class: resumed runs, the gradebook, the overview, single looks, and a cluster."""

from __future__ import annotations

import csv
import io
import json
import logging
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from distributed import LocalCluster

from autograder import class_run, cluster
from autograder.__main__ import main
from autograder.course import read_course
from autograder.errors import UserError
from autograder.grade import trouble_with
from autograder.gradebook import gradebook, harmless, summary
from autograder.records import Record, read_result
from autograder.results import rows
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


# Clusters: real ones, of several processes on this machine


@contextmanager
def cluster_of(workers: int, folder: Path) -> Iterator[LocalCluster]:
    with LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
        local_directory=str(folder / "dask"),
        silence_logs=logging.CRITICAL,
    ) as made:
        yield made


def kill(cluster: LocalCluster, count: int | None = None) -> None:
    for worker in list(cluster.workers.values())[:count]:
        os.kill(worker.pid, signal.SIGKILL)


def test_a_cluster_gives_the_same_files_whoever_is_killed(root, course, class_folder, tmp_path, monkeypatch):
    """Three worker processes: one is killed while it works, then all at once, with everything that they were sent."""
    here, there = tmp_path / "here", tmp_path / "there"
    for number in range(6):  # enough for all workers to have something to do
        (class_folder / f"more{number}" / "src").mkdir(parents=True)
        (class_folder / f"more{number}" / "src" / "attention.py").write_text(SPLIT + MERGE + f"# {number}\n")
    grade(root, course, here, class_folder)
    told, seen = class_run.Progress.told, []
    with cluster_of(3, tmp_path) as made:

        def and_kill(self, one):
            told(self, one)
            seen.append(one)
            if len(seen) in (2, 4):
                kill(made, 1 if len(seen) == 2 else None)

        monkeypatch.setattr(class_run.Progress, "told", and_kill)
        assert grade(root, course, there, class_folder, "--dask", made.scheduler_address) == 1  # one zip is broken
    assert len(seen) == 12 and contents(there) == contents(here)


def test_a_cluster_without_workers_is_waited_for(root, course, class_folder, tmp_path, monkeypatch, capsys):
    """As on SLURM, where they come when the queue lets them."""
    places, seen = cluster._Spread._places, []
    with cluster_of(0, tmp_path) as made:

        def and_grow(self):
            seen.append(places(self))
            if seen == [0]:
                made.scale(1)
            return seen[-1]

        monkeypatch.setattr(cluster._Spread, "_places", and_grow)
        monkeypatch.setattr(cluster, "PATIENCE", 5)
        assert grade(root, course, tmp_path / "out", class_folder, "--dask", made.scheduler_address) == 1
    told = capsys.readouterr()
    assert told.err.count("has no workers now; waiting for some (Ctrl-C ends it)") == 1
    assert seen[0] == 0 and seen[-1] == 1 and "5 graded, 1 could not be graded" in told.out


def test_a_worker_with_another_grader_is_not_believed(root, course, class_folder, tmp_path, monkeypatch, capsys):
    with cluster_of(1, tmp_path) as made:
        monkeypatch.setattr(cluster, "grader_digest", lambda: "another")  # here, and not in the worker
        assert grade(root, course, tmp_path / "out", class_folder, "--dask", made.scheduler_address) == 2
        assert "has another version of this package; install the same on all machines" in capsys.readouterr().err
        monkeypatch.undo()
        assert grade(root, course, tmp_path / "out", class_folder / "ada", "--dask", made.scheduler_address) == 0


def test_a_worker_without_the_package_is_one_line(root, course, class_folder, tmp_path, capsys):
    with cluster_of(0, tmp_path) as made:
        command = [sys.executable, "-P", "-m", "dask", "worker", made.scheduler_address, "--no-dashboard", "--no-nanny"]
        alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        with subprocess.Popen(
            [*command, "--nthreads", "1"], cwd=tmp_path, env=alone, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as worker:
            try:
                assert grade(root, course, tmp_path / "out", class_folder, "--dask", made.scheduler_address) == 2
            finally:
                worker.terminate()
    assert "cannot load the grader (No module named 'autograder'); it needs this package" in capsys.readouterr().err


def test_a_scheduler_that_goes_is_one_line_and_what_is_graded_is_kept(
    root, course, class_folder, tmp_path, monkeypatch, capsys
):
    told, out = class_run.Progress.told, tmp_path / "out"
    with cluster_of(1, tmp_path) as made:

        def and_close(self, one):
            told(self, one)
            if not one.trouble:
                made.close()

        monkeypatch.setattr(class_run.Progress, "told", and_close)
        monkeypatch.setattr(cluster, "PATIENCE", 2)
        assert grade(root, course, out, class_folder, "--dask", made.scheduler_address) == 2
    assert "is gone; what is graded is kept; run the same command again to go on" in capsys.readouterr().err
    monkeypatch.undo()
    assert grade(root, course, out, class_folder) == 1
    assert "5 graded (1 of them before)" in capsys.readouterr().out


def test_what_a_cluster_could_not_do_says_why(course):
    """A task that kills every worker it meets, say."""
    done = []
    spread = SimpleNamespace(done=lambda tree, examined: done.append(examined), address="there")
    cluster._Spread._tell_error(spread, None, RuntimeError("lost\n  three times"))
    told = trouble_with([], rows(read_course(str(course)), []), done[0].trouble)
    assert told == "some checks could not be run; the fault is ours (RuntimeError: lost three times)"
    with pytest.raises(UserError, match="isolate"):
        cluster._Spread._tell_error(spread, None, UserError("cannot isolate"))


def test_no_scheduler_is_one_line(root, course, class_folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE", 1)
    assert grade(root, course, tmp_path / "out", class_folder, "--dask", "tcp://127.0.0.1:1") == 2
    assert "no Dask scheduler answers at tcp://127.0.0.1:1" in capsys.readouterr().err
