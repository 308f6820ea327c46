"""The suite itself: what ./test.sh runs, what --fast leaves out, and which tests begin first."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project import schedule

PYTHON = """#!/bin/sh
for argument in "$@"; do printf '%s\\n' "$argument" >> {calls}; done
echo >> {calls}
"""
LISTENER = """
import json, os
found = {"chosen": {}, "left out": {}}

def note(where, items):
    found[where] |= {item.nodeid: item.get_closest_marker("slow") is not None for item in items}

def pytest_deselected(items):
    note("left out", items)

def pytest_collection_finish(session):
    note("chosen", session.items)
    with open(os.environ["FOUND"], "w") as file:
        json.dump(found, file)
"""


def calls(root: Path, place: Path, *arguments: str) -> list[list[str]]:
    """The commands that ./test.sh would run with these arguments."""
    programs, said = place / ".venv/bin", place / "calls"
    programs.mkdir(parents=True)
    for name in ("test.sh", "scripts/venv.sh", "requirements.txt"):
        (place / name).parent.mkdir(exist_ok=True)
        shutil.copy(root / name, place / name)
    with (place / "requirements.txt").open() as wanted:
        stamp = subprocess.run(["cksum"], stdin=wanted, capture_output=True, text=True, check=True).stdout.strip()
    (place / ".venv/requirements.stamp").write_text(stamp)
    for name in ("python", "lint-imports"):
        (programs / name).write_text(PYTHON.format(calls=said))
        (programs / name).chmod(0o755)
    subprocess.run([place / "test.sh", *arguments], check=True)
    return [call.split("\n") for call in said.read_text().removesuffix("\n\n").split("\n\n")]


def test_everything_runs_but_what_fast_or_a_developer_leaves_out(root, tmp_path):
    whole = calls(root, tmp_path / "whole")
    assert whole[-1] == ["-m", "pytest", "-n", "auto", "--dist", "loadgroup"]
    assert [call[1] for call in whole[:3]] == ["ruff", "ruff", "mypy"] and len(whole) == 5
    assert calls(root, tmp_path / "fast", "--fast") == [*whole[:-1], [*whole[-1], "-m", "not slow"]]
    some = ["tests/project/test_texts.py", "-k", "two words"]
    assert calls(root, tmp_path / "some", *some) == [*whole[:-1], [*whole[-1], *some]]


@pytest.mark.slow
def test_fast_leaves_out_only_what_is_marked(root, tmp_path):
    fast = calls(root, tmp_path / "place", "--fast")[-1]
    (tmp_path / "listener.py").write_text(LISTENER)
    others = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    subprocess.run(
        [sys.executable, *fast, "--collect-only", "-q", "-n", "0", "-p", "listener"],
        cwd=root,
        env=others | {"PYTHONPATH": str(tmp_path), "FOUND": str(tmp_path / "found.json")},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    found = json.loads((tmp_path / "found.json").read_text())
    assert all(found["left out"].values()) and not any(found["chosen"].values())
    assert 0 < len(found["left out"]) < len(found["chosen"])


SECONDS = {"tests/a/test_b.py": 9.0, "tests/a/test_b.py::test_long": 70.0, "tests/a/test_b.py::test_many[x]": 50.0}


@pytest.mark.parametrize(
    ("test", "unit", "seconds"),
    [
        ("tests/a/test_b.py::test_c", "tests/a/test_b.py", 9.0),
        ("tests/a/test_b.py::test_c[a::b]", "tests/a/test_b.py", 9.0),
        ("tests/a/test_b.py::test_long", "tests/a/test_b.py::test_long", 70.0),
        ("tests/a/test_b.py::test_long[2]", "tests/a/test_b.py::test_long", 70.0),
        ("tests/a/test_b.py::test_many[x]", "tests/a/test_b.py::test_many[x]", 50.0),
        ("tests/a/test_b.py::test_many[y]", "tests/a/test_b.py", 9.0),
        ("tests/a/test_b.py::test_mail[a@b]", "tests/a/test_b.py", 9.0),
        ("tests/a/test_b.py::test_c@nobody", "nobody", math.inf),
        ("tests/a/test_new.py::test_c", "tests/a/test_new.py", math.inf),
    ],
)
def test_a_file_is_a_unit_and_so_is_a_test_that_takes_long(test, unit, seconds):
    assert schedule.unit(test, SECONDS) == unit
    assert schedule.seconds(test, SECONDS) == seconds  # what nobody knows begins first


def test_few_tests_do_not_pay_for_further_processes(root):
    known = {"tests/project/test_suite.py": schedule.PAYS - 1.0, "tests/project/test_texts.py": 2.0}
    assert schedule.pays([str(root / "tests/project")], known) and schedule.pays([str(root)], known)
    assert not schedule.pays([str(root / "tests/project/test_suite.py")], known)
    assert not schedule.pays([str(root / "tests/hidden")], known)


def test_durations_are_added_up_by_unit(tmp_path):
    report = tmp_path / "report.xml"
    cases = {"test_c": 1, "test_d[1]": 2, "test_long": 60, "test_many[x]": 30, "test_many[y]": 3}
    lines = [f'<testcase classname="tests.a.test_b" name="{name}" time="{time}"/>' for name, time in cases.items()]
    report.write_text(f"<testsuites><testsuite>{''.join(lines)}</testsuite></testsuites>")
    assert list(schedule.measured(report, SECONDS).items()) == [
        ("tests/a/test_b.py::test_long", 60.0),
        ("tests/a/test_b.py::test_many[x]", 30.0),
        ("tests/a/test_b.py", 6.0),
    ]
