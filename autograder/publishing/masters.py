"""Notebook masters: scripts in jupytext's percent format, with solution regions and included definitions.

    # %%                                    a code cell
    # %% [markdown]                         a cell of text, every line behind '# '
    # %% jupyter={"source_hidden": true}    a code cell that Jupyter shows folded
    from attention import split_heads  # include

The last line stands for the definition itself, copied from the module of that name, regions and all: what a
notebook and a module share is written once, in the module. As it stands, a master is a script that runs.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

from autograder.errors import UserError
from autograder.publishing import regions

_MARKER = re.compile(r"^# %%(?P<kind>.*)$")
TEXT, FOLDED = " [markdown]", ' jupyter={"source_hidden": true}'
_INCLUDE = re.compile(r"^from (?P<module>\w+) import (?P<name>\w+)  # include$")


@dataclass(frozen=True)
class Cell:
    """One cell as students get it, and as it is when solved; `regions` are the answers that it asks for."""

    kind: Literal["code", "markdown"]
    stub: str
    solved: str
    regions: tuple[regions.Region, ...]
    text: str  # with its markers, as it stands in the script
    folded: bool = False


def expanded(text: str, path: str, modules: Mapping[str, str]) -> str:
    """The master with every included definition in its place."""
    lines = []
    for number, line in enumerate(text.splitlines(), start=1):
        include = _INCLUDE.match(line)
        if include is None:
            if line.rstrip().endswith("# include"):
                raise UserError(f"{path}:{number}: write 'from module import name  # include'")
            lines.append(line)
            continue
        try:
            found = _definitions(modules.get(include["module"], "")).get(include["name"])
        except SyntaxError as error:
            raise UserError(f"{include['module']}.py:{error.lineno}: {error.msg}") from None
        if found is None:
            raise UserError(f"{path}:{number}: there is no '{include['name']}' in {include['module']}.py")
        lines.append(found)
    return "\n".join(lines) + "\n"


def _definitions(source: str) -> dict[str, str]:
    """Every function and class of a module, by name: its text, up to where the next statement begins."""
    body = ast.parse(source).body
    lines = source.splitlines()
    found = {}
    for node, after in zip_longest(body, body[1:]):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            end = _first_line(after) - 1 if after else len(lines)  # comments behind the last statement are no nodes
            found[node.name] = "\n".join(lines[_first_line(node) - 1 : end]).rstrip()
    return found


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def cells(text: str, path: str) -> list[Cell]:
    """The cells of an expanded master, in order."""
    regions.parse(text, path)  # complains with the line of the whole file, not of a cell
    found: list[tuple[str, list[str]]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        marker = _MARKER.match(line)
        if marker is None:
            if found:
                found[-1][1].append(line)
            elif line.strip():
                raise UserError(f"{path}:{number}: a master begins with '# %%'")
        elif marker["kind"] in ("", TEXT, FOLDED):
            found.append((marker["kind"], []))
        else:
            raise UserError(f"{path}:{number}: a cell begins with '# %%', '# %%{TEXT}' or '# %%{FOLDED}'")
    return [_cell(kind, "\n".join(lines).strip("\n"), path) for kind, lines in found]


def _cell(kind: str, text: str, path: str) -> Cell:
    stub, solved = regions.stubbed(text, path), regions.replaced(text, path, {})
    asked = tuple(regions.regions(text, path))
    if kind == TEXT:
        return Cell("markdown", _prose(stub).strip("\n"), _prose(solved).strip("\n"), asked, text)
    return Cell("code", stub.strip("\n"), solved.strip("\n"), asked, text, kind == FOLDED)


def _prose(text: str) -> str:
    return "\n".join(line.removeprefix("#").removeprefix(" ") for line in text.splitlines())
