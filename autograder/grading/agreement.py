"""Do predictions that were handed in agree with those that were made again? Some may differ by rounding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autograder.checking.predictions import alike, is_right
from autograder.judging.held_out import Question

UNLIKE = 0.05  # of all predictions of a file may differ; and one in any case
LOST = 0.02  # of them may be right as handed in, and wrong as made again; and one in any case

Pair = tuple[Question, str, str]  # as handed in, and as made again


@dataclass(frozen=True)
class Agreement:
    """Which ones differ."""

    count: int
    unlike: Sequence[Pair]
    lost: Sequence[Pair]

    @property
    def holds(self) -> bool:
        return len(self.unlike) <= most(UNLIKE, self.count) and len(self.lost) <= most(LOST, self.count)


def compared(questions: Sequence[Question], handed_in: Sequence[str], made: Sequence[str]) -> Agreement:
    pairs = list(zip(questions, handed_in, made, strict=True))
    unlike = [pair for pair in pairs if not alike(pair[1], pair[2])]
    return Agreement(len(pairs), unlike, [pair for pair in unlike if is_right(pair[1], pair[0])])


def most(share: float, count: int) -> int:
    return max(1, int(share * count))
