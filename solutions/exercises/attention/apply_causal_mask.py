"""What staff know of apply_causal_mask: its cases, its known mistakes and right but unusual variants."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from autograder.proving.cases import DOUBLE, Cases, Draw, Inputs, gappy, strided
from autograder.proving.mistakes import mistake, variant

if TYPE_CHECKING:  # what stands around a body in the solution
    pass


def cases(public: bool, draw: Draw) -> Cases:
    def case(scores: Tensor) -> Inputs:
        tokens = scores.shape[-1]
        return {"mask": torch.ones(tokens, tokens, dtype=torch.bool).tril(), "A": scores}

    if public:
        return {
            "by hand": case(torch.tensor([[[1.0, 2.0], [3.0, 4.0]]])),
            "three sentences": case(draw(3, 5, 5)),
            "with heads": case(draw(2, 3, 4, 4)),
            "float64": case(draw(3, 4, 4, dtype=DOUBLE)),
            "not contiguous": case(strided(draw(2, 5, 5))),
        }
    return {
        "3-d": case(draw(2, 7, 7)),
        "4-d": case(draw(3, 2, 6, 6)),
        "one token": case(draw(2, 3, 1, 1)),
        "one head": case(draw(4, 1, 5, 5)),
        "float64": case(draw(2, 3, 5, 5, dtype=DOUBLE)),
        "not contiguous": case(strided(draw(2, 3, 7, 7))),
        "with zeros": case(draw(2, 4, 4).relu()),
        "scores of a million": case(gappy(draw, 2, 6, 6, size=1e6)),
        "all very negative": case(gappy(draw, 3, 5, 5, size=2e5) - 7e5),
        "long": case(draw(1, 2, 32, 32)),
    }


# ── Known mistakes ─────────────────────────────────────────────────────────────────────


@mistake()
def plus_infinity(mask, A):
    """You put +inf or a huge number where attending is forbidden; the softmax needs -inf there."""
    return A.masked_fill(mask == 0, math.inf)


@mistake()
def closes_the_allowed(mask, A):
    """You close what is allowed and leave the forbidden open: True (or 1) means 'may attend'."""
    return A.masked_fill(mask != 0, -math.inf)


@mistake()
def zeros_instead(mask, A):
    """You put 0 (or a tiny number) where attending is forbidden; after the softmax, 0 still has weight."""
    return A * mask


@mistake(spares=("self_attention", "causal_self_attention"))
def not_low_enough(mask, A):
    """Your fill is not low enough: with large scores, forbidden places still get weight."""
    return A.masked_fill(mask == 0, -1e4)


@mistake()
def zero_times_infinity(mask, A):
    """You multiply infinity by 0, which is NaN; choose with masked_fill or where."""
    return A + (1 - mask.to(A.dtype)) * -math.inf


@mistake()
def does_nothing(mask, A):
    """Your output is the input: nothing is masked."""
    return A


@mistake()
def adds_the_mask(mask, A):
    """You add the mask of 0s and 1s to the scores; that forbids nothing."""
    return A + mask.to(A.dtype)


@mistake()
def masks_the_whole_row(mask, A):
    """You close whole rows or columns; close only the places where the mask is 0."""
    return A.masked_fill((mask == 0).any(-1, keepdim=True), -math.inf)


@mistake(spares=("self_attention", "causal_self_attention"), loses=("takes_every_kind_of_mask",), alone=True)
def booleans_only(mask, A):
    """Your code works for a mask of booleans, but not for one of 0s and 1s; mask == 0 works for both."""
    return A.masked_fill(~mask, -math.inf)


@mistake(alone=True)
def one_minus_a_boolean(mask, A):
    """Booleans cannot be subtracted: 1 - mask raises an exception; mask == 0 works for both kinds."""
    return A + (1 - mask) * -1e9


@mistake(alone=True)
def three_axes_only(mask, A):
    """Your index fits scores with three axes, but heads are a fourth; write A[..., mask == 0]."""
    A[:, mask == 0] = -math.inf
    return A


@mistake(alone=True)
def triu_of_the_mask(mask, A):
    """Only the diagonal stays open: the mask has its triangle already, so use it as it is."""
    return A.masked_fill(torch.triu(mask) == 0, -math.inf)


@mistake(alone=True)
def closes_the_diagonal_too(mask, A):
    """You close the diagonal, too, but a token may attend to itself."""
    return A.masked_fill(torch.triu(torch.ones_like(mask)) != 0, -math.inf)


@mistake(alone=True)
def mask_transposed(mask, A):
    """You use the mask with rows and columns swapped: row i says what query i may see."""
    return A.masked_fill(mask.T == 0, -math.inf)


@mistake(alone=True)
def fills_with_nan(mask, A):
    """You put NaN where attending is forbidden; put -inf."""
    return A.masked_fill(mask == 0, math.nan)


@mistake(alone=True)
def softmax_inside(mask, A):
    """You apply the softmax here, too; return the scores, and leave the softmax to the next step."""
    return torch.softmax(A.masked_fill(mask == 0, -math.inf), dim=-1)


@mistake(alone=True)
def scores_are_lost(mask, A):
    """Your result holds only 0 and -inf: the scores themselves are lost. Add them, or fill A."""
    return torch.zeros_like(A).masked_fill(mask == 0, -math.inf)


@mistake(alone=True)
def returns_the_mask(mask, A):
    """You return the mask; return the scores A, with -inf where the mask is 0."""
    return mask.expand_as(A)


@mistake(alone=True)
def apply_causal_mask_in_half_precision(mask, A):
    """Your numbers are only as exact as half precision; keep the dtype of A."""
    return A.bfloat16().masked_fill(mask == 0, -math.inf).to(A.dtype)


# ── Right but unusual ──────────────────────────────────────────────────────────────────


@variant()
def where(mask, A):
    """torch.where."""
    return torch.where(mask.bool(), A, float("-inf"))


@variant()
def minus_a_billion(mask, A):
    """-1e9: the same in effect."""
    return A.masked_fill(mask == 0, -1e9)


@variant()
def lowest_number(mask, A):
    """The lowest number of the dtype."""
    return A.masked_fill(~mask.bool(), torch.finfo(A.dtype).min)


@variant()
def filled_in_place(mask, A):
    """Writes into A, with -1e10."""
    return A.masked_fill_(mask == 0, -1e10)


@variant()
def added(mask, A):
    """An additive mask made from the one that was given."""
    return A + torch.zeros_like(A).masked_fill(mask == 0, -math.inf)


@variant()
def by_index(mask, A):
    """A copy, and an assignment to the forbidden places."""
    out = A.clone()
    out[..., mask == 0] = -math.inf
    return out
