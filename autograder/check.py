"""The student's check: the public checks, here and now, with the messages of the grader."""

from __future__ import annotations

import argparse
import difflib
import os
import shutil
import sys
import textwrap
from pathlib import Path

from autograder.advice import advice
from autograder.course import Course, read_course
from autograder.engine import Examiner, collect
from autograder.errors import UserError
from autograder.loading import Loader
from autograder.local import sitting
from autograder.report import WIDTH, message
from autograder.results import Row, rows

INDENT = "      "
MARKS = {"passed": "✓", "failed": "✗", "not started": "·", "could not check": "?"}
COLOURS = {"passed": "32", "failed": "31", "not started": "2", "could not check": "33"}


def main(arguments: list[str], root: Path) -> int:
    """`python check.py [EXERCISE ...]`: 0 only if everything that was asked for passes."""
    parser = argparse.ArgumentParser(
        prog="check.py", description="Check your work: all exercises, or only those you name."
    )
    parser.add_argument("exercises", nargs="*", metavar="EXERCISE")
    parser.add_argument("--list", action="store_true", help="list the exercises and stop")
    options = parser.parse_args(arguments)
    try:
        course = read_course("default")
        if options.list:
            print("\n".join(f"{item.slug:24} handout {item.handout}" for item in course.graded))
            return 0
        wanted = _wanted(course, options.exercises)
        passed: list[bool] = []
        collect([root / "tests" / "public"], lambda examiner: passed.append(_run(examiner, course, wanted, root)))
        return 0 if all(passed) else 1
    except UserError as error:
        print(f"check.py: {error}", file=sys.stderr)
        return 2


def _wanted(course: Course, names: list[str]) -> list[str]:
    known = [item.slug for item in course.graded]
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else "python check.py --list shows them all"
            raise UserError(f"there is no exercise '{name}'; {hint}")
    return [slug for slug in known if not names or slug in names]


def _run(examiner: Examiner, course: Course, wanted: list[str], root: Path) -> bool:
    seen: list[Row] = []
    section = ""
    mine, places = sitting(root, course), Loader(root, {})
    for slug in wanted:
        item = course.items[slug]
        if item.section != section:
            section = item.section
            print(f"\n{section}")
        outcomes = examiner.examine(mine, only=[slug])
        row = next(row for row in rows(course, outcomes) if row.item.slug == slug and row.part == "public")
        seen.append(row)
        _show(row, tuple(file for file in item.files if places.locate(file)) or item.files)
    return _close(seen)


def state(row: Row) -> str:
    """The verdict, or that nothing has been written yet."""
    kinds = {outcome.finding.kind for outcome in row.outcomes if outcome.finding}
    return "not started" if kinds == {"not started"} else row.verdict


def note(row: Row) -> str:
    """How far it is, in three words."""
    right = sum(outcome.verdict == "passed" for outcome in row.outcomes)
    text = "not started" if state(row) == "not started" else f"{right} of {len(row.outcomes)} checks"
    text += "".join(f" ({outcome.note})" for outcome in row.outcomes if outcome.note)
    return f"{text} (given code)" if row.item.given else text


def told(row: Row, files: tuple[str, ...], width: int) -> list[str]:
    """Every line that the failed checks of a row have to say."""
    if state(row) == "not started":
        return []
    lines: list[str] = []
    before: set[str] = set()
    for outcome in row.outcomes:
        said = message(outcome, row.item.handout, (outcome.file,) if outcome.file else files)
        if said is None or said.headline in before:  # one exception seen by five checks is told once
            continue
        before.add(said.headline)
        lines += said.lines(width)
        if outcome.trouble:
            lines.append(f"  {outcome.trouble.splitlines()[-1]}")
    return lines


def _show(row: Row, files: tuple[str, ...]) -> None:
    how = state(row)
    print(_coloured(f"  {MARKS[how]} {row.item.slug:24}{note(row)}", how), flush=True)
    for line in told(row, files, _width() - len(INDENT)):
        print(INDENT + line)


def _close(seen: list[Row]) -> bool:
    done = [row for row in seen if row.verdict == "passed"]
    left = [row for row in seen if row.verdict != "passed"]
    print(f"\n{len(done)} of {len(seen)} pass their public checks.", end="")
    roots = advice(seen)
    if roots:
        print("\n" + "\n".join(textwrap.wrap(f"Fix first: {roots[0].text()}", _width(), subsequent_indent="  ")))
    elif left:
        print(f" Next: {left[0].item.slug} (handout {left[0].item.handout}).")
    else:
        print(" Hidden checks decide the rest;\nthey ask for nothing that the handout does not.")
    return not left


def _width() -> int:
    """Of what is printed: 80 columns, or fewer if the terminal has fewer."""
    return max(40, min(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns))


def _coloured(text: str, state: str) -> str:
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return text
    return f"\033[{COLOURS[state]}m{text}\033[0m"
