"""Known mistakes in self_attention, as beginners write them."""

import math

import torch
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

from autograder.proving.mistakes import mistake

# ── How it is called ───────────────────────────────────────────────────────────────────


@mistake("self_attention", loses=("has_defaults_and_keywords",), alone=True, signature=True)
def default_not_causal(Q, K, V, n_heads=1, causal=False):
    """If causal is not given, you do not mask; its default is True."""
    q, k, v = split_heads_qkv(Q, K, V, n_heads)
    A = attn_scaled(pairwise_similarities(q, k), Q.size(-1), n_heads)
    if causal:
        A = apply_causal_mask(make_causal_mask(Q.size(1)), A)
    return merge_heads(compute_outputs(attn_softmax(A), v))


@mistake("self_attention", loses=("has_defaults_and_keywords",), alone=True, signature=True)
def no_defaults(Q, K, V, n_heads, causal):
    """Calling self_attention(Q, K, V) must work: the defaults are n_heads=1 and causal=True."""
    q, k, v = split_heads_qkv(Q, K, V, n_heads)
    A = attn_scaled(pairwise_similarities(q, k), Q.size(-1), n_heads)
    if causal:
        A = apply_causal_mask(make_causal_mask(Q.size(1)), A)
    return merge_heads(compute_outputs(attn_softmax(A), v))


@mistake("self_attention", loses=("has_defaults_and_keywords",), alone=True, signature=True)
def parameters_renamed(Q, K, V, num_heads=1, is_causal=True):
    """The parameters must be called n_heads and causal, so that they can be given by name."""
    q, k, v = split_heads_qkv(Q, K, V, num_heads)
    A = attn_scaled(pairwise_similarities(q, k), Q.size(-1), num_heads)
    if is_causal:
        A = apply_causal_mask(make_causal_mask(Q.size(1)), A)
    return merge_heads(compute_outputs(attn_softmax(A), v))


@mistake("self_attention", alone=True, signature=True)
def parameters_swapped(Q, K, V, causal=True, n_heads=1):
    """Your parameters come in another order; it is Q, K, V, n_heads, causal."""
    q, k, v = split_heads_qkv(Q, K, V, n_heads)
    A = attn_scaled(pairwise_similarities(q, k), Q.size(-1), n_heads)
    if causal:
        A = apply_causal_mask(make_causal_mask(Q.size(1)), A)
    return merge_heads(compute_outputs(attn_softmax(A), v))


# ── Scores ─────────────────────────────────────────────────────────────────────────────


@mistake("self_attention", replaces="A = attn_scaled", alone=True)
def scales_by_tokens(q, k):
    """Your output equals attention with scores divided by √(number of tokens); take the head size."""
    A = pairwise_similarities(q, k) / math.sqrt(q.size(-2))


@mistake("self_attention", replaces="A = attn_scaled", alone=True)
def scales_by_heads(q, k, n_heads):
    """Your output equals attention with scores divided by √n_heads; take the head size."""
    A = pairwise_similarities(q, k) / math.sqrt(n_heads)


@mistake("self_attention", replaces="A = attn_scaled", alone=True)
def divides_scores_by_width(q, k, n_embd):
    """Your output equals attention with scores divided by n_embd; divide by √(head size)."""
    A = pairwise_similarities(q, k) / n_embd


@mistake("self_attention", replaces="A = attn_scaled", alone=True)
def multiplies_scores(q, k):
    """Your output equals attention with scores multiplied by √(head size); divide by it."""
    A = pairwise_similarities(q, k) * math.sqrt(q.size(-1))


@mistake("self_attention", replaces="q, k, v =", alone=True)
def queries_as_keys(Q, V, n_heads):
    """You compare queries with queries; K is never used."""
    q, k, v = split_heads_qkv(Q, Q, V, n_heads)


@mistake("self_attention", replaces="q, k, v =", alone=True)
def queries_as_values(Q, K, n_heads):
    """You mix the queries; mix the values."""
    q, k, v = split_heads_qkv(Q, K, Q, n_heads)


@mistake("self_attention", replaces="q, k, v =", alone=True)
def keys_and_values_swapped(Q, K, V, n_heads):
    """Keys and values have changed places."""
    q, k, v = split_heads_qkv(Q, V, K, n_heads)


# ── Masks and weights ──────────────────────────────────────────────────────────────────


@mistake("self_attention", replaces="if causal", alone=True)
def closes_the_past(A, n_tok, causal):
    """Your output equals attention to the present and the future; it is the future that must be closed."""
    if causal:
        A = apply_causal_mask(make_causal_mask(n_tok).T, A)


@mistake("self_attention", alone=True)
def kernel_mask_inverted(Q, K, V, n_heads=1, causal=True):
    """Your output equals attention to the future only: True means 'may attend', in attn_mask, too."""
    q, k, v = split_heads_qkv(Q, K, V, n_heads)
    mask = ~make_causal_mask(Q.size(1)) if causal else None
    y = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return merge_heads(y)


@mistake("self_attention", alone=True)
def kernel_mask_of_numbers(Q, K, V, n_heads=1, causal=True):
    """A mask of 0s and 1s is added to the scores and forbids nothing; attn_mask needs booleans."""
    q, k, v = split_heads_qkv(Q, K, V, n_heads)
    mask = make_causal_mask(Q.size(1)).to(Q.dtype) if causal else None
    return merge_heads(torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask))


@mistake("self_attention", replaces="if causal", alone=True)
def mask_reaches_one_ahead(A, n_tok, causal):
    """Your output equals attention in which each token sees its successor; the triangle reaches too far."""
    if causal:
        A = A.masked_fill(torch.ones(n_tok, n_tok).triu(2) == 1, -math.inf)


@mistake("self_attention", replaces="if causal", alone=True)
def mask_without_diagonal(A, n_tok, causal):
    """A token may not attend to itself in your mask, and token 0 has nothing else: its output is NaN."""
    if causal:
        A = A.masked_fill(torch.ones(n_tok, n_tok).triu() == 1, -math.inf)


@mistake("self_attention", replaces="return", alone=True)
def softmax_twice(A, v):
    """Your output equals attention with two softmaxes; one is enough."""
    return merge_heads(compute_outputs(attn_softmax(attn_softmax(A)), v))


@mistake("self_attention", replaces="return", alone=True)
def softmax_over_the_queries(A, v):
    """Your output equals attention whose softmax runs over the queries; it runs over the keys, dim=-1."""
    return merge_heads(compute_outputs(torch.softmax(A, dim=-2), v))


@mistake("self_attention", replaces="return", alone=True)
def dropout_in_evaluation(A, v):
    """Two calls with the same tensors differ: is there dropout, or a layer that is made inside the call?"""
    return merge_heads(compute_outputs(torch.nn.functional.dropout(attn_softmax(A), 0.1), v))


@mistake("self_attention", replaces="return", alone=True)
def returns_the_weights_too(A, v):
    """You return more than one thing; return the output alone."""
    return merge_heads(compute_outputs(attn_softmax(A), v)), attn_softmax(A)


# ── Heads and outputs ──────────────────────────────────────────────────────────────────


@mistake("self_attention", replaces="return", alone=True)
def merges_without_transpose(Q, A, v):
    """Your heads and tokens are mixed up at the end: swap them before you join the last two axes."""
    return compute_outputs(attn_softmax(A), v).reshape(Q.shape)


@mistake("self_attention", replaces="q, k, v =", alone=True)
def splits_across_tokens(Q, K, V, n_heads):
    """Your heads hold whole tokens: split the last axis first, then swap tokens and heads."""
    q, k, v = (part.reshape(part.size(0), n_heads, part.size(1), -1) for part in (Q, K, V))


@mistake("self_attention", replaces="return", alone=True)
def adds_the_values(V, A, v):
    """Your output holds V as well; attention returns only the mixed values."""
    return V + merge_heads(compute_outputs(attn_softmax(A), v))


@mistake("self_attention", replaces="return", alone=True)
def returns_the_weights(A):
    """You return the weights; mix the values with them, and merge the heads."""
    return attn_softmax(A)


@mistake("self_attention", replaces="return", alone=True)
def self_attention_in_half_precision(A, v):
    """Your numbers are only as exact as half precision; compute in the dtype of the inputs."""
    return merge_heads(compute_outputs(attn_softmax(A), v)).half().to(v.dtype)
