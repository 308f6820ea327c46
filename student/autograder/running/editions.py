"""A name that a file defines more than once: up to where to run the file so that each definition counts.

Functions look up what they use when they are called, so a step that is redefined further down, for an experiment, also
changes what was right above. An edition of a file is the file up to a statement. For a name, the editions end before
its next definition, or before something is redefined that it uses.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from autograder.running.statements import is_stub, names_set

MOST = 4


@dataclass(frozen=True)
class Step:
    """A statement that was run."""

    number: int  # in its file, from 1
    place: str
    line: int
    node: ast.stmt


@dataclass(frozen=True)
class Edition:
    """A file up to a statement, and the definition that counts in it."""

    before: int  # the number of the first statement that is not run; 0 if all are
    place: str
    line: int


def editions(name: str, steps: Sequence[Step]) -> list[Edition]:
    """The whole file first, then others in which the name is defined otherwise, or built on other things; four at most.

    One alone means that there is no choice.
    """
    setting: dict[str, list[Step]] = {}
    for step in steps:
        for one in names_set(step.node):
            setting.setdefault(one, []).append(step)
    mine = setting.get(name, [])
    if not mine:
        return []
    found = {0: Edition(0, mine[-1].place, mine[-1].line)}
    for step in _in_order([one for one in mine if not is_stub(one.node)]):
        following = next((other.number for other in mine if other.number > step.number), 0)
        changed = [
            later.number
            for used in _used(step.node, setting) - {name}
            for later in _redefinitions(setting.get(used, []))
            if later.number > step.number and not 0 < following < later.number
        ]
        for before in (following, min(changed, default=0)):
            found.setdefault(before, Edition(before, step.place, step.line))
    return list(found.values())[:MOST]


def _in_order(steps: Sequence[Step]) -> list[Step]:
    """The last and the first one first: experiments come later, and corrections do."""
    return [*steps[-1:], *steps[:1], *reversed(steps[1:-1])] if len(steps) > 1 else list(steps)


def _redefinitions(steps: Sequence[Step]) -> Iterator[Step]:
    """Those that replace something; to fill in a stub is not to redefine it."""
    written = False
    for step in steps:
        if written:
            yield step
        written = written or not is_stub(step.node)


def _used(node: ast.stmt, setting: dict[str, list[Step]]) -> set[str]:
    """The names of the file that a definition uses, and those that they use."""
    used: set[str] = set()
    waiting: list[ast.stmt] = [node]
    while waiting:
        new = {name for name in _free(ast.walk(waiting.pop())) if name in setting and name not in used}
        used |= new
        waiting += [step.node for name in new for step in setting[name]]
    return used


def _free(nodes: Iterable[ast.AST]) -> set[str]:
    """Names that are read and not set, as far as a look at them tells."""
    read, own = set(), set()
    for node in nodes:
        match node:
            case ast.Name(name, ast.Load()):
                read.add(name)
            case ast.Name(name):
                own.add(name)
            case ast.arg(name):
                own.add(name)
    return read - own
