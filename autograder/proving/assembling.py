"""Whole submissions made from the solutions: the solution itself, its stubs, and mutants of it."""

from __future__ import annotations

import ast
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import CodeType
from typing import Any

from autograder.errors import UserError
from autograder.proving.mistakes import Mistake, mutated
from autograder.publishing import regions
from autograder.publishing.regions import Change

# What a student hands in, of the solutions tree. A2S2 has nothing of its own: its steps are those of src/attention.py.
SUBMITTED = ("src/*.py", "notebooks/A2S1.py")
TRAINED = "trained"  # the folder of what the solutions have learnt: parameters, and the predictions made with them


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
        self.trained = {path.name: path.read_bytes() for path in sorted((solutions / TRAINED).glob("*.*"))}
        self.home = {
            region.name: name
            for name, text in self.texts.items()
            for region in regions.regions(text, name)
            if any(not line.lstrip().startswith("#") for line in region.body)  # a written answer holds no code
        }

    def solved(self) -> dict[str, str]:
        return dict(self.texts)

    def whole(self) -> dict[str, str | bytes]:
        """All that a student would hand in: the code, and what was trained with it."""
        return {**self.texts, **self.trained}

    def mutant(self, *mistakes: Mistake) -> dict[str, str]:
        """The solution with mistakes in it; two in one region must replace different statements."""
        changes: dict[str, Change] = {}
        for mistake in mistakes:
            changes[mistake.region] = partial(_changed, mistake, changes.get(mistake.region, list))
        texts = dict(self.texts)
        for file in {self._file(region) for region in changes}:
            here = {region: change for region, change in changes.items() if self._file(region) == file}
            texts[file] = regions.replaced(texts[file], file, here)
        for mistake in mistakes:
            if mistake.signature:
                file = self._file(mistake.region)
                texts[file] = _with_parameters(texts[file], mistake)
        return texts

    def _file(self, region: str) -> str:
        if region not in self.home:
            raise UserError(f"the table has a mistake in '{region}', but no solution region has that name")
        return self.home[region]


def _with_parameters(text: str, mistake: Mistake) -> str:
    """The function of the exercise with other parameters."""
    found = re.compile(rf"^def {mistake.exercise}\(.*\)( ->.*)?:$", re.MULTILINE)
    changed, count = found.subn(f"def {mistake.exercise}({mistake.signature}):", text)
    if count != 1:
        raise UserError(
            f"{mistake.slug} changes the parameters of '{mistake.exercise}', which is defined {count} times"
        )
    return changed


def _changed(mistake: Mistake, before: Change, lines: Sequence[str]) -> list[str]:
    return mutated(mistake, before(lines))


class Kit:
    """Puts mutants together from parts that were compiled once: thousands of pairs are run, in memory."""

    def __init__(self, sources: Sources, file: str) -> None:
        self.sources, self.file = sources, file
        self.plain = self._parts(sources.solved()[file])
        self.changed: dict[str, dict[int, CodeType]] = {}  # mistake -> the parts that it changes

    def names(self, *mistakes: Mistake) -> dict[str, Any]:
        """What the file defines, with these mistakes in it."""
        parts = {number: code for number, (_, code) in enumerate(self.plain)}
        if len({mistake.region for mistake in mistakes}) == len(mistakes):
            for mistake in mistakes:
                parts |= self._changed(mistake)
        else:
            parts |= self._differing(self.sources.mutant(*mistakes)[self.file])
        defined: dict[str, Any] = {"__name__": Path(self.file).stem}
        for code in parts.values():
            exec(code, defined)
        return defined

    def _changed(self, mistake: Mistake) -> dict[int, CodeType]:
        if mistake.slug not in self.changed:
            self.changed[mistake.slug] = self._differing(self.sources.mutant(mistake)[self.file])
        return self.changed[mistake.slug]

    def _differing(self, text: str) -> dict[int, CodeType]:
        pairs = enumerate(zip(self._parts(text), self.plain, strict=True))
        return {number: code for number, ((part, code), (before, _)) in pairs if part != before}

    def _parts(self, text: str) -> list[tuple[str, CodeType]]:
        """Each top-level statement, as text and as code."""
        future = ast.parse("from __future__ import annotations").body
        return [
            (ast.unparse(node), compile(ast.Module([*future, node], []), self.file, "exec"))
            for node in ast.parse(text).body
            if not (isinstance(node, ast.ImportFrom) and node.module == "__future__")
        ]


@contextmanager
def on_disk(texts: dict[str, str]) -> Iterator[Path]:
    """Lay a submission out in a temporary folder."""
    folder = Path(tempfile.mkdtemp(prefix="submission-"))
    try:
        lay_out(folder, texts)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def lay_out(folder: Path, files: Mapping[str, str | bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
