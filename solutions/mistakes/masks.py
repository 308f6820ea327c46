"""Known mistakes in making and applying masks, as beginners write them."""

import math

import torch

from autograder.proving.mistakes import mistake

# ── make_causal_mask ───────────────────────────────────────────────────────────────────


@mistake("make_causal_mask", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def all_forbidden(n_tok):
    """Your mask forbids everything; a token may attend to itself and to what came before it."""
    return torch.zeros(n_tok, n_tok, dtype=torch.bool)


@mistake("make_causal_mask", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def rows_reversed(n_tok):
    """Your rows are in reverse order: token 0 sees everything. It may see itself only."""
    return torch.ones(n_tok, n_tok, dtype=torch.bool).tril().flip(0)


@mistake("make_causal_mask", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def two_tokens_only(n_tok):
    """Each token sees itself and the one before it only; all of the past is allowed."""
    mask = torch.ones(n_tok, n_tok, dtype=torch.bool).tril()
    return mask & mask.triu(-1)


@mistake("make_causal_mask", alone=True)
def with_a_batch_axis(n_tok):
    """Your mask has an axis too many: its shape must be (n_tok, n_tok)."""
    return torch.ones(1, n_tok, n_tok, dtype=torch.bool).tril()


@mistake("make_causal_mask", alone=True)
def with_batch_and_head_axes(n_tok):
    """Your mask has two axes too many: its shape must be (n_tok, n_tok)."""
    return torch.ones(n_tok, n_tok, dtype=torch.bool).tril().view(1, 1, n_tok, n_tok)


@mistake("make_causal_mask", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def one_token_too_small(n_tok):
    """Your mask is one token too small: it must be n_tok by n_tok."""
    return torch.ones(n_tok - 1, n_tok - 1, dtype=torch.bool).tril()


@mistake("make_causal_mask", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def minus_ones(n_tok):
    """Your mask holds 1 and -1; write 0 (or False) where attending is not allowed."""
    return torch.ones(n_tok, n_tok).tril() * 2 - 1


@mistake("make_causal_mask", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def additive_and_finite(n_tok):
    """Your mask holds 0 and a large negative number, to be added; True/False or 1/0 is asked for."""
    return (torch.ones(n_tok, n_tok).tril() - 1) * 1e9


@mistake("make_causal_mask", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def as_an_array(n_tok):
    """You return a numpy array; torch.from_numpy makes a tensor of it."""
    return torch.tril(torch.ones(n_tok, n_tok)).numpy()


# ── apply_causal_mask ──────────────────────────────────────────────────────────────────


@mistake("apply_causal_mask", loses=("takes_every_kind_of_mask",), alone=True)
def booleans_only(mask, A):
    """Your code works for a mask of booleans, but not for one of 0s and 1s; mask == 0 works for both."""
    return A.masked_fill(~mask, -math.inf)


@mistake("apply_causal_mask", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def one_minus_a_boolean(mask, A):
    """Booleans cannot be subtracted: 1 - mask raises an exception; mask == 0 works for both kinds."""
    return A + (1 - mask) * -1e9


@mistake("apply_causal_mask", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def three_axes_only(mask, A):
    """Your index fits scores with three axes, but heads are a fourth; write A[..., mask == 0]."""
    A[:, mask == 0] = -math.inf
    return A


@mistake("apply_causal_mask", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def triu_of_the_mask(mask, A):
    """Only the diagonal stays open: the mask has its triangle already, so use it as it is."""
    return A.masked_fill(torch.triu(mask) == 0, -math.inf)


@mistake("apply_causal_mask", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def closes_the_diagonal_too(mask, A):
    """You close the diagonal, too, but a token may attend to itself."""
    return A.masked_fill(torch.triu(torch.ones_like(mask)) != 0, -math.inf)


@mistake("apply_causal_mask", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def mask_transposed(mask, A):
    """You use the mask with rows and columns swapped: row i says what query i may see."""
    return A.masked_fill(mask.T == 0, -math.inf)


@mistake("apply_causal_mask", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def fills_with_nan(mask, A):
    """You put NaN where attending is forbidden; put -inf."""
    return A.masked_fill(mask == 0, math.nan)


@mistake("apply_causal_mask", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def softmax_inside(mask, A):
    """You apply the softmax here, too; return the scores, and leave the softmax to the next step."""
    return torch.softmax(A.masked_fill(mask == 0, -math.inf), dim=-1)


@mistake("apply_causal_mask", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def scores_are_lost(mask, A):
    """Your result holds only 0 and -inf: the scores themselves are lost. Add them, or fill A."""
    return torch.zeros_like(A).masked_fill(mask == 0, -math.inf)


@mistake("apply_causal_mask", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def returns_the_mask(mask, A):
    """You return the mask; return the scores A, with -inf where the mask is 0."""
    return mask.expand_as(A)


@mistake("apply_causal_mask", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def apply_causal_mask_in_half_precision(mask, A):
    """Your numbers are only as exact as half precision; keep the dtype of A."""
    return A.bfloat16().masked_fill(mask == 0, -math.inf).to(A.dtype)
