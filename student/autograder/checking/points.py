"""From outcomes to points: one row per exercise and part, whose points its claims share out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autograder.checking.carried import carried_from
from autograder.checking.courses import PARTS, Course, Item
from autograder.checking.engine import Outcome, Verdict


@dataclass(frozen=True)
class Row:
    """One line of the report: the checks of one exercise, public or hidden, and their points."""

    item: Item
    part: str
    outcomes: tuple[Outcome, ...]
    carried: tuple[str, ...] = ()  # the steps because of which alone the core fails, if the course counts that

    @property
    def verdict(self) -> Verdict:
        """Notes decide nothing. If it is our fault that the core is not known, what waits for it has not failed."""
        core = _verdict([outcome for outcome in self.outcomes if outcome.counts == "core"])
        if core == "could not check":
            return core
        return _verdict([outcome for outcome in self.outcomes if outcome.counts != "note"])

    @property
    def points(self) -> int:
        return self.item.points_of(self.part)

    @property
    def core_points(self) -> int:
        """What all core claims together earn."""
        return self.points - sum(outcome.worth for outcome in self.outcomes if outcome.counts == "further")

    @property
    def score(self) -> int:
        """Nothing without the core, but a share if a step below is to blame; else its points, and those of every
        further claim that holds."""
        if _verdict([outcome for outcome in self.outcomes if outcome.counts == "core"]) != "passed":
            return self.points * self.item.carried_forward // 100 if self.carried else 0
        return self.core_points + sum(
            outcome.worth for outcome in self.outcomes if outcome.counts == "further" and outcome.verdict == "passed"
        )

    @property
    def remark(self) -> str:
        """What to say of the points, if they are carried forward."""
        if not self.carried or not self.score:
            return ""
        below = " and ".join(self.carried)
        return f"Carried forward: wrong only because of {below}, so that it earns {self.score} of {self.points} points."

    def worth(self, outcome: Outcome) -> str:
        """What a claim is worth, in words; '' where there is only a core, whose points are those of the row."""
        if all(other.counts == "core" for other in self.outcomes) or not self.item.points:
            return ""
        match outcome.counts:
            case "note":
                return "a note: no points"
            case "further" if outcome.worth:
                return _points(outcome.worth)
            case "further":
                return (
                    f"{_points(outcome.elsewhere)}, with the hidden checks" if outcome.elsewhere else "no points here"
                )
        together = sum(other.counts == "core" for other in self.outcomes) > 1
        return f"core: {_points(self.core_points)}{' together' if together else ''}"


def _verdict(outcomes: Sequence[Outcome]) -> Verdict:
    verdicts = {outcome.verdict for outcome in outcomes}
    if "failed" in verdicts:
        return "failed"
    return "could not check" if not verdicts or "could not check" in verdicts else "passed"


def _points(count: int) -> str:
    return f"{count} point{'s' * (count != 1)}"


def rows(course: Course, outcomes: Sequence[Outcome]) -> list[Row]:
    """Every row of the course, whether or not its checks ran; given code has rows without points."""
    found = []
    by_row: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in outcomes:
        by_row.setdefault((outcome.exercise, outcome.part), []).append(outcome)
    for item in course.graded:
        for part in PARTS:
            mine = tuple(by_row.get((item.slug, part), ()))
            if mine or item.points_of(part):
                carried = carried_from(mine, outcomes) if item.carried_forward else ()
                found.append(Row(item, part, mine, carried))
    return found


def lost(course: Course, outcomes: Sequence[Outcome]) -> set[str]:
    """The exercises that did not get all of their points."""
    return {row.item.slug for row in rows(course, outcomes) if row.score < row.points}


def score(course: Course, outcomes: Sequence[Outcome]) -> int:
    return sum(row.score for row in rows(course, outcomes))
