"""What staff know of an exercise beside its mistakes: solutions/exercises/<part>/<slug>.py.

Such a file has the inputs of its cases, `cases(public, draw)`, and, in GRADIENTS, those that gradients must reach. Its
mistakes and variants are read, and never run from here; see `mistakes`.
"""

from __future__ import annotations

import runpy
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from autograder.proving.cases import Cases, Draw

FOLDER = "exercises"  # of the solutions


@dataclass(frozen=True)
class Knowledge:
    """Of one exercise that has cases."""

    slug: str
    cases: Callable[[bool, Draw], Cases]
    gradients: tuple[str, ...] = ()

    def of(self, part: str) -> Cases:
        """The inputs of its public or of its hidden cases."""
        return self.cases(part == "public", Draw(f"{self.slug}/{part}"))


def read_knowledge(folder: Path) -> dict[str, Knowledge]:
    """By exercise, all that have cases."""
    found = {}
    for path in sorted(folder.glob("*/*.py")):
        names = runpy.run_path(str(path))
        if "cases" in names:
            found[path.stem] = Knowledge(path.stem, names["cases"], names.get("GRADIENTS", ()))
    return found
