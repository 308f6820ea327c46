"""Results in the form that Gradescope reads, and that everything else here reads, too."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import torch

from autograder import __version__
from autograder.checking.advice import advice
from autograder.checking.courses import Course, Visibility
from autograder.checking.engine import Outcome
from autograder.checking.formatting import RENDER
from autograder.checking.points import Row
from autograder.checking.points import rows as rows_of
from autograder.checking.wording import inert, message
from autograder.intake.clean_tree import Intake
from autograder.intake.people import Student
from autograder.isolation import Layers
from autograder.isolation.layers import WEAK

IGNORED_SHOWN = 20
UNFINISHED = (
    "The grader did not finish, so nothing was judged. Hand in once more; "
    "if you see this again, tell the course staff: the fault may be ours."
)


def results(
    course: Course, rows: Sequence[Row], layers: Layers, intake: Intake | None, trouble: str, hashes: dict[str, str]
) -> dict[str, Any]:
    """The whole results.json of one submission, but for its time."""
    names = intake.files if intake else ()
    tests = [_test(course, row, names) for row in rows]
    told = advice(rows)
    # The output is seen at once: what a course shows later, or never, must not be told by it.
    shown = [row for row in rows if _visibility(row) == "visible"]
    summary = _summary(shown, intake, trouble)
    if len(shown) < len(rows) and not trouble:
        summary.insert(1, "There are other checks, whose results are not shown now.")
    leaders = [leader for slug in course.gradescope.leaderboard for leader in _leaders(slug, shown)]
    return ({"leaderboard": leaders} if leaders else {}) | {
        "score": sum(test["score"] for test in tests),
        "output": RENDER[course.output].summary(summary, [one.text() for one in advice(shown)]),
        "output_format": course.output,
        "test_output_format": course.output,
        "test_name_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": tests,
        "extra_data": {
            "course": course.name,
            "title": course.title,
            "summary": _summary(rows, intake, trouble),
            "advice": [asdict(one) for one in told],
            # For course staff: what was noted of each exercise, and what the walls refused, in words of a fixed list.
            "notes": _notes(rows),
            "refused": sorted({word for row in rows for outcome in row.outcomes for word in outcome.refused}),
            "isolation": layers.name,
            "layers": asdict(layers),
            "versions": versions(),
            "hashes": hashes | ({"submission": intake.digest} if intake else {}),
            "could_not_grade": inert(trouble),
        },
    }


def _notes(rows: Sequence[Row]) -> list[dict[str, str]]:
    """Each note once, though public and hidden checks may both say it; a number that was measured is no news."""
    outcomes = [(row.item.slug, outcome) for row in rows for outcome in row.outcomes]
    said = {(slug, outcome.note): None for slug, outcome in outcomes if outcome.note and outcome.measure is None}
    return [{"exercise": slug, "note": inert(note)} for slug, note in said]


def _leaders(slug: str, rows: Sequence[Row]) -> list[dict[str, Any]]:
    """What an exercise's checks have measured, as Gradescope's leaderboard takes it."""
    measures = [outcome.measure for row in rows if row.item.slug == slug for outcome in row.outcomes if outcome.measure]
    return [
        {"name": slug, "value": round(one.value, 4), "order": "asc" if one.smaller_is_better else "desc"}
        for one in measures[-1:]
    ]


def fallback(course: Course, why: str = UNFINISHED) -> dict[str, Any]:
    """Valid results of 0 points in which nothing is judged; they stand unless a grader puts others in their place."""
    content = results(course, rows_of(course, []), WEAK, None, why, {})
    del content["extra_data"]["versions"]  # of whoever made this, who graded nothing
    content["extra_data"] |= {"student": asdict(Student("")), "isolation": "nothing was run"}
    content["execution_time"] = 0.0
    return content


def text_of(content: Mapping[str, Any]) -> bytes:
    """Results as they are written to a file, a line for each test: to indent everything takes four times as long."""
    lines = []
    for key, value in sorted(content.items()):
        several = isinstance(value, list) and len(value) > 1
        written = ",\n  ".join(map(_written, value)) if several else _written(value)
        lines.append(f"{_written(key)}: " + (f"[\n  {written}\n ]" if several else written))
    return ("{\n " + ",\n ".join(lines) + "\n}\n").encode()


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def versions() -> dict[str, str]:
    """Of what decides a result, on this machine."""
    return {"autograder": __version__, "python": platform.python_version(), "torch": torch.__version__}


def _test(course: Course, row: Row, names: Sequence[str]) -> dict[str, Any]:
    item = row.item
    checks = [_check(row, outcome, names) for outcome in row.outcomes]
    file = next((inert(outcome.file) for outcome in row.outcomes if outcome.file), "")
    # A message says where to look; without one, which of several files was used must be said, too.
    told = file if len(item.files) > 1 and row.verdict == "passed" else ""
    output = RENDER[course.output].checks(checks, told)
    return {
        "name": f"{item.slug} ({'given' if item.given else row.part})",
        "number": item.handout,
        "score": row.score,
        "max_score": row.points,
        "status": "passed" if row.verdict == "passed" else "failed",
        "output": "\n\n".join(filter(None, (row.remark, output))) if checks else "This could not be checked.",
        "visibility": _visibility(row),
        "tags": [row.part],
        "extra_data": {
            "exercise": item.slug,
            "part": row.part,
            "section": item.section,
            "handout": item.handout,
            "given": item.given,
            "verdict": row.verdict,
            "extra_credit": item.extra_credit,
            "file": file,
            "carried": row.remark,
            "checks": checks,
        },
    }


def _visibility(row: Row) -> Visibility:
    return "visible" if row.part == "public" else row.item.visibility


def _check(row: Row, outcome: Outcome, names: Sequence[str]) -> dict[str, Any]:
    """One check as data, from which text, Markdown and pages are made: nothing that a student may not see."""
    finding = outcome.finding
    files = (outcome.file,) if outcome.file else _handed_in(row.item.files, names)
    said = message(outcome, row.item.handout, files)
    return {
        "name": outcome.name,
        "claim": outcome.claim,
        "counts": outcome.counts,
        "worth": row.worth(outcome),
        "verdict": outcome.verdict,
        "note": outcome.note,
        "kind": finding.kind if finding else "",
        "cause": finding.cause if finding and outcome.says else "",
        "message": asdict(said) if said else None,
        "picture": asdict(finding.picture) if finding and finding.picture and outcome.part == "public" else None,
    }


def _handed_in(wanted: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """Of the files that may hold an exercise, those that were handed in; if none was, all of them."""
    there = tuple(file for file in wanted if any(f"/{name}".endswith(f"/{file}") for name in names))
    return there or tuple(wanted)


def _summary(rows: Sequence[Row], intake: Intake | None, trouble: str) -> list[str]:
    if trouble:
        return [inert(trouble)]
    right = [row for row in rows if row.verdict == "passed"]
    lines = [f"{len(right)} of {len(rows)} groups of checks passed."]
    if intake is not None:
        lines += [inert(note) for note in intake.notes]
        shown = [f"ignored {inert(one.name)}: {one.why}" for one in intake.ignored]
        lines += shown[:IGNORED_SHOWN]
        if len(shown) > IGNORED_SHOWN:
            lines.append(f"and {len(shown) - IGNORED_SHOWN} more files were ignored")
    return lines
