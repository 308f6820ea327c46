"""Results in the form that Gradescope reads, and that everything else here reads, too."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import torch

from autograder import __version__
from autograder.course import Course
from autograder.intake import Intake
from autograder.isolation import Layers
from autograder.report import inert, message
from autograder.results import Row

IGNORED_SHOWN = 20


def results(
    course: Course, rows: Sequence[Row], layers: Layers, intake: Intake | None, trouble: str, hashes: dict[str, str]
) -> dict[str, Any]:
    """The whole results.json of one submission, but for its time."""
    tests = [_test(course, row) for row in rows]
    return {
        "score": sum(test["score"] for test in tests),
        "output": _summary(rows, intake, trouble),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": tests,
        "extra_data": {
            "course": course.name,
            "isolation": layers.name,
            "layers": asdict(layers),
            "versions": {"autograder": __version__, "python": platform.python_version(), "torch": torch.__version__},
            "hashes": hashes | ({"submission": intake.digest} if intake else {}),
            "could_not_grade": inert(trouble),
        },
    }


def _test(course: Course, row: Row) -> dict[str, Any]:
    item = row.item
    return {
        "name": f"{item.slug} ({'given' if item.given else row.part})",
        "number": item.handout,
        "score": row.score,
        "max_score": row.points,
        "status": "passed" if row.verdict == "passed" else "failed",
        "output": "\n".join(_output(row)),
        "visibility": "visible" if row.part == "public" else item.visibility,
        "tags": [row.part],
        "extra_data": {
            "exercise": item.slug,
            "part": row.part,
            "verdict": row.verdict,
            "extra_credit": item.extra_credit,
            "checks": [
                {
                    "name": outcome.name,
                    "claim": outcome.claim,
                    "verdict": outcome.verdict,
                    "kind": outcome.finding.kind if outcome.finding else "",
                    "cause": outcome.finding.cause if outcome.finding and outcome.says else "",
                }
                for outcome in row.outcomes
            ],
        },
    }


def _output(row: Row) -> list[str]:
    """What a student reads of one row: what is right in one line each, what is wrong in full, once."""
    if not row.outcomes:
        return ["This could not be checked."]
    lines = [f"✓ {outcome.claim}" for outcome in row.outcomes if outcome.verdict == "passed"]
    told: set[tuple[str, ...]] = set()
    for outcome in row.outcomes:
        if outcome.verdict == "passed":
            continue
        lines.append(f"✗ {outcome.claim}")
        words = tuple(message(outcome, row.item.handout, row.item.files))
        if words not in told:  # one exception seen by five checks is told once
            told.add(words)
            lines += [f"  {line}" for line in words]
    return lines


def _summary(rows: Sequence[Row], intake: Intake | None, trouble: str) -> str:
    if trouble:
        return inert(trouble)
    right = [row for row in rows if row.verdict == "passed"]
    lines = [f"{len(right)} of {len(rows)} groups of checks passed."]
    if intake is not None:
        lines += [inert(note) for note in intake.notes]
        shown = [f"ignored {inert(one.name)}: {one.why}" for one in intake.ignored]
        lines += shown[:IGNORED_SHOWN]
        if len(shown) > IGNORED_SHOWN:
            lines.append(f"and {len(shown) - IGNORED_SHOWN} more files were ignored")
    return "\n".join(lines)
