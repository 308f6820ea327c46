"""Fixtures of the project's own tests."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
import tomllib
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any, TextIO

import pytest
import torch

from autograder.checking.courses import Course, read_course
from autograder.checking.engine import Examiner, Outcome, collect
from autograder.classroom.roster import read_roster
from autograder.files import zipped
from autograder.grading import batch
from autograder.grading import grade as users
from autograder.grading.grade import Setting, grade
from autograder.isolation import Layers, probe
from autograder.judging.exercises import ASKING
from autograder.pages.submission_page import page
from autograder.proving.assembling import Sources, lay_out
from autograder.proving.attacks import Trained, read_trained
from autograder.proving.mistakes import Mistake, read_table
from autograder.running.loading import forget
from autograder.selfcheck.local import sitting
from autograder.workers import zygote
from autograder.workers.remote import Limits
from tests.project import schedule

ROOT = Path(__file__).resolve().parents[2]
REAL = zygote.Zygote
COPIED = ("solutions", "student", "autograder", "data", "tests/public", "tests/hidden")

torch.set_num_threads(1)  # forking after multi-threaded work hangs the child


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """For -n auto: one process for each core, or this one alone for a few tests."""
    chosen = config.option.keyword or not schedule.pays(config.args, schedule.known())
    return 0 if chosen else len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> schedule.LongestFirst:
    return schedule.LongestFirst(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):
        durations = schedule.known()
        items.sort(key=lambda item: -schedule.seconds(_with_group(item), durations))


def _with_group(item: pytest.Item) -> str:
    """Its id, as xdist makes it later."""
    group = item.get_closest_marker("xdist_group")
    return f"{item.nodeid}@{group.args[0]}" if group else item.nodeid


@pytest.fixture(scope="session", autouse=True)
def own_users(worker_id: str) -> Iterator[None]:
    """Graders in several processes at a time do not choose the same users for their workers.

    Each looks for users without processes, and two that look at the same moment may find the same.
    """
    if worker_id == "master":
        yield
        return
    lowest, highest, share = users.LOWEST_USER, users.HIGHEST_USER, 200
    first = lowest + int(worker_id.removeprefix("gw")) * share % (highest - lowest - share)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(users, "LOWEST_USER", first)
        patch.setattr(users, "HIGHEST_USER", first + share)
        yield


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session", autouse=True)
def one_zygote() -> Iterator[None]:
    """Gradings in this process share a zygote, because starting one takes longer than most of them.

    Those in another process, as in an attack's situation, have one of their own; how one ends is tested in test_remote.
    """
    here, kept = os.getpid(), []

    class Shared(zygote.Zygote):
        def __init__(self) -> None:
            if os.getpid() != here:
                super().__init__()
                return
            if not kept or kept[-1]._process.poll() is not None:
                kept.append(REAL())
            vars(self).update(vars(kept[-1]))

        def close(self) -> None:
            if os.getpid() != here:
                super().close()

        def __exit__(self, *_: object) -> None:
            self.close()

    with pytest.MonkeyPatch.context() as patch:
        for module in ("workers.zygote", "grading.grade"):
            patch.setattr(f"autograder.{module}.Zygote", Shared)
        yield
    for one in kept:
        one.close()


@pytest.fixture(scope="session", autouse=True)
def one_collection() -> Iterator[None]:
    """Gradings in this process share the collected checks, too; test_engine tests how they are collected.

    They also share what is known of the machine, for which every layer of isolation is tried in a process of its own.
    """
    here, kept = os.getpid(), []

    def shared(folders: Sequence[Path], job: Callable[[Examiner], None]) -> None:
        if os.getpid() != here or tuple(folders) != CHECKS:
            collect(folders, job)
            return
        if not kept:
            collect(folders, kept.append)
        kept[0]._fitting.clear()  # it knows courses by their addresses, and they do not live as long as it does
        job(kept[0])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("autograder.grading.grade.collect", shared)
        patch.setattr("autograder.classroom.class_run.probe", cache(probe))
        yield


@pytest.fixture(scope="session")
def this_machine() -> Layers:
    """The layers of isolation that it has."""
    return probe()


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Path]:
    """A copy of the repository that a test may spoil. What was imported from it is forgotten."""
    for name in COPIED:
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "held_out"))
    yield tmp_path
    forget(tmp_path)


@pytest.fixture(scope="session")
def sources() -> Sources:
    return Sources(ROOT / "solutions")


@pytest.fixture(scope="session")
def honest() -> tuple[Trained, dict[str, Any]]:
    return read_trained(ROOT / "tests/project/attacks")


@pytest.fixture(scope="session")
def trained(honest: tuple[Trained, dict[str, Any]]) -> Trained:
    """A small student, who has predictions to hand in."""
    return honest[0]


@pytest.fixture(scope="session")
def answers(trained: Trained, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The answers of that student's term."""
    path = tmp_path_factory.mktemp("held_out") / "answers.json"
    path.write_bytes(trained.answers)
    return path


@pytest.fixture(scope="session")
def student(honest: tuple[Trained, dict[str, Any]]) -> dict[str, Any]:
    """Names of the small honest student; HANDS_IN makes a submission, OWN one with another architecture."""
    return honest[1]


@pytest.fixture
def graded(tmp_path: Path, this_machine: Layers) -> Callable[..., dict[str, Any]]:
    """Results of submissions, by name; each predictions exercise of cs224n, by its row."""
    tmp_path.chmod(0o711)
    course = read_course("cs224n")
    asked = tuple(slug for slug in course.items if slug in ASKING)

    def run(
        submissions: Mapping[str, Mapping[str, bytes]],
        answers: bytes | None = None,
        deadline: int = 40,
        rows: Sequence[str] = asked,
        **options: Any,
    ) -> dict[str, Any]:
        items = {slug: replace(item, deadline=deadline) for slug, item in course.items.items() if slug in rows}
        path = tmp_path / "answers.json"
        if answers is not None:
            path.write_bytes(answers)
        paths = []
        for name, files in submissions.items():
            paths.append(tmp_path / f"{name}.zip")
            paths[-1].write_bytes(zipped(files))
        setting = Setting(replace(course, items=items), this_machine, Limits(), CHECKS, 2, answers=path)
        records = grade(read_roster(paths), setting, tmp_path / "out", page=page, **options)
        return {one.id: json.loads((tmp_path / "out" / one.id / "results.json").read_text()) for one in records}

    return run


@pytest.fixture(scope="session")
def table() -> dict[str, Mistake]:
    return {mistake.slug: mistake for mistake in read_table(ROOT / "solutions" / "exercises")}


@pytest.fixture(scope="session")
def course() -> Course:
    return read_course("default")


@pytest.fixture(scope="session")
def with_deadlines() -> Callable[[Mapping[str, int]], str]:
    """The text of the default course, with other deadlines for what says nothing of its own: part -> seconds."""
    text = (ROOT / "autograder/courses/default.toml").read_text()
    (use,) = (line for line in text.splitlines() if line.startswith("use = "))

    def changed(deadlines: Mapping[str, int]) -> str:
        sections = [f'\n[[section]]\nuse = "{part}"\n' for part in tomllib.loads(use)["use"]]
        more = [f"deadline = {deadlines[part]}\n" if part in deadlines else "" for part in tomllib.loads(use)["use"]]
        return text.replace(use, "") + "".join(map("".join, zip(sections, more, strict=True)))

    return changed


CHECKS = (ROOT / "tests" / "public", ROOT / "tests" / "hidden")
Examine = Callable[..., list[Outcome]]


@pytest.fixture(scope="session")
def warm(course: Course) -> Iterator[Callable[[Path, Sequence[str] | None], list[Outcome]]]:
    """A process that has collected the checks once and examines submissions in forked children."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if not pid:
        try:
            ours.close()
            collect(CHECKS, lambda examiner: _serve(examiner, course, theirs.makefile("rw")))
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    theirs.close()
    with ours.makefile("rw") as line:

        def ask(submission: Path, only: Sequence[str] | None) -> list[Outcome]:
            line.write(json.dumps([str(submission), only]) + "\n")
            line.flush()
            return [batch.revived(row) for row in json.loads(line.readline())]

        yield ask
    ours.close()
    os.waitpid(pid, 0)


def _serve(examiner: Examiner, course: Course, line: TextIO) -> None:
    x = torch.ones(1, requires_grad=True)
    torch.autograd.grad(x * x, [x], torch.ones(1))  # imports half of torch, once and not in every child
    for request in line:
        root, only = json.loads(request)
        candidate = batch.Candidate(lambda _, root=root: sitting(Path(root), course), only)
        for _, outcomes, _ in batch.examine_all(examiner, [candidate], 1):
            line.write(json.dumps([asdict(outcome) for outcome in outcomes]) + "\n")
            line.flush()


@pytest.fixture
def examine(tmp_path: Path, course: Course, sources: Sources, warm: Callable[..., list[Outcome]]) -> Examine:
    """Examine a submission: the solution, with some files replaced or added."""

    def run(
        files: dict[str, str] | None = None, only: Sequence[str] | None = None, folders: Sequence[Path] = CHECKS
    ) -> list[Outcome]:
        submission = tmp_path / "submission"
        lay_out(submission, sources.solved() | (files or {}))
        if folders is CHECKS:
            return warm(submission, only)
        outcomes: list[Outcome] = []
        try:
            collect(
                list(folders), lambda examiner: outcomes.extend(examiner.examine(sitting(submission, course), only))
            )
        finally:
            forget(submission)
        return outcomes

    return run


@pytest.fixture(autouse=True)
def path_as_it_was():
    """Submissions and notebooks that run in our own process may add to the path; later tests must not find that."""
    before = list(sys.path)
    yield
    sys.path[:] = before
