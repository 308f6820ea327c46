"""Which path each result came from, so that no path replaces what came from another.

Who is in an export, the export says itself. A student's zip may say that it holds the submissions of others.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from autograder.errors import UserError
from autograder.files import write_atomically
from autograder.intake.entries import Source, few
from autograder.intake.people import Entry

FILE = ".origins.json"
SHOWN = 3


def remember(out: Path, entries: Sequence[Entry], *, replace: bool) -> None:
    """Write down where results are about to come from; UserError if others, from another path, are there already."""
    known = _read(out)
    if not replace:
        _refuse(out, entries, known)
    now = {entry.student.id: _origin(entry.source) for entry in entries}
    write_atomically(out / FILE, json.dumps(known | now, indent=0, sort_keys=True).encode())


def _refuse(out: Path, entries: Sequence[Entry], known: Mapping[str, str]) -> None:
    taken: dict[str, list[str]] = {}
    for entry in entries:
        name = entry.student.id
        another = _named_inside(entry.source) and known.get(name) != _origin(entry.source)
        if another and (out / name / "results.json").exists():
            taken.setdefault(str(entry.source.base), []).append(name)
    for path, names in taken.items():
        raise UserError(
            f"{path} names its submissions itself, and would replace results of another path "
            f"({few(sorted(names), SHOWN)}); nothing was graded: choose another --out, or pass --replace"
        )


def _named_inside(source: Source) -> bool:
    """Is it by what is in a path, and not by the path that somebody named, whose submission it is?"""
    return source.path != source.base or bool(source.folder or source.members)


def _origin(source: Source) -> str:
    return str(source.path.absolute())


def _read(out: Path) -> dict[str, str]:
    try:
        found = json.loads((out / FILE).read_bytes())
    except (OSError, ValueError):
        return {}
    return {str(name): str(path) for name, path in found.items()} if isinstance(found, dict) else {}
