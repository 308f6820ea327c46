"""The table of known mistakes: wrong implementations, each with the sentence a student reads.

A mistake is written as a small function in the file of its exercise, solutions/exercises/<part>/<slug>.py; its
docstring is the sentence, its body stands in for the solution region of the exercise. It is read, never called: a
mistake runs only as part of a mutant, which is a whole submission with that one region replaced.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from autograder.errors import UserError
from autograder.judging.exercises import BUILT_ON

Function = TypeVar("Function", bound=Callable[..., object])


def mistake(
    *,
    replaces: str = "",
    spares: tuple[str, ...] = (),
    region: str = "",
    loses: tuple[str, ...] = (),
    alone: bool = False,
    signature: bool = False,
) -> Callable[[Function], Function]:
    """Mark a function in the table.

    `replaces`: the start of the one statement of the solution that the body stands in for; without it, the body stands
    in for the whole solution. `spares`: exercises that keep their points, though they are built on this one; all others
    that are lose some. `region`: the solution region, if it is not the exercise's own. `loses`: the further claims that
    it breaks, if it keeps the core; without it, the core is lost. `alone`: it is not tried together with other
    mistakes. `signature`: the parameters stand in for those of the exercise, too.
    """

    def mark(function: Function) -> Function:
        return function

    return mark


@dataclass(frozen=True)
class Mistake:
    """One row of the table."""

    slug: str
    exercise: str
    says: str
    also_breaks: tuple[str, ...]
    region: str
    replaces: str
    body: tuple[str, ...]
    loses: frozenset[str] = frozenset()
    alone: bool = False
    signature: str = ""  # the parameters, if they are part of the mistake
    courses: tuple[str, ...] = ("default",)  # of a variant: in which it must have full marks

    @property
    def breaks(self) -> frozenset[str]:
        """The exercises that must lose points, and no others may."""
        return frozenset((self.exercise, *self.also_breaks))


def variant(*, replaces: str = "", courses: tuple[str, ...] = ("default",)) -> Callable[[Function], Function]:
    """Mark an unusual but right implementation; its docstring says what is unusual about it.

    `courses`: those in which it must have full marks, if not in ours: what the original accepts, for instance.
    """

    def mark(function: Function) -> Function:
        return function

    return mark


def read_table(folder: Path, decorator: str = "mistake") -> list[Mistake]:
    """Read every mistake (or variant) of the exercises below a folder.

    Exercises on which others are built come first, so that two mistakes at once are always told in the same order;
    else the table is ordered by file name and line.
    """
    table: dict[str, Mistake] = {}
    for path in sorted(folder.glob("*/*.py"), key=lambda path: (_height(path.stem), path)):
        text = path.read_text(encoding="utf-8")
        try:
            tree = ast.parse(text)
        except SyntaxError as error:
            raise UserError(f"{path}:{error.lineno}: {error.msg}") from None
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and _marked_as(node, path) == decorator:
                entry = _read_entry(node, text.splitlines(), path)
                if entry.slug in table:
                    raise UserError(f"{path}:{node.lineno}: {decorator} '{entry.slug}' is already in the table")
                table[entry.slug] = entry
    return list(table.values())


def _height(exercise: str) -> int:
    """How many exercises stand below one, each built on the next."""
    return max((1 + _height(below) for below in BUILT_ON.get(exercise, ())), default=0)


def _marked_as(node: ast.FunctionDef, path: Path) -> str:
    """'mistake', 'variant', or '' if it is neither."""
    match node.decorator_list:
        case []:
            return ""
        case [ast.Call(func=ast.Name(id="mistake" | "variant" as name), args=[])]:
            return name
    raise UserError(f"{path}:{node.lineno}: '{node.name}' needs exactly one decorator: @mistake(...) or @variant(...)")


def _read_entry(node: ast.FunctionDef, lines: list[str], path: Path) -> Mistake:
    where, exercise = f"{path}:{node.lineno}", path.stem
    says = ast.get_docstring(node)
    if not says:
        raise UserError(f"{where}: '{node.name}' has no docstring; it is the sentence a student reads")
    (marked,) = node.decorator_list
    assert isinstance(marked, ast.Call)
    options = {keyword.arg: ast.literal_eval(keyword.value) for keyword in marked.keywords}
    statements = node.body[1:]
    if not statements:
        raise UserError(f"{where}: '{node.name}' has no body")
    body = lines[statements[0].lineno - 1 : node.end_lineno]
    built_on_it = [other for other, below in BUILT_ON.items() if exercise in below]
    spares = options.get("spares", ())
    for other in spares:
        if other not in built_on_it:
            raise UserError(f"{where}: '{node.name}' spares '{other}', which is not built on '{exercise}'")
    return Mistake(
        slug=f"{exercise}.{node.name.removeprefix(exercise + '_')}",
        exercise=exercise,
        says=" ".join(says.split()),
        also_breaks=tuple(other for other in built_on_it if other not in spares),
        region=options.get("region", exercise),
        replaces=options.get("replaces", ""),
        loses=frozenset(options.get("loses", ())),
        alone=bool(options.get("alone", False)),
        signature=ast.unparse(node.args) if options.get("signature") else "",
        body=tuple(textwrap.dedent("\n".join(body)).splitlines()),
        courses=tuple(options.get("courses", ("default",))),
    )


def mutated(mistake: Mistake, solution: Sequence[str]) -> list[str]:
    """A region's lines with the mistake in them; `solution` are the region's own lines."""
    if not mistake.replaces:
        return list(mistake.body)
    lines = textwrap.dedent("\n".join(solution)).splitlines()
    wanted = [
        node
        for node in ast.walk(ast.parse("def region():\n" + textwrap.indent("\n".join(lines), " ")))
        if isinstance(node, ast.stmt) and ast.unparse(node).startswith(mistake.replaces)
    ]
    if len(wanted) != 1:
        raise UserError(
            f"{mistake.slug} replaces '{mistake.replaces}', which starts {len(wanted)} statements"
            " of the solution, not one"
        )
    first, last = wanted[0].lineno - 2, (wanted[0].end_lineno or 0) - 1  # the def line came on top
    indent = " " * (wanted[0].col_offset - 1)
    return [*lines[:first], *(indent + line for line in mistake.body), *lines[last:]]
