"""What staff know of split_heads: its cases, its known mistakes and right but unusual variants."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from autograder.proving.cases import DOUBLE, Cases, Draw, counting, strided
from autograder.proving.mistakes import mistake, variant

if TYPE_CHECKING:  # what stands around a body in the solution
    pass


def cases(public: bool, draw: Draw) -> Cases:
    if public:
        return {
            "two tokens by hand": {"x": counting(1, 2, 4) + 1, "n_heads": 2},
            "three heads": {"x": counting(2, 5, 12), "n_heads": 3},
            "one head": {"x": counting(2, 3, 4), "n_heads": 1},
            "not counting": {"x": draw(2, 3, 8), "n_heads": 2},
            "float64": {"x": draw(2, 3, 10, dtype=DOUBLE), "n_heads": 2},
            "not contiguous": {"x": strided(draw(2, 5, 6)), "n_heads": 3},
        }
    return {
        "two heads": {"x": draw(3, 5, 8), "n_heads": 2},
        "three heads": {"x": draw(2, 4, 15), "n_heads": 3},
        "as many heads as tokens": {"x": draw(2, 3, 12), "n_heads": 3},
        "head size one": {"x": draw(2, 3, 4), "n_heads": 4},
        "one head": {"x": draw(3, 4, 5), "n_heads": 1},
        "one token": {"x": draw(2, 1, 12), "n_heads": 3},
        "float64": {"x": draw(2, 7, 20, dtype=DOUBLE), "n_heads": 4},
        "not contiguous": {"x": strided(draw(3, 7, 10)), "n_heads": 2},
        "long": {"x": draw(2, 32, 24), "n_heads": 4},
    }


# ── Known mistakes ─────────────────────────────────────────────────────────────────────


@mistake()
def view_without_transpose(x, n_heads):
    """Your heads hold whole tokens: split the last axis first, then swap tokens and heads."""
    return x.reshape(x.size(0), n_heads, x.size(1), -1)


@mistake()
def interleaved(x, n_heads):
    """Your heads take every n_heads-th feature; each must take neighbouring features."""
    return x.unflatten(-1, (-1, n_heads)).permute(0, 3, 1, 2)


@mistake()
def heads_behind_tokens(x, n_heads):
    """Your heads stand behind the tokens: the order is batch, heads, tokens, head size."""
    return x.unflatten(-1, (n_heads, -1))


@mistake()
def features_before_tokens(x, n_heads):
    """Your last two axes are swapped: tokens come before the features of a head."""
    return x.unflatten(-1, (n_heads, -1)).permute(0, 2, 3, 1)


@mistake()
def head_size_for_heads(x, n_heads):
    """You use n_heads as the size of a head; it is the number of heads."""
    return x.unflatten(-1, (-1, n_heads)).transpose(1, 2)


@mistake()
def heads_in_front(x, n_heads):
    """Your heads come before the batch: the order is batch, heads, tokens, head size."""
    return x.unflatten(-1, (n_heads, -1)).permute(2, 0, 1, 3)


@mistake()
def copies_for_every_head(x, n_heads):
    """Every head gets the whole token; each must get its own slice of it."""
    return x.unsqueeze(1).expand(-1, n_heads, -1, -1)


@mistake()
def splits_the_tokens(x, n_heads):
    """You share out the tokens among the heads; share out the features."""
    parts = x[:, : x.size(1) // n_heads * n_heads].unflatten(1, (n_heads, -1))
    return parts


@mistake(alone=True)
def view_with_tokens_last(x, n_heads):
    """Your view runs across tokens: cut the last axis of x in two first, then swap axes."""
    B, T, C = x.shape
    return x.reshape(B, n_heads, C // n_heads, T).transpose(-2, -1)


@mistake(alone=True)
def as_a_tuple(x, n_heads):
    """You return a tuple of pieces; torch.stack(pieces, dim=1) makes one tensor of them."""
    return x.chunk(n_heads, dim=-1)


@mistake(alone=True)
def heads_last(x, n_heads):
    """Your heads are the last axis: the order is batch, heads, tokens, head size."""
    return torch.stack(x.chunk(n_heads, dim=-1), dim=-1)


@mistake(alone=True)
def heads_along_tokens(x, n_heads):
    """Your heads stand behind one another along the tokens; they need an axis of their own (stack, not cat)."""
    return torch.cat(x.chunk(n_heads, dim=-1), dim=1)


@mistake(alone=True)
def heads_along_the_batch(x, n_heads):
    """Your heads stand behind one another along the batch; they need an axis of their own (stack, not cat)."""
    return torch.cat(x.chunk(n_heads, dim=-1), dim=0)


@mistake(alone=True)
def nothing_is_split(x, n_heads):
    """Your output is the input: nothing is split."""
    return x


@mistake(alone=True)
def view_then_transpose(x, n_heads):
    """Your view has heads and tokens in the wrong order: view(batch, tokens, heads, size), then transpose."""
    return x.reshape(x.size(0), n_heads, x.size(1), -1).transpose(1, 2)


# ── Right but unusual ──────────────────────────────────────────────────────────────────


@variant()
def permuted_and_contiguous(x, n_heads):
    """reshape, permute, contiguous."""
    B, T, C = x.shape
    return x.reshape(B, T, n_heads, C // n_heads).permute(0, 2, 1, 3).contiguous()


@variant()
def chunks(x, n_heads):
    """Slices of features, stacked."""
    return torch.stack(x.chunk(n_heads, -1), 1)


@variant()
def loop_over_heads(x, n_heads):
    """One head after the other."""
    size = x.size(-1) // n_heads
    return torch.stack([x[..., h * size : (h + 1) * size] for h in range(n_heads)], dim=1)
