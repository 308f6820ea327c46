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
from typing import Literal

import pytest

from autograder import references
from autograder.course import PARTS, Course
from autograder.diagnose import TOGETHER, sentence
from autograder.errors import UserError
from autograder.exercises import DEFINES
from autograder.findings import CheckFailed, Finding, Measure
from autograder.held_out import Answers, unknown
from autograder.loading import forget
from autograder.references import Reference
from autograder.submission import Submission

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
    file: str = ""  # of the submission, from which the answer was taken
    note: str = ""  # what is told even if it passes
    measure: Measure | None = None


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
            check = _Check.of(item, folders)
            self._checks.setdefault((check.exercise, check.part), []).append(check)

    def exercises(self) -> list[str]:
        return list(dict.fromkeys(exercise for exercise, _ in self._checks))

    def examine(
        self, sitting: Sitting, only: Iterable[str] | None = None, told: Callable[[Outcome], None] | None = None
    ) -> list[Outcome]:
        """Run the checks of the course's exercises, in the course's order: all public ones, then all hidden ones.

        Public checks show what student code says; it must not have seen a hidden input by then.
        """
        wanted = [item.slug for item in sitting.course.graded if only is None or item.slug in set(only)]
        outcomes: list[Outcome] = []
        for part in PARTS:
            for slug in wanted:
                over = sitting.until is not None and time.monotonic() >= sitting.until
                if (slug, part) in self._checks and not over:
                    sitting.submission._begin(slug, part)
                for check in self._checks.get((slug, part), ()):
                    outcome = check.left_out() if over else _placed(check.outcome(sitting), sitting.submission)
                    outcomes.append(_just(outcome, check.reference, outcomes))
                    if told is not None:
                        told(outcomes[-1])
        return outcomes


def _placed(outcome: Outcome, submission: Submission) -> Outcome:
    """With the file that the answer came from, and what the check noted."""
    note, measure = submission._noted(outcome.part)
    file = submission._file_of(DEFINES.get(outcome.exercise, outcome.exercise))
    return replace(outcome, file=file, note=note, measure=measure)


@dataclass(frozen=True)
class _Check:
    """One collected test function, and what it may ask for by the names of its arguments."""

    item: pytest.Function
    exercise: str
    part: str
    claim: str
    reference: Reference  # read before any fork, so that all children share the pages

    @staticmethod
    def of(item: pytest.Item, folders: Mapping[str, Path]) -> _Check:
        assert isinstance(item, pytest.Function)
        exercise, part = item.path.stem.removeprefix("test_"), item.path.parent.name
        claim = (item.function.__doc__ or item.name).strip().splitlines()[0]
        return _Check(item, exercise, part, claim, _reference(folders[part] / "references" / f"{exercise}.safetensors"))

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
    if finding is None or not finding.cause:
        return outcome
    sure = set()
    for slug in finding.cause.split(TOGETHER):
        home = slug.split(".")[0]
        own = [other for other in before if (other.exercise, other.part) == (home, outcome.part)]
        named = {name for other in own if other.finding for name in other.finding.cause.split(TOGETHER)}
        if home != outcome.exercise and own and slug not in named:
            return replace(outcome, finding=replace(finding, cause=""))
        if home == outcome.exercise or own:
            sure.add(slug)
    return replace(outcome, says=sentence(reference, finding.cause, sure))


@cache
def _reference(path: Path) -> Reference:
    return references.read(path)


class _Plugin:
    """Hands the collected items over, and lets pytest look for no fixtures of its own."""

    def __init__(self, folders: Mapping[str, Path], job: Callable[[Examiner], None]) -> None:
        self.folders, self.job = folders, job

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            raise UserError("the test files could not be collected; run pytest on them to see why")
        self.job(Examiner(session.items, self.folders))
        return True


def collect(folders: Sequence[Path], job: Callable[[Examiner], None]) -> None:
    """Collect the test files below `folders` (named public, hidden) and hand them to `job`."""
    for folder in folders:
        if not folder.is_dir():
            raise UserError(f"{folder} is missing; it holds the checks")
    _reference.cache_clear()
    failure: list[BaseException] = []

    def guarded(examiner: Examiner) -> None:
        try:
            job(examiner)
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
