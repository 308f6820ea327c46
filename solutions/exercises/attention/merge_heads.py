"""What staff know of merge_heads: its cases, its known mistakes and right but unusual variants."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from autograder.proving.cases import DOUBLE, Cases, Draw, counting
from autograder.proving.mistakes import mistake, variant

if TYPE_CHECKING:  # what stands around a body in the solution
    pass


def cases(public: bool, draw: Draw) -> Cases:
    if public:
        return {
            "two heads by hand": {"y": torch.tensor([[[[1.0, 2.0], [5.0, 6.0]], [[3.0, 4.0], [7.0, 8.0]]]])},
            "three heads": {"y": counting(2, 3, 5, 4)},
            "one head": {"y": counting(2, 1, 3, 4)},
            "not counting": {"y": draw(2, 4, 3, 2)},
            "float64": {"y": draw(2, 3, 4, 5, dtype=DOUBLE)},
            "not contiguous": {"y": draw(2, 4, 3, 5).transpose(1, 2)},
        }
    return {
        "two heads": {"y": draw(3, 2, 5, 4)},
        "three heads": {"y": draw(2, 3, 4, 5)},
        "as many heads as tokens": {"y": draw(2, 3, 3, 4)},
        "head size one": {"y": draw(2, 4, 3, 1)},
        "one head": {"y": draw(3, 1, 4, 5)},
        "one token": {"y": draw(2, 3, 1, 4)},
        "float64": {"y": draw(2, 4, 7, 5, dtype=DOUBLE)},
        "not contiguous": {"y": draw(3, 7, 2, 5).transpose(1, 2)},
        "long": {"y": draw(2, 4, 32, 6)},
    }


# ── Known mistakes ─────────────────────────────────────────────────────────────────────


@mistake()
def reshape_without_transpose(y):
    """Heads and tokens are mixed up: swap them before you join the last two axes."""
    return y.reshape(y.size(0), y.size(2), -1)


@mistake()
def merged_interleaved(y):
    """The features of the heads alternate; one head's features must stay together."""
    return y.permute(0, 2, 3, 1).flatten(-2)


@mistake()
def view_after_transpose(y):
    """view cannot join axes after a transpose; use reshape or flatten, or contiguous() first."""
    return y.transpose(1, 2).view(y.size(0), y.size(2), -1)


@mistake()
def mean_of_heads(y):
    """You average the heads; put them side by side."""
    return y.mean(1)


@mistake()
def heads_side_by_side_along_tokens(y):
    """Your heads stand behind one another along the tokens; put them side by side along the features."""
    return y.flatten(1, 2)


@mistake()
def first_head_only(y):
    """Only the first head is left; keep all of them."""
    return y[:, 0].repeat(1, 1, y.size(1))


@mistake()
def heads_reversed(y):
    """The heads are merged in reverse order."""
    return y.flip(1).transpose(1, 2).flatten(-2)


@mistake(alone=True)
def transposes_the_last_axes(y):
    """You swap tokens and features; swap heads and tokens: transpose(1, 2)."""
    return y.transpose(2, 3).reshape(y.size(0), y.size(2), -1)


@mistake(alone=True)
def not_joined(y):
    """Heads and features are still two axes: join the last two, after the swap."""
    return y.transpose(1, 2)


@mistake(alone=True)
def sum_of_heads(y):
    """You add up the heads; put them side by side."""
    return y.sum(1)


@mistake(alone=True)
def joins_tokens_and_heads(y):
    """You join tokens and heads; join heads and features, the last two axes after the swap."""
    return y.transpose(1, 2).flatten(1, 2)


@mistake(alone=True)
def width_before_tokens(y):
    """Your axes are (batch, n_embd, tokens); tokens come before features."""
    return y.transpose(2, 3).flatten(1, 2)


@mistake(alone=True)
def reshape_before_transpose(y):
    """You reshape first and swap axes afterwards; swap heads and tokens first."""
    return y.reshape(y.size(0), -1, y.size(2)).transpose(1, 2)


@mistake(alone=True)
def merges_as_a_list(y):
    """You return a list of heads; torch.cat(heads, dim=-1) makes one tensor of them."""
    return [head for head in y.unbind(1)]


# ── Right but unusual ──────────────────────────────────────────────────────────────────


@variant()
def concatenated(y):
    """Heads concatenated along the features."""
    return torch.cat(list(y.unbind(1)), -1)


@variant()
def contiguous_and_view(y):
    """permute, contiguous, view."""
    B, H, T, S = y.shape
    return y.permute(0, 2, 1, 3).contiguous().view(B, T, H * S)


@variant()
def written_into_zeros(y):
    """Slices written into a new tensor."""
    B, H, T, S = y.shape
    out = torch.zeros(B, T, H * S, dtype=y.dtype)
    for h in range(H):
        out[..., h * S : (h + 1) * S] = y[:, h]
    return out
