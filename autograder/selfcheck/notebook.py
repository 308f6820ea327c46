"""The checks inside a running notebook: `grader.check("q1_2_1")`, with Otter or without it.

The tests that Otter runs call `passes`; whoever has no Otter gets the same from `Grader` alone. Student code and
checks share one process here, as in `check.py`: good for one's own work, useless against somebody who cheats.
"""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from autograder.checking.courses import PARTS, Course, course_of_this_tree
from autograder.checking.engine import Examiner, Sitting, collect
from autograder.checking.points import Row, rows
from autograder.checking.wording import WIDTH
from autograder.judging.submission import Submission
from autograder.running.loading import Loader, Unloadable
from autograder.running.perform import Performer, Reply, Request, Trouble
from autograder.selfcheck.command import MARKS, note, state, told

HOME = Path(__file__).resolve().parents[2]  # the tree that holds this package and its checks
HERE = ("this notebook",)
COLOURS = {"passed": "#2e8b57", "failed": "#c0392b", "not started": "#999999", "could not check": "#b7791f"}
Names = Mapping[str, Any]  # what the cells have defined so far


def questions(course: Course) -> dict[str, str]:
    """What Otter calls the exercises: q2_3_1 is the first thing to do in section 2.3 of the handout."""
    found: dict[str, str] = {}
    count: dict[str, int] = {}
    for item in course.graded:
        if not item.given:
            count[item.handout] = count.get(item.handout, 0) + 1
            found[f"q{item.handout.replace('.', '_')}_{count[item.handout]}"] = item.slug
    return found


class Failed(Exception):
    """Its text is what a student reads; Otter shows it."""


def passes(slug: str, part: str, names: Names) -> None:
    """One test of Otter's: all public, or all hidden, checks of an exercise."""
    row = _examined(slug, part, names)
    if row.verdict != "passed":
        raise Failed("\n".join(["", *(told(row, HERE, WIDTH) or [f"{slug}: {note(row)}"])]))


class _Otter(Protocol):
    """What of Otter's Notebook is used here."""

    def check(self, question: str, global_env: dict[str, Any]) -> object: ...


class Grader:
    """What a notebook calls `grader`. With Otter, it is Otter that runs the checks and keeps its log."""

    def __init__(self, names: dict[str, Any], otter: _Otter | None = None) -> None:
        self._names, self._otter = names, otter
        self._questions = questions(course_of_this_tree())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or self._otter is None:
            raise AttributeError(
                f"grader has no '{name}' here" + ("" if self._otter else "; is otter-grader installed?")
            )
        return getattr(self._otter, name)  # check_all, export and whatever else Otter has

    def check(self, question: str) -> Shown | None:
        """Check one question, and show what there is to say."""
        slug = self._questions.get(question)
        if slug is None:
            print(f"There is no question '{question}'; there are {', '.join(self._questions)}.")
            return None
        if self._otter is None:
            return Shown(question, _examined(slug, "public", self._names))
        _latest.pop(slug, None)
        self._otter.check(question, self._names)
        return Shown(question, _latest.get(slug) or _examined(slug, "public", self._names))


@dataclass(frozen=True)
class Shown:
    """The result of a question, as a notebook shows it."""

    question: str
    row: Row

    def __repr__(self) -> str:
        return "\n".join([self._headline(), *(f"  {line}" for line in self._lines())])

    def _repr_html_(self) -> str:
        lines = "\n".join(self._lines())
        body = (
            f'<pre style="margin: 0.4em 0 0; white-space: pre-wrap; font-family: monospace">{html.escape(lines)}</pre>'
            if lines
            else ""
        )
        style = f"border-left: 4px solid {COLOURS[state(self.row)]}; padding: 0.3em 0.9em; margin: 0.2em 0"
        return f'<div style="{style}"><b>{html.escape(self._headline())}</b>{body}</div>'

    def _headline(self) -> str:
        how = state(self.row)
        words = {"passed": f"passed, {note(self.row)}", "not started": "not started yet"}.get(how) or note(self.row)
        return f"{MARKS[how]} {self.question} {self.row.item.slug}: {words}"

    def _lines(self) -> list[str]:
        if self.row.verdict != "passed":
            return told(self.row, HERE, WIDTH)
        right = [f"✓ {outcome.claim}" for outcome in self.row.outcomes if outcome.verdict == "passed"]
        notes = told(self.row, HERE, WIDTH)  # nothing else is left to say of what passed
        more = ["Hidden checks try other sizes and numbers when you hand in."] if self.row.item.hidden else []
        return [*right, *notes, *more]


_examiners: dict[str, Examiner] = {}  # by part: the checks are collected once
_latest: dict[str, Row] = {}  # by exercise: what its public checks said when they last ran


def _examined(slug: str, part: str, names: Names) -> Row:
    course = course_of_this_tree()
    if part not in _examiners:
        folders = [HOME / "tests" / side for side in PARTS[: PARTS.index(part) + 1]]  # hidden checks claim the same
        collect(folders, lambda examiner: _examiners.__setitem__(part, examiner))
    sitting = Sitting(course, Submission(_InKernel(_Cells(names))))
    outcomes = _examiners[part].examine(sitting, only=[slug], parts=[part])
    row = next(row for row in rows(course, outcomes) if (row.item.slug, row.part) == (slug, part))
    if part == "public":
        _latest[slug] = row
    return row


class _Cells(Loader):
    """Finds names among those that cells have defined, in place of files."""

    def __init__(self, names: Names) -> None:
        super().__init__(HOME, {})
        self.names = names

    def find(self, name: str) -> Any:
        if name not in self.names:
            raise Unloadable(f"there is no {name} in this notebook yet\nHave you run the cell that defines it?")
        found = self.names[name]
        code = getattr(found, "__code__", None)
        if code is not None:  # tracebacks are cut down to where the student's own code is
            self.root = Path(code.co_filename).parent
        return found


class _InKernel(Performer):
    """Names the cell in which something happened as the notebook does."""

    def __init__(self, loader: _Cells) -> None:
        super().__init__(loader)
        shell = loader.names.get("get_ipython")
        compiler = getattr(shell() if callable(shell) else None, "compile", None)
        self.numbers: Mapping[str, int] = getattr(compiler, "_filename_map", {})

    def perform(self, request: Request) -> Reply | Trouble:
        reply = super().perform(request)
        if isinstance(reply, Trouble):
            frames = tuple((self._place(file), line, source) for file, line, source in reply.frames)
            return replace(reply, frames=frames)
        return reply

    def _place(self, file: str) -> str:
        number = self.numbers.get(str(self.loader.root / file))
        return file if number is None else f"cell [{number}]"
