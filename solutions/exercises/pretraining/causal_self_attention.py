"""What staff know of causal_self_attention: its cases, its known mistakes and right but unusual variants."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from autograder.judging.exercises import MAP, WEIGHTS
from autograder.proving.cases import DOUBLE, Cases, Draw, Inputs, not_contiguous, one_hot
from autograder.proving.mistakes import mistake, variant

if TYPE_CHECKING:  # what stands around a body in the solution
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

GRADIENTS = ("x", "key.weight", "query.weight", "value.weight", "proj.weight")  # the inputs that gradients must reach


def cases(public: bool, draw: Draw) -> Cases:
    def case(
        batch: int,
        tokens: int,
        width: int,
        heads: int,
        block: int,
        rope: bool,
        dtype: torch.dtype = torch.float32,
    ) -> Inputs:
        inputs: Inputs = {"x": draw(batch, tokens, width, dtype=dtype)}
        for name in WEIGHTS:
            shape = (width, width) if name.endswith("weight") else (width,)
            inputs[name] = draw(*shape, scale=width**-0.5, dtype=dtype)
        return inputs | {"n_embd": width, "n_head": heads, "block_size": block, "rope": rope}

    def readable(inputs: Inputs) -> Inputs:
        """Tokens that only say where they stand, and values that are handed on as they are."""
        nothing = {name: torch.zeros(12) for name in WEIGHTS if name.endswith("bias")}
        sharp = {f"{name}.weight": draw(12, 12) for name in ("key", "query")}
        same = {f"{name}.weight": torch.eye(12) for name in ("value", "proj")}
        return inputs | nothing | sharp | same | {"x": one_hot(1, 5, 2, 6)}

    if public:
        return {
            "no rotation": case(2, 5, 12, 3, 7, rope=False),
            "with RoPE": case(2, 5, 12, 3, 7, rope=True),
            "one token": case(3, 1, 8, 2, 5, rope=True),
            MAP: readable(case(1, 5, 12, 2, 8, rope=True)),
            "float64": case(2, 4, 6, 3, 5, rope=True, dtype=DOUBLE),
            "not contiguous": not_contiguous(case(2, 4, 6, 3, 5, rope=True)),
        }
    return {
        "two heads": case(3, 4, 10, 2, 6, rope=False),
        "no rotation": case(2, 7, 12, 3, 9, rope=False),
        "RoPE": case(2, 5, 24, 3, 11, rope=True),
        "RoPE, full block": case(3, 7, 8, 2, 7, rope=True),
        "RoPE, one head": case(3, 5, 4, 1, 8, rope=True),
        "RoPE, many heads": case(3, 6, 10, 5, 16, rope=True),
        "one token": case(4, 1, 6, 3, 5, rope=False),
        "float64": case(2, 5, 12, 3, 8, rope=False, dtype=DOUBLE),
        "RoPE, float64": case(2, 6, 20, 5, 8, rope=True, dtype=DOUBLE),
        "not contiguous": not_contiguous(case(3, 5, 8, 2, 6, rope=True)),
        "long": case(2, 32, 24, 4, 40, rope=True),
    }


# ── Known mistakes ─────────────────────────────────────────────────────────────────────


@mistake(replaces="A = apply_causal_mask")
def forgets_the_mask():
    """Your output equals attention without a mask: tokens see the future."""
    pass


@mistake(replaces="A = attn_scaled")
def scales_by_the_whole_width(q, k, n_embd):
    """Your output equals attention scaled by 1/√n_embd; scale by one head's size."""
    A = attn_scaled(pairwise_similarities(q, k), n_embd, 1)


@mistake(replaces="if self.rope")
def forgets_to_rotate():
    """Your output equals attention without RoPE, even when the config asks for it."""
    pass


@mistake(replaces="if self.rope")
def rotates_values_too(self, q, k, v):
    """You rotate the values, too; only queries and keys carry positions."""
    if self.rope:
        q, k, v = (apply_rotary_emb(part, self.rope_cache) for part in (q, k, v))


@mistake(replaces="if self.rope")
def rotates_queries_only(self, q):
    """You rotate the queries but not the keys; both must turn."""
    if self.rope:
        q = apply_rotary_emb(q, self.rope_cache)


@mistake(replaces="return")
def forgets_proj(self, y):
    """The last step is missing: send the merged heads through proj."""
    return self.resid_drop(y)


@mistake(replaces="q, k, v =")
def swaps_key_and_query(self, x):
    """The layers key and query have changed places."""
    q, k, v = split_heads_qkv(self.key(x), self.query(x), self.value(x), self.n_head)


@mistake(replaces="y =")
def dropout_in_evaluation(A, v):
    """Two calls in evaluation mode differ: is dropout on (use the Dropout layers), or a layer made in forward?"""
    y = merge_heads(compute_outputs(torch.nn.functional.dropout(attn_softmax(A), 0.1), v))


@mistake(replaces="q, k, v =", loses=("lets_gradients_flow",))
def causal_self_attention_detached(self, x):
    """No gradient gets through: look for detach, .data, no_grad, .item() or a tensor made anew."""
    q, k, v = split_heads_qkv(self.query(x).detach(), self.key(x), self.value(x), self.n_head)


@mistake(replaces="q, k, v =")
def value_from_key(self, x):
    """Your values come from the key layer; use the layer called value."""
    q, k, v = split_heads_qkv(self.query(x), self.key(x), self.key(x), self.n_head)


@mistake(replaces="return")
def projects_twice(self, y):
    """You send the output through proj twice."""
    return self.resid_drop(self.proj(self.proj(y)))


@mistake(replaces="return")
def adds_the_residual(self, x, y):
    """Your output holds x as well; the residual connection belongs to the block around attention."""
    return x + self.resid_drop(self.proj(y))


@mistake(replaces="if self.rope")
def rotates_keys_only(self, k):
    """You rotate the keys but not the queries; both must turn."""
    if self.rope:
        k = apply_rotary_emb(k, self.rope_cache)


@mistake(replaces="if self.rope")
def always_rotates(self, q, k):
    """You rotate even when the config does not ask for it."""
    cache = precompute_rotary_emb(q.size(-1), q.size(-2)) if q.size(-1) % 2 == 0 else None
    if cache is not None:
        q, k = apply_rotary_emb(q, cache), apply_rotary_emb(k, cache)


@mistake(replaces="q, k, v =", loses=("leaves_its_inputs_alone", "lets_gradients_flow"))
def causal_self_attention_writes_into_input(self, x):
    """Your code changes the tensor that it was given; work on a new one."""
    q, k, v = split_heads_qkv(self.query(x), self.key(x), self.value(x), self.n_head)
    with torch.no_grad():
        x.add_(1.0)


@mistake(replaces="A = attn_scaled")
def does_not_scale(q, k):
    """Your output equals attention without the 1/√(head size) scaling."""
    A = pairwise_similarities(q, k)


# Rotations


@mistake(replaces="if self.rope", alone=True)
def rotates_values_instead_of_keys(self, q, v):
    """You rotate queries and values; rotate queries and keys."""
    if self.rope:
        q, v = apply_rotary_emb(q, self.rope_cache), apply_rotary_emb(v, self.rope_cache)


@mistake(replaces="if self.rope", alone=True)
def rotates_keys_and_values(self, k, v):
    """You rotate keys and values; rotate queries and keys."""
    if self.rope:
        k, v = apply_rotary_emb(k, self.rope_cache), apply_rotary_emb(v, self.rope_cache)


@mistake(replaces="if self.rope", alone=True)
def rotates_twice(self, q, k):
    """You rotate twice; once is enough."""
    if self.rope:
        q, k = (apply_rotary_emb(apply_rotary_emb(part, self.rope_cache), self.rope_cache) for part in (q, k))


@mistake(alone=True)
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


@mistake(replaces="if self.rope", alone=True)
def cache_for_the_whole_width(self, q, k, n_tok, n_embd):
    """Your cache is made for n_embd, which does not fit a head; its size is n_embd / n_head."""
    if self.rope:
        cache = precompute_rotary_emb(n_embd, n_tok)
        q, k = apply_rotary_emb(q, cache), apply_rotary_emb(k, cache)


@mistake(alone=True)
def rotates_the_input(self, x):
    """You rotate x before the projections; rotate queries and keys, after them."""
    n_tok, n_embd = x.shape[-2:]
    if self.rope:
        x = merge_heads(apply_rotary_emb(split_heads(x, self.n_head), self.rope_cache))
    q, k, v = split_heads_qkv(self.query(x), self.key(x), self.value(x), self.n_head)
    A = attn_scaled(pairwise_similarities(q, k), n_embd, self.n_head)
    A = apply_causal_mask(make_causal_mask(n_tok), A)
    return self.resid_drop(self.proj(merge_heads(compute_outputs(self.attn_drop(attn_softmax(A)), v))))


# Projections


@mistake(replaces="q, k, v =", alone=True)
def ignores_the_biases(self, x):
    """You use the weights of query, key and value without their biases; call the layers."""
    q, k, v = split_heads_qkv(x @ self.query.weight.T, x @ self.key.weight.T, x @ self.value.weight.T, self.n_head)


@mistake(replaces="return", alone=True)
def ignores_the_bias_of_proj(self, y):
    """You use the weight of proj without its bias; call the layer."""
    return self.resid_drop(y @ self.proj.weight.T)


@mistake(replaces="q, k, v =", alone=True)
def key_from_query(self, x):
    """Your keys come from the query layer; the layer called key is never used."""
    q, k, v = split_heads_qkv(self.query(x), self.query(x), self.value(x), self.n_head)


@mistake(replaces="q, k, v =", alone=True)
def query_from_key(self, x):
    """Your queries come from the key layer; the layer called query is never used."""
    q, k, v = split_heads_qkv(self.key(x), self.key(x), self.value(x), self.n_head)


@mistake(replaces="q, k, v =", alone=True)
def values_not_projected(self, x):
    """You mix x itself; the layer called value is never used."""
    q, k, v = split_heads_qkv(self.query(x), self.key(x), x, self.n_head)


@mistake(replaces="q, k, v =", alone=True)
def nothing_projected(self, x):
    """You use x itself as queries, keys and values; the layers query, key and value are never used."""
    q, k, v = split_heads_qkv(x, x, x, self.n_head)


@mistake(replaces="q, k, v =", alone=True)
def swaps_key_and_value(self, x):
    """The layers key and value have changed places."""
    q, k, v = split_heads_qkv(self.query(x), self.value(x), self.key(x), self.n_head)


@mistake(replaces="q, k, v =", alone=True)
def swaps_query_and_value(self, x):
    """The layers query and value have changed places."""
    q, k, v = split_heads_qkv(self.value(x), self.key(x), self.query(x), self.n_head)


# Scores, masks, weights


@mistake(replaces="A = attn_scaled", alone=True)
def scales_without_root(q, k):
    """Your output equals attention with scores divided by the head size; divide by its square root."""
    A = pairwise_similarities(q, k) / q.size(-1)


@mistake(replaces="A = attn_scaled", alone=True)
def scales_by_heads(self, q, k):
    """Your output equals attention with scores divided by √n_head; take the head size."""
    A = pairwise_similarities(q, k) / math.sqrt(self.n_head)


@mistake(replaces="A = attn_scaled", alone=True)
def multiplies_scores(q, k):
    """Your output equals attention with scores multiplied by √(head size); divide by it."""
    A = pairwise_similarities(q, k) * math.sqrt(q.size(-1))


@mistake(replaces="A = apply_causal_mask", alone=True)
def closes_the_past(A, n_tok):
    """Your output equals attention to the present and the future; it is the future that must be closed."""
    A = apply_causal_mask(make_causal_mask(n_tok).T, A)


@mistake(replaces="A = apply_causal_mask", alone=True)
def mask_reaches_one_ahead(A, n_tok):
    """Your output equals attention in which each token sees its successor; the triangle reaches too far."""
    A = A.masked_fill(torch.ones(n_tok, n_tok).triu(2) == 1, -math.inf)


@mistake(replaces="A = apply_causal_mask", alone=True)
def mask_without_diagonal(A, n_tok):
    """A token may not attend to itself in your mask, and token 0 has nothing else: its output is NaN."""
    A = A.masked_fill(torch.ones(n_tok, n_tok).triu() == 1, -math.inf)


@mistake(replaces="A = apply_causal_mask", alone=True)
def masks_with_zero(A, n_tok):
    """You put 0 where attending is forbidden, before the softmax; 0 still has weight. Put -inf."""
    A = A * make_causal_mask(n_tok)


@mistake(replaces="y =", alone=True)
def softmax_twice(self, A, v):
    """Your output equals attention with two softmaxes; one is enough."""
    y = merge_heads(compute_outputs(self.attn_drop(attn_softmax(attn_softmax(A))), v))


@mistake(replaces="y =", alone=True)
def softmax_over_the_queries(self, A, v):
    """Your output equals attention whose softmax runs over the queries; it runs over the keys, dim=-1."""
    y = merge_heads(compute_outputs(self.attn_drop(torch.softmax(A, dim=-2)), v))


@mistake(replaces="y =", alone=True)
def no_softmax(A, v):
    """Your output equals attention without a softmax: scores are no weights yet."""
    y = merge_heads(compute_outputs(A.nan_to_num(neginf=0.0), v))


# Heads and outputs


@mistake(replaces="y =", alone=True)
def merges_without_transpose(self, x, A, v):
    """Your heads and tokens are mixed up at the end: swap them before you join the last two axes."""
    y = compute_outputs(self.attn_drop(attn_softmax(A)), v).reshape(x.shape)


@mistake(replaces="y =", alone=True)
def heads_not_merged(self, A, v):
    """Your heads are still apart when they reach proj; merge them first."""
    y = compute_outputs(self.attn_drop(attn_softmax(A)), v)


@mistake(replaces="return", alone=True)
def returns_the_weights_too(self, y, A):
    """You return more than one thing; return the output alone."""
    return self.resid_drop(self.proj(y)), attn_softmax(A)


@mistake(replaces="return", alone=True)
def causal_self_attention_in_half_precision(self, x, y):
    """Your numbers are only as exact as half precision; compute in the dtype of x."""
    return self.resid_drop(self.proj(y)).bfloat16().to(x.dtype)


# ── Right but unusual ──────────────────────────────────────────────────────────────────


@variant()
def fused(self, x):
    """One large product for queries, keys and values; torch's own kernel."""
    weight = torch.cat((self.query.weight, self.key.weight, self.value.weight))
    bias = torch.cat((self.query.bias, self.key.bias, self.value.bias))
    q, k, v = torch.nn.functional.linear(x, weight, bias).chunk(3, dim=-1)
    q, k, v = split_heads_qkv(q, k, v, self.n_head)
    if self.rope:
        q, k = apply_rotary_emb(q, self.rope_cache), apply_rotary_emb(k, self.rope_cache)
    y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    return self.resid_drop(self.proj(merge_heads(y)))


@variant()
def inline(self, x):
    """Everything in place, as the original code does, with a large negative fill."""
    B, T, C = x.size()
    k = self.key(x).view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
    q = self.query(x).view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
    v = self.value(x).view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
    if self.rope:
        q, k = apply_rotary_emb(q, self.rope_cache), apply_rotary_emb(k, self.rope_cache)
    att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
    att = att.masked_fill(torch.tril(torch.ones(T, T)).view(1, 1, T, T) == 0, -1e10)
    y = self.attn_drop(torch.softmax(att, dim=-1)) @ v
    return self.resid_drop(self.proj(y.transpose(1, 2).contiguous().view(B, T, C)))


# Written for a GPU: run on the CPU, with a note


@variant(replaces="A = apply_causal_mask")
def mask_on_the_gpu(A, n_tok):
    """The mask is made on cuda."""
    mask = torch.ones(n_tok, n_tok, device="cuda").tril().cuda()
    A = A.masked_fill(mask == 0, -math.inf)
