"""The one module that knows pytest: it collects the test files once and runs them per submission.

Every check is reported, whatever happens: passed, failed (the submission is wrong), or could
not check (we are, and say so).
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest

from autograder import references
from autograder.compare import Tolerance
from autograder.course import Course
from autograder.diagnose import sentence
from autograder.errors import UserError
from autograder.findings import CheckFailed, Finding
from autograder.loading import forget
from autograder.references import Reference
from autograder.submission import Submission

Verdict = Literal["passed", "failed", "could not check"]


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


@dataclass(frozen=True)
class Sitting:
    """One submission to be examined under one course."""

    course: Course
    submission: Submission
    close: Callable[[], None] = lambda: None  # ends whatever serves the submission


class Examiner:
    """A collected test suite. `examine` runs it on one submission, in this process."""

    def __init__(self, items: Sequence[pytest.Item], config: pytest.Config) -> None:
        self._items = items
        self._state = config.stash[_STATE]
        for item in items:  # read before any fork, so that all children share the pages
            self._state.reference(_exercise(item), _part(item))

    def exercises(self) -> list[str]:
        return list(dict.fromkeys(_exercise(item) for item in self._items))

    def examine(
        self, sitting: Sitting, only: Iterable[str] | None = None, told: Callable[[Outcome], None] | None = None
    ) -> list[Outcome]:
        """Run the checks of the course's exercises, in the course's order: all public ones, then all hidden ones.

        Public checks show what student code says; it must not have seen a hidden input by then.
        """
        wanted = [item.slug for item in sitting.course.graded if only is None or item.slug in set(only)]
        groups = [(slug, part) for part in ("public", "hidden") for slug in wanted]
        chosen = [item for group in groups for item in self._items if (_exercise(item), _part(item)) == group]
        state = self._state
        state.sitting, state.outcomes, state.told = sitting, [], told
        current = ("", "")
        for index, item in enumerate(chosen):
            if (_exercise(item), _part(item)) != current:
                current = (_exercise(item), _part(item))
                sitting.submission._begin(*current)
            following = chosen[index + 1] if index + 1 < len(chosen) else None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        return state.outcomes


@dataclass
class _State:
    """What the fixtures hand out while an item runs."""

    folders: dict[str, Path]  # part -> folder of its test files
    sitting: Sitting | None = None
    outcomes: list[Outcome] = field(default_factory=list)
    told: Callable[[Outcome], None] | None = None
    cache: dict[tuple[str, str], Reference] = field(default_factory=dict)

    def reference(self, exercise: str, part: str) -> Reference:
        if (exercise, part) not in self.cache:
            path = self.folders[part] / "references" / f"{exercise}.safetensors"
            self.cache[exercise, part] = references.read(path)
        return self.cache[exercise, part]


_STATE = pytest.StashKey[_State]()


def _exercise(item: pytest.Item) -> str:
    return item.path.stem.removeprefix("test_")


def _part(item: pytest.Item) -> str:
    return item.path.parent.name


class _Plugin:
    """Fixtures for the test files, and the hooks that turn reports into outcomes."""

    def __init__(self, state: _State, job: Callable[[Examiner], None]) -> None:
        self.state = state
        self.job = job

    def pytest_configure(self, config: pytest.Config) -> None:
        config.stash[_STATE] = self.state

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            raise UserError("the test files could not be collected; run pytest on them to see why")
        self.job(Examiner(session.items, session.config))
        return True

    @pytest.fixture
    def submission(self) -> Submission:
        assert self.state.sitting is not None
        return self.state.sitting.submission

    @pytest.fixture
    def course(self) -> Course:
        assert self.state.sitting is not None
        return self.state.sitting.course

    @pytest.fixture
    def reference(self, request: pytest.FixtureRequest) -> Reference:
        item = request.node
        assert isinstance(item, pytest.Item)
        return self.state.reference(_exercise(item), _part(item))

    @pytest.fixture
    def tolerance(self, request: pytest.FixtureRequest, course: Course) -> Tolerance:
        assert isinstance(request.node, pytest.Item)
        return course.tolerance(_exercise(request.node))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> pytest.TestReport:
        # pytest's own report would render a traceback of every failure, which costs more than the check.
        # A check passes in its call phase; it can go wrong, by our fault, in set-up as well.
        if call.when == "call" or (call.when == "setup" and call.excinfo is not None):
            outcome = self._outcome(item, call)
            self.state.outcomes.append(outcome)
            if self.state.told is not None:
                self.state.told(outcome)
        return pytest.TestReport(item.nodeid, item.location, {}, "passed", None, call.when)  # type: ignore[arg-type]

    def _outcome(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Outcome:
        assert isinstance(item, pytest.Function)
        claim = (item.function.__doc__ or item.name).strip().splitlines()[0]
        exercise, part = _exercise(item), _part(item)
        error = call.excinfo.value if call.excinfo is not None else None
        if error is None:
            return Outcome(exercise, part, item.name, claim, "passed")
        if isinstance(error, CheckFailed):
            says = sentence(self.state.reference(exercise, part), error.finding.cause)
            return Outcome(exercise, part, item.name, claim, "failed", error.finding, says)
        trouble = "".join(traceback.format_exception(error)).strip()
        return Outcome(exercise, part, item.name, claim, "could not check", trouble=trouble)


def collect(folders: Sequence[Path], job: Callable[[Examiner], None]) -> None:
    """Collect the test files below `folders` (named public, hidden) and hand them to `job`."""
    for folder in folders:
        if not folder.is_dir():
            raise UserError(f"{folder} is missing; it holds the checks")
    state = _State({folder.name: folder for folder in folders})
    failure: list[BaseException] = []

    def guarded(examiner: Examiner) -> None:
        try:
            job(examiner)
        except BaseException as error:  # pytest would print it as its own crash
            failure.append(error)

    plugin = _Plugin(state, guarded)
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
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        raise UserError(
            f"the checks in {', '.join(map(str, folders))} could not be collected (pytest status {int(status)})"
        )
