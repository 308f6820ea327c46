"""What a notebook or script seems to define, found without running or parsing it whole: so the grader itself can look.

A pattern goes over the lines once. Only the few definitions that are asked for are parsed, each alone and cut off at a
length, to tell work from a stub as it was handed out.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection
from dataclasses import dataclass

from autograder.running.cells import Unreadable, code_of, is_notebook
from autograder.running.notebook_json import MOST_CODE
from autograder.running.statements import STAGES, Unparsable, started
from autograder.running.texts import decoded

_SETS = re.compile(
    r"^(?:(?:(?:async[ \t]++)?def|class)[ \t]++(?P<defined>\w++)"
    r"|(?P<assigned>\w++)(?:\[[^\]\n]{0,40}\])?[ \t]*+(?::[^=\n]{1,80})?=(?!=)[ \t]*+(?P<value>[^\n]{0,20}))",
    re.MULTILINE,
)
_NEXT = re.compile(r"^[^\s)\]}#]", re.MULTILINE)  # the line in which another statement begins
_IMPORT = re.compile(r"^[ \t]*+(?:from|import)[ \t]++(?:src\.)?(\w++)", re.MULTILINE)
_NOTHING = re.compile(r"(?:None|\.\.\.)?[ \t]*(?:#.*)?", re.DOTALL)
LONGEST = 20_000  # characters of a definition that is parsed


class Budget:
    """How much may be parsed, of all files of a submission together; what is beyond counts as written."""

    def __init__(self, definitions: int = 400, characters: int = 400_000) -> None:
        self.definitions, self.characters = definitions, characters

    def allows(self, characters: int) -> bool:
        self.definitions -= 1
        self.characters -= characters
        return self.definitions >= 0 and self.characters >= 0


@dataclass(frozen=True)
class Survey:
    """Names that are set on top level, and those among the wanted ones for which something was written."""

    names: frozenset[str]
    written: frozenset[str]
    imports: frozenset[str]  # modules


NONE = Survey(frozenset(), frozenset(), frozenset())


def surveyed(name: str, content: bytes, wanted: Collection[str], budget: Budget | None = None) -> Survey:
    """What a file sets. Never raises; what cannot be read sets nothing."""
    budget = budget or Budget()
    try:
        text = decoded(content)
        code = code_of(text) if is_notebook(name) else text
    except Unreadable:
        return NONE
    if len(code) > MOST_CODE:
        return NONE
    names: set[str] = set()
    written: set[str] = set()
    for found in _SETS.finditer(code):
        name = found["defined"] or found["assigned"]
        meant = [name, *(answer for answer, (variable, _) in STAGES.items() if variable == name)]
        names.update(meant)
        missing = [one for one in meant if one in wanted and one not in written]
        if not missing:
            continue
        if found["assigned"]:
            done = not _NOTHING.fullmatch(found["value"])
        else:
            done = _is_written(code, found.start(), found.end(), budget)
        if done:
            written.update(missing)
    return Survey(frozenset(names), frozenset(written), frozenset(_IMPORT.findall(code)))


def _is_written(code: str, start: int, at: int, budget: Budget) -> bool:
    following = _NEXT.search(code, at, start + LONGEST)
    if following is None and len(code) > start + LONGEST:
        return True  # nobody hands out a stub of this length
    text = code[start : following.start() if following else len(code)]
    if not budget.allows(len(text)):
        return True
    try:
        return all(started(ast.parse(text).body).values())
    except Unparsable:  # an attempt
        return True
