"""Known mistakes in the forward of CausalSelfAttention, as beginners write them."""

import math

import torch
from attention import (
    apply_causal_mask,
    apply_rotary_emb,
    attn_scaled,
    attn_softmax,
    compute_outputs,
    make_causal_mask,
    merge_heads,
    pairwise_similarities,
    precompute_rotary_emb,
    split_heads,
    split_heads_qkv,
)

from autograder.proving.mistakes import mistake

# ── Rotations ──────────────────────────────────────────────────────────────────────────


@mistake("causal_self_attention", replaces="if self.rope", alone=True)
def rotates_values_instead_of_keys(self, q, v):
    """You rotate queries and values; rotate queries and keys."""
    if self.rope:
        q, v = apply_rotary_emb(q, self.rope_cache), apply_rotary_emb(v, self.rope_cache)


@mistake("causal_self_attention", replaces="if self.rope", alone=True)
def rotates_keys_and_values(self, k, v):
    """You rotate keys and values; rotate queries and keys."""
    if self.rope:
        k, v = apply_rotary_emb(k, self.rope_cache), apply_rotary_emb(v, self.rope_cache)


@mistake("causal_self_attention", replaces="if self.rope", alone=True)
def rotates_twice(self, q, k):
    """You rotate twice; once is enough."""
    if self.rope:
        q, k = (apply_rotary_emb(apply_rotary_emb(part, self.rope_cache), self.rope_cache) for part in (q, k))


@mistake("causal_self_attention", alone=True)
def rotates_before_splitting(self, x):
    """You rotate before the heads are split, with angles for n_embd; rotate each head with its own size's."""
    n_tok, n_embd = x.shape[-2:]
    q, k, v = self.query(x), self.key(x), self.value(x)
    if self.rope:
        cache = precompute_rotary_emb(n_embd, n_tok)
        q, k = (apply_rotary_emb(part.unsqueeze(1), cache).squeeze(1) for part in (q, k))
    q, k, v = split_heads_qkv(q, k, v, self.n_head)
    A = attn_scaled(pairwise_similarities(q, k), n_embd, self.n_head)
    A = apply_causal_mask(make_causal_mask(n_tok), A)
    return self.resid_drop(self.proj(merge_heads(compute_outputs(self.attn_drop(attn_softmax(A)), v))))


@mistake("causal_self_attention", replaces="if self.rope", alone=True)
def cache_for_the_whole_width(self, q, k, n_tok, n_embd):
    """Your cache is made for n_embd, which does not fit a head; its size is n_embd / n_head."""
    if self.rope:
        cache = precompute_rotary_emb(n_embd, n_tok)
        q, k = apply_rotary_emb(q, cache), apply_rotary_emb(k, cache)


@mistake("causal_self_attention", alone=True)
def rotates_the_input(self, x):
    """You rotate x before the projections; rotate queries and keys, after them."""
    n_tok, n_embd = x.shape[-2:]
    if self.rope:
        x = merge_heads(apply_rotary_emb(split_heads(x, self.n_head), self.rope_cache))
    q, k, v = split_heads_qkv(self.query(x), self.key(x), self.value(x), self.n_head)
    A = attn_scaled(pairwise_similarities(q, k), n_embd, self.n_head)
    A = apply_causal_mask(make_causal_mask(n_tok), A)
    return self.resid_drop(self.proj(merge_heads(compute_outputs(self.attn_drop(attn_softmax(A)), v))))


# ── Projections ────────────────────────────────────────────────────────────────────────


@mistake("causal_self_attention", replaces="q, k, v =", alone=True)
def ignores_the_biases(self, x):
    """You use the weights of query, key and value without their biases; call the layers."""
    q, k, v = split_heads_qkv(x @ self.query.weight.T, x @ self.key.weight.T, x @ self.value.weight.T, self.n_head)


@mistake("causal_self_attention", replaces="return", alone=True)
def ignores_the_bias_of_proj(self, y):
    """You use the weight of proj without its bias; call the layer."""
    return self.resid_drop(y @ self.proj.weight.T)


@mistake("causal_self_attention", replaces="q, k, v =", alone=True)
def key_from_query(self, x):
    """Your keys come from the query layer; the layer called key is never used."""
    q, k, v = split_heads_qkv(self.query(x), self.query(x), self.value(x), self.n_head)


@mistake("causal_self_attention", replaces="q, k, v =", alone=True)
def query_from_key(self, x):
    """Your queries come from the key layer; the layer called query is never used."""
    q, k, v = split_heads_qkv(self.key(x), self.key(x), self.value(x), self.n_head)


@mistake("causal_self_attention", replaces="q, k, v =", alone=True)
def values_not_projected(self, x):
    """You mix x itself; the layer called value is never used."""
    q, k, v = split_heads_qkv(self.query(x), self.key(x), x, self.n_head)


@mistake("causal_self_attention", replaces="q, k, v =", alone=True)
def nothing_projected(self, x):
    """You use x itself as queries, keys and values; the layers query, key and value are never used."""
    q, k, v = split_heads_qkv(x, x, x, self.n_head)


@mistake("causal_self_attention", replaces="q, k, v =", alone=True)
def swaps_key_and_value(self, x):
    """The layers key and value have changed places."""
    q, k, v = split_heads_qkv(self.query(x), self.value(x), self.key(x), self.n_head)


@mistake("causal_self_attention", replaces="q, k, v =", alone=True)
def swaps_query_and_value(self, x):
    """The layers query and value have changed places."""
    q, k, v = split_heads_qkv(self.value(x), self.key(x), self.query(x), self.n_head)


# ── Scores, masks, weights ─────────────────────────────────────────────────────────────


@mistake("causal_self_attention", replaces="A = attn_scaled", alone=True)
def scales_without_root(q, k):
    """Your output equals attention with scores divided by the head size; divide by its square root."""
    A = pairwise_similarities(q, k) / q.size(-1)


@mistake("causal_self_attention", replaces="A = attn_scaled", alone=True)
def scales_by_heads(self, q, k):
    """Your output equals attention with scores divided by √n_head; take the head size."""
    A = pairwise_similarities(q, k) / math.sqrt(self.n_head)


@mistake("causal_self_attention", replaces="A = attn_scaled", alone=True)
def multiplies_scores(q, k):
    """Your output equals attention with scores multiplied by √(head size); divide by it."""
    A = pairwise_similarities(q, k) * math.sqrt(q.size(-1))


@mistake("causal_self_attention", replaces="A = apply_causal_mask", alone=True)
def closes_the_past(A, n_tok):
    """Your output equals attention to the present and the future; it is the future that must be closed."""
    A = apply_causal_mask(make_causal_mask(n_tok).T, A)


@mistake("causal_self_attention", replaces="A = apply_causal_mask", alone=True)
def mask_reaches_one_ahead(A, n_tok):
    """Your output equals attention in which each token sees its successor; the triangle reaches too far."""
    A = A.masked_fill(torch.ones(n_tok, n_tok).triu(2) == 1, -math.inf)


@mistake("causal_self_attention", replaces="A = apply_causal_mask", alone=True)
def mask_without_diagonal(A, n_tok):
    """A token may not attend to itself in your mask, and token 0 has nothing else: its output is NaN."""
    A = A.masked_fill(torch.ones(n_tok, n_tok).triu() == 1, -math.inf)


@mistake("causal_self_attention", replaces="A = apply_causal_mask", alone=True)
def masks_with_zero(A, n_tok):
    """You put 0 where attending is forbidden, before the softmax; 0 still has weight. Put -inf."""
    A = A * make_causal_mask(n_tok)


@mistake("causal_self_attention", replaces="y =", alone=True)
def softmax_twice(self, A, v):
    """Your output equals attention with two softmaxes; one is enough."""
    y = merge_heads(compute_outputs(self.attn_drop(attn_softmax(attn_softmax(A))), v))


@mistake("causal_self_attention", replaces="y =", alone=True)
def softmax_over_the_queries(self, A, v):
    """Your output equals attention whose softmax runs over the queries; it runs over the keys, dim=-1."""
    y = merge_heads(compute_outputs(self.attn_drop(torch.softmax(A, dim=-2)), v))


@mistake("causal_self_attention", replaces="y =", alone=True)
def no_softmax(A, v):
    """Your output equals attention without a softmax: scores are no weights yet."""
    y = merge_heads(compute_outputs(A.nan_to_num(neginf=0.0), v))


# ── Heads and outputs ──────────────────────────────────────────────────────────────────


@mistake("causal_self_attention", replaces="y =", alone=True)
def merges_without_transpose(self, x, A, v):
    """Your heads and tokens are mixed up at the end: swap them before you join the last two axes."""
    y = compute_outputs(self.attn_drop(attn_softmax(A)), v).reshape(x.shape)


@mistake("causal_self_attention", replaces="y =", alone=True)
def heads_not_merged(self, A, v):
    """Your heads are still apart when they reach proj; merge them first."""
    y = compute_outputs(self.attn_drop(attn_softmax(A)), v)


@mistake("causal_self_attention", replaces="return", alone=True)
def returns_the_weights_too(self, y, A):
    """You return more than one thing; return the output alone."""
    return self.resid_drop(self.proj(y)), attn_softmax(A)


@mistake("causal_self_attention", replaces="return", alone=True)
def causal_self_attention_in_half_precision(self, x, y):
    """Your numbers are only as exact as half precision; compute in the dtype of x."""
    return self.resid_drop(self.proj(y)).bfloat16().to(x.dtype)
