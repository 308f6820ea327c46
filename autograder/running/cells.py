"""Notebooks, and scripts exported from them, as cells of code with the places at which they stand.

Code cells that are not empty are counted from 1: that is the number which Jupyter shows beside a cell after
"Restart and run all". In an exported script a place is a line of the file, as everywhere else.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from autograder.running.notebook_json import LARGEST, MOST_CODE, Unreadable, code_cells
from autograder.running.texts import decoded

__all__ = [
    "Cell",
    "Kind",
    "Places",
    "Unreadable",
    "code_of",
    "is_notebook",
    "read_cells",
    "read_file",
    "said_place",
]

# jupytext, VS Code and Spyder; nbconvert; what IPython wrote before. Not "# %%time", which is a magic.
_MARKER = re.compile(r"#\s?%%(?:[ \t\[].*)?|#\s?In\s?\[[ \d*]*\]:?\s*|# <(?:code|markdown)cell>\s*")
_CELL_OF = re.compile(r"(?P<file>.+\.ipynb), cell (?P<number>\d{1,5})", re.DOTALL | re.IGNORECASE)


Kind = Literal["notebook", "marked", "unmarked"]  # a script may say where its cells begin, or not


@dataclass(frozen=True)
class Cell:
    """Code that was run together."""

    place: str  # the file, or "A2S2.ipynb, cell 5"
    first: int  # the line of that place in which the text begins
    text: str


def is_notebook(name: str) -> bool:
    return name.casefold().endswith(".ipynb")


def said_place(place: str, line: int) -> str:
    """A line of a file, or of a notebook's cell, as people say it."""
    if not line:
        return place
    return f"{place}, line {line}" if _CELL_OF.fullmatch(place) else f"{place} line {line}"


def read_file(path: Path) -> bytes:
    """The content of a file that is not too large to be looked into."""
    if path.stat().st_size > LARGEST:
        raise Unreadable(f"{path.name} is larger than {LARGEST >> 20} MB and is not read; clear its outputs")
    return path.read_bytes()


def read_cells(name: str, content: bytes) -> tuple[list[Cell], Kind]:
    """The cells of a file; an unmarked script is one. Raises Unreadable and nothing else."""
    try:
        text = decoded(content)
    except Unreadable as error:
        raise Unreadable(f"{name} cannot be read: {error}") from None
    if is_notebook(name):
        return _notebook(name, text), "notebook"
    if text.lstrip().startswith("{") and '"cells"' in text:
        raise Unreadable(f"{name} is not a script but a notebook; rename it to {Path(name).stem}.ipynb")
    if len(text) > MOST_CODE:
        raise Unreadable(f"{name} holds more than {MOST_CODE >> 20} million characters of code")
    lines = text.split("\n")
    begins = [number for number, line in enumerate(lines) if _MARKER.fullmatch(line.rstrip())]
    edges = [0, *(number for number in begins if number), len(lines)]
    cells = [Cell(name, one + 1, "\n".join(lines[one:other])) for one, other in itertools.pairwise(edges)]
    return cells, "marked" if begins else "unmarked"


def _notebook(name: str, text: str) -> list[Cell]:
    try:
        sources = [source for source in code_cells(text) if source.strip()]
    except Unreadable as error:
        raise Unreadable(f"{name} cannot be read as a notebook: {error}") from None
    return [Cell(f"{name}, cell {number}", 1, source) for number, source in enumerate(sources, 1)]


def code_of(text: str) -> str:
    """The code in a notebook's text, cell after cell. Raises Unreadable and nothing else."""
    return "\n\n".join(code_cells(text))


class Places:
    """The places that there are in a submission, for whoever was told one by its code and does not believe it."""

    def __init__(self, root: Path, names: Collection[str]) -> None:
        self.root, self.names = root, names
        self._read: dict[str, dict[str, list[str]]] = {}

    def lines(self, place: str) -> list[str]:
        """The lines of a file of the submission, or of a notebook's cell; none if there is no such place."""
        cell = _CELL_OF.fullmatch(place)
        file = cell["file"] if cell else place
        if file not in self.names:
            return []
        if file not in self._read:
            self._read[file] = self._lines_of(file)
        return self._read[file].get(place, [])

    def _lines_of(self, file: str) -> dict[str, list[str]]:
        try:
            content = read_file(self.root / file)
            if not is_notebook(file):
                return {file: decoded(content).split("\n")}
            return {cell.place: cell.text.split("\n") for cell in read_cells(file, content)[0]}
        except Unreadable:
            return {}
