"""From outcomes to points: one row per exercise and part, all or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autograder.course import PARTS, Course, Item
from autograder.engine import Outcome, Verdict


@dataclass(frozen=True)
class Row:
    """One line of the report: the checks of one exercise, public or hidden, and their points."""

    item: Item
    part: str
    outcomes: tuple[Outcome, ...]

    @property
    def verdict(self) -> Verdict:
        verdicts = {outcome.verdict for outcome in self.outcomes}
        if "failed" in verdicts:
            return "failed"
        return "could not check" if not verdicts or "could not check" in verdicts else "passed"

    @property
    def points(self) -> int:
        return self.item.points_of(self.part)

    @property
    def score(self) -> int:
        return self.points if self.verdict == "passed" else 0


def rows(course: Course, outcomes: Sequence[Outcome]) -> list[Row]:
    """Every row of the course, whether or not its checks ran; given code has rows without points."""
    found = []
    for item in course.graded:
        for part in PARTS:
            mine = tuple(o for o in outcomes if (o.exercise, o.part) == (item.slug, part))
            if mine or item.points_of(part):
                found.append(Row(item, part, mine))
    return found


def lost(course: Course, outcomes: Sequence[Outcome]) -> set[str]:
    """The exercises that did not get all of their points."""
    return {row.item.slug for row in rows(course, outcomes) if row.score < row.points}


def score(course: Course, outcomes: Sequence[Outcome]) -> int:
    return sum(row.score for row in rows(course, outcomes))
