"""What staff know of self_attention: its cases, its known mistakes and right but unusual variants."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from autograder.judging.exercises import MAP
from autograder.proving.cases import COARSE, DOUBLE, FINE, Cases, Draw, Inputs, not_contiguous, one_hot
from autograder.proving.mistakes import mistake, variant

if TYPE_CHECKING:  # what stands around a body in the solution
    from attention import (
        apply_causal_mask,
        attn_scaled,
        attn_softmax,
        compute_outputs,
        make_causal_mask,
        merge_heads,
        pairwise_similarities,
        split_heads_qkv,
    )

GRADIENTS = ("Q", "K", "V")  # the inputs that gradients must reach


def cases(public: bool, draw: Draw) -> Cases:
    def case(batch: int, tokens: int, width: int, heads: int, causal: bool, **options: object) -> Inputs:
        scale = float(options.get("scale", 1.0))  # type: ignore[arg-type]
        dtype = options.get("dtype", torch.float32)
        assert isinstance(dtype, torch.dtype)
        steps = COARSE if scale > 1 else FINE
        q, k = (draw(batch, tokens, width, scale=scale, dtype=dtype, steps=steps) for _ in range(2))
        v = draw(batch, tokens, width, dtype=dtype)
        return {"Q": q, "K": k, "V": v, "n_heads": heads, "causal": causal}

    if public:
        return {
            "checkpoint 1: one head, no mask": case(2, 5, 12, 1, False),
            "checkpoint 2: one head, causal": case(2, 5, 12, 1, True),
            "checkpoint 3: three heads, causal": case(2, 5, 12, 3, True),
            "one token": case(2, 1, 12, 3, True),
            MAP: case(1, 4, 10, 2, True) | {"V": one_hot(1, 4, 2, 5)},
            f"{MAP}, three heads": case(1, 3, 12, 3, False) | {"V": one_hot(1, 3, 3, 4)},
            "float64": case(2, 3, 8, 2, True, dtype=DOUBLE),
            "not contiguous": not_contiguous(case(2, 4, 6, 2, True)),
        }
    return {
        "one head, no mask": case(2, 7, 5, 1, False),
        "one head, causal": case(3, 6, 4, 1, True),
        "two heads, causal": case(3, 5, 8, 2, True),
        "three heads, no mask": case(2, 4, 15, 3, False),
        "head size one": case(2, 3, 4, 4, True),
        "one token": case(4, 1, 6, 2, True),
        "two tokens": case(4, 2, 15, 3, True),
        "float64": case(2, 7, 20, 4, True, dtype=DOUBLE),
        "not contiguous": not_contiguous(case(3, 7, 10, 2, True)),
        "large": case(2, 6, 12, 3, True, scale=64.0),
        "long": case(2, 32, 24, 4, True),
    }


# ── Known mistakes ─────────────────────────────────────────────────────────────────────


@mistake(replaces="A = attn_scaled")
def forgets_to_scale(q, k):
    """Your output equals attention without the 1/√(head size) scaling."""
    A = pairwise_similarities(q, k)


@mistake(replaces="A = attn_scaled")
def scales_by_width(q, k, n_embd):
    """Your output equals attention scaled by 1/√n_embd; scale by one head's size."""
    A = attn_scaled(pairwise_similarities(q, k), n_embd, 1)


@mistake(replaces="if causal")
def always_causal(A, n_tok):
    """You mask even when causal is False."""
    A = apply_causal_mask(make_causal_mask(n_tok), A)


@mistake(replaces="if causal")
def never_causal():
    """Your output equals attention without a mask, even when causal is True."""
    pass


@mistake()
def masks_after_softmax(Q, K, V, n_heads=1, causal=True):
    """You set weights to 0 after the softmax, so rows no longer sum to 1; mask the scores before it."""
    q, k, v = split_heads_qkv(Q, K, V, n_heads)
    A = attn_softmax(attn_scaled(pairwise_similarities(q, k), Q.size(-1), n_heads))
    if causal:
        A = A * make_causal_mask(Q.size(1))
    return merge_heads(compute_outputs(A, v))


@mistake()
def scales_after_softmax(Q, K, V, n_heads=1, causal=True):
    """You scale the weights after the softmax; scale the scores before it."""
    q, k, v = split_heads_qkv(Q, K, V, n_heads)
    A = pairwise_similarities(q, k)
    if causal:
        A = apply_causal_mask(make_causal_mask(Q.size(1)), A)
    return merge_heads(compute_outputs(attn_scaled(attn_softmax(A), Q.size(-1), n_heads), v))


@mistake(replaces="q, k, v =")
def swaps_queries_and_keys(Q, K, V, n_heads):
    """Queries and keys have changed places."""
    q, k, v = split_heads_qkv(K, Q, V, n_heads)


@mistake(replaces="q, k, v =")
def keys_as_values(Q, K, n_heads):
    """You mix the keys; mix the values."""
    q, k, v = split_heads_qkv(Q, K, K, n_heads)


@mistake(replaces="q, k, v =")
def ignores_n_heads(Q, K, V, n_heads):
    """Your output equals attention with a single head, whatever n_heads says."""
    n_heads = 1
    q, k, v = split_heads_qkv(Q, K, V, n_heads)


@mistake(replaces="return")
def heads_not_merged(A, v):
    """Your heads are still apart: the last step is merge_heads."""
    return compute_outputs(attn_softmax(A), v)


@mistake(replaces="q, k, v =", loses=("leaves_its_inputs_alone", "lets_gradients_flow"))
def self_attention_writes_into_input(Q, K, V, n_heads):
    """Your code changes a tensor that it was given; work on a new one."""
    q, k, v = split_heads_qkv(Q.clone(), K, V, n_heads)
    Q.zero_()


@mistake(replaces="return", loses=("lets_gradients_flow",))
def self_attention_detached(A, v):
    """No gradient gets through: look for detach, .data, no_grad, .item() or a tensor made anew."""
    return merge_heads(compute_outputs(attn_softmax(A).detach(), v))


@mistake(replaces="return")
def adds_the_input(Q, A, v):
    """Your output holds Q as well; the residual connection belongs to the block around attention."""
    return Q + merge_heads(compute_outputs(attn_softmax(A), v))


@mistake(replaces="A = attn_scaled")
def scales_twice(q, k, n_embd, n_heads):
    """Your output equals attention with scores divided by the head size: scaled twice, or without the root?"""
    A = attn_scaled(attn_scaled(pairwise_similarities(q, k), n_embd, n_heads), n_embd, n_heads)


@mistake()
def masks_with_zero_before_softmax(Q, K, V, n_heads=1, causal=True):
    """You put 0 where attending is forbidden, before the softmax; 0 still has weight. Put -inf."""
    q, k, v = split_heads_qkv(Q, K, V, n_heads)
    A = attn_scaled(pairwise_similarities(q, k), Q.size(-1), n_heads)
    if causal:
        A = A * make_causal_mask(Q.size(1))
    return merge_heads(compute_outputs(attn_softmax(A), v))


@mistake(replaces="return")
def forgets_the_softmax(A, v):
    """Your output equals attention without a softmax: scores are no weights yet."""
    return merge_heads(compute_outputs(A.nan_to_num(neginf=0.0), v))


@mistake(replaces="q, k, v =")
def first_of_the_batch_only(Q, K, V, n_heads):
    """Your output is that of the first sentence of the batch, for all of them."""
    q, k, v = (part[:1].expand_as(part) for part in split_heads_qkv(Q, K, V, n_heads))


@mistake(replaces="return", loses=("keeps_dtype_and_layout",))
def output_in_float32(A, v):
    """Your result is always float32; keep the dtype of the inputs."""
    return merge_heads(compute_outputs(attn_softmax(A), v)).float()


# How it is called


@mistake(loses=("has_defaults_and_keywords",), alone=True, signature=True)
def default_not_causal(Q, K, V, n_heads=1, causal=False):
    """If causal is not given, you do not mask; its default is True."""
    q, k, v = split_heads_qkv(Q, K, V, n_heads)
    A = attn_scaled(pairwise_similarities(q, k), Q.size(-1), n_heads)
    if causal:
        A = apply_causal_mask(make_causal_mask(Q.size(1)), A)
    return merge_heads(compute_outputs(attn_softmax(A), v))


@mistake(loses=("has_defaults_and_keywords",), alone=True, signature=True)
def no_defaults(Q, K, V, n_heads, causal):
    """Calling self_attention(Q, K, V) must work: the defaults are n_heads=1 and causal=True."""
    q, k, v = split_heads_qkv(Q, K, V, n_heads)
    A = attn_scaled(pairwise_similarities(q, k), Q.size(-1), n_heads)
    if causal:
        A = apply_causal_mask(make_causal_mask(Q.size(1)), A)
    return merge_heads(compute_outputs(attn_softmax(A), v))


@mistake(loses=("has_defaults_and_keywords",), alone=True, signature=True)
def parameters_renamed(Q, K, V, num_heads=1, is_causal=True):
    """The parameters must be called n_heads and causal, so that they can be given by name."""
    q, k, v = split_heads_qkv(Q, K, V, num_heads)
    A = attn_scaled(pairwise_similarities(q, k), Q.size(-1), num_heads)
    if is_causal:
        A = apply_causal_mask(make_causal_mask(Q.size(1)), A)
    return merge_heads(compute_outputs(attn_softmax(A), v))


@mistake(alone=True, signature=True)
def parameters_swapped(Q, K, V, causal=True, n_heads=1):
    """Your parameters come in another order; it is Q, K, V, n_heads, causal."""
    q, k, v = split_heads_qkv(Q, K, V, n_heads)
    A = attn_scaled(pairwise_similarities(q, k), Q.size(-1), n_heads)
    if causal:
        A = apply_causal_mask(make_causal_mask(Q.size(1)), A)
    return merge_heads(compute_outputs(attn_softmax(A), v))


# Scores


@mistake(replaces="A = attn_scaled", alone=True)
def scales_by_tokens(q, k):
    """Your output equals attention with scores divided by √(number of tokens); take the head size."""
    A = pairwise_similarities(q, k) / math.sqrt(q.size(-2))


@mistake(replaces="A = attn_scaled", alone=True)
def scales_by_heads(q, k, n_heads):
    """Your output equals attention with scores divided by √n_heads; take the head size."""
    A = pairwise_similarities(q, k) / math.sqrt(n_heads)


@mistake(replaces="A = attn_scaled", alone=True)
def divides_scores_by_width(q, k, n_embd):
    """Your output equals attention with scores divided by n_embd; divide by √(head size)."""
    A = pairwise_similarities(q, k) / n_embd


@mistake(replaces="A = attn_scaled", alone=True)
def multiplies_scores(q, k):
    """Your output equals attention with scores multiplied by √(head size); divide by it."""
    A = pairwise_similarities(q, k) * math.sqrt(q.size(-1))


@mistake(replaces="q, k, v =", alone=True)
def queries_as_keys(Q, V, n_heads):
    """You compare queries with queries; K is never used."""
    q, k, v = split_heads_qkv(Q, Q, V, n_heads)


@mistake(replaces="q, k, v =", alone=True)
def queries_as_values(Q, K, n_heads):
    """You mix the queries; mix the values."""
    q, k, v = split_heads_qkv(Q, K, Q, n_heads)


@mistake(replaces="q, k, v =", alone=True)
def keys_and_values_swapped(Q, K, V, n_heads):
    """Keys and values have changed places."""
    q, k, v = split_heads_qkv(Q, V, K, n_heads)


# Masks and weights


@mistake(replaces="if causal", alone=True)
def closes_the_past(A, n_tok, causal):
    """Your output equals attention to the present and the future; it is the future that must be closed."""
    if causal:
        A = apply_causal_mask(make_causal_mask(n_tok).T, A)


@mistake(alone=True)
def kernel_mask_inverted(Q, K, V, n_heads=1, causal=True):
    """Your output equals attention to the future only: True means 'may attend', in attn_mask, too."""
    q, k, v = split_heads_qkv(Q, K, V, n_heads)
    mask = ~make_causal_mask(Q.size(1)) if causal else None
    y = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return merge_heads(y)


@mistake(alone=True)
def kernel_mask_of_numbers(Q, K, V, n_heads=1, causal=True):
    """A mask of 0s and 1s is added to the scores and forbids nothing; attn_mask needs booleans."""
    q, k, v = split_heads_qkv(Q, K, V, n_heads)
    mask = make_causal_mask(Q.size(1)).to(Q.dtype) if causal else None
    return merge_heads(torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask))


@mistake(replaces="if causal", alone=True)
def mask_reaches_one_ahead(A, n_tok, causal):
    """Your output equals attention in which each token sees its successor; the triangle reaches too far."""
    if causal:
        A = A.masked_fill(torch.ones(n_tok, n_tok).triu(2) == 1, -math.inf)


@mistake(replaces="if causal", alone=True)
def mask_without_diagonal(A, n_tok, causal):
    """A token may not attend to itself in your mask, and token 0 has nothing else: its output is NaN."""
    if causal:
        A = A.masked_fill(torch.ones(n_tok, n_tok).triu() == 1, -math.inf)


@mistake(replaces="return", alone=True)
def softmax_twice(A, v):
    """Your output equals attention with two softmaxes; one is enough."""
    return merge_heads(compute_outputs(attn_softmax(attn_softmax(A)), v))


@mistake(replaces="return", alone=True)
def softmax_over_the_queries(A, v):
    """Your output equals attention whose softmax runs over the queries; it runs over the keys, dim=-1."""
    return merge_heads(compute_outputs(torch.softmax(A, dim=-2), v))


@mistake(replaces="return", alone=True)
def dropout_in_evaluation(A, v):
    """Two calls with the same tensors differ: is there dropout, or a layer that is made inside the call?"""
    return merge_heads(compute_outputs(torch.nn.functional.dropout(attn_softmax(A), 0.1), v))


@mistake(replaces="return", alone=True)
def returns_the_weights_too(A, v):
    """You return more than one thing; return the output alone."""
    return merge_heads(compute_outputs(attn_softmax(A), v)), attn_softmax(A)


# Heads and outputs


@mistake(replaces="return", alone=True)
def merges_without_transpose(Q, A, v):
    """Your heads and tokens are mixed up at the end: swap them before you join the last two axes."""
    return compute_outputs(attn_softmax(A), v).reshape(Q.shape)


@mistake(replaces="q, k, v =", alone=True)
def splits_across_tokens(Q, K, V, n_heads):
    """Your heads hold whole tokens: split the last axis first, then swap tokens and heads."""
    q, k, v = (part.reshape(part.size(0), n_heads, part.size(1), -1) for part in (Q, K, V))


@mistake(replaces="return", alone=True)
def adds_the_values(V, A, v):
    """Your output holds V as well; attention returns only the mixed values."""
    return V + merge_heads(compute_outputs(attn_softmax(A), v))


@mistake(replaces="return", alone=True)
def returns_the_weights(A):
    """You return the weights; mix the values with them, and merge the heads."""
    return attn_softmax(A)


@mistake(replaces="return", alone=True)
def self_attention_in_half_precision(A, v):
    """Your numbers are only as exact as half precision; compute in the dtype of the inputs."""
    return merge_heads(compute_outputs(attn_softmax(A), v)).half().to(v.dtype)


# ── Right but unusual ──────────────────────────────────────────────────────────────────


@variant()
def loops(Q, K, V, n_heads=1, causal=True):
    """Loops over heads and queries; no mask is needed when only the past is looked at."""
    out = torch.zeros_like(Q)
    size = Q.size(-1) // n_heads
    for h in range(n_heads):
        cut = slice(h * size, (h + 1) * size)
        q, k, v = Q[..., cut], K[..., cut], V[..., cut]
        for i in range(Q.size(1)):
            n = i + 1 if causal else Q.size(1)
            w = torch.softmax((q[:, i : i + 1] @ k[:, :n].mT) / math.sqrt(size), -1)
            out[:, i, cut] = (w @ v[:, :n])[:, 0]
    return out


@variant()
def library_kernel(Q, K, V, n_heads=1, causal=True):
    """torch's own attention."""
    q, k, v = split_heads_qkv(Q, K, V, n_heads)
    return merge_heads(torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal))


@variant()
def scaled_before_comparing(Q, K, V, n_heads=1, causal=True):
    """Queries and keys are scaled, by the fourth root each, instead of scores."""
    q, k, v = split_heads_qkv(Q, K, V, n_heads)
    root = q.size(-1) ** 0.25
    A = (q / root) @ (k / root).mT
    if causal:
        A = A.masked_fill(make_causal_mask(Q.size(1)) == 0, -math.inf)
    return merge_heads(A.softmax(-1) @ v)


@variant()
def one_einsum_each(Q, K, V, n_heads=1, causal=True):
    """Heads by view and einsum, with an additive mask."""
    B, T, C = Q.shape
    q, k, v = (part.reshape(B, T, n_heads, C // n_heads) for part in (Q, K, V))
    scores = torch.einsum("bihd,bjhd->bhij", q, k) / (C // n_heads) ** 0.5
    if causal:
        scores = scores + torch.full((T, T), -math.inf, dtype=Q.dtype).triu(1)
    return torch.einsum("bhij,bjhd->bihd", scores.softmax(-1), v).reshape(B, T, C)
