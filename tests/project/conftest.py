"""Fixtures of the project's own tests."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
import torch

from autograder.course import Course, read_course
from autograder.engine import Examiner, Outcome, collect
from autograder.loading import forget
from autograder.local import sitting
from autograder.mistakes import Mistake, read_table
from autograder.mutants import Sources, lay_out

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("solutions", "student", "autograder", "tests/public", "tests/hidden")

torch.set_num_threads(1)  # forking after multi-threaded work hangs the child


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A copy of the repository that a test may spoil."""
    for name in COPIED:
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


@pytest.fixture(scope="session")
def sources() -> Sources:
    return Sources(ROOT / "solutions")


@pytest.fixture(scope="session")
def table() -> dict[str, Mistake]:
    return {mistake.slug: mistake for mistake in read_table(ROOT / "solutions" / "mistakes")}


@pytest.fixture(scope="session")
def course() -> Course:
    return read_course("default")


Examine = Callable[..., list[Outcome]]


@pytest.fixture
def examine(tmp_path: Path, course: Course, sources: Sources) -> Iterator[Examine]:
    """Examine a submission: the solution, with some files replaced or added."""

    def run(
        files: dict[str, str] | None = None,
        only: Sequence[str] | None = None,
        folders: Sequence[Path] = (ROOT / "tests" / "public", ROOT / "tests" / "hidden"),
    ) -> list[Outcome]:
        submission = tmp_path / "submission"
        lay_out(submission, sources.solved() | (files or {}))
        outcomes: list[Outcome] = []

        def job(examiner: Examiner) -> None:
            outcomes.extend(examiner.examine(sitting(submission, course), only))

        try:
            collect(list(folders), job)
        finally:
            forget(submission)
        return outcomes

    yield run
