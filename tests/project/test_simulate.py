"""A bundle in a simulated container: its own run_autograder, from the platform's folders to results.json."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import zipfile
from pathlib import Path

import pytest

from autograder.__main__ import main
from autograder.checking.courses import read_course
from autograder.checking.engine import OUT_OF_TIME, Sitting, collect
from autograder.checking.points import rows
from autograder.files import zipped
from autograder.gradescope import container
from autograder.grading import grade
from autograder.grading.results_file import results
from autograder.isolation.layers import WEAK
from autograder.judging.submission import Submission
from autograder.proving import simulate
from autograder.proving.schema import complaints
from autograder.publishing import bundle, regions

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="isolation needs Linux")

ATTACKS = ("results_written_at_once", "results_written_later")


@pytest.fixture(scope="module")
def course(root, tmp_path_factory) -> Path:
    """The default course, two submissions a day."""
    path = tmp_path_factory.mktemp("course") / "twice.toml"
    text = (root / "autograder/courses/default.toml").read_text()
    path.write_text(text.replace("# daily_limit = 10 ", "daily_limit = 2 #"))
    assert read_course(str(path)).gradescope.daily_limit == 2
    return path


@pytest.fixture(scope="module")
def packed(root, course, answers, tmp_path_factory) -> Path:
    tree = bundle.build(root / "scripts/gradescope/bundle.toml", root, read_course(str(course)), answers=answers)
    path = tmp_path_factory.mktemp("dist") / "gradescope-twice.zip"
    path.write_bytes(bundle.packed(tree))
    return path


@pytest.fixture(scope="module")
def blank(sources) -> dict[str, str]:
    return {name: regions.stubbed(text, name) for name, text in sources.texts.items()}


def run(packed: Path, submission: Path, *arguments: object) -> tuple[int, dict]:
    """The command, in this environment; a fresh one takes minutes."""
    out = submission.with_suffix(".json")
    options = ["--venv", sys.prefix, "--out", str(out), *map(str, arguments)]
    code = main(["simulate", str(packed), str(submission), *options])
    return code, json.loads(out.read_text()) if out.exists() else {}


@pytest.fixture(scope="module")
def solved(packed, sources, trained, tmp_path_factory) -> tuple[int, dict, Path]:
    """The solution, more than a day late."""
    path = tmp_path_factory.mktemp("solved") / "solved.zip"
    path.write_bytes(zipped({**sources.solved(), **trained.files}))
    return *run(packed, path, "--late", 26), path.with_suffix(".json")


@pytest.mark.slow
def test_solution_gets_full_marks_and_is_told_to_be_late(solved):
    code, content, _ = solved
    assert code == 0 and content["score"] == 120
    assert {test["status"] for test in content["tests"]} == {"passed"}
    assert content["output"].startswith("Handed in 1 d 2 h late.")
    assert content["extra_data"]["seconds_late"] // 3600 == 26
    assert content["extra_data"]["student"]["people"][0]["email"] == "ada@example.edu"


@pytest.mark.slow
def test_container_has_no_namespaces(solved):
    expected = "root without namespaces" if os.getuid() == 0 else "ordinary user"
    assert solved[1]["extra_data"]["isolation"] == expected


@pytest.mark.slow
def test_stub_gets_nothing_and_the_same_results_as_by_hand(packed, course, blank, sources, root, tmp_path, capsys):
    path = tmp_path / "blank.zip"
    inner = zipped({"mine.zip": zipped(sources.solved())})
    path.write_bytes(zipped(blank | {"outer.zip": inner}))  # a zip in a zip in the zip is not opened
    code, content = run(packed, path)
    told = capsys.readouterr().out
    assert code == 0 and content["score"] == 0 and "0 of 120 points" in told
    assert "✗   0 / 3   split_heads (hidden)" in told and "not started" in told
    assert "opened 'outer.zip', a zip inside the submission" in content["output"]
    assert "ignored outer.zip/mine.zip: only a zip is opened, and no zip inside it" in content["output"]
    arguments = ["--course", str(course), "--out", str(tmp_path / "out"), "--no-namespaces"]
    assert main(["--root", str(root), "grade", str(path), *arguments]) == 0
    by_hand = json.loads((tmp_path / "out/blank/results.json").read_text())
    for key in ("score", "tests", "output", "output_format", "visibility", "stdout_visibility"):
        assert content[key] == by_hand[key], key


@pytest.mark.slow
def test_hostile_submission_writes_no_results(packed, blank, root, tmp_path):
    attack = "\n".join((root / f"tests/project/attacks/{name}.py").read_text() for name in ATTACKS)
    path = tmp_path / "hostile.zip"
    path.write_bytes(zipped(blank | {"src/attention.py": f"{blank['src/attention.py']}\n{attack}"}))
    code, content = run(packed, path, "--leftover")
    assert code == 0 and content["score"] == 0
    assert "LEAK" not in {test["name"] for test in content["tests"]}
    assert content["extra_data"]["could_not_grade"] == ""  # all of it was judged


@pytest.mark.slow
def test_platforms_timeout_leaves_valid_results_of_nothing(packed, blank, tmp_path, capsys):
    path = tmp_path / "endless.zip"
    path.write_bytes(zipped(blank | {"src/attention.py": "while True:\n    pass\n"}))
    code, content = run(packed, path, "--timeout", 4, "--leftover")
    assert code == 0 and "killed after 4 s, as the platform would" in capsys.readouterr().out
    with zipfile.ZipFile(packed) as archive:
        assert content == json.loads(archive.read("fallback.json"))
    assert content["score"] == 0 and "did not finish" in content["output"]


@pytest.mark.slow
def test_over_the_daily_limit_nothing_is_run_and_nothing_changes(packed, solved, blank, tmp_path, capsys):
    path = tmp_path / "third.zip"
    path.write_bytes(zipped(blank))
    code, content = run(packed, path, "--previous", solved[2], "--previous", solved[2])
    assert code == 0 and content["score"] == 120 and content["extra_data"]["over_limit"]
    assert "Not graded: only 2 submissions" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["{tmp}/none.zip", "{tmp}"], "none.zip does not exist; 'python -m autograder bundle' makes one"),
        (["{tmp}/text.zip", "{tmp}"], "text.zip is no bundle"),
        (["{tmp}/empty.zip", "{tmp}"], "empty.zip is no bundle"),
        (["{tmp}/half.zip", "{tmp}", "--venv", sys.prefix], "half.zip has no run_autograder"),
        (["{packed}", "{tmp}/none"], "none does not exist"),
        (["{packed}", "{tmp}/text.zip", "--venv", sys.prefix], "text.zip cannot be handed in: File is not a zip file"),
        (["{packed}", "{tmp}/half.zip", "--venv", "{tmp}"], "is no virtual environment"),
        (["{packed}", "{tmp}/half.zip", "--python", "{tmp}/none"], "none is no Python"),
        (["{packed}", "{tmp}/half.zip", "--late", "-1"], "--late takes the hours after the due date"),
        (
            ["{packed}", "{tmp}/half.zip", "--venv", sys.prefix, "--previous", "{tmp}/text.zip"],
            "text.zip is no results.json of an earlier submission",
        ),
    ],
)
def test_bad_input_is_one_line(packed, tmp_path, capsys, arguments, line):
    (tmp_path / "text.zip").write_text("no zip")
    (tmp_path / "empty.zip").write_bytes(zipped({}))
    (tmp_path / "half.zip").write_bytes(zipped({"autograder/courses/c.toml": ""}))
    filled = [argument.format(tmp=tmp_path, packed=packed) for argument in arguments]
    assert main(["simulate", *filled]) == 2
    errors = capsys.readouterr().err
    assert errors.startswith("autograder: ") and errors.count("\n") == 1 and line in errors


def test_invalid_results_are_not_accepted(packed, tmp_path, capsys, monkeypatch):
    (tmp_path / "a.py").write_text("")
    for results_, line in ((b'{"score": 1}', "results.json is not valid"), (None, "there is no results.json")):
        monkeypatch.setattr(
            "autograder.proving.rehearsal.simulate", lambda *_, r=results_: simulate.Run(r, "", 0.1, False)
        )
        assert main(["simulate", str(packed), str(tmp_path / "a.py"), "--venv", sys.prefix]) == 1
        assert line in capsys.readouterr().err


# What a container may lack or want


def test_weak_isolation_runs_nothing_and_says_whose_fault_it_is(packed, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(container, "probe", lambda: WEAK)
    monkeypatch.setattr(container, "grade", lambda *_: pytest.fail("student code must not run"))
    (tmp_path / "a.py").write_text("")
    with simulate.laid_out(packed, simulate.Case(tmp_path / "a.py")) as root:
        (root / "submission_metadata.json").unlink()
        container.run(root, time.monotonic())
        signal.alarm(0)  # see end_in_time
        content = (root / "results/results.json").read_bytes()
    assert complaints(content) == []
    assert "cannot run submissions safely" in json.loads(content)["output"]
    errors = capsys.readouterr().err
    assert "cannot isolate submissions" in errors and "submission_metadata.json could not be read" in errors


def test_no_check_begins_after_the_end_of_the_whole_run(root, course):
    made, outcomes = read_course(str(course)), []
    nobody = Submission(None)  # is not asked anything
    folders = container.check_folders(root)
    collect(folders, lambda examiner: outcomes.extend(examiner.examine(Sitting(made, nobody, until=time.monotonic()))))
    found = rows(made, outcomes)
    assert {row.verdict for row in found} == {"could not check"} and len(found) == 43
    assert OUT_OF_TIME in grade.trouble_with(outcomes, found)
    content = results(made, found, WEAK, None, "", {})
    assert "took too long" in content["tests"][0]["output"]


def test_time_for_checks_leaves_room_for_the_last_exercise():
    course = read_course("uw447")  # 15 minutes, 20 seconds an exercise, and twice that to load a notebook again
    assert container.time_for_checks(course) == 900 - container.END - 20 - 40


def test_grader_that_hangs_dies_before_the_platform_ends_the_run():
    container.end_in_time(read_course("uw447"))
    assert 900 - container.LAST_RESORT - 1 <= signal.alarm(0) <= 900 - container.LAST_RESORT
    assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL


@pytest.mark.parametrize(("container_mib", "worker_mib"), [(256, 128), (768, 193), (1536, 961), (65536, 2048)])
def test_submission_gets_what_memory_is_left(container_mib, worker_mib):
    assert container.worker_memory(container_mib << 20) == worker_mib << 20


def test_memory_of_the_container_is_the_least_that_is_said(tmp_path, monkeypatch):
    (tmp_path / "max").write_text("max\n")
    (tmp_path / "limit").write_text(f"{768 << 20}\n")
    monkeypatch.setattr(container, "MEMORY_LIMITS", (str(tmp_path / "max"), str(tmp_path / "limit"), "/none"))
    assert container.container_memory() == 768 << 20
    monkeypatch.setattr(container, "MEMORY_LIMITS", ())
    assert container.container_memory() == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def test_summary_tells_nothing_of_what_is_shown_later(root, tmp_path):
    path = tmp_path / "later.toml"
    text = (root / "autograder/courses/uw447.toml").read_text()
    path.write_text(text.replace("[gradescope]", '[gradescope]\nvisibility = "after_due_date"', 1))
    course = read_course(str(path))
    content = results(course, rows(course, []), WEAK, None, "", {})
    assert {(test["tags"][0], test["visibility"]) for test in content["tests"]} == {
        ("public", "visible"),
        ("hidden", "after_due_date"),
    }
    public = sum(test["tags"] == ["public"] for test in content["tests"])
    assert f"0 of {public} groups" in content["output"] and "not shown now" in content["output"]
