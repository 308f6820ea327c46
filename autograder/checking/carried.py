"""Error carried forward: an exercise that is wrong only because a step below it is.

Nothing is run for this, and no reference code is needed. The reference of an exercise holds what it gives with each
known mistake in the steps it is built from. If the submission gives just that, in every case, and the step's own
checks name the same mistake, then the exercise was put together rightly. A step that is wrong in a way that nobody has
described is not recognised, and nothing is carried.
"""

from __future__ import annotations

from collections.abc import Sequence

from autograder.checking.engine import Outcome
from autograder.judging.diagnosis import TOGETHER


def carried_from(mine: Sequence[Outcome], outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    """The steps whose mistakes explain all that is wrong with one part of an exercise, or none.

    mine: what the checks of that part say; outcomes: what all checks say.
    """
    failed = [one for one in mine if one.counts == "core" and one.verdict != "passed"]
    if not failed or any(_by_itself(one) for one in failed):
        return ()
    for one in failed:
        # Lazy answers, such as NaN everywhere, may equal what some mistake gives; they are worth nothing.
        if one.finding is None or not one.finding.telling:
            continue
        named = _named(one.part, one.exercise, outcomes)
        for cause in (one.finding.cause, *one.finding.also):
            slugs = cause.split(TOGETHER) if cause else []
            if slugs and all(slug in named for slug in slugs):
                return tuple(dict.fromkeys(named[slug] for slug in slugs))
    return ()


def _by_itself(outcome: Outcome) -> bool:
    """Does a check fail for a reason that no other result can explain?"""
    kinds = ("values", "non-finite", "property", "waiting")
    return outcome.finding is None or outcome.finding.kind not in kinds or outcome.finding.open


def _named(part: str, exercise: str, outcomes: Sequence[Outcome]) -> dict[str, str]:
    """The mistakes that the checks of other exercises name as their own, and where."""
    return {
        slug: other.exercise
        for other in outcomes
        if other.finding and other.part == part and other.exercise != exercise
        for slug in other.finding.cause.split(TOGETHER)
        if slug.startswith(f"{other.exercise}.")
    }
