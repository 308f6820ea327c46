"""Whole submissions made from the solutions: the solution itself, its stubs, and mutants of it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from autograder import regions
from autograder.errors import UserError
from autograder.mistakes import Mistake, mutated

SUBMITTED = ("src/*.py", "notebooks/*.py")  # what a student hands in, of the solutions tree


class Sources:
    """The files of the solutions tree that a student would hand in."""

    def __init__(self, solutions: Path) -> None:
        self.texts = {
            path.relative_to(solutions).as_posix(): path.read_text(encoding="utf-8")
            for pattern in SUBMITTED
            for path in sorted(solutions.glob(pattern))
        }
        if not self.texts:
            raise UserError(f"{solutions} holds no solutions ({', '.join(SUBMITTED)})")
        self.home = {region.name: name for name, text in self.texts.items() for region in regions.regions(text, name)}

    def solved(self) -> dict[str, str]:
        return dict(self.texts)

    def mutant(self, mistake: Mistake) -> dict[str, str]:
        """The solution with one region replaced by a mistake's body."""
        file = self._file(mistake.region)
        text = regions.replaced(self.texts[file], file, mistake.region, partial(mutated, mistake))
        return self.texts | {file: text}

    def _file(self, region: str) -> str:
        if region not in self.home:
            raise UserError(f"the table has a mistake in '{region}', but no solution region has that name")
        return self.home[region]


@contextmanager
def on_disk(texts: dict[str, str]) -> Iterator[Path]:
    """Lay a submission out in a temporary folder."""
    folder = Path(tempfile.mkdtemp(prefix="submission-"))
    try:
        lay_out(folder, texts)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def lay_out(folder: Path, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
