"""What staff know of attn_scaled: its cases, its known mistakes and right but unusual variants."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from autograder.proving.cases import DOUBLE, Cases, Draw, strided
from autograder.proving.mistakes import mistake, variant

if TYPE_CHECKING:  # what stands around a body in the solution
    pass


def cases(public: bool, draw: Draw) -> Cases:
    if public:
        return {
            "by hand": {"A": torch.tensor([[[6.0, 8.0], [2.0, -4.0]]]), "n_embd": 12, "n_heads": 3},
            "one head": {"A": draw(2, 5, 5), "n_embd": 7, "n_heads": 1},
            "four heads": {"A": draw(2, 4, 5, 5), "n_embd": 24, "n_heads": 4},
            "float64": {"A": draw(3, 4, 4, dtype=DOUBLE), "n_embd": 10, "n_heads": 2},
            "not contiguous": {"A": strided(draw(2, 5, 5)), "n_embd": 9, "n_heads": 3},
        }
    return {
        "3-d": {"A": draw(3, 6, 6), "n_embd": 10, "n_heads": 2},
        "4-d": {"A": draw(2, 3, 5, 5), "n_embd": 21, "n_heads": 3},
        "one head": {"A": draw(2, 1, 6, 6), "n_embd": 5, "n_heads": 1},
        "one token": {"A": draw(3, 2, 1, 1), "n_embd": 14, "n_heads": 2},
        "many heads": {"A": draw(1, 8, 3, 3), "n_embd": 40, "n_heads": 8},
        "head size one": {"A": draw(2, 6, 4, 4), "n_embd": 6, "n_heads": 6},
        "float64": {"A": draw(2, 4, 5, 5, dtype=DOUBLE), "n_embd": 28, "n_heads": 4},
        "not contiguous": {"A": strided(draw(2, 3, 7, 7)), "n_embd": 15, "n_heads": 3},
        "large": {"A": draw(2, 5, 5, scale=10000.0), "n_embd": 18, "n_heads": 3},
    }


# ── Known mistakes ─────────────────────────────────────────────────────────────────────


@mistake()
def not_scaled(A, n_embd, n_heads):
    """Your output is the input: nothing is scaled."""
    return A


@mistake()
def multiplied(A, n_embd, n_heads):
    """In effect you multiply by √(n_embd / n_heads); divide by it."""
    return A * math.sqrt(n_embd / n_heads)


@mistake()
def without_root(A, n_embd, n_heads):
    """You divide by the head size; divide by its square root."""
    return A / (n_embd / n_heads)


@mistake()
def width_instead_of_head_size(A, n_embd, n_heads):
    """You divide by √n_embd; what counts is the size of one head, n_embd / n_heads."""
    return A / math.sqrt(n_embd)


@mistake()
def heads_instead_of_head_size(A, n_embd, n_heads):
    """You divide by √n_heads; what counts is the size of one head, n_embd / n_heads."""
    return A / math.sqrt(n_heads)


@mistake()
def number_of_tokens(A, n_embd, n_heads):
    """You divide by the root of the number of tokens; what counts is the size of one head."""
    return A / math.sqrt(A.size(-1))


@mistake()
def adds_the_root(A, n_embd, n_heads):
    """You subtract the square root; divide by it."""
    return A - math.sqrt(n_embd / n_heads)


@mistake()
def head_size_hard_coded(A, n_embd, n_heads):
    """You divide by √64, whatever n_embd and n_heads say."""
    return A / 8.0


@mistake(loses=("keeps_dtype_and_layout",))
def scaled_in_float32(A, n_embd, n_heads):
    """Your result is always float32; keep the dtype of A."""
    return A.float() / math.sqrt(n_embd / n_heads)


@mistake(alone=True)
def divides_by_width(A, n_embd, n_heads):
    """You divide by n_embd; divide by the square root of one head's size, n_embd / n_heads."""
    return A / n_embd


@mistake(alone=True)
def width_times_heads(A, n_embd, n_heads):
    """You divide by √(n_embd · n_heads); one head has the size n_embd / n_heads."""
    return A / math.sqrt(n_embd * n_heads)


@mistake(alone=True)
def divides_by_heads(A, n_embd, n_heads):
    """You divide by n_heads; divide by the square root of one head's size, n_embd / n_heads."""
    return A / n_heads


@mistake(alone=True)
def root_of_width_only(A, n_embd, n_heads):
    """Only n_embd is under the root: you divide by √n_embd / n_heads, not by √(n_embd / n_heads)."""
    return A / (math.sqrt(n_embd) / n_heads)


@mistake(alone=True)
def brackets_missing(A, n_embd, n_heads):
    """You divide by √n_embd and by n_heads; divide by √(n_embd / n_heads): mind the brackets."""
    return A / math.sqrt(n_embd) / n_heads


@mistake(alone=True)
def softmax_at_once(A, n_embd, n_heads):
    """You apply the softmax here already; this step only divides."""
    return torch.softmax(A / math.sqrt(n_embd / n_heads), dim=-1)


@mistake(alone=True)
def squared(A, n_embd, n_heads):
    """You divide by the square of the head size; divide by its square root."""
    return A / (n_embd / n_heads) ** 2


@mistake(alone=True)
def divides_by_tokens(A, n_embd, n_heads):
    """You divide by the number of tokens; divide by the square root of one head's size."""
    return A / A.size(-1)


@mistake(alone=True)
def root_rounded_down(A, n_embd, n_heads):
    """You round the root down to a whole number; divide by the root as it is."""
    return A / int(math.sqrt(n_embd / n_heads))


@mistake(alone=True)
def attn_scaled_in_half_precision(A, n_embd, n_heads):
    """Your numbers are only as exact as half precision; compute in the dtype of A."""
    return (A.half() / math.sqrt(n_embd / n_heads)).to(A.dtype)


# ── Right but unusual ──────────────────────────────────────────────────────────────────


@variant()
def negative_power(A, n_embd, n_heads):
    """A power instead of a root."""
    return A * (n_embd // n_heads) ** -0.5


@variant()
def in_place(A, n_embd, n_heads):
    """The small steps may write into their argument."""
    A /= math.sqrt(n_embd // n_heads)
    return A


@variant()
def with_a_tensor(A, n_embd, n_heads):
    """The root as a tensor."""
    return A / torch.sqrt(torch.tensor(n_embd / n_heads)).to(A.dtype)


@variant()
def with_numpy(A, n_embd, n_heads):
    """The root from numpy."""
    import numpy

    return A / float(numpy.sqrt(n_embd / n_heads))
