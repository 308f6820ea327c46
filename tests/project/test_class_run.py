"""A whole class: resumed runs, the gradebook, the overview, single looks, and a cluster."""

from __future__ import annotations

import csv
import errno
import faulthandler
import io
import json
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from distributed import Client, LocalCluster

from autograder.__main__ import main
from autograder.checking.courses import read_course
from autograder.checking.engine import Examiner
from autograder.checking.points import rows
from autograder.classroom import class_run, cluster, columns
from autograder.classroom.gradebook import canvas, gradebook, harmless, summary
from autograder.classroom.roster import Student
from autograder.errors import UserError
from autograder.files import write_files, zipped
from autograder.grading import grade as grade_module
from autograder.grading.dens import den
from autograder.grading.grade import trouble_with
from autograder.grading.results_file import text_of
from autograder.grading.summaries import Note, Record, digest_of, read_result
from autograder.intake import clean_tree
from autograder.intake.people import Person
from autograder.isolation.forks import run_limited
from autograder.pages.class_page import overview

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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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
    person = Person(fields.get("name", "Ada"), email=fields.get("email", ""))
    student = Student(fields.get("id", "s1"), fields.get("people", (person,)))
    usual = {"score": 8, "exercises": {"split_heads": 4, "merge_heads": 4}, "lost": (), "causes": {}, "advice": ""}
    usual |= {"trouble": "", "isolation": "ordinary user", "seconds": 1.0, "kept": False, "notes": (), "refused": ()}
    return Record(student, **(usual | {k: v for k, v in fields.items() if k in usual}))


@pytest.mark.parametrize("name", ["=HYPERLINK(1)", "+1", "-1", "@x", "\t=1", " =1", '=cmd|"/c calc"!A1'])
def test_no_name_is_a_formula(course, name):
    records = [record(name=name, id="x", email=name)]
    (row,) = rows_of(gradebook(read_course(str(course)), records))
    assert row["Student"].startswith("'") and row["Email"].startswith("'") and row["Total"] == "8"
    assert rows_of(canvas(read_course(str(course)), records))[1]["Student"].startswith("'")
    assert harmless("Ada O'Neil-Smith") == "Ada O'Neil-Smith"


SIGNS = [chr(code) for code in range(0x110000) if unicodedata.normalize("NFKC", chr(code))[0] in "=+-@\u2212"]
ENDS = [*";,|\t\r\n\0\v\f\x1e\x85"]
UNSEEN = ["", " ", "\u00a0", "\u3000", "\u200b", "\ufeff", "\u202e", '"', ' " ', "\0", "\x1f\u2003"]


@pytest.mark.parametrize("sign", SIGNS)
def test_no_part_of_a_text_is_a_formula(sign):
    """Whatever a spreadsheet takes for the end of a cell or for nothing, and however wide the sign is."""
    assert {*"=+-@＝＋－＠"} <= {*SIGNS}
    for before in ["", *(f"a{end}" for end in ENDS)]:
        for unseen in UNSEEN:
            assert re.search(f"(^|[;,|\0-\x1f\x85])'[^a=]*{re.escape(sign)}", harmless(f"{before}{unseen}{sign}1"))


def test_a_long_text_is_made_harmless_without_going_over_it_again_and_again():
    for text in ("\t" * 300_000, " " * 300_000, "; " * 150_000, ' "' * 150_000):
        run_limited(lambda text=text: len(harmless(text)), seconds=10, memory=200 << 20)


def test_notes_and_what_was_refused_reach_gradebook_and_summary(course):
    cuda, renamed = (
        Note("split_heads", "asks for cuda; run on the CPU"),
        Note("", "=A2S2 (1).ipynb was taken for A2S2.ipynb"),
    )
    records = [
        record(id="a", notes=(renamed, cuda), refused=("fork", "socket")),
        record(id="b", notes=(cuda,)),
        record(id="c", refused=("fork",), trouble="some checks could not be run"),
    ]
    table = gradebook(read_course(str(course)), records)
    assert table.decode("utf-8-sig").splitlines()[0].endswith(",Total,notes,refused")
    assert [(row["notes"], row["refused"]) for row in rows_of(table)] == [
        ("'=A2S2 (1).ipynb was taken for A2S2.ipynb; split_heads: asks for cuda; run on the CPU", "fork, socket"),
        ("split_heads: asks for cuda; run on the CPU", ""),
        ("", "fork"),
    ]
    made = summary(read_course(str(course)), records)
    assert [(one["exercise"], one["count"], one["students"]) for one in made["notes"]] == [
        ("split_heads", 2, ["a", "b"]),
        ("", 1, ["a"]),
    ]
    assert made["refused"] == [
        {"what": "fork", "students": ["a", "c"], "count": 2},
        {"what": "socket", "students": ["a"], "count": 1},
    ]
    assert made["students"][1]["notes"] == [{"exercise": "split_heads", "note": "asks for cuda; run on the CPU"}]
    assert [one["refused"] for one in made["students"]] == [["fork", "socket"], [], ["fork"]]


def test_notes_that_differ_only_in_names_are_one_line(course):
    files = ["'Copy of A2S2.ipynb'", "'A2S2 (1).ipynb'", "a2s2.ipynb"]
    records = [record(id=str(n), notes=(Note("", f"{file} was taken for A2S2.ipynb"),)) for n, file in enumerate(files)]
    records.append(record(id="x", notes=(Note("", "'a.zip' was opened"),)))
    made = summary(read_course(str(course)), records)
    assert [(one["note"], one["students"]) for one in made["notes"]] == [
        ("… was taken for …", ["0", "1", "2"]),
        ("'a.zip' was opened", ["x"]),
    ]
    assert 'data-find="was taken for"' in overview(made)


def test_a_record_knows_notes_and_what_was_refused(root, course, class_folder, tmp_path, capsys):
    out = tmp_path / "out"
    grade(root, course, out, class_folder / "ada")
    content = read_result(out / "ada/results.json")
    assert Record.of(content).notes == () and Record.of(content).refused == ()  # also of results that have no such key
    note = {"exercise": "split_heads", "note": "asks for cuda; run on the CPU"}
    content["extra_data"] |= {"notes": [note, note], "refused": ["socket", "fork", "fork"]}
    claim = {"claim": "lists are taken", "counts": "note", "verdict": "failed", "cause": "", "message": None}
    content["tests"][0]["extra_data"]["checks"].append(claim)
    found = Record.of(content)
    assert found.refused == ("fork", "socket")
    assert [one.text() for one in found.notes] == [
        *("split_heads: asks for cuda; run on the CPU", "split_heads: this does not hold: lists are taken"),
    ]
    content["tests"][0]["score"] = 0
    content["tests"][0]["extra_data"]["verdict"] = "failed"
    assert len(Record.of(content).notes) == 1  # what else does not hold may only follow from that
    content["extra_data"]["digest"] = digest_of(content)
    (out / "ada/results.json").write_bytes(text_of(content))
    capsys.readouterr()
    class_run._look(out, [found])
    shown = capsys.readouterr().out
    assert "note: split_heads: asks for cuda; run on the CPU" in shown and "tried, and refused: fork, socket" in shown


def rows_of(table: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(table.decode("utf-8-sig"))))


def test_each_member_of_a_group_has_a_row(course):
    people = (Person("Ada, Countess", "7", "ada@x.edu"), Person('Zoë "Z"', "8", "zoe@x.edu", "12345"))
    records = [record(id="both", people=people), record(id="nobody", people=(), trouble="not a zip")]
    rows = rows_of(gradebook(read_course(str(course)), records))
    told = [(row["Student"], row["SIS User ID"], row["Email"], row["Submission"], row["Total"]) for row in rows]
    assert told == [
        ("Ada, Countess", "7", "ada@x.edu", "both", "8"),
        ('Zoë "Z"', "8", "zoe@x.edu", "both", "8"),
        ("nobody", "", "", "nobody", ""),
    ]
    assert [row["merge_heads"] for row in rows] == ["4", "4", ""]
    shown = summary(read_course(str(course)), records)["students"]
    assert [(one["people"], one["score"], one["exercises"]) for one in shown] == [
        (2, 8, records[0].exercises),
        (1, None, {}),
    ]


def test_canvas_gets_what_it_takes_for_one_assignment(course):
    """To Canvas, every further column is an assignment, and this row says what it is worth."""
    extra = (
        COURSE.replace('"Heads"', '"=Heads"')
        .replace("required = 8", "required = 4")
        .replace("credit = 0", "credit = 4")
    )
    course.with_name("extra.toml").write_text(
        extra.replace("public = 1, hidden = 3 },\n]", "public = 1, hidden = 3, extra_credit = true },\n]")
    )
    lines = canvas(read_course(str(course.with_name("extra.toml"))), []).decode("utf-8-sig").splitlines()
    assert lines == ["Student,ID,SIS User ID,SIS Login ID,Section,'=Heads", "    Points Possible,,,,,4"]
    people = (Person("Ada", "7", "ada@x.edu"), Person("Zoë", canvas="12345"))
    lines = canvas(read_course(str(course)), [record(people=people)]).decode("utf-8-sig").splitlines()
    assert lines == [
        "Student,ID,SIS User ID,SIS Login ID,Section,Heads",
        "    Points Possible,,,,,8",
        "Ada,,7,ada@x.edu,,8",
        "Zoë,12345,,,,8",
    ]


def test_the_summary_counts_roots_and_leaves_out_what_could_not_be_graded(course):
    mistakes, both = {"merge_heads.x": "You mix."}, {"merge_heads.x + merge_heads.y": "Two at once."}
    records = [
        record(id="a", score=4, exercises={"split_heads": 4, "merge_heads": 0}, causes=mistakes),
        record(id="b", score=4, exercises={"split_heads": 4, "merge_heads": 0}, causes=both),
        record(id="c"),
        record(id="d", trouble="not a zip", score=0, exercises={}),
    ]
    made = summary(read_course(str(course)), records)
    assert [(one["slug"], one["full"]) for one in made["exercises"]] == [("split_heads", 3), ("merge_heads", 1)]
    assert [(one["cause"], one["count"], one["students"], one["says"]) for one in made["mistakes"]] == [
        ("merge_heads.x", 2, ["a", "b"], "You mix."),
        ("merge_heads.y", 1, ["b"], "Two at once."),
    ]


EXPORT = b"""
submission_1:
  :submitters:
  - :name: Ada
    :email: ada@x.edu
  - :name: Zed
    :email: zed@x.edu
    :sid: '77'
  :created_at: 2026-11-16 00:30:00 Z
submission_2:
  :submitters:
  - :name: Bob
  :created_at: 2026-11-15 23:30:00 Z
"""


@pytest.fixture
def export(tmp_path) -> Path:
    folder = tmp_path / "export"
    for number in (1, 2):
        (folder / f"submission_{number}" / "src").mkdir(parents=True)
        (folder / f"submission_{number}" / "src" / "attention.py").write_text(SPLIT)
    (folder / "submission_metadata.yml").write_bytes(EXPORT)
    return folder


@pytest.mark.slow
def test_lateness_goes_by_the_time_that_is_given(root, course, export, tmp_path, capsys):
    out = tmp_path / "out"
    assert grade(root, course, out, export, "--due", "2026-11-15 23:59+00:00") == 0
    rows = rows_of((out / "gradebook.csv").read_bytes())
    assert [(row["Student"], row["Late"]) for row in rows] == [
        ("Ada", "31 min late"),
        ("Zed", "31 min late"),
        ("Bob", ""),
    ]
    assert rows[0]["Submitted"] == "2026-11-16 00:30:00+00:00"
    told = EXPORT.replace(b"submission_2", b"  :lateness_in_seconds: 0\nsubmission_2")  # there is an extension
    (export / "submission_metadata.yml").write_bytes(told.replace(b"  :created_at: 2026-11-15 23:30:00 Z", b""))
    assert grade(root, course, out, export, "--due", "2026-11-15 23:59+00:00") == 0
    assert {row["Late"] for row in rows_of((out / "gradebook.csv").read_bytes())} == {""}
    assert "note: --due says nothing of 1 submission without a time" in capsys.readouterr().err
    (export / "submission_metadata.yml").write_bytes(EXPORT)
    assert grade(root, course, out, export) == 0  # results are kept, and what is said of the student is as it is now
    assert {row["Late"] for row in rows_of((out / "gradebook.csv").read_bytes())} == {""}


@pytest.mark.slow
@pytest.mark.parametrize("who", ["zed", "ZED@x.edu", "77", "ada", "submission_1"])
def test_any_member_stands_for_a_group(root, course, export, tmp_path, who, capsys):
    assert grade(root, course, tmp_path / "out", export, "--student", who) == 0
    assert "submission_1 Ada; Zed 77 ada@x.edu; zed@x.edu" in capsys.readouterr().out


@pytest.mark.slow
def test_a_look_at_some_says_that_the_class_is_as_it_was(root, course, class_folder, tmp_path, capsys):
    out = tmp_path / "out"
    for more in (["--student", "bob"], ["--only", "bob"]):
        assert grade(root, course, out, class_folder, *more) == 0
        assert "as they were before" not in capsys.readouterr().out  # there is nothing yet
    grade(root, course, out, class_folder)
    for more in (["--student", "bob"], ["--only", "bob"]):
        capsys.readouterr()
        assert grade(root, course, out, class_folder, *more) == 0
        assert "about the whole class, and as they were before" in capsys.readouterr().out
    assert grade(root, course, out, class_folder, "--only", "bob", "--similar") == 2
    assert "--similar compares the whole class" in capsys.readouterr().err
    assert grade(root, course, out, class_folder, "--student", "broken") == 1
    shown = capsys.readouterr().out
    assert "could not be graded: 'broken.zip' is not a zip" in shown and "split_heads" not in shown


def test_what_has_nothing_in_it_to_grade_has_no_points_and_a_reason(root, course, export, tmp_path, capsys):
    (export / "submission_2/src/attention.py").rename(export / "submission_2/work.rar")
    assert grade(root, course, tmp_path / "out", export) == 1
    told = capsys.readouterr().out
    assert "– / 8  Bob: nothing here can be graded: there are no .py" in told and "there is only 'work.rar'" in told
    assert [row["Total"] for row in rows_of((tmp_path / "out/gradebook.csv").read_bytes())] == ["4", "4", ""]


def test_files_without_their_folder_are_graded_all_the_same(root, course, tmp_path):
    """As somebody hands them in who drags files to Gradescope or Canvas; what they import comes along."""
    (tmp_path / "hw").mkdir()
    (tmp_path / "hw/attention.py").write_text("from more import *\n")
    (tmp_path / "hw/more.py").write_text(SPLIT + MERGE)
    (tmp_path / "attention.py").write_text(SPLIT)
    assert grade(root, course, tmp_path / "out", tmp_path / "hw", tmp_path / "attention.py") == 0
    found = {name: read_result(tmp_path / "out" / name / "results.json") for name in ("hw", "attention")}
    assert {name: one["score"] for name, one in found.items()} == {"hw": 8, "attention": 4}
    assert "there is no folder src/; read as if in it: attention.py, more.py" in found["hw"]["output"]


def test_results_do_not_lie_among_what_was_handed_in(root, course, export, tmp_path, capsys):
    """Whoever hands in what looks like a result would have it believed."""
    deep = tmp_path / "out" / "submission_1" / "submission_1"
    shutil.copytree(export / "submission_1", deep)
    for out, given in [
        (export, export),
        (deep.parent.parent, deep),
        (export / "submission_1/x", export / "submission_1"),
    ]:
        assert grade(root, course, out, given) == 2
        assert "handed in; choose another --out" in capsys.readouterr().err
    assert grade(root, course, export / "results", export) == 0
    assert grade(root, course, export / "results", export) == 0  # and they are no submissions
    assert "2 graded (2 of them before)" in capsys.readouterr().out


@pytest.mark.slow
def test_a_result_that_somebody_changed_is_made_anew(root, course, class_folder, tmp_path):
    out = tmp_path / "out"
    grade(root, course, out, class_folder / "bob")
    path = out / "bob/results.json"
    before = contents(out)
    for old, new in [('"score": 4', '"score": 8'), ('"score": 4', '"score": null'), ('"passed"', '"failed"')]:
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))
        grade(root, course, out, class_folder / "bob")
        assert contents(out) == before
    path.write_text("[" * 200_000)
    grade(root, course, out, class_folder / "bob")
    assert contents(out) == before


def test_where_nothing_can_be_written_is_said_before_anything_is_graded(root, course, class_folder, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file", tmp_path / "file" / "out"):
        assert grade(root, course, out, class_folder) == 2
        assert "cannot be written to" in capsys.readouterr().err
    (tmp_path / "out" / "ada").mkdir(parents=True)
    (tmp_path / "out" / "ada" / "report.html").mkdir()  # in the way
    assert grade(root, course, tmp_path / "out", class_folder) == 2
    assert "Is a directory" in (said := capsys.readouterr().err) and "mend that and run the same command again" in said


def test_a_full_disk_is_one_line(root, course, class_folder, tmp_path, monkeypatch, capsys):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "results.json")

    monkeypatch.setattr(class_run, "gradebook", full)
    assert grade(root, course, tmp_path / "out", class_folder / "ada") == 2
    told = "autograder: No space left on device (results.json); mend that and run the same command again\n"
    assert capsys.readouterr().err == told


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--memory", "nan"], "'nan' is not a number of gigabytes from 0.25 to 1024"),
        (["--memory", "much"], "'much' is not a number of gigabytes"),
        (["--due", "soon"], "'soon' is no time; write it like '2026-11-15 23:59'"),
    ],
)
def test_wrong_options_say_what_is_right(root, course, class_folder, tmp_path, capsys, arguments, said):
    with pytest.raises(SystemExit) as ended:
        grade(root, course, tmp_path / "out", class_folder, *arguments)
    assert ended.value.code == 2 and said in capsys.readouterr().err
    assert grade(root, course, tmp_path / "out", class_folder, "--student", "") == 2
    assert "no submission matches" in capsys.readouterr().err


@pytest.mark.slow
def test_a_reader_who_goes_away_is_no_trouble(root, course, class_folder, tmp_path):
    command = [sys.executable, "-m", "autograder", "--root", str(root), "grade", "--course", str(course)]
    command += ["--out", str(tmp_path / "out"), str(class_folder)]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 128 + signal.SIGPIPE
    grade(root, course, tmp_path / "out", class_folder)


@pytest.mark.slow
def test_no_name_is_too_much_for_a_terminal(root, course, tmp_path):
    (tmp_path / "Zoë_學" / "src").mkdir(parents=True)
    (tmp_path / "Zoë_學" / "src" / "attention.py").write_text(SPLIT)
    command = [sys.executable, "-m", "autograder", "--root", str(root), "grade", "--course", str(course)]
    command += ["--out", str(tmp_path / "out"), str(tmp_path / "Zoë_學")]
    ascii_only = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, cwd=root, env=ascii_only, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "Zo?_?" in done.stdout and not done.stderr


def test_interrupted_it_says_how_far_it_came(root, course, class_folder, tmp_path, monkeypatch, capsys):
    told = class_run.Progress.told

    def and_interrupt(self, one):
        told(self, one)
        raise KeyboardInterrupt

    monkeypatch.setattr(class_run.Progress, "told", and_interrupt)
    assert grade(root, course, tmp_path / "out", class_folder) == 130
    assert "interrupted; 1 of 6 are done; the same command goes on from there" in capsys.readouterr().err


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("columns", [30, 40, 80, 200])
def test_progress_fits_its_terminal(course, monkeypatch, columns):
    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm")
    with class_run.Progress(read_course(str(course)), 1000) as progress:
        progress.started -= 60
        for number in range(400):
            progress.told(record(id=f"s{number}", kept=number < 200))
    shown = [line for line in screen.getvalue().split("\r\033[K") if line]
    assert max(map(len, shown)) < columns
    assert shown[0].endswith(" 0 of 1000  starting") and shown[200].endswith(" 200 of 1000  starting")
    assert re.search(r" 400 of 1000  3\.\d a second  \d min \d+ s left$", shown[-1]) or columns < 50


def test_a_long_log_ends_with_what_could_not_be_graded(course, capsys):
    records = [record(id=f"s{number}") for number in range(30)]
    records += [record(id=f"t{number}", trouble="not a zip", name="Zoë") for number in range(25)]
    with class_run.Progress(read_course(str(course)), len(records)) as progress:
        class_run._close(records, progress, Path("out"), "index.html")
        class_run._close(records, progress, Path("out"))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "30 graded, 25 could not be graded; 0 s; see out/index.html"
    assert lines[1] == "  t0 (Zoë): not a zip" and lines[21] == "  and 5 more, in out/index.html"
    assert lines[22].endswith("; results are in out/") and lines[-1] == "  and 5 more, in out/" and len(lines) == 44


LONG_IDS = {
    "x" * 60 + "_7": f"{'x' * 11}…{'x' * 10}_7",
    "ada": "ada" + " " * 21,
    "學" * 30: f"{'學' * 5}…{'學' * 6}" + " ",  # two columns each: one is left over
    "e\u0301" * 40: "e\u0301" * 11 + "…" + "e\u0301" * 12,
    "e\u0301" * 10: "e\u0301" * 10 + " " * 14,
}


@pytest.mark.parametrize("identity", LONG_IDS)
def test_whatever_an_id_is_made_of_the_columns_stand(identity):
    assert columns.filled(identity, 24) == LONG_IDS[identity]
    assert columns.width(columns.filled(identity, 24)) == 24


@pytest.mark.parametrize("places", [1, 2, 3, 7, 24])
def test_shortened_ids_fit_and_no_mark_loses_its_letter(places):
    for text in ("學e\u0301a" * 9, "\u0301\u0301abc" * 9, "a" * 99, "a", ""):
        short = columns.shortened(text, places)
        assert columns.width(short) <= places
        assert not re.search("…\u0301", short)
        assert columns.width(columns.filled(text, places)) == places


@pytest.mark.parametrize("places", [20, 33, 60])
def test_lines_are_no_wider_than_they_may_be_and_nothing_is_lost(places):
    text = "Zoë 學學學 could not be graded: " + "學" * 50 + " e\u0301e\u0301 " + "x" * 70 + " end"
    found = columns.lines(text, places)
    assert max(map(columns.width, found)) <= places
    assert "".join(found).replace(" ", "") == text.replace(" ", "")


def test_long_ids_keep_the_columns_of_a_terminal(course, monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    lost = ("precompute_rotary_emb", "causal_self_attention", "span_corruption")
    with class_run.Progress(read_course(str(course)), len(LONG_IDS)) as progress:
        for identity in LONG_IDS:
            progress.told(record(id=identity, lost=lost, name="學學 Ada Lovelace", trouble=""))
        class_run._close([], progress, Path("out"), "index.html")
    assert "All that was lost is in out/ID/report.html, for each ID." in screen.getvalue()
    lines = [
        line for line in re.split(r"\r\033\[K|\n", screen.getvalue()) if line and "█" not in line and "░" not in line
    ]
    assert max(map(columns.width, lines)) < 80
    starts = [columns.width(line[: line.index(" / 8  ")]) for line in lines if " / 8  " in line]
    assert len(starts) == len(LONG_IDS) and set(starts) == {2 + 24 + 1 + 4}
    below = [line for line in lines if "and 1 more" in line and " / 8  " not in line]
    assert len(below) == len(LONG_IDS) and {len(line) - len(line.lstrip()) for line in below} == {37}


def test_full_ids_are_in_the_files(root, course, tmp_path, capsys):
    long = "x" * 60
    (tmp_path / long / "src").mkdir(parents=True)
    (tmp_path / long / "src/attention.py").write_text(SPLIT + MERGE)
    grade(root, course, tmp_path / "out", tmp_path / long)
    assert f"{'x' * 11}…{'x' * 12}    8 / 8" in capsys.readouterr().out
    assert long in (tmp_path / "out/gradebook.csv").read_text() and (tmp_path / "out" / long / "report.html").is_file()


def far(course, total, seconds):
    """What a log of so many submissions says about how far it is, if one takes so long."""
    with class_run.Progress(read_course(str(course)), total) as progress:
        for number in range(total):
            progress.started -= seconds
            progress.told(record(id=f"s{number}"))


def test_a_log_says_how_far_it_is(course, capsys):
    far(course, 200, 0.1)
    lines = capsys.readouterr().out.splitlines()
    told = [line for line in lines if line.startswith("--")]
    assert len(told) == 9 and len(lines) == 209
    assert re.fullmatch(r"-- 20 of 200  \d+\.\d a second  \d+ s left", told[0]) and lines[20] == told[0]
    far(course, 6, 0.1)
    assert "--" not in capsys.readouterr().out  # a short list says it by itself
    far(course, 6, 31)
    assert capsys.readouterr().out.count("--") == 5  # unless it takes long
    far(course, 1000, 30)
    assert 20 < capsys.readouterr().out.count("--") < 70


def test_pairs_with_long_names_have_pages_of_their_own(root, course, tmp_path):
    """Two ids in a row may be too long for a file's name."""
    for name in ("學" * 66, "習" * 66):
        (tmp_path / "class" / name / "src").mkdir(parents=True)
        text = (root / "solutions/src/attention.py").read_text()
        (tmp_path / "class" / name / "src" / "attention.py").write_text(text)
    assert grade(root, course, tmp_path / "out", tmp_path / "class", "--similar") == 0
    (pair,) = json.loads((tmp_path / "out/summary.json").read_text())["similar"]
    assert (tmp_path / "out" / pair["page"]).is_file()
    assert len({class_run.page_name(*pair) for pair in [("a", "b--c"), ("a--b", "c"), ("a", "b")]}) == 3
    (tmp_path / "out/similar/notes.html").write_text("somebody's own")
    assert grade(root, course, tmp_path / "out", tmp_path / "class") == 0
    assert [path.name for path in (tmp_path / "out/similar").iterdir()] == ["notes.html"]  # nothing leads to the page


def handed_in(folder, name, *bodies):
    (folder / name / "src").mkdir(parents=True)
    (folder / name / "src" / "attention.py").write_text("\n".join((SPLIT, *bodies)))


def body(name, count=60):
    """Code that only who is of this name writes."""
    return "\n".join(
        [f"def of_{name}(x):", *(f"    x = x.{name}{n}(x, {n})" for n in range(count)), "    return x", ""]
    )


@pytest.fixture
def alike(tmp_path) -> Path:
    """Two who have nothing in common but another starter than ours."""
    folder = tmp_path / "alike"
    for name in ("ada", "bob"):
        handed_in(folder, name, body("starter", 200), body(name))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("packed", [False, True])
def test_another_starter_is_given_as_well(root, course, alike, tmp_path, packed, capsys):
    out, starter = tmp_path / "out", tmp_path / "handout"
    grade(root, course, out, alike, "--similar")
    assert "1 pair is alike." in capsys.readouterr().out
    (starter / "deep" / "src").mkdir(parents=True)
    (starter / "deep" / "src" / "starter.py").write_text(body("starter", 200))
    given = Path(shutil.make_archive(str(starter), "zip", starter)) if packed else starter
    (tmp_path / "more.py").write_text(body("other"))
    grade(root, course, out, alike, "--similar", "--given", tmp_path / "more.py", "--given", given)
    assert "no pairs are alike." in capsys.readouterr().out
    assert json.loads((out / "summary.json").read_text())["similar"] == []
    assert "Similar pairs" not in (out / "index.html").read_text()


def test_a_wrong_starter_is_one_line_before_anything_is_graded(root, course, alike, tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "readme.txt").write_text("no code")
    (tmp_path / "bad.zip").write_bytes(b"PK\x03\x04 no zip")
    said = {
        "nowhere": f"--given {tmp_path / 'nowhere'} does not exist",
        "empty": f"--given {tmp_path / 'empty'} holds no .py and no .ipynb",
        "notes": f"--given {tmp_path / 'notes'} holds no .py and no .ipynb",
        "bad.zip": f"--given {tmp_path / 'bad.zip'}: ",
    }
    for name, words in said.items():
        assert grade(root, course, tmp_path / "out", alike, "--similar", "--given", tmp_path / name) == 2
        told = capsys.readouterr()
        assert told.err.startswith(f"autograder: {words}") and told.err.count("\n") == 1 and not told.out
    assert grade(root, course, tmp_path / "out", alike, "--given", alike) == 2
    assert "--given says what --similar leaves out; pass both" in capsys.readouterr().err


@pytest.mark.slow
def test_what_a_third_of_the_class_has_is_left_out_and_that_is_said(root, course, tmp_path, capsys):
    folder, out = tmp_path / "class", tmp_path / "out"
    for number in range(12):
        own = body(f"s{number}", 80)
        handed_in(folder, f"s{number:02}", *([own, body("lecture", 200)] if number < 4 else [own]))
    grade(root, course, out, folder, "--similar")
    shown = capsys.readouterr().out
    said = "Code that 4 or more of the 12 submissions have was left out as nobody's own: "
    assert f"no pairs are alike. {said}" in shown
    assert json.loads((out / "summary.json").read_text())["similar_note"].startswith(said)
    assert said.replace("'", "&#x27;") in (out / "index.html").read_text()


def test_of_what_is_too_long_little_is_remembered(tmp_path):
    (tmp_path / "long.py").write_text("x = 1\n" * 100_000)
    (tmp_path / "huge.py").write_bytes(b"#" * (9 << 20))
    others = [f"{number}.py" for number in range(50)]
    for name in others:
        (tmp_path / name).write_text("y = 2\n" * 10_000)
    (tmp_path / "short.py").write_text("z = 3\n")
    said = class_run._said(str(tmp_path), ["huge.py", "long.py", *others, "short.py"])
    assert set(said) == {"long.py", *others, "short.py"} and said["short.py"] == "z = 3\n"
    assert all(said.values()) and sum(map(len, said.values())) <= 200_100


@pytest.mark.slow
def test_what_takes_too_long_to_compare_is_told(root, course, class_folder, tmp_path, monkeypatch, capsys):
    plain = class_run.code

    def slow(text):
        while text == SUBMISSIONS["bob"]:
            pass
        return plain(text)

    monkeypatch.setattr(class_run, "code", slow)
    monkeypatch.setattr(class_run, "MAX_SECONDS", 1)
    grade(root, course, tmp_path / "out", class_folder, "--similar")
    shown = capsys.readouterr()
    assert "note: bob is not compared with the others: it took more than 1 s" in shown.err
    assert "5 graded, 1 could not be graded" in shown.out


def test_what_a_killed_grader_left_is_removed_and_what_a_living_one_has_is_not(tmp_path, monkeypatch):
    """Also if it is not seen here: containers may share a disk, but not their processes."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    program = "import tempfile, sys; tempfile.tempdir = sys.argv[1]; from autograder.grading.dens import make_den\n"
    program += "print(make_den(), flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        theirs = Path(other.stdout.readline().strip())
        unseen = theirs.rename(theirs.with_name("grading-4194305-x"))  # a number that no process has
        for seen in (unseen, theirs):
            unseen = unseen.rename(seen)
            with den() as ours:
                assert ours.is_dir() and seen.is_dir()
            assert not ours.exists()
        other.kill()
    with den():
        assert not theirs.exists()


# Submissions that are hard to read


def endless() -> None:
    while True:
        pass


def grows() -> None:
    kept = []
    while True:
        kept.append(bytes(1 << 20))


def crashes() -> None:
    faulthandler.disable()  # pytest's would print where we are
    os.abort()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("harm", "why"),
    [(endless, "took more than 1 s"), (grows, "took more than 200 MiB of memory"), (crashes, "took more than")],
)
def test_a_submission_that_cannot_be_read_within_limits_is_reported_and_the_batch_goes_on(
    root, course, class_folder, tmp_path, monkeypatch, harm, why
):
    """Whatever it is that nobody has thought of: here, a parser does it."""
    plain = clean_tree.find

    def harmed(entries, *rest):
        if any(entry.name == "src/harm.py" for entry in entries):
            harm()
        return plain(entries, *rest)

    monkeypatch.setattr(clean_tree, "find", harmed)
    monkeypatch.setattr(clean_tree, "MAX_SECONDS", 1)
    monkeypatch.setattr(clean_tree, "MAX_MEMORY", 200 << 20)
    (class_folder / "bad/src").mkdir(parents=True)
    (class_folder / "bad/src/harm.py").write_text(SPLIT + MERGE)
    out = tmp_path / "out"
    assert grade(root, course, out, class_folder) == 1
    trouble = read_result(out / "bad/results.json")["extra_data"]["could_not_grade"]
    assert re.fullmatch(rf"could not be read \({why}.*\); a person must look at it", trouble)
    assert {name: read_result(out / name / "results.json")["score"] for name in SCORES} == SCORES


@pytest.mark.slow
def test_a_child_that_outlives_all_deadlines_is_reported_and_the_batch_goes_on(
    root, course, class_folder, tmp_path, monkeypatch
):
    plain = Examiner.examine

    def harmed(self, sitting, only=None):
        if "more" in (sitting.submission.root / "src/attention.py").read_text():
            endless()
        return plain(self, sitting, only)

    monkeypatch.setattr(Examiner, "examine", harmed)
    monkeypatch.setattr(grade_module, "all_deadlines", lambda _: 20.0)
    (class_folder / "bob/src/attention.py").write_text(SPLIT + "# more\n")
    out = tmp_path / "out"
    assert grade(root, course, out, class_folder) == 1
    content = read_result(out / "bob/results.json")
    assert "grading took more than 20 s and was stopped" in content["extra_data"]["could_not_grade"]
    others = {name: score for name, score in SCORES.items() if name != "bob"}
    assert {name: read_result(out / name / "results.json")["score"] for name in others} == others


# Exports of others' submissions


def posing_as(people: Sequence[str]) -> dict[str, str]:
    files = {f"{name}/src/attention.py": SPLIT for name in (*people, "submission_9")}
    return files | {"submission_metadata.yml": "submission_9:\n  :submitters:\n  - :name: Mallory\n"}


def inner(text: str) -> bytes:
    return zipped({"src/attention.py": text})


POSING = {
    "export": posing_as(["ada"]),
    "export in a folder": {f"top/{name}": text for name, text in posing_as(["ada"]).items()},
    "zips": {"ada.zip": inner(SPLIT), "zoe.zip": inner(SPLIT)},
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["zip", "folder"])
@pytest.mark.parametrize("posing", POSING)
def test_what_says_itself_who_is_in_it_replaces_no_result_of_another_path(
    root, course, class_folder, tmp_path, capsys, kind, posing
):
    out, path = tmp_path / "out", tmp_path / ("mallory.zip" if kind == "zip" else "mallory")
    if kind == "zip":
        path.write_bytes(zipped(POSING[posing]))
    else:
        write_files(path, {name: as_bytes(content) for name, content in POSING[posing].items()})
    grade(root, course, out, class_folder)
    before = contents(out)
    capsys.readouterr()
    assert grade(root, course, out, path) == 2
    told = capsys.readouterr().err.strip()
    assert told.count("\n") == 0 and "mallory" in told and "(ada)" in told and "--replace" in told
    assert contents(out) == before
    assert grade(root, course, out, path, "--replace") == 0
    assert read_result(out / "ada/results.json")["score"] == 4
    assert grade(root, course, out, path) == 0  # by now, it is its own
    assert grade(root, course, tmp_path / "other", path) == 0


def as_bytes(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else content


@pytest.mark.slow
def test_a_path_that_somebody_names_may_replace_a_result(root, course, class_folder, tmp_path):
    """A zip that arrives late, of one who was graded before."""
    out = tmp_path / "out"
    grade(root, course, out, class_folder)
    (tmp_path / "bob.zip").write_bytes(inner(SPLIT + MERGE))
    assert grade(root, course, out, tmp_path / "bob.zip") == 0
    assert read_result(out / "bob/results.json")["score"] == 8


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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_worker_with_another_grader_is_not_believed(root, course, class_folder, tmp_path, monkeypatch, capsys):
    with cluster_of(1, tmp_path) as made:
        monkeypatch.setattr(cluster, "grader_digest", lambda: "another")  # here, and not in the worker
        assert grade(root, course, tmp_path / "out", class_folder, "--dask", made.scheduler_address) == 2
        assert "has another version of this package; install the same on all machines" in capsys.readouterr().err


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.parametrize("address", ["nonsense", "foo://x:1", "tcp://", "tcp://127.0.0.1", "127.0.0.1", ""])
def test_what_is_no_address_is_told_at_once(root, course, class_folder, tmp_path, capsys, address):
    assert grade(root, course, tmp_path / "out", class_folder, f"--dask={address}") == 2
    assert "is no address of a Dask scheduler; write it like tcp://scheduler:8786" in capsys.readouterr().err


@pytest.mark.slow
def test_interrupted_a_cluster_of_our_own_ends_in_order(root, course, class_folder, tmp_path):
    """Ctrl-C in a terminal reaches all processes of the cluster; only the grader is to hear it."""
    command = [sys.executable, "-m", "autograder", "--root", str(root), "grade", "--course", str(course)]
    command += ["--out", str(tmp_path / "out"), "--dask", "local", "--jobs", "1", str(class_folder)]
    (tmp_path / "temporary").mkdir()
    with subprocess.Popen(
        command,
        cwd=root,
        env=os.environ | {"TMPDIR": str(tmp_path / "temporary")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # a background shell ignores it
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        while " / 8" not in process.stdout.readline():
            pass
        os.killpg(process.pid, signal.SIGINT)
        told = process.stderr.read()
    assert process.returncode == 130 and not list((tmp_path / "temporary").iterdir())
    assert re.fullmatch(r"autograder: interrupted; \d of 6 are done; the same command goes on from there\n", told)


@pytest.mark.slow
def test_a_cluster_of_our_own_is_closed_to_others_and_leaves_nothing(root, course, class_folder, tmp_path, monkeypatch):
    """Any user of the machine can reach its ports, and work that is sent there would be done as the grader."""
    made_here, knocked = cluster._made_here, []

    @contextmanager
    def and_knock(workers):
        with made_here(workers) as made:
            port = made.scheduler_address.rpartition(":")[2]
            with pytest.raises(OSError):
                Client(f"tcp://127.0.0.1:{port}", timeout=2, set_as_default=False)
            knocked.append(made.scheduler_address)
            yield made

    monkeypatch.setattr(cluster, "_made_here", and_knock)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    assert grade(root, course, tmp_path / "out", class_folder / "ada", "--dask", "local", "--jobs", "1") == 0
    assert knocked[0].startswith("tls://") and not list((tmp_path / "temporary").iterdir())


@pytest.mark.slow
def test_a_cluster_on_this_machine_shows_no_page_to_anybody():
    """Any user of the machine can ask its ports who works on what."""
    with cluster._made_here(1) as made, Client(made, set_as_default=False) as client:
        ports = [made.scheduler.http_server.port]
        ports += client.run(lambda dask_worker: dask_worker.http_server.port).values()
        for port in ports:
            for page in ("", "status", "info/main/workers.html", "json/identity.json", "metrics", "health"):
                with pytest.raises(HTTPError, match="404"):
                    urlopen(f"http://127.0.0.1:{port}/{page}", timeout=20)


def test_no_scheduler_is_one_line(root, course, class_folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE", 1)
    assert grade(root, course, tmp_path / "out", class_folder, "--dask", "tcp://127.0.0.1:1") == 2
    assert "no Dask scheduler answers at tcp://127.0.0.1:1" in capsys.readouterr().err
