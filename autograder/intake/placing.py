"""Modules that were handed in without the folder they belong in. Whoever uploads files one by one has no folders."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from autograder.intake.entries import Entry, few, left_behind, shown

DEPTH = 3  # folders in which the loader looks
SHOWN = 3  # names in a note


def placed(entries: Sequence[Entry], expected: Collection[str]) -> tuple[list[Entry], list[str]]:
    """Entries with modules in the folders where they are expected ('src/attention.py'), and a note if any was moved.

    Only if the submission has no such folder at all, and has a file of the right name: the least deep one counts.
    Modules and packages beside it go along, because they may be imported, unless they are expected there.
    """
    notes: list[str] = []
    for folder in sorted({name.rpartition("/")[0] for name in expected if name.count("/") == 1}):
        moved = _outside(entries, folder, expected)
        entries = [replace(one, name=moved.get(one.name, one.name)) for one in entries]
        if moved:
            names = [shown(PurePosixPath(name).name) for name in moved]
            notes.append(f"there is no folder {folder}/; read as if in it: {few(names, SHOWN)}")
    return list(entries), notes


def _outside(entries: Sequence[Entry], folder: str, expected: Collection[str]) -> dict[str, str]:
    """The files that belong in a folder, and the names they get."""
    paths = [PurePosixPath(one.name) for one in entries if not one.folder and left_behind(one.name) is None]
    if any(folder in path.parts[:-1] for path in paths):
        return {}
    homes = [path.parent for path in paths if f"{folder}/{path.name}" in expected and len(path.parts) <= DEPTH + 1]
    if not homes:
        return {}
    top = min(homes, key=lambda home: (len(home.parts), home.as_posix()))
    modules = [path for path in paths if path.suffix == ".py" and path.parent == top]
    packages = {path.parent for path in paths if path.name == "__init__.py" and path.parent.parent == top}
    moved = [path for path in modules if path.name not in expected]
    moved += [path for path in paths if packages & set(path.parents)]
    return {path.as_posix(): (top / folder / path.relative_to(top)).as_posix() for path in sorted(moved)}
