"""Prove the student release of every course: nothing leaks, it imports, and its own check.py tells right from wrong."""

from __future__ import annotations

import contextlib
import io
import re
import runpy
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from autograder.checking.courses import USUAL, Course
from autograder.proving.assembling import Sources
from autograder.proving.gate import Line
from autograder.publishing import release
from autograder.publishing.leaks import Secrets
from autograder.publishing.parallel import alone_with

_MARK = re.compile(r"^  (?P<mark>\S) (?P<slug>\w+)", re.MULTILINE)  # of an exercise, as check.py prints it


def prove_releases(root: Path, courses: Sequence[Course], told: Callable[[str], None]) -> list[Line]:
    """Three lines for each course."""
    solutions, lines = root / "solutions", []
    trained = Sources(solutions).trained
    secrets: Secrets | None = None
    for course in courses:
        told(f"release of {course.name}")
        plan = release.read_plan(solutions / "release.toml", root, course, secrets)
        secrets = plan.secrets  # they are the same, and so are most of the lines that are compared with them
        tree = release.build(plan)
        wrong = release.prove(plan, tree)
        if course.name == USUAL:
            wrong = wrong or release.differences(root / "student", tree)
        found = f"{len(wrong)} complaints"
        lines.append(Line(f"{course.name}: release is fit", "no complaint", found, not wrong, tuple(wrong[:5])))
        files = {file for item in course.graded for file in item.files}
        learnt = {name: content for name, content in trained.items() if name in files}
        graded = {item.slug for item in course.graded}
        given = {item.slug for item in course.graded if item.given}
        lines.append(_checked(f"{course.name}: check.py on stubs", tree, graded - given, right=False))
        whole = tree | release.solved(plan) | learnt
        lines.append(_checked(f"{course.name}: check.py on solutions", whole, graded, right=True))
    return lines


def _checked(what: str, tree: Mapping[str, bytes], slugs: set[str], *, right: bool) -> Line:
    """Does check.py, as it lies in the release, let all of these exercises pass if they are right, and else none?"""
    total = len(slugs)
    expected = f"{total if right else 0} of {total} pass, exit {0 if right else 1}"
    said = alone_with(tree, _run_check)
    if said is None:
        return Line(what, expected, "it ended the process", False)
    passing = {match["slug"] for line in said if (match := _MARK.match(line)) and match["mark"] == "✓"} & slugs
    found = f"{len(passing)} of {total} pass, {said[-1]}"
    wrong = sorted(slugs - passing if right else passing)
    notes = [f"{slug} {'does not pass' if right else 'passes'}" for slug in wrong] or said[-4:-1]
    return Line(what, expected, found, found == expected, () if found == expected else tuple(notes[:5]))


def _run_check(folder: Path) -> list[str]:
    """What check.py prints, and how it ends."""
    sys.argv = ["check.py"]
    said, code = io.StringIO(), "no exit"
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            runpy.run_path(str(folder / "check.py"), run_name="__main__")
        except SystemExit as end:
            code = f"exit {end.code}"
    return [*said.getvalue().splitlines(), code]
