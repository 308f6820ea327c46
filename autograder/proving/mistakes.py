"""The table of known mistakes: wrong implementations, each with the sentence a student reads.

A mistake is written as a small function; its docstring is the sentence, its body stands in
for the solution region of the exercise. The files are read, never imported: a mistake runs
only as part of a mutant, which is a whole submission with that one region replaced.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from autograder.errors import UserError

Function = TypeVar("Function", bound=Callable[..., object])


def mistake(
    exercise: str,
    *,
    replaces: str = "",
    also_breaks: tuple[str, ...] = (),
    region: str = "",
    loses: tuple[str, ...] = (),
    alone: bool = False,
    signature: bool = False,
) -> Callable[[Function], Function]:
    """Mark a function in the table.

    `replaces`: the start of the one statement of the solution that the body stands in for;
    without it, the body stands in for the whole solution. `also_breaks`: other exercises that
    must lose points. `region`: the solution region, if it is not the exercise's own. `loses`: the
    further claims that it breaks, if it keeps the core; without it, the core is lost. `alone`: it is not tried
    together with other mistakes. `signature`: the parameters stand in for those of the exercise, too.
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


def variant(
    exercise: str, *, replaces: str = "", courses: tuple[str, ...] = ("default",)
) -> Callable[[Function], Function]:
    """Mark an unusual but right implementation; its docstring says what is unusual about it.

    `courses`: those in which it must have full marks, if not in ours: what the original accepts, for instance.
    """

    def mark(function: Function) -> Function:
        return function

    return mark


def read_table(folder: Path, decorator: str = "mistake") -> list[Mistake]:
    """Read every mistake (or variant) below a folder, ordered by file name and line."""
    table: dict[str, Mistake] = {}
    for path in sorted(folder.glob("*.py")):
        text = path.read_text(encoding="utf-8")
        try:
            tree = ast.parse(text)
        except SyntaxError as error:
            raise UserError(f"{path}:{error.lineno}: {error.msg}") from None
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                entry = _read_entry(node, text.splitlines(), path, decorator)
                if entry.slug in table:
                    raise UserError(f"{path}:{node.lineno}: {decorator} '{entry.slug}' is already in the table")
                table[entry.slug] = entry
    return list(table.values())


def _read_entry(node: ast.FunctionDef, lines: list[str], path: Path, decorator: str) -> Mistake:
    where = f"{path}:{node.lineno}"
    says = ast.get_docstring(node)
    if not says:
        raise UserError(f"{where}: '{node.name}' has no docstring; it is the sentence a student reads")
    match node.decorator_list:
        case [ast.Call(func=ast.Name(id=name), args=[ast.Constant(value=str(exercise))], keywords=keywords)] if (
            name == decorator
        ):
            options = {keyword.arg: ast.literal_eval(keyword.value) for keyword in keywords}
        case _:
            raise UserError(f"{where}: '{node.name}' needs exactly one decorator: @{decorator}(\"exercise\")")
    statements = node.body[1:]
    if not statements:
        raise UserError(f"{where}: '{node.name}' has no body")
    body = lines[statements[0].lineno - 1 : node.end_lineno]
    return Mistake(
        slug=f"{exercise}.{node.name.removeprefix(exercise + '_')}",
        exercise=exercise,
        says=" ".join(says.split()),
        also_breaks=tuple(options.get("also_breaks", ())),
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
