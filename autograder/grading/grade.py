"""Grade submissions: take in, examine in workers, and write results when every process is dead.

Whatever is graded already, by the same checks, course and code, is kept: a run that was interrupted goes on
where it stopped.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import secrets
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import torch

from autograder.checking.courses import PARTS, Course
from autograder.checking.engine import OUT_OF_TIME, Examiner, Outcome, Sitting, collect, unrecognised
from autograder.checking.points import Row, rows
from autograder.errors import UserError
from autograder.files import remove_tree, write_atomically
from autograder.grading.batch import Serving, Task, examine_in_workers
from autograder.grading.dens import den
from autograder.grading.results_file import results, text_of, versions
from autograder.grading.summaries import Record, digest_of, read_result
from autograder.intake.clean_tree import Intake, Refused, Section, in_a_child
from autograder.intake.entries import few
from autograder.intake.people import Entry, Student
from autograder.isolation import Layers, kill_tree, processes
from autograder.isolation.forks import TooMuch
from autograder.judging.exercises import DEFINES
from autograder.judging.held_out import Answers, supplied
from autograder.judging.submission import Submission
from autograder.workers.remote import Limits, RemoteChannel, slack
from autograder.workers.zygote import Zygote

PAGE = "report.html"
LOWEST_USER, HIGHEST_USER = 61184, 65519  # ids that no login has
OUR_OWN = 600  # seconds for what we do with a submission ourselves, all of which has deadlines of its own


@dataclass(frozen=True)
class Setting:
    """What is the same for all submissions of a run."""

    course: Course
    layers: Layers
    limits: Limits
    folders: tuple[Path, ...]  # of the public and the hidden checks
    jobs: int
    until: float | None = None  # on the monotonic clock of this machine: no check begins later
    answers: Path | None = None  # to what predictions are about; workers cannot read it


@dataclass(frozen=True)
class Tree:
    """A submission that has been taken in and waits to be examined."""

    position: int
    student: Student
    intake: Intake


@dataclass(frozen=True)
class Examined:
    """What came of a tree, and where."""

    outcomes: list[Outcome]
    seconds: float
    layers: Layers
    versions: dict[str, str]
    trouble: str = ""  # why there are no outcomes, if somebody knows


Page = Callable[[dict[str, Any], str], str]  # from a result and a name, as HTML


class Examination(Protocol):
    """Examines trees somewhere, and says so one by one, in any order."""

    def __call__(self, waiting: Iterator[Tree], done: Callable[[Tree, Examined], None]) -> None: ...


def grade(
    entries: Sequence[Entry],
    setting: Setting,
    out: Path,
    told: Callable[[Record], None] = lambda _: None,
    *,
    regrade: bool = False,
    examination: Examination | None = None,
    seen: Callable[[Student, Intake], None] | None = None,
    page: Page | None = None,
) -> list[Record]:
    """Grade every entry into `out`/<id>/; one bad submission never stops the rest.

    `seen` is shown every tree while it is there, also of a submission that was graded before.
    `page` makes the page that goes beside each result; where nobody looks at pages, there is none.
    """
    run = _Run(entries, setting, out, told, regrade, seen, page)
    with den() as folder, contextlib.closing(run.reading):
        waiting = run.waiting(folder)
        first = next(waiting, None)
        if first is not None:  # nothing is started for a run in which everything is graded already
            (examination or here(setting))(itertools.chain([first], waiting), run.examined)
    return [run.records[position] for position in sorted(run.records)]


class _Run:
    """One run over all entries: takes in, keeps what is there, and writes what is new."""

    def __init__(
        self,
        entries: Sequence[Entry],
        setting: Setting,
        out: Path,
        told: Callable[[Record], None],
        regrade: bool,
        seen: Callable[[Student, Intake], None] | None,
        page: Page | None,
    ) -> None:
        self.entries, self.setting, self.out, self.told, self.regrade = entries, setting, out, told, regrade
        self.seen, self.page = seen, page
        self.records: dict[int, Record] = {}
        self.reading = in_a_child(sections(setting.course))
        self.hashes = {
            "course": digest([*setting.course.files_read.values()]),
            "checks": digest(setting.folders),
            "grader": grader_digest(),
            "limits": hashlib.sha256(repr(setting.limits).encode()).hexdigest(),
            "answers": digest([setting.answers] if setting.course.asks and setting.answers else []),
        }

    def waiting(self, folder: Path) -> Iterator[Tree]:
        """Take in one entry after the other; yields those that must be examined."""
        for position, entry in enumerate(self.entries):
            place = folder / str(position)
            place.mkdir(mode=0o711)
            tree = place / "submission"
            tree.mkdir(mode=0o750)
            intake = self._taken_in(entry, tree)
            if isinstance(intake, str):
                self._refused(position, entry.student, intake)
                remove_tree(place)
                continue
            if self.seen is not None:
                self.seen(entry.student, intake)
            if self._kept(position, entry.student, intake):
                remove_tree(place)
            else:
                yield Tree(position, entry.student, intake)

    def _taken_in(self, entry: Entry, tree: Path) -> Intake | str:
        """Or why not. Where there is nothing to grade, a person must look: no points are not the same as 0."""
        try:
            intake = Intake.of(self.reading(entry.source.plain(), str(tree)))
        except Refused as refused:
            return str(refused)
        except (TooMuch, RuntimeError) as error:
            return f"could not be read ({error}); a person must look at it"
        except UserError as error:  # the disk's fault, and perhaps only too small for this one
            return f"{error} in {tempfile.gettempdir()}"
        except OSError as error:
            return f"could not be read ({error.strerror or error}); is the disk full, or the file gone?"
        return intake.why_nothing or intake

    def examined(self, tree: Tree, examined: Examined) -> None:
        unsure = tree.intake.unsure
        outcomes = [
            unrecognised(one, unsure.get(DEFINES.get(one.exercise, one.exercise), "")) for one in examined.outcomes
        ]
        found = rows(self.setting.course, outcomes)
        trouble = trouble_with(outcomes, found, examined.trouble)
        content = results(self.setting.course, found, examined.layers, tree.intake, trouble, self.hashes)
        content["extra_data"]["versions"] = examined.versions
        self._write(tree.position, tree.student, content, examined.seconds)
        remove_tree(tree.intake.root.parent)

    def _refused(self, position: int, student: Student, why: str) -> None:
        course, layers = self.setting.course, self.setting.layers
        self._write(position, student, results(course, rows(course, []), layers, None, why, self.hashes), 0.0)

    def _kept(self, position: int, student: Student, intake: Intake) -> bool:
        """Was this very submission graded before, by the same checks, course, code and limits?"""
        path = self.out / student.id / "results.json"
        content = None if self.regrade else read_result(path)
        if content is None or content["extra_data"]["hashes"] != self.hashes | {"submission": intake.digest}:
            return False
        if content["extra_data"]["could_not_grade"] or (self.page and not path.with_name(PAGE).is_file()):
            return False
        if Student.of(content["extra_data"]["student"]) != student:
            self._write(position, student, content, content["execution_time"], kept=True)
        else:
            self._record(position, content, kept=True)
        return True

    def _write(
        self, position: int, student: Student, content: dict[str, Any], seconds: float, *, kept: bool = False
    ) -> None:
        content["execution_time"] = round(seconds, 3)
        content["extra_data"]["student"] = asdict(student)
        content["extra_data"]["digest"] = digest_of(content)
        folder = self.out / student.id
        if self.page is not None:  # the page first: whoever finds a result finds its page, too
            write_atomically(folder / PAGE, self.page(content, student.name or student.id).encode())
        write_atomically(folder / "results.json", text_of(content))
        self._record(position, content, kept=kept)

    def _record(self, position: int, content: dict[str, Any], *, kept: bool) -> None:
        self.records[position] = replace(Record.of(content), kept=kept)
        self.told(self.records[position])


def trouble_with(outcomes: Sequence[Outcome], found: Sequence[Row], known: str = "") -> str:
    """Why not everything was judged; '' if it was."""
    if any(outcome.trouble == OUT_OF_TIME for outcome in outcomes):
        return f"some checks were not run, because {OUT_OF_TIME}; they count as 0"
    if not any(row.verdict == "could not check" for row in found):
        return ""
    foreign = [outcome for outcome in outcomes if outcome.unrecognised]
    ours = any(outcome.verdict == "could not check" and not outcome.unrecognised for outcome in outcomes)
    if foreign and not ours and not known:
        titles = dict.fromkeys(row.item.section for row in found if any(one.unrecognised for one in row.outcomes))
        return f"could not grade '{few([*titles], 2)}': {foreign[0].trouble}"
    reasons = {one.trouble for one in outcomes if one.trouble and "\n" not in one.trouble and not one.unrecognised}
    why = f" ({known or min(reasons)})" if known or reasons else ""
    return f"some checks could not be run; the fault is ours{why}"


def sections(course: Course) -> list[Section]:
    """What is looked for in submissions: exercises, by the files that may hold them."""
    grouped: dict[tuple[str, ...], list[str]] = {}
    for item in course.graded:
        grouped.setdefault(item.files, []).append(item.slug)
    found = []
    for files, slugs in grouped.items():
        names = [DEFINES.get(slug, slug) for slug in slugs]
        own = {DEFINES.get(slug, slug) for slug in slugs if not course.items[slug].given}
        found.append(Section(files, {name: names.count(name) for name in names}, frozenset(names) - own))
    return found


def here(setting: Setting, zygote: Zygote | None = None, *, ahead: bool = True) -> Examination:
    """Examine on this machine, once: one collected suite, a warm zygote, as many children as jobs.

    zygote: if one was started early; it is closed in the end. ahead: the next submission may be asked for before the
    last is done.
    """

    def run(waiting: Iterator[Tree], done: Callable[[Tree, Examined], None]) -> None:
        torch.set_num_threads(1)
        started = zygote or Zygote()
        first_user = _free_users(setting.jobs) if setting.layers.own_user else 0
        answers = supplied(setting.answers if setting.course.asks else None)  # once, for all children

        def job(examiner: Examiner) -> None:
            trees: dict[int, Tree] = {}

            def tasks() -> Iterator[Task]:
                for number, tree in enumerate(waiting):
                    trees[number] = tree
                    yield Task(str(tree.intake.root), tree.intake.files)

            def lost(slot: int) -> None:
                """A child that is killed cannot end its worker, and the next one would meet it."""
                if setting.layers.own_user:
                    kill_tree(-1, first_user + slot, ended=True)

            serving, most = _serving(started, setting, first_user, answers), all_deadlines(setting.course)
            # Closed also if `done` fails or is interrupted: our children hold the zygote's line, and it waits for them.
            examining = examine_in_workers(
                examiner, serving, tasks(), setting.jobs, ahead=ahead, seconds=most, lost=lost
            )
            with contextlib.closing(examining) as examined:
                for number, outcomes, seconds in examined:
                    why = f"grading took more than {most:.0f} s and was stopped" if seconds >= most else ""
                    done(trees.pop(number), Examined(outcomes, seconds, setting.layers, versions(), why))

        try:
            collect(setting.folders, job)
        finally:
            started.close()

    return run


def all_deadlines(course: Course) -> float:
    """Seconds after which a submission has used up every deadline that there is, and something of ours is wrong."""
    checks = sum(item.deadline for item in course.graded for part in PARTS if item.runs(part))
    return checks + 2 * course.retries + slack(course) + OUR_OWN


def _serving(zygote: Zygote, setting: Setting, first_user: int, answers: Answers) -> Serving:
    def serve(task: Task, slot: int) -> Sitting:
        root, user = Path(task.root), None
        if setting.layers.own_user:
            user = first_user + slot
            _give(root, user)
        course, layers, limits, until = setting.course, setting.layers, setting.limits, setting.until
        channel = RemoteChannel(zygote, root, task.files, course, layers, limits, user, until)
        return Sitting(course, Submission(channel), channel.close, until, answers)

    return serve


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


def digest(paths: Sequence[Path]) -> str:
    """One hash over files and folders, by name and content."""
    found = hashlib.sha256()
    for path in paths:
        for file in sorted([path] if path.is_file() else (p for p in path.rglob("*") if p.is_file())):
            if "__pycache__" not in file.parts:
                found.update(f"{file.relative_to(path.parent).as_posix()}\0".encode())
                found.update(hashlib.sha256(file.read_bytes()).digest())
    return found.hexdigest()


@cache
def grader_digest() -> str:
    """Of the code that grades: another one may judge otherwise."""
    package = Path(__file__).parents[1]
    return digest(sorted(path for kind in ("py", "css", "js") for path in package.glob(f"**/*.{kind}")))


def require_isolation(layers: Layers, *secret: Path, weak_allowed: bool) -> None:
    """Refuse to run untrusted code without walls, unless told so in so many words.

    secret: the repository, the submissions and the results. Where a user of its own is the worker's only wall, nobody
    else must be able to read them.
    """
    if layers.strong:
        return
    if weak_allowed:
        print("grading with WEAK isolation: only for submissions that you trust", file=sys.stderr)
        return
    if not layers.user_alone:
        raise UserError(
            "this machine cannot isolate submissions (it lacks Landlock, or seccomp); "
            "grade on Linux, or pass --allow-weak-isolation if you trust every one of them"
        )
    for path in secret:
        if open_to_all(path):
            raise UserError(
                f"this kernel has no Landlock, and every user of this machine can read {path}; run: chmod go= {path}, "
                "or pass --allow-weak-isolation if you trust every submission"
            )


def open_to_all(path: Path) -> bool:
    """Can a user without any rights of their own read it, or list it? Not if a folder above it is closed."""
    path = path.resolve()
    if not path.exists() or not all(parent.stat().st_mode & 0o001 for parent in path.parents):
        return False
    return bool(path.stat().st_mode & 0o005)
