"""The daily limit: what becomes of a submission that comes too soon."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autograder.checking.courses import Course
from autograder.gradescope.metadata import Metadata, Previous
from autograder.grading.results_file import fallback


def over_quota(course: Course, metadata: Metadata) -> dict[str, Any] | None:
    """The results of a submission over the daily limit, or None if it is to be graded.

    Nothing is run, and nothing changes: the last graded submission's results stand for this one, too.
    Not the best of them: where the last submission counts, going over the limit must not pay. And not 0, which would
    take points away that a student has: Gradescope counts the newest submission.
    """
    limit = course.gradescope.daily_limit
    again = metadata.next_try(limit) if limit else None
    if again is None:
        return None
    several = "one submission is" if limit == 1 else f"only {limit} submissions are"
    lines = [
        f"Not graded: {several} graded within 24 hours.",
        f"The next one can be graded from {again:%Y-%m-%d %H:%M} ({again.tzname() or 'UTC'}).",
    ]
    last = metadata.last_judged
    tests = _taken_over(fallback(course)["tests"], last) if last else []
    if last and tests:
        lines.append(f"The points are those of your submission of {last.at:%Y-%m-%d %H:%M}.")
    else:
        lines.append("Your earlier submissions keep their points: activate one in the submission history.")
    content = fallback(course, " ".join(lines))
    if tests:
        content |= {"tests": tests, "score": sum(test["score"] for test in tests)}
    content["extra_data"] |= {"over_limit": True, "next_try": again.isoformat()}
    return content


def _taken_over(tests: list[dict[str, Any]], last: Previous) -> list[dict[str, Any]]:
    """The tests with points and messages of an earlier submission; empty unless all of them are there."""
    found = last.results.get("tests")
    earlier = {test.get("name"): test for test in (found if isinstance(found, list) else []) if isinstance(test, dict)}
    for test in tests:
        old = earlier.get(test["name"], {})
        if not _same_test(old, test):
            return []
        test |= {key: old[key] for key in ("score", "status", "output", "extra_data")}
    return tests


def _same_test(old: Mapping[str, Any], test: Mapping[str, Any]) -> bool:
    """Is it ours, of this course as it is now?"""
    extra, score = old.get("extra_data"), old.get("score")
    return (
        isinstance(extra, dict)
        and all(extra.get(key) == test["extra_data"][key] for key in ("exercise", "part"))
        and isinstance(extra.get("checks"), list)
        and isinstance(score, int | float)
        and not isinstance(score, bool)
        and 0 <= score <= test["max_score"] == old.get("max_score")
        and old.get("status") in ("passed", "failed")
        and isinstance(old.get("output"), str)
    )
