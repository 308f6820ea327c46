"""Grade submissions: take in, examine in workers, and write results when every process is dead."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from autograder.batch import Seating, examine_all
from autograder.course import Course
from autograder.engine import Examiner, Sitting, collect
from autograder.errors import UserError
from autograder.files import remove_tree, write_atomically
from autograder.gradescope import results
from autograder.intake import Intake, Refused, take_in
from autograder.isolation import Layers, processes
from autograder.page import page
from autograder.remote import Limits, RemoteChannel
from autograder.results import Row, rows
from autograder.submission import Submission
from autograder.zygote import Zygote

LOWEST_USER, HIGHEST_USER = 61184, 65519  # ids that no login has


@dataclass(frozen=True)
class Graded:
    """One submission's end: its name, its rows, and why it could not be graded, if so."""

    name: str
    rows: list[Row]
    trouble: str
    path: Path

    @property
    def score(self) -> int:
        return sum(row.score for row in self.rows)


@dataclass(frozen=True)
class Setting:
    """What is the same for all submissions of a run."""

    course: Course
    layers: Layers
    limits: Limits
    folders: tuple[Path, ...]  # of the public and the hidden checks
    jobs: int


def grade(
    paths: Sequence[Path], setting: Setting, out: Path, told: Callable[[Graded], None] = lambda _: None
) -> list[Graded]:
    """Grade each path and write `out`/<name>/results.json; one bad submission never stops the rest."""
    names = _names(paths)
    torch.set_num_threads(1)
    zygote = Zygote()  # first, because it takes as long to start as all the rest
    graded: dict[int, Graded] = {}
    try:
        with _den() as den:

            def job(examiner: Examiner) -> None:
                _grade_all(examiner, zygote, den, paths, names, setting, out, graded, told)

            collect(setting.folders, job)
    finally:
        zygote.close()
    return [graded[index] for index in sorted(graded)]


def _grade_all(
    examiner: Examiner,
    zygote: Zygote,
    den: Path,
    paths: Sequence[Path],
    names: Sequence[str],
    setting: Setting,
    out: Path,
    graded: dict[int, Graded],
    told: Callable[[Graded], None],
) -> None:
    hashes = {"course": _hash([setting.course.path]), "checks": _hash(setting.folders)}

    def finish(index: int, intake: Intake | None, found: list[Row], trouble: str, seconds: float) -> None:
        content = results(setting.course, found, setting.layers, intake, trouble, hashes)
        content["execution_time"] = round(seconds, 3)
        path = out / names[index] / "results.json"
        write_atomically(path, json.dumps(content, indent=1, ensure_ascii=False, sort_keys=True).encode())
        write_atomically(path.with_name("report.html"), page(content, names[index]).encode())
        graded[index] = Graded(names[index], found, trouble, path)
        told(graded[index])

    first_user = _free_users(setting.jobs) if setting.layers.own_user else 0
    ready: list[tuple[int, Intake]] = []
    seatings: list[Seating] = []
    for index, path in enumerate(paths):
        place = den / str(index)
        place.mkdir(mode=0o711)
        tree = place / "submission"
        tree.mkdir(mode=0o750)
        try:
            intake = take_in(path, tree)
        except Refused as refused:
            finish(index, None, rows(setting.course, []), str(refused), 0.0)
            remove_tree(place)
            continue
        ready.append((index, intake))
        seatings.append(_seating(zygote, intake, setting, first_user))
    for position, outcomes, seconds in examine_all(examiner, seatings, setting.jobs):
        index, intake = ready[position]
        found = rows(setting.course, outcomes)
        missing = any(row.verdict == "could not check" for row in found)
        finish(index, intake, found, "some checks could not be run; the fault is ours" if missing else "", seconds)
        remove_tree(den / str(index))


def _seating(zygote: Zygote, intake: Intake, setting: Setting, first_user: int) -> Seating:
    def sit(slot: int) -> Sitting:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends us
        user = None
        if setting.layers.own_user:
            user = first_user + slot
            _give(intake.root, user)
        channel = RemoteChannel(zygote, intake.root, intake.files, setting.course, setting.layers, setting.limits, user)
        return Sitting(setting.course, Submission(channel), channel.close)

    return sit


def _free_users(count: int) -> int:
    """The first of so many user ids in a row that no process has: other graders may be at work on this machine."""
    while True:
        first = secrets.choice(range(LOWEST_USER, HIGHEST_USER - count))
        if not any(processes(-1, first + slot) for slot in range(count)):
            return first


def _give(tree: Path, group: int) -> None:
    """Let the worker's group read a submission; nobody else but us can."""
    for path in (tree, *tree.rglob("*")):
        os.chown(path, os.getuid(), group, follow_symlinks=False)
        path.chmod(0o750 if path.is_dir() else 0o640)


@contextlib.contextmanager
def _den() -> Iterator[Path]:
    """A folder for all that workers see. Its real name is used, because Landlock goes by it."""
    folder = Path(tempfile.mkdtemp(prefix="grading-")).resolve()
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        remove_tree(folder)


def _names(paths: Sequence[Path]) -> list[str]:
    """A folder name for each submission: its own, made harmless, with a number if it is taken."""
    names: list[str] = []
    for path in paths:
        stem = path.stem if path.suffix in (".zip", ".py", ".ipynb") else path.name
        base = "".join(c if c.isalnum() or c in "-_." else "_" for c in stem).strip(".")[:80] or "submission"
        name, number = base, 2
        while name.casefold() in {taken.casefold() for taken in names}:
            name, number = f"{base}-{number}", number + 1
        names.append(name)
    return names


def _hash(paths: Sequence[Path]) -> str:
    """One hash over files and folders, by name and content."""
    digest = hashlib.sha256()
    for path in paths:
        for file in sorted([path] if path.is_file() else (p for p in path.rglob("*") if p.is_file())):
            if "__pycache__" not in file.parts:
                digest.update(f"{file.relative_to(path.parent).as_posix()}\0".encode())
                digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def require_isolation(layers: Layers, hidden: Path, *, weak_allowed: bool) -> None:
    """Refuse to run untrusted code without walls, unless told so in so many words."""
    if not layers.strong:
        if weak_allowed:
            print("grading with WEAK isolation: only for submissions that you trust", file=sys.stderr)
            return
        raise UserError(
            "this machine cannot isolate submissions (no Landlock and no user of their own, or no seccomp); "
            "grade on Linux, or pass --allow-weak-isolation if you trust every one of them"
        )
    if not layers.landlock and hidden.stat().st_mode & 0o005:
        raise UserError(f"{hidden} can be read by everybody, and this kernel has no Landlock; run: chmod 700 {hidden}")
