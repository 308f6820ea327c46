"""The one module that knows pytest: it collects the test files once and runs them per submission.

Every check is reported, whatever happens: passed, failed (the submission is wrong), or could
not check (we are, and say so).
"""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import pytest

from autograder.checking.claims import Kind, Worth, declared
from autograder.checking.courses import PARTS, Course
from autograder.checking.places import beside, reference_file, side_of, sides, slug_of
from autograder.errors import UserError
from autograder.judging import references
from autograder.judging.diagnosis import TOGETHER, sentence
from autograder.judging.exercises import COMPOSED, DEFINES
from autograder.judging.findings import CheckFailed, Finding, Measure
from autograder.judging.held_out import Answers, unknown
from autograder.judging.references import Reference
from autograder.judging.submission import Submission
from autograder.running.cells import said_place
from autograder.running.editions import Edition
from autograder.running.frames import function_at
from autograder.running.loading import forget

Verdict = Literal["passed", "failed", "could not check"]
OUT_OF_TIME = "the time for the whole submission was over"


@dataclass(frozen=True)
class Outcome:
    """What one check said of one submission."""

    exercise: str
    part: str
    name: str
    claim: str
    verdict: Verdict
    finding: Finding | None = None
    says: str = ""  # the sentence of the mistake that the finding names
    trouble: str = ""  # why we could not check
    unrecognised: bool = False  # that is because there are files of which nobody knows what they are
    file: str = ""  # of the submission, from which the answer was taken
    note: str = ""  # what is told even if it passes
    measure: Measure | None = None
    counts: Kind = "core"
    worth: int = 0  # points of a further claim in this part
    elsewhere: int = 0  # its points in the other part
    refused: tuple[str, ...] = ()  # of the last outcome: what the whole submission tried and was refused

    @property
    def claim_name(self) -> str:
        """As a course file calls it: test_split_heads_matches_reference is matches_reference."""
        return self.name.removeprefix(f"test_{self.exercise}_")


def unrecognised(outcome: Outcome, why: str) -> Outcome:
    """What becomes of an answer that was not found, if it may be in a file that nobody recognises."""
    if not why or outcome.verdict == "passed":
        return outcome
    return replace(outcome, verdict="could not check", finding=None, says="", trouble=why, unrecognised=True)


@dataclass(frozen=True)
class Sitting:
    """One submission to be examined under one course."""

    course: Course
    submission: Submission
    close: Callable[[], None] = lambda: None  # ends whatever serves the submission
    until: float | None = None  # on the monotonic clock: no check begins later
    answers: Answers = unknown  # to what the predictions of submissions are about


class Examiner:
    """A collected test suite. `examine` runs it on one submission, in this process."""

    def __init__(self, items: Sequence[pytest.Item], folders: Mapping[str, Path]) -> None:
        self._checks: dict[tuple[str, str], list[_Check]] = {}  # by exercise and part, in the order of the file
        for item in items:
            assert isinstance(item, pytest.Function)
            for part in sides(item.path, folders):
                check = _Check.of(item, part, folders)
                if part == "public" or check.worth.kind != "note" or part == side_of(item.path, folders):
                    self._checks.setdefault((check.exercise, part), []).append(check)
        self._fitting: set[int] = set()  # courses whose points can be shared out among these claims

    def fits(self, course: Course) -> None:
        """Can the points of every exercise be shared out among its claims? If not, the error says where and why."""
        if id(course) in self._fitting:
            return
        for item in course.graded:
            known = {check.name for part in PARTS for check in self._checks.get((item.slug, part), ())}
            for name in item.claims:
                if known and name not in known:
                    where = course.file_of(item, "notes", "further")
                    raise UserError(f"{where}: '{item.slug}' has no claim '{name}'; it has {', '.join(sorted(known))}")
            for part in PARTS:
                taken = sum(
                    worth.points_of(part)
                    for check in self._checks.get((item.slug, part), ())
                    if (worth := item.worth(check.name, check.worth)).kind == "further"
                )
                if taken and item.points_of(part) and taken >= item.points_of(part):
                    raise UserError(
                        f"{course.file_of(item, part)}: the further claims of '{item.slug}' take {taken} of its "
                        f"{item.points_of(part)} {part} points, and the core is left with none; name some of them in "
                        "'notes', or give the exercise more points"
                    )
        self._fitting.add(id(course))

    def exercises(self) -> list[str]:
        return list(dict.fromkeys(exercise for exercise, _ in self._checks))

    def examine(
        self,
        sitting: Sitting,
        only: Iterable[str] | None = None,
        told: Callable[[Outcome], None] | None = None,
        parts: Sequence[str] = PARTS,
    ) -> list[Outcome]:
        """Run the checks of the course's exercises, in the course's order: all public ones, then all hidden ones.

        Public checks show what student code says; it must not have seen a hidden input by then.
        """
        self.fits(sitting.course)
        wanted = [item.slug for item in sitting.course.graded if only is None or item.slug in set(only)]
        outcomes: list[Outcome] = []
        judged = _Judged(sitting)
        for part in parts:
            for slug in wanted:
                found = judged.part(slug, part, self._checks.get((slug, part), ()), outcomes)
                outcomes += found
                if told is not None:
                    for outcome in found:
                        told(outcome)
        ran = any(outcome.trouble != OUT_OF_TIME for outcome in outcomes)
        if ran and (refused := sitting.submission._refused()):
            outcomes[-1] = replace(outcomes[-1], refused=refused)
        return outcomes


class _Judged:
    """One submission while it is examined: which definition of each exercise counts, and time for trying others."""

    def __init__(self, sitting: Sitting) -> None:
        self.sitting, self.submission = sitting, sitting.submission
        self.chosen: dict[str, Edition | None] = {}
        self.spare = float(sitting.course.retries)

    def part(self, slug: str, part: str, checks: Sequence[_Check], before: Sequence[Outcome]) -> list[Outcome]:
        """The outcomes of one exercise's checks. Where they fail and there are other definitions, the best one counts:
        experiments come later in the same file. The first part that has checks decides for both."""
        if not checks:
            return []
        if self._over():
            return [check.weighed(check.left_out(), self.sitting.course) for check in checks]
        name = DEFINES.get(slug, slug)
        if slug in self.chosen:
            return self._run(slug, part, checks, before, self.chosen[slug])
        best = self._run(slug, part, checks, before, None)
        self.chosen[slug] = None
        if not best[0].file or _core_holds(best):
            return best
        for edition in self.submission._editions(name)[1:]:
            started = time.monotonic()
            if self._over() or self.spare <= 0:
                break
            again = self._run(slug, part, checks, before, edition)
            self.spare -= time.monotonic() - started
            if _merit(again) > _merit(best):
                told = f"taken from the definition in {said_place(edition.place, edition.line)}"
                best, self.chosen[slug] = _noted(again, told), edition
        return best

    def _over(self) -> bool:
        return self.sitting.until is not None and time.monotonic() >= self.sitting.until

    def _run(
        self, slug: str, part: str, checks: Sequence[_Check], before: Sequence[Outcome], edition: Edition | None
    ) -> list[Outcome]:
        self.submission._begin(slug, part)
        submission = self.submission._in(DEFINES.get(slug, slug), edition)
        sitting = replace(self.sitting, submission=submission)
        found: list[Outcome] = []
        used: set[str] = set()
        for check in checks:
            outcome = check.weighed(check.outcome(sitting), sitting.course, **_placed(slug, part, submission))
            used |= submission._used & set(sitting.course.items[slug].forbid)
            if outcome.finding is not None:
                earlier = [*before, *found]
                outcome = _just(_kept_quiet(_inside(outcome, sitting), earlier), check.reference, earlier)
            found.append(_forbidden(outcome, used))
        return found


def _core_holds(outcomes: Sequence[Outcome]) -> bool:
    return all(outcome.verdict == "passed" for outcome in outcomes if outcome.counts == "core")


def _merit(outcomes: Sequence[Outcome]) -> tuple[bool, int, int]:
    """What a definition would earn, and how much of it is right."""
    right = [outcome for outcome in outcomes if outcome.verdict == "passed"]
    return _core_holds(outcomes), sum(outcome.worth for outcome in right), len(right)


def _noted(outcomes: Sequence[Outcome], told: str) -> list[Outcome]:
    """With a note, on the first that passed: only those show theirs."""
    at = next((place for place, outcome in enumerate(outcomes) if outcome.verdict == "passed"), 0)
    note = "; ".join(filter(None, (outcomes[at].note, told)))
    return [replace(one, note=note) if place == at else one for place, one in enumerate(outcomes)]


def _placed(slug: str, part: str, submission: Submission) -> dict[str, Any]:
    """The file that an answer came from, and what the check noted."""
    note, measure = submission._noted(part)
    return {"file": submission._file_of(DEFINES.get(slug, slug)), "note": note, "measure": measure}


def _inside(outcome: Outcome, sitting: Sitting) -> Outcome:
    """With the exercise in whose lines an exception was raised, if it is another than the one that was called."""
    finding = outcome.finding
    if finding is None or not finding.places:
        return outcome
    called = DEFINES.get(outcome.exercise, outcome.exercise)
    homes = {DEFINES.get(slug, slug): slug for slug in reversed(list(sitting.course.items))}
    for place, line in reversed(finding.places):  # a helper belongs to whoever calls it
        name = function_at(sitting.submission.root, place, line)
        if name == called:
            return outcome
        if name in homes:
            told = replace(finding, headline=f"{finding.headline} inside {name}", inside=homes[name])
            return replace(outcome, finding=told)
    return outcome


_ALWAYS_THE_SAME = ("memory", "disk")  # what the grader says of these limits


def _kept_quiet(outcome: Outcome, before: Sequence[Outcome]) -> Outcome:
    """Of a hidden check, a place and an exception's type are told only if a public one of the same exercise met the
    same, and so is how its process ended: lines, types, signals and deadlines may carry hidden inputs out."""
    finding = outcome.finding
    if finding is None or outcome.part != "hidden" or finding.kind in _ALWAYS_THE_SAME:
        return outcome
    public = [other for other in before if (other.exercise, other.part) == (outcome.exercise, "public")]
    if finding.where in {other.finding.where for other in public if other.finding}:
        return outcome
    return replace(outcome, finding=replace(finding, where="", places=(), inside=""))


def _forbidden(outcome: Outcome, used: set[str]) -> Outcome:
    """A core claim does not hold if a kernel did the work that this course wants done by hand."""
    if not used or outcome.counts != "core" or outcome.verdict != "passed":
        return outcome
    headline = f"{outcome.exercise}: calls the library's {' and '.join(sorted(used))}, which this course forbids here"
    evidence = ("Build it from the steps: scores, scaling, mask, softmax, outputs.",)
    return replace(outcome, verdict="failed", finding=Finding("property", headline, evidence, open=True))


@dataclass(frozen=True)
class _Check:
    """One collected test function, and what it may ask for by the names of its arguments."""

    item: pytest.Function
    exercise: str
    part: str
    claim: str
    reference: Reference  # read before any fork, so that all children share the pages
    worth: Worth  # as declared

    @staticmethod
    def of(item: pytest.Function, part: str, folders: Mapping[str, Path]) -> _Check:
        exercise = slug_of(item.path)
        claim = (item.function.__doc__ or item.name).strip().splitlines()[0]
        reference = _reference(reference_file(beside(item.path, part, folders), exercise))
        return _Check(item, exercise, part, claim, reference, declared(item.function, str(item.path)))

    @property
    def name(self) -> str:
        """Of the claim; see Outcome.claim_name."""
        return self.item.name.removeprefix(f"test_{self.exercise}_")

    def weighed(self, outcome: Outcome, course: Course, **known: Any) -> Outcome:
        """With what the claim counts as in a course, and what else is known of it."""
        item = course.items[self.exercise]
        worth = item.worth(self.name, self.worth)
        here = worth.points_of(self.part) if item.points_of(self.part) else 0
        other = next(part for part in PARTS if part != self.part)
        there = worth.points_of(other) if item.points_of(other) else 0
        return replace(outcome, counts=worth.kind, worth=here, elsewhere=there, **known)

    def left_out(self) -> Outcome:
        """What is said if there is no time for it."""
        return Outcome(self.exercise, self.part, self.item.name, self.claim, "could not check", trouble=OUT_OF_TIME)

    def outcome(self, sitting: Sitting) -> Outcome:
        asked: dict[str, Callable[[], object]] = {
            "submission": lambda: sitting.submission,
            "course": lambda: sitting.course,
            "reference": lambda: self.reference,
            "tolerance": lambda: sitting.course.tolerance(self.exercise),
            "answers": lambda: sitting.answers,  # to be asked only for what was handed in
        }
        name = self.item.name
        try:
            # Only the call of pytest's protocol: its set-up and reports cost more than most checks do.
            self.item.funcargs = {argument: asked[argument]() for argument in self.item._fixtureinfo.argnames}
            self.item.ihook.pytest_pyfunc_call(pyfuncitem=self.item)
        except CheckFailed as failed:
            return Outcome(self.exercise, self.part, name, self.claim, "failed", failed.finding)
        except UserError as error:  # something that is missing, said in one line
            return Outcome(self.exercise, self.part, name, self.claim, "could not check", trouble=str(error))
        except Exception as error:
            trouble = "".join(traceback.format_exception(error)).strip()
            return Outcome(self.exercise, self.part, name, self.claim, "could not check", trouble=trouble)
        finally:
            self.item.funcargs = {}
        return Outcome(self.exercise, self.part, name, self.claim, "passed")


def _just(outcome: Outcome, reference: Reference, before: Sequence[Outcome]) -> Outcome:
    """The outcome with its sentence, but no accusation of a step whose own checks, before this one, say otherwise.

    What comes out wrong in the end may look like a mistake in a step that is right.
    """
    finding = outcome.finding
    if finding is None:
        return outcome
    finding = _blamed(finding, outcome, before)
    outcome = replace(outcome, finding=finding)
    if not finding.cause:
        return replace(outcome, says=finding.fitted)
    sure = set()
    for slug in finding.cause.split(TOGETHER):
        home = slug.split(".")[0]
        own = [other for other in before if (other.exercise, other.part) == (home, outcome.part)]
        named = {name for other in own if other.finding for name in other.finding.cause.split(TOGETHER)}
        if home != outcome.exercise and own and slug not in named:
            return replace(outcome, finding=replace(finding, cause=""), says=finding.fitted)
        if home == outcome.exercise or own:
            sure.add(slug)
    return replace(outcome, says=sentence(reference, finding.cause, sure))


def _blamed(finding: Finding, outcome: Outcome, before: Sequence[Outcome]) -> Finding:
    """A mistake of the exercise itself, unless a step below has one that explains the same.

    Results that never came may be any failing step's fault: then nothing is named that the step does not name.
    """
    below = COMPOSED.get(outcome.exercise, ())
    if not below or (finding.cause and not finding.cause.startswith(f"{outcome.exercise}.")):
        return finding
    steps = [one for one in before if one.part == outcome.part and one.exercise in below]
    failing = [one for one in steps if one.finding and one.counts != "note"]
    named = {one.finding.cause for one in failing if one.finding and one.finding.cause.startswith(f"{one.exercise}.")}
    shared = [cause for cause in finding.also if cause in named]
    if len(shared) == 1:
        return replace(finding, cause=shared[0], also=tuple(cause for cause in finding.also if cause not in shared))
    unseen = finding.inside and finding.inside not in {one.exercise for one in before}
    return replace(finding, cause="") if finding.unsure and (failing or unseen) else finding


@cache
def _reference(path: Path) -> Reference:
    return references.read(path)


class _Plugin:
    """Hands the collected items over, and lets pytest look for no fixtures of its own."""

    def __init__(self, folders: Mapping[str, Path], job: Callable[[Callable[[], Examiner]], None]) -> None:
        self.folders, self.job = folders, job

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            raise UserError("the test files could not be collected; run pytest on them to see why")
        self.job(lambda: Examiner(session.items, self.folders))
        return True


def collect(folders: Sequence[Path], job: Callable[[Examiner], None]) -> None:
    """Collect the test files of every part below `folders` (named public, hidden) and hand them to `job`."""
    for folder in folders:
        if not folder.is_dir():
            raise UserError(f"{folder} is missing; it holds the checks")
    _reference.cache_clear()
    failure: list[BaseException] = []

    def guarded(collected: Callable[[], Examiner]) -> None:
        try:
            job(collected())
        except BaseException as error:  # pytest would print it as its own crash
            failure.append(error)

    plugin = _Plugin({folder.name: folder for folder in folders}, guarded)
    # Nothing but the named folders decides what runs: no ini file, conftest, cache or other plugin.
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    status = pytest.main(
        [
            *("-c", os.devnull, "--rootdir", str(folders[0].parent), "--noconftest", "--import-mode=importlib"),
            *(
                "-p",
                "no:terminal",
                "-p",
                "no:cacheprovider",
                "-p",
                "no:capture",
                "-p",
                "no:logging",
                "-p",
                "no:faulthandler",
            ),
            *(str(folder) for folder in folders),
        ],
        plugins=[plugin],
    )
    for folder in folders:
        forget(folder)  # another folder of the same name must not find these test modules
    if failure:
        raise failure[0]
    if status == pytest.ExitCode.INTERRUPTED:
        raise KeyboardInterrupt
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        raise UserError(
            f"the checks in {', '.join(map(str, folders))} could not be collected (pytest status {int(status)})"
        )
