"""Where the checks of an exercise stand: `<folder>/<part>/test_<slug>.py`, with `references/` beside them.

A part is a chapter of the assignment; its name is the same in the handout, the exercises and the checks.
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
    return next(parent.name for parent in path.parents if parent.name in folders)
