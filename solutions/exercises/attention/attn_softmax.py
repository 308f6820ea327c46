"""What staff know of attn_softmax: its cases, its known mistakes and right but unusual variants."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from autograder.proving.cases import DOUBLE, Cases, Draw, gappy, strided
from autograder.proving.mistakes import mistake, variant

if TYPE_CHECKING:  # what stands around a body in the solution
    pass


def cases(public: bool, draw: Draw) -> Cases:
    if public:
        return {
            "by hand": {"A": torch.tensor([[[0.0, 0.0], [0.0, -torch.inf]]])},
            "three sentences": {"A": draw(3, 5, 5)},
            "with heads": {"A": draw(2, 3, 4, 4)},
            "scores of 10000": {"A": gappy(draw, 2, 6, 6, size=1e4)},
            "float64": {"A": draw(3, 4, 4, dtype=DOUBLE)},
            "not contiguous": {"A": strided(draw(2, 5, 5))},
        }
    return {
        "3-d": {"A": draw(2, 7, 7)},
        "4-d": {"A": draw(3, 2, 5, 5)},
        "one token": {"A": draw(2, 3, 1, 1)},
        "one head": {"A": draw(4, 1, 6, 6)},
        "float64": {"A": draw(2, 3, 5, 5, dtype=DOUBLE)},
        "not contiguous": {"A": strided(draw(2, 3, 7, 7))},
        "large": {"A": gappy(draw, 3, 5, 5, size=1e4)},
        "large and negative": {"A": gappy(draw, 2, 4, 4, size=1e3) - 2e3},
        "masked": {"A": draw(2, 6, 6).masked_fill(torch.ones(6, 6).triu(1) == 1, -torch.inf)},
        "long": {"A": draw(2, 32, 32)},
    }


# ── Known mistakes ─────────────────────────────────────────────────────────────────────


@mistake()
def over_queries(A):
    """Your columns sum to 1, not your rows: the softmax runs over the queries."""
    return torch.softmax(A, dim=-2)


@mistake()
def third_axis(A):
    """Your softmax runs over axis 2: right without heads, wrong with them. Count from the back."""
    return torch.softmax(A, dim=2)


@mistake()
def over_everything(A):
    """All weights together sum to 1; each query's own weights must."""
    return torch.softmax(A.flatten(1), dim=-1).view_as(A)


@mistake()
def logarithms(A):
    """You return logarithms of weights (log_softmax)."""
    return torch.log_softmax(A, dim=-1)


@mistake(spares=("causal_self_attention",))
def overflows(A):
    """exp of a large score overflows: subtract the row's maximum first, or use torch's softmax."""
    weights = A.exp()
    return weights / weights.sum(-1, keepdim=True)


@mistake()
def over_the_batch(A):
    """Your softmax runs over the first axis, so sentences compete with each other."""
    return torch.softmax(A, dim=0)


@mistake()
def no_exponential(A):
    """You divide scores by their sum; take their exponentials first."""
    return A / A.sum(-1, keepdim=True)


@mistake()
def sigmoid(A):
    """You use a sigmoid: each weight lies between 0 and 1, but a row does not sum to 1."""
    return torch.sigmoid(A)


@mistake(loses=("keeps_dtype_and_layout",))
def softmax_in_float32(A):
    """Your result is always float32; keep the dtype of A."""
    return torch.softmax(A.float(), dim=-1)


@mistake(alone=True)
def twice(A):
    """You apply the softmax twice, which makes the weights nearly even; once is enough."""
    return torch.softmax(torch.softmax(A, dim=-1), dim=-1)


@mistake(alone=True)
def without_dim(A):
    """Without dim, torch picks an axis in front (0 or 1); the weights run along the last: dim=-1."""
    return torch.nn.functional.softmax(A)


@mistake(alone=True)
def second_axis(A):
    """Your softmax runs over axis 1, the queries or the heads; it must run over the last axis, dim=-1."""
    return torch.softmax(A, dim=1)


@mistake(alone=True)
def over_the_whole_tensor(A):
    """The weights of the whole batch together sum to 1; each query's own weights must."""
    e = torch.exp(A - A.max())
    return e / e.sum()


@mistake(alone=True)
def without_keepdim(A):
    """The sums lose their axis and are divided along another one; write sum(-1, keepdim=True)."""
    e = torch.exp(A)
    return e / e.sum(-1)


@mistake(alone=True)
def largest_only(A):
    """The largest score takes all the weight; a softmax gives every score its share."""
    return torch.nn.functional.one_hot(A.argmax(-1), A.size(-1)).to(A.dtype)


@mistake(alone=True)
def of_the_negative(A):
    """Your largest scores get the smallest weights: the sign is wrong."""
    return torch.softmax(-A, dim=-1)


@mistake(alone=True)
def not_divided(A):
    """You take exponentials but do not divide them by their sum, so a row does not sum to 1."""
    return A.exp()


@mistake(alone=True)
def attn_softmax_in_half_precision(A):
    """Your numbers are only as exact as half precision; compute in the dtype of A."""
    return torch.softmax(A.bfloat16(), dim=-1).to(A.dtype)


# ── Right but unusual ──────────────────────────────────────────────────────────────────


@variant()
def by_hand(A):
    """Exponentials of what is left after the maximum, divided by their sum."""
    e = (A - A.amax(-1, keepdim=True)).exp()
    return e / e.sum(-1, keepdim=True)


@variant()
def as_a_layer(A):
    """A Softmax layer made on the spot."""
    return torch.nn.Softmax(dim=-1)(A)


@variant()
def through_logarithms(A):
    """exp of log_softmax."""
    return torch.log_softmax(A, dim=-1).exp()


@variant()
def last_axis_by_number(A):
    """The last axis counted from the front, but for any number of axes."""
    return torch.nn.functional.softmax(A, dim=A.dim() - 1)
