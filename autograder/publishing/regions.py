"""Solution regions: the strict markers from which stubs and mutants are made.

    # BEGIN SOLUTION name            <!-- BEGIN SOLUTION name -->
    the solution                     the solution
    # STUB                           <!-- STUB -->
    # what students get instead      <!-- what students get instead -->
    # END SOLUTION name              <!-- END SOLUTION name -->

The STUB part is optional. Without it, Python gets a `raise NotImplementedError` that
names the exercise, and Markdown gets nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from autograder.errors import UserError

_MARKER = re.compile(
    r"^(?P<indent>[ ]*)(?:# (?P<py>.*\S)|<!-- (?P<md>.*\S) -->)[ ]*$",
)
_WORDS = re.compile(r"^(?P<edge>BEGIN|END) SOLUTION (?P<name>[a-z][a-z0-9_]*)$")
_SUSPICIOUS = re.compile(r"\b(begin|end)[\s_-]*solution\b", re.IGNORECASE)

Change = Callable[[Sequence[str]], list[str]]  # from a region's lines to others


@dataclass(frozen=True)
class Region:
    """One solution region; `line` is where its BEGIN marker stands."""

    name: str
    line: int
    indent: str
    body: tuple[str, ...]
    stub: tuple[str, ...] | None


def parse(text: str, path: str) -> list[str | Region]:
    """Split a text into plain lines and regions; any doubtful marker is an error."""
    pieces: list[str | Region] = []
    seen: dict[str, int] = {}
    opened: tuple[str, int, str] | None = None
    body: list[str] = []
    stub: list[str] | None = None

    def wrong(number: int, what: str) -> UserError:
        return UserError(f"{path}:{number}: {what}")

    for number, line in enumerate(text.splitlines(), start=1):
        marker = _MARKER.match(line)
        words = (marker["py"] or marker["md"]) if marker else ""
        edge = _WORDS.match(words)
        if edge is None and _SUSPICIOUS.search(line):
            raise wrong(number, "malformed marker; write '# BEGIN SOLUTION name' or '# END SOLUTION name'")
        if edge and edge["edge"] == "BEGIN":
            if opened:
                raise wrong(number, f"'{edge['name']}' begins inside '{opened[0]}' (line {opened[1]})")
            if edge["name"] in seen:
                raise wrong(number, f"'{edge['name']}' already has a region at line {seen[edge['name']]}")
            assert marker is not None
            opened, body, stub = (edge["name"], number, marker["indent"]), [], None
            seen[edge["name"]] = number
        elif edge:
            if not opened:
                raise wrong(number, f"'{edge['name']}' ends but never began")
            if edge["name"] != opened[0]:
                raise wrong(number, f"'{edge['name']}' ends, but '{opened[0]}' (line {opened[1]}) is open")
            pieces.append(Region(opened[0], opened[1], opened[2], tuple(body), None if stub is None else tuple(stub)))
            opened = None
        elif words == "STUB":
            if not opened or stub is not None:
                raise wrong(number, "STUB belongs once inside a solution region")
            stub = []
        elif not opened:
            pieces.append(line)
        elif stub is None:
            body.append(line)
        elif marker is None:
            raise wrong(number, "after STUB, every line must be a comment")
        else:
            stub.append(marker["indent"] + words)
    if opened:
        raise wrong(opened[1], f"'{opened[0]}' is never closed")
    return pieces


def regions(text: str, path: str) -> list[Region]:
    """All regions of a text, in order."""
    return [piece for piece in parse(text, path) if isinstance(piece, Region)]


def stubbed(text: str, path: str) -> str:
    """What students get: every region replaced by its stub."""
    lines: list[str] = []
    for piece in parse(text, path):
        if isinstance(piece, str):
            lines.append(piece)
        elif piece.stub is not None:
            lines.extend(piece.stub)
        elif path.endswith(".py"):
            lines.append(f'{piece.indent}raise NotImplementedError("{piece.name} is not started yet")')
    return "\n".join(lines) + "\n"


def replaced(text: str, path: str, changes: Mapping[str, Change]) -> str:
    """The text with some regions' solutions changed, all others kept, markers gone.

    A change gets the region's lines and returns new ones that start at column 0; they are
    moved to the region's indentation.
    """
    lines: list[str] = []
    left = set(changes)
    for piece in parse(text, path):
        if isinstance(piece, str):
            lines.append(piece)
        elif piece.name in changes:
            left.discard(piece.name)
            lines.extend(piece.indent + line if line else line for line in changes[piece.name](piece.body))
        else:
            lines.extend(piece.body)
    if left:
        raise UserError(f"{path}: no solution region is called '{min(left)}'")
    return "\n".join(lines) + "\n"
