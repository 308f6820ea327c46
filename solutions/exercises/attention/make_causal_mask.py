"""What staff know of make_causal_mask: its cases, its known mistakes and right but unusual variants."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from autograder.proving.cases import Cases, Draw
from autograder.proving.mistakes import mistake, variant

if TYPE_CHECKING:  # what stands around a body in the solution
    from attention import make_causal_mask


def cases(public: bool, draw: Draw) -> Cases:
    sizes = (3, 1, 5) if public else (1, 2, 4, 6, 7, 9, 16, 32)
    return {f"{n} tokens" if n > 1 else "one token": {"n_tok": n} for n in sizes}


# ── Known mistakes ─────────────────────────────────────────────────────────────────────


@mistake()
def no_diagonal(n_tok):
    """The diagonal is missing: a token may attend to itself, and token 0 has nothing else."""
    return torch.ones(n_tok, n_tok, dtype=torch.bool).tril(-1)


@mistake()
def upper_triangle(n_tok):
    """Your triangle is the upper one: tokens see the future instead of the past."""
    return torch.ones(n_tok, n_tok, dtype=torch.bool).triu()


@mistake()
def inverted(n_tok):
    """Your mask marks what is forbidden; True (or 1) means 'may attend'."""
    return torch.ones(n_tok, n_tok, dtype=torch.bool).triu(1)


@mistake()
def additive(n_tok):
    """Your mask holds 0 and -inf, to be added; True/False or 1/0 is asked for."""
    return torch.full((n_tok, n_tok), -math.inf).triu(1)


@mistake()
def one_ahead(n_tok):
    """Your triangle reaches one token too far: each token sees its successor."""
    return torch.ones(n_tok, n_tok, dtype=torch.bool).tril(1)


@mistake()
def all_allowed(n_tok):
    """Your mask forbids nothing."""
    return torch.ones(n_tok, n_tok, dtype=torch.bool)


@mistake()
def only_itself(n_tok):
    """Your mask is the diagonal alone; the past is allowed, too."""
    return torch.eye(n_tok, dtype=torch.bool)


@mistake()
def flipped(n_tok):
    """Your triangle is mirrored: row i belongs to query i, column j to key j."""
    return torch.ones(n_tok, n_tok, dtype=torch.bool).tril().flip(-1)


@mistake()
def forgets_the_first_token(n_tok):
    """Nobody may attend to token 0 in your mask, but it lies in everyone's past."""
    mask = torch.ones(n_tok, n_tok, dtype=torch.bool).tril()
    mask[1:, 0] = False
    return mask


@mistake()
def one_row_only(n_tok):
    """Your mask is the same for every query; it must grow from row to row."""
    return (torch.arange(n_tok) == 0).expand(n_tok, n_tok)


@mistake()
def size_hard_coded(n_tok):
    """Your mask always has the same size; it must be n_tok by n_tok."""
    return torch.ones(128, 128, dtype=torch.bool).tril()


@mistake()
def kept_from_the_first_call(n_tok):
    """Your mask is kept from an earlier call with another n_tok; make it anew."""
    if not hasattr(make_causal_mask, "kept"):
        make_causal_mask.kept = torch.ones(n_tok, n_tok, dtype=torch.bool).tril()
    return make_causal_mask.kept


@mistake(alone=True)
def all_forbidden(n_tok):
    """Your mask forbids everything; a token may attend to itself and to what came before it."""
    return torch.zeros(n_tok, n_tok, dtype=torch.bool)


@mistake(alone=True)
def rows_reversed(n_tok):
    """Your rows are in reverse order: token 0 sees everything. It may see itself only."""
    return torch.ones(n_tok, n_tok, dtype=torch.bool).tril().flip(0)


@mistake(alone=True)
def two_tokens_only(n_tok):
    """Each token sees itself and the one before it only; all of the past is allowed."""
    mask = torch.ones(n_tok, n_tok, dtype=torch.bool).tril()
    return mask & mask.triu(-1)


@mistake(spares=("self_attention", "causal_self_attention"), alone=True)
def with_a_batch_axis(n_tok):
    """Your mask has an axis too many: its shape must be (n_tok, n_tok)."""
    return torch.ones(1, n_tok, n_tok, dtype=torch.bool).tril()


@mistake(spares=("self_attention", "causal_self_attention"), alone=True)
def with_batch_and_head_axes(n_tok):
    """Your mask has two axes too many: its shape must be (n_tok, n_tok)."""
    return torch.ones(n_tok, n_tok, dtype=torch.bool).tril().view(1, 1, n_tok, n_tok)


@mistake(alone=True)
def one_token_too_small(n_tok):
    """Your mask is one token too small: it must be n_tok by n_tok."""
    return torch.ones(n_tok - 1, n_tok - 1, dtype=torch.bool).tril()


@mistake(alone=True)
def minus_ones(n_tok):
    """Your mask holds 1 and -1; write 0 (or False) where attending is not allowed."""
    return torch.ones(n_tok, n_tok).tril() * 2 - 1


@mistake(alone=True)
def additive_and_finite(n_tok):
    """Your mask holds 0 and a large negative number, to be added; True/False or 1/0 is asked for."""
    return (torch.ones(n_tok, n_tok).tril() - 1) * 1e9


@mistake(alone=True)
def as_an_array(n_tok):
    """You return a numpy array; torch.from_numpy makes a tensor of it."""
    return torch.tril(torch.ones(n_tok, n_tok)).numpy()


# ── Right but unusual ──────────────────────────────────────────────────────────────────


@variant()
def floats(n_tok):
    """1.0 and 0.0."""
    return torch.tril(torch.ones(n_tok, n_tok))


@variant()
def whole_numbers(n_tok):
    """1 and 0 as int64."""
    return torch.ones(n_tok, n_tok, dtype=torch.int64).tril()


@variant()
def bytes_of_a_mask(n_tok):
    """1 and 0 as uint8."""
    return torch.ones(n_tok, n_tok, dtype=torch.uint8).tril()


@variant()
def half_precision(n_tok):
    """1 and 0 as bfloat16."""
    return torch.ones(n_tok, n_tok).tril().to(torch.bfloat16)


@variant()
def comparison(n_tok):
    """Positions compared with each other."""
    return torch.arange(n_tok)[:, None] >= torch.arange(n_tok)


@variant()
def negated_upper_triangle(n_tok):
    """What is not in the future."""
    return ~torch.triu(torch.ones(n_tok, n_tok), diagonal=1).bool()


@variant()
def nested_lists(n_tok):
    """Written out as lists."""
    return torch.tensor([[j <= i for j in range(n_tok)] for i in range(n_tok)])
