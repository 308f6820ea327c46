"""Where the checks of an exercise stand: `<folder>/<part>/test_<slug>.py`, with `references/` beside them.

A part is a chapter of the assignment; its name is the same in the handout, the exercises and the checks. The folders
are called public and hidden. What a public test file claims is also checked with the hidden references, if there are
any for its exercise, unless a hidden test file of the same name claims something else. A note is told once, by the
public checks.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

REFERENCES = "references"


def parts_of(folder: Path) -> dict[str, str]:
    """Every exercise that has a test file below a folder, and the part that it belongs to."""
    return {slug_of(path): path.parent.name for path in sorted(folder.glob("*/test_*.py"))}


def slug_of(path: Path) -> str:
    """The exercise that a test file is about."""
    return path.stem.removeprefix("test_")


def reference_file(checks: Path, slug: str) -> Path:
    """The reference file of an exercise; checks: the folder that its test file is in."""
    return checks / REFERENCES / f"{slug}.safetensors"


def side_of(path: Path, folders: Mapping[str, Path]) -> str:
    """Is a test file among the public or among the hidden checks? The names of the folders say it."""
    return _folder_of(path, folders).name


def sides(path: Path, folders: Mapping[str, Path]) -> list[str]:
    """With which references the claims of a test file are checked: its own, and the hidden ones of a public file."""
    own, slug = side_of(path, folders), slug_of(path)
    others = [side for side in folders if side != own] if own == "public" else []
    there = [(side, beside(path, side, folders)) for side in others]
    return [own, *(side for side, at in there if reference_file(at, slug).is_file() and not (at / path.name).is_file())]


def beside(path: Path, side: str, folders: Mapping[str, Path]) -> Path:
    """The folder of the same part on a side."""
    return folders[side] / path.parent.relative_to(_folder_of(path, folders))


def _folder_of(path: Path, folders: Mapping[str, Path]) -> Path:
    return next(parent for parent in path.parents if parent.name in folders)
