"""The student's check: the public checks, here and now, with the messages of the grader."""

from __future__ import annotations

import argparse
import difflib
import os
import shutil
import sys
import textwrap
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from autograder.checking.advice import advice
from autograder.checking.courses import Course, course_of_this_tree
from autograder.checking.engine import Examiner, Outcome, collect
from autograder.checking.formatting import Memory, Text
from autograder.checking.points import Row, rows
from autograder.checking.wording import WIDTH, message
from autograder.errors import UserError
from autograder.running import room
from autograder.running.loading import Loader
from autograder.selfcheck.local import sitting

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
        course = course_of_this_tree()
        if options.list:
            print("\n".join(f"{item.slug:24} handout {item.handout}" for item in course.graded))
            return 0
        wanted = _wanted(course, options.exercises)
        passed: list[bool] = []
        with room.entered():  # once for all of the checks
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
    mine, places, memory = sitting(root, course), Loader(root, {}), Memory()
    for slug in wanted:
        item = course.items[slug]
        if item.section != section:
            section = item.section
            print(f"\n{section}")
        outcomes = examiner.examine(mine, only=[slug])
        row = next(row for row in rows(course, outcomes) if row.item.slug == slug and row.part == "public")
        seen.append(row)
        _show(row, tuple(file for file in item.files if places.locate(file)) or item.files, memory)
    return _close(seen)


def state(row: Row) -> str:
    """The verdict, or that nothing has been written yet."""
    kinds = {outcome.finding.kind for outcome in row.outcomes if outcome.finding}
    return "not started" if kinds == {"not started"} else row.verdict


def note(row: Row) -> str:
    """How far it is, in a few words. Notes are counted apart: they cost nothing."""
    counted = [outcome for outcome in row.outcomes if outcome.counts != "note"]
    right = sum(outcome.verdict == "passed" for outcome in counted)
    text = "not started" if state(row) == "not started" else f"{right} of {len(counted)} checks"
    if 0 < row.score < row.points:
        text += f", {row.score} of {row.points} points"
    text += "".join(f" ({outcome.note})" for outcome in row.outcomes if outcome.note)
    notes = sum(outcome.verdict != "passed" for outcome in row.outcomes if outcome.counts == "note")
    text += f", {notes} note{'s' * (notes > 1)}" if notes and row.verdict == "passed" else ""
    return f"{text} (given code)" if row.item.given else text


def told(row: Row, files: tuple[str, ...], width: int, memory: Memory | None = None) -> list[str]:
    """Every line that there is to say about what does not hold, what costs points first."""
    if state(row) == "not started":
        return []
    checks = [_check(row, outcome, files) for outcome in row.outcomes]
    return Text(width, right=0 < row.score < row.points).checks(checks, "", row.item.slug, memory).splitlines()


def _check(row: Row, outcome: Outcome, files: tuple[str, ...]) -> dict[str, Any]:
    """As results.json has it; what went wrong in the grader itself is told, too."""
    said = message(outcome, row.item.handout, (outcome.file,) if outcome.file else files)
    if said and outcome.trouble:
        said = replace(said, evidence=(*said.evidence, outcome.trouble.splitlines()[-1]))
    finding = outcome.finding
    return {
        **{"claim": outcome.claim, "counts": outcome.counts, "worth": row.worth(outcome)},
        **{"verdict": outcome.verdict, "note": outcome.note, "kind": finding.kind if finding else ""},
        "cause": finding.cause if finding and outcome.says else "",
        "message": asdict(said) if said else None,
    }


def _show(row: Row, files: tuple[str, ...], memory: Memory) -> None:
    how = state(row)
    print(_coloured(f"  {MARKS[how]} {row.item.slug:24}{note(row)}", how), flush=True)
    for line in told(row, files, _width() - len(INDENT), memory):
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
