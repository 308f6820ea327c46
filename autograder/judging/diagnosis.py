"""Recognise known mistakes: does one of them, or two together, explain everything that was seen?"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from autograder.judging.fingerprints import alike, fingerprint
from autograder.judging.references import Case, Reference
from autograder.running.plain import Other, Plain

TOGETHER = " + "  # between the slugs of two mistakes that were made at once

# How a result is seen before it is compared: what counts as the same answer must look the same.
Seen = Callable[[Tensor], Tensor]


def as_it_is(tensor: Tensor) -> Tensor:
    return tensor


@dataclass(frozen=True)
class Raised:
    """Stands for an output that never came: 'RuntimeError: shapes do not match'."""

    text: str

    @property
    def type_name(self) -> str:
        return self.text.split(":")[0]

    @property
    def line(self) -> str:
        return (self.text.splitlines() or [""])[0][:200]

    @property
    def pattern(self) -> str:
        """The text without sizes and names: two programs that fail in the same way call things differently."""
        return _NUMBER.sub("#", re.sub(r"'[^']*'|\"[^\"]*\"", "…", self.line))

    def is_just(self, other: Raised) -> bool:
        """Do two say the same of the same sizes? Their order and the axis depend on how it is written."""
        mine, theirs = (_AXIS.sub("", one.line) for one in (self, other))
        sizes = [sorted(_NUMBER.findall(line)) for line in (mine, theirs)]
        return _NUMBER.sub("#", mine) == _NUMBER.sub("#", theirs) and sizes[0] == sizes[1]


_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_AXIS = re.compile(r" at (?:non-singleton dimension|pos) \d+")


def not_a_tensor(value: Plain) -> Raised:
    """Stands for a result that is no tensor at all."""
    if isinstance(value, (tuple, list)):
        tensors = " tensors" if all(isinstance(part, Tensor) for part in value) else ""
        return Raised(f"returned {type(value).__name__} of {len(value)}{tensors}")
    return Raised(f"returned {value.type_name if isinstance(value, Other) else type(value).__name__}")


def explain(
    reference: Reference,
    outputs: Sequence[tuple[Case, Plain | Raised]],
    right: Sequence[bool],
    seen_as: Seen = as_it_is,
) -> tuple[str, tuple[str, ...]]:
    """The slug of the known mistake (or of the two) that gives just these outputs, or "".

    Beside it, the mistakes in lower steps that look the same from here.

    A mistake explains the outputs if it gives the same output in every case where it differs
    from the reference, and the student is right in every other case. Mistakes in the exercise
    itself are preferred to those in the steps it is built from; if two of the same rank
    explain it, neither is named: a wrong accusation is worse than none.
    """
    evidence = [_Evidence.of(*pair, ok, seen_as) for pair, ok in zip(outputs, right, strict=True)]
    fits = {slug: fit for slug in reference.causes if (fit := _explains(slug, evidence))}
    matching = [slug for slug, fit in fits.items() if fit == max(fits.values())]
    own = [slug for slug in matching if slug.startswith(f"{reference.exercise}.")]
    ranked = own or matching
    if ranked:
        named = ranked[0] if len(ranked) == 1 else ""
        return named, tuple(slug for slug in matching if slug != named and slug not in own)
    pairs = _pairs(reference, [one.print for one in evidence if one.print is not None])
    return TOGETHER.join(pairs[0]) if len(pairs) == 1 else "", ()


@dataclass(frozen=True)
class _Evidence:
    """One case: the mistakes that give the same tensor, or what came instead of one; and whether it is right."""

    case: Case
    right: bool
    print: Tensor | None = None
    looks_like: frozenset[str] = frozenset()
    failed: Raised | None = None

    @staticmethod
    def of(case: Case, output: Plain | Raised, right: bool, seen_as: Seen) -> _Evidence:
        if not isinstance(output, Tensor):
            return _Evidence(case, right, failed=output if isinstance(output, Raised) else not_a_tensor(output))
        mine = fingerprint(seen_as(output))
        slugs = list(case.lookalikes)
        same = alike(torch.stack(list(case.lookalikes.values()))[:, None], mine[None]).tolist() if slugs else []
        return _Evidence(case, right, mine, frozenset(slug for slug, is_so in zip(slugs, same, strict=True) if is_so))


def _explains(slug: str, evidence: Sequence[_Evidence]) -> int:
    """How well a mistake explains all of it: 0 not at all, 2 in every point, 1 but for the words of exceptions.

    Exceptions of one type are said in many words (a product can be written in several ways), and then values must
    agree in some case: a type alone is no evidence. Nor are words alone, if sizes that do not fit have the same for
    every reason: without a value that agrees, the sizes must be the same, too.
    """
    by_value = by_words = other_words = other_sizes = 0
    for one in evidence:
        if slug in one.case.raises:
            theirs = Raised(one.case.raises[slug])
            if one.failed is None or one.failed.type_name != theirs.type_name:
                return 0
            same = one.failed.pattern == theirs.pattern
            by_words, other_words = by_words + same, other_words + (not same)
            other_sizes += not one.failed.is_just(theirs)
        elif slug in one.case.lookalikes:
            if one.right or slug not in one.looks_like:  # the mistake shows here
                return 0
            by_value += 1
        elif not one.right:
            return 0
    if other_words:
        return 1 if by_value else 0
    return 2 if by_value or (by_words and not other_sizes) else 0


def _pairs(reference: Reference, prints: Sequence[Tensor]) -> list[tuple[str, str]]:
    """The pairs of mistakes whose outputs have the fingerprints of these."""
    if not reference.pairs or len(prints) != reference.prints.shape[1]:
        return []
    found = alike(reference.prints, torch.stack(list(prints)))
    return [reference.pairs[number] for number in found.nonzero().flatten().tolist()]


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
