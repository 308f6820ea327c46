"""Recognise known mistakes: does one of them explain everything that was seen?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from autograder.plain import Plain
from autograder.references import Case, Reference, close


@dataclass(frozen=True)
class Raised:
    """Stands for an output that never came: 'RuntimeError: shapes do not match'."""

    text: str


def explain(reference: Reference, outputs: Sequence[tuple[Case, Plain | Raised]], right: Sequence[bool]) -> str:
    """The slug of the one known mistake that gives just these outputs, or "".

    A mistake explains the outputs if it gives the same output in every case where it differs
    from the reference, and the student is right in every other case. Mistakes in the exercise
    itself are preferred to those in the steps it is built from; if two of the same rank
    explain it, neither is named: a wrong accusation is worse than none.
    """
    matching = [slug for slug in reference.causes if _explains(slug, outputs, right)]
    own = [slug for slug in matching if slug.startswith(f"{reference.exercise}.")]
    ranked = own or matching
    return ranked[0] if len(ranked) == 1 else ""


def _explains(slug: str, outputs: Sequence[tuple[Case, Plain | Raised]], right: Sequence[bool]) -> bool:
    seen = False
    for (case, output), is_right in zip(outputs, right, strict=True):
        if slug in case.raises:
            agrees = output == Raised(case.raises[slug]) if isinstance(output, Raised) else False
        elif slug in case.lookalikes:
            agrees = isinstance(output, Tensor) and close(output, case.lookalikes[slug], 1e-5)
        else:
            agrees = is_right
            if agrees:
                continue
        if not agrees:
            return False
        seen = True
    return seen
