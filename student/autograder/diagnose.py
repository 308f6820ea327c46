"""Recognise known mistakes: does one of them, or two together, explain everything that was seen?"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from autograder.fingerprints import alike, fingerprint
from autograder.plain import Plain
from autograder.references import Case, Reference, close

TOGETHER = " + "  # between the slugs of two mistakes that were made at once


@dataclass(frozen=True)
class Raised:
    """Stands for an output that never came: 'RuntimeError: shapes do not match'."""

    text: str


def explain(
    reference: Reference, outputs: Sequence[tuple[Case, Plain | Raised]], right: Sequence[bool]
) -> tuple[str, tuple[str, ...]]:
    """The slug of the known mistake (or of the two) that gives just these outputs, or "".

    Beside it, the mistakes in lower steps that look the same from here.

    A mistake explains the outputs if it gives the same output in every case where it differs
    from the reference, and the student is right in every other case. Mistakes in the exercise
    itself are preferred to those in the steps it is built from; if two of the same rank
    explain it, neither is named: a wrong accusation is worse than none.
    """
    matching = [slug for slug in reference.causes if _explains(slug, outputs, right)]
    own = [slug for slug in matching if slug.startswith(f"{reference.exercise}.")]
    ranked = own or matching
    if ranked:
        also = tuple(slug for slug in matching if slug not in ranked)
        return (ranked[0], also) if len(ranked) == 1 else ("", also)
    pairs = _pairs(reference, outputs)
    return TOGETHER.join(pairs[0]) if len(pairs) == 1 else "", ()


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


def _pairs(reference: Reference, outputs: Sequence[tuple[Case, Plain | Raised]]) -> list[tuple[str, str]]:
    """The pairs of mistakes whose outputs have the fingerprints of these."""
    if not reference.pairs or not all(isinstance(output, Tensor) for _, output in outputs):
        return []
    seen = torch.stack([fingerprint(output) for _, output in outputs if isinstance(output, Tensor)])
    return [reference.pairs[number] for number in alike(reference.prints, seen).nonzero().flatten().tolist()]


def sentence(reference: Reference, cause: str, sure: Container[str]) -> str:
    """What to say of a cause: where it is, if elsewhere; and both sentences, if there are two.

    Of a step that was not looked at by itself, it can only be said what it looks like.
    """
    slugs = cause.split(TOGETHER)
    if not cause or any(slug not in reference.causes for slug in slugs):
        return ""
    said = []
    for slug in slugs:
        home = slug.split(".")[0]
        where = "" if home == reference.exercise else f"In {home}: " if slug in sure else f"It looks as if, in {home}: "
        said.append(where + reference.causes[slug])
    return said[0] if len(said) == 1 else f"Two mistakes at once. {' '.join(said)}"
