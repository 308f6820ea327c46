"""Known mistakes in putting the steps together."""

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
    split_heads_qkv,
)

from autograder.proving.mistakes import mistake

# ── self_attention ─────────────────────────────────────────────────────────────────────


@mistake("self_attention", replaces="A = attn_scaled")
def forgets_to_scale(q, k):
    """Your output equals attention without the 1/√(head size) scaling."""
    A = pairwise_similarities(q, k)


@mistake("self_attention", replaces="A = attn_scaled")
def scales_by_width(q, k, n_embd):
    """Your output equals attention scaled by 1/√n_embd; scale by one head's size."""
    A = attn_scaled(pairwise_similarities(q, k), n_embd, 1)


@mistake("self_attention", replaces="if causal")
def always_causal(A, n_tok):
    """You mask even when causal is False."""
    A = apply_causal_mask(make_causal_mask(n_tok), A)


@mistake("self_attention", replaces="if causal")
def never_causal():
    """Your output equals attention without a mask, even when causal is True."""
    pass


@mistake("self_attention")
def masks_after_softmax(Q, K, V, n_heads=1, causal=True):
    """You set weights to 0 after the softmax, so rows no longer sum to 1; mask the scores before it."""
    q, k, v = split_heads_qkv(Q, K, V, n_heads)
    A = attn_softmax(attn_scaled(pairwise_similarities(q, k), Q.size(-1), n_heads))
    if causal:
        A = A * make_causal_mask(Q.size(1))
    return merge_heads(compute_outputs(A, v))


@mistake("self_attention")
def scales_after_softmax(Q, K, V, n_heads=1, causal=True):
    """You scale the weights after the softmax; scale the scores before it."""
    q, k, v = split_heads_qkv(Q, K, V, n_heads)
    A = pairwise_similarities(q, k)
    if causal:
        A = apply_causal_mask(make_causal_mask(Q.size(1)), A)
    return merge_heads(compute_outputs(attn_scaled(attn_softmax(A), Q.size(-1), n_heads), v))


@mistake("self_attention", replaces="q, k, v =")
def swaps_queries_and_keys(Q, K, V, n_heads):
    """Queries and keys have changed places."""
    q, k, v = split_heads_qkv(K, Q, V, n_heads)


@mistake("self_attention", replaces="q, k, v =")
def keys_as_values(Q, K, n_heads):
    """You mix the keys; mix the values."""
    q, k, v = split_heads_qkv(Q, K, K, n_heads)


@mistake("self_attention", replaces="q, k, v =")
def ignores_n_heads(Q, K, V, n_heads):
    """Your output equals attention with a single head, whatever n_heads says."""
    n_heads = 1
    q, k, v = split_heads_qkv(Q, K, V, n_heads)


@mistake("self_attention", replaces="return")
def heads_not_merged(A, v):
    """Your heads are still apart: the last step is merge_heads."""
    return compute_outputs(attn_softmax(A), v)


@mistake("self_attention", replaces="q, k, v =", loses=("leaves_its_inputs_alone", "lets_gradients_flow"))
def self_attention_writes_into_input(Q, K, V, n_heads):
    """Your code changes a tensor that it was given; work on a new one."""
    q, k, v = split_heads_qkv(Q.clone(), K, V, n_heads)
    Q.zero_()


@mistake("self_attention", replaces="return", loses=("lets_gradients_flow",))
def self_attention_detached(A, v):
    """No gradient gets through: look for detach, .data, no_grad, .item() or a tensor made anew."""
    return merge_heads(compute_outputs(attn_softmax(A).detach(), v))


@mistake("self_attention", replaces="return")
def adds_the_input(Q, A, v):
    """Your output holds Q as well; the residual connection belongs to the block around attention."""
    return Q + merge_heads(compute_outputs(attn_softmax(A), v))


@mistake("self_attention", replaces="A = attn_scaled")
def scales_twice(q, k, n_embd, n_heads):
    """Your output equals attention with scores divided by the head size: scaled twice, or without the root?"""
    A = attn_scaled(attn_scaled(pairwise_similarities(q, k), n_embd, n_heads), n_embd, n_heads)


@mistake("self_attention")
def masks_with_zero_before_softmax(Q, K, V, n_heads=1, causal=True):
    """You put 0 where attending is forbidden, before the softmax; 0 still has weight. Put -inf."""
    q, k, v = split_heads_qkv(Q, K, V, n_heads)
    A = attn_scaled(pairwise_similarities(q, k), Q.size(-1), n_heads)
    if causal:
        A = A * make_causal_mask(Q.size(1))
    return merge_heads(compute_outputs(attn_softmax(A), v))


@mistake("self_attention", replaces="return")
def forgets_the_softmax(A, v):
    """Your output equals attention without a softmax: scores are no weights yet."""
    return merge_heads(compute_outputs(A.nan_to_num(neginf=0.0), v))


@mistake("self_attention", replaces="q, k, v =")
def first_of_the_batch_only(Q, K, V, n_heads):
    """Your output is that of the first sentence of the batch, for all of them."""
    q, k, v = (part[:1].expand_as(part) for part in split_heads_qkv(Q, K, V, n_heads))


@mistake("self_attention", replaces="return", loses=("keeps_dtype_and_layout",))
def output_in_float32(A, v):
    """Your result is always float32; keep the dtype of the inputs."""
    return merge_heads(compute_outputs(attn_softmax(A), v)).float()


# ── CausalSelfAttention ────────────────────────────────────────────────────────────────


@mistake("causal_self_attention", replaces="A = apply_causal_mask")
def forgets_the_mask():
    """Your output equals attention without a mask: tokens see the future."""
    pass


@mistake("causal_self_attention", replaces="A = attn_scaled")
def scales_by_the_whole_width(q, k, n_embd):
    """Your output equals attention scaled by 1/√n_embd; scale by one head's size."""
    A = attn_scaled(pairwise_similarities(q, k), n_embd, 1)


@mistake("causal_self_attention", replaces="if self.rope")
def forgets_to_rotate():
    """Your output equals attention without RoPE, even when the config asks for it."""
    pass


@mistake("causal_self_attention", replaces="if self.rope")
def rotates_values_too(self, q, k, v):
    """You rotate the values, too; only queries and keys carry positions."""
    if self.rope:
        q, k, v = (apply_rotary_emb(part, self.rope_cache) for part in (q, k, v))


@mistake("causal_self_attention", replaces="if self.rope")
def rotates_queries_only(self, q):
    """You rotate the queries but not the keys; both must turn."""
    if self.rope:
        q = apply_rotary_emb(q, self.rope_cache)


@mistake("causal_self_attention", replaces="return")
def forgets_proj(self, y):
    """The last step is missing: send the merged heads through proj."""
    return self.resid_drop(y)


@mistake("causal_self_attention", replaces="q, k, v =")
def swaps_key_and_query(self, x):
    """The layers key and query have changed places."""
    q, k, v = split_heads_qkv(self.key(x), self.query(x), self.value(x), self.n_head)


@mistake("causal_self_attention", replaces="y =")
def dropout_in_evaluation(A, v):
    """Two calls in evaluation mode differ: is dropout on (use the Dropout layers), or a layer made in forward?"""
    y = merge_heads(compute_outputs(torch.nn.functional.dropout(attn_softmax(A), 0.1), v))


@mistake("causal_self_attention", replaces="q, k, v =", loses=("lets_gradients_flow",))
def causal_self_attention_detached(self, x):
    """No gradient gets through: look for detach, .data, no_grad, .item() or a tensor made anew."""
    q, k, v = split_heads_qkv(self.query(x).detach(), self.key(x), self.value(x), self.n_head)


@mistake("causal_self_attention", replaces="q, k, v =")
def value_from_key(self, x):
    """Your values come from the key layer; use the layer called value."""
    q, k, v = split_heads_qkv(self.query(x), self.key(x), self.key(x), self.n_head)


@mistake("causal_self_attention", replaces="return")
def projects_twice(self, y):
    """You send the output through proj twice."""
    return self.resid_drop(self.proj(self.proj(y)))


@mistake("causal_self_attention", replaces="return")
def adds_the_residual(self, x, y):
    """Your output holds x as well; the residual connection belongs to the block around attention."""
    return x + self.resid_drop(self.proj(y))


@mistake("causal_self_attention", replaces="if self.rope")
def rotates_keys_only(self, k):
    """You rotate the keys but not the queries; both must turn."""
    if self.rope:
        k = apply_rotary_emb(k, self.rope_cache)


@mistake("causal_self_attention", replaces="if self.rope")
def always_rotates(self, q, k):
    """You rotate even when the config does not ask for it."""
    cache = precompute_rotary_emb(q.size(-1), q.size(-2)) if q.size(-1) % 2 == 0 else None
    if cache is not None:
        q, k = apply_rotary_emb(q, cache), apply_rotary_emb(k, cache)


@mistake("causal_self_attention", replaces="q, k, v =", loses=("leaves_its_inputs_alone", "lets_gradients_flow"))
def causal_self_attention_writes_into_input(self, x):
    """Your code changes the tensor that it was given; work on a new one."""
    q, k, v = split_heads_qkv(self.query(x), self.key(x), self.value(x), self.n_head)
    with torch.no_grad():
        x.add_(1.0)


@mistake("causal_self_attention", replaces="A = attn_scaled")
def does_not_scale(q, k):
    """Your output equals attention without the 1/√(head size) scaling."""
    A = pairwise_similarities(q, k)
