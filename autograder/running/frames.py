"""Whose code a place belongs to, the student's own or a library's; and in which function it lies."""

from __future__ import annotations

import ast
import os
import sys
from pathlib import Path

from autograder.running.cells import Places
from autograder.running.magics import plain_cell

GRADER = tuple(f"{folder}{os.sep}" for folder in {Path(__file__).parents[1], Path(__file__).resolve().parents[1]})
PYTHON = tuple(f"{Path(prefix).resolve()}{os.sep}" for prefix in {sys.prefix, sys.base_prefix})
# Of an environment that somebody keeps in the folder that is checked, or hands in.
LIBRARIES = frozenset({"site-packages", "dist-packages", ".venv", "venv"})


def is_own(file: str, root: Path) -> bool:
    """Is it a file of the student's, below `root`? The grader and Python may lie below it, too, on a student's disk."""
    if not file.startswith(f"{root}{os.sep}"):
        return False
    if file.startswith(GRADER) or (file.startswith(PYTHON) and not f"{root}{os.sep}".startswith(PYTHON)):
        return False
    return LIBRARIES.isdisjoint(Path(file).relative_to(root).parts)


def function_at(root: Path, place: str, number: int) -> str:
    """The function or class on top level in which a line of a file, or of a notebook's cell, stands; or ''."""
    file = place.rpartition(", cell ")[0] or place
    try:
        body = ast.parse(plain_cell("\n".join(Places(root, (file,)).lines(place)))).body
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            if first <= number <= (node.end_lineno or node.lineno):
                return node.name
    return ""
