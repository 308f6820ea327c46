"""Known mistakes in the attention steps: similarities, scale, softmax, outputs, masks, heads."""

import math

import torch

from autograder.mistakes import mistake

# ── pairwise_similarities ──────────────────────────────────────────────────────────────


@mistake("pairwise_similarities", also_breaks=("self_attention", "causal_self_attention"))
def keys_by_queries(Q, K):
    """You compare keys with queries: row i must belong to query i, not to key i."""
    return K @ Q.transpose(-2, -1)


@mistake("pairwise_similarities", also_breaks=("self_attention", "causal_self_attention"))
def transposes_axes_0_and_1(Q, K):
    """You swap two axes counted from the front; with heads these are other axes. Count from the back."""
    return Q @ K.transpose(1, 2)


@mistake("pairwise_similarities", also_breaks=("self_attention", "causal_self_attention"))
def already_scaled(Q, K):
    """You scale here already; scaling is a step of its own."""
    return Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))


@mistake("pairwise_similarities", also_breaks=("self_attention", "causal_self_attention"))
def cosine(Q, K):
    """Your vectors are normalised to length 1 first; a plain dot product is asked for."""
    return torch.nn.functional.normalize(Q, dim=-1) @ torch.nn.functional.normalize(K, dim=-1).transpose(-2, -1)


@mistake("pairwise_similarities", also_breaks=("self_attention", "causal_self_attention"))
def queries_with_queries(Q, K):
    """You compare the queries with themselves; K is never used."""
    return Q @ Q.transpose(-2, -1)


@mistake("pairwise_similarities", also_breaks=("self_attention", "causal_self_attention"))
def always_float32(Q, K):
    """Your result is always float32; keep the dtype of the inputs."""
    return Q.float() @ K.float().transpose(-2, -1)


# ── attn_scaled ────────────────────────────────────────────────────────────────────────


@mistake("attn_scaled", also_breaks=("self_attention", "causal_self_attention"))
def not_scaled(A, n_embd, n_heads):
    """Your output is the input: nothing is scaled."""
    return A


@mistake("attn_scaled", also_breaks=("self_attention", "causal_self_attention"))
def multiplied(A, n_embd, n_heads):
    """You multiply by the square root; divide by it."""
    return A * math.sqrt(n_embd / n_heads)


@mistake("attn_scaled", also_breaks=("self_attention", "causal_self_attention"))
def without_root(A, n_embd, n_heads):
    """You divide by the head size; divide by its square root."""
    return A / (n_embd / n_heads)


@mistake("attn_scaled", also_breaks=("self_attention", "causal_self_attention"))
def width_instead_of_head_size(A, n_embd, n_heads):
    """You divide by √n_embd; what counts is the size of one head, n_embd / n_heads."""
    return A / math.sqrt(n_embd)


@mistake("attn_scaled", also_breaks=("self_attention", "causal_self_attention"))
def heads_instead_of_head_size(A, n_embd, n_heads):
    """You divide by √n_heads; what counts is the size of one head, n_embd / n_heads."""
    return A / math.sqrt(n_heads)


@mistake("attn_scaled", also_breaks=("self_attention", "causal_self_attention"))
def number_of_tokens(A, n_embd, n_heads):
    """You divide by the root of the number of tokens; what counts is the size of one head."""
    return A / math.sqrt(A.size(-1))


# ── attn_softmax ───────────────────────────────────────────────────────────────────────


@mistake("attn_softmax", also_breaks=("self_attention", "causal_self_attention"))
def over_queries(A):
    """Your columns sum to 1, not your rows: the softmax runs over the queries."""
    return torch.softmax(A, dim=-2)


@mistake("attn_softmax", also_breaks=("self_attention", "causal_self_attention"))
def third_axis(A):
    """Your softmax runs over axis 2: right without heads, wrong with them. Count from the back."""
    return torch.softmax(A, dim=2)


@mistake("attn_softmax", also_breaks=("self_attention", "causal_self_attention"))
def over_everything(A):
    """All weights together sum to 1; each query's own weights must."""
    return torch.softmax(A.flatten(1), dim=-1).view_as(A)


@mistake("attn_softmax", also_breaks=("self_attention", "causal_self_attention"))
def logarithms(A):
    """You return logarithms of weights (log_softmax)."""
    return torch.log_softmax(A, dim=-1)


@mistake("attn_softmax", also_breaks=("self_attention",))
def overflows(A):
    """exp of a large score overflows: subtract the row's maximum first, or use torch's softmax."""
    weights = A.exp()
    return weights / weights.sum(-1, keepdim=True)


# ── compute_outputs ────────────────────────────────────────────────────────────────────


@mistake("compute_outputs", also_breaks=("self_attention", "causal_self_attention"))
def weights_transposed(A, V):
    """Your weights are transposed: row i of A mixes the values for query i."""
    return A.transpose(-2, -1) @ V


@mistake("compute_outputs", also_breaks=("self_attention", "causal_self_attention"))
def best_value_only(A, V):
    """You look up the value with the largest weight; mix all of them by their weights."""
    best = A.argmax(-1, keepdim=True).expand(*A.shape[:-1], V.size(-1))
    return V.gather(-2, best)


@mistake("compute_outputs", also_breaks=("self_attention", "causal_self_attention"))
def softmax_again(A, V):
    """You apply a softmax here; A holds weights already."""
    return torch.softmax(A, dim=-1) @ V


@mistake("compute_outputs", also_breaks=("self_attention", "causal_self_attention"))
def averages(A, V):
    """You divide by the number of tokens; the weights sum to 1 already."""
    return A @ V / V.size(-2)


# ── make_causal_mask ───────────────────────────────────────────────────────────────────


@mistake("make_causal_mask", also_breaks=("self_attention", "causal_self_attention"))
def no_diagonal(n_tok):
    """The diagonal is missing: a token may attend to itself, and token 0 has nothing else."""
    return torch.ones(n_tok, n_tok, dtype=torch.bool).tril(-1)


@mistake("make_causal_mask", also_breaks=("self_attention", "causal_self_attention"))
def upper_triangle(n_tok):
    """Your triangle is the upper one: tokens see the future instead of the past."""
    return torch.ones(n_tok, n_tok, dtype=torch.bool).triu()


@mistake("make_causal_mask", also_breaks=("self_attention", "causal_self_attention"))
def inverted(n_tok):
    """Your mask marks what is forbidden; True (or 1) means 'may attend'."""
    return torch.ones(n_tok, n_tok, dtype=torch.bool).triu(1)


@mistake("make_causal_mask", also_breaks=("self_attention", "causal_self_attention"))
def additive(n_tok):
    """Your mask holds 0 and -inf, to be added; True/False or 1/0 is asked for."""
    return torch.full((n_tok, n_tok), -math.inf).triu(1)


@mistake("make_causal_mask", also_breaks=("self_attention", "causal_self_attention"))
def one_ahead(n_tok):
    """Your triangle reaches one token too far: each token sees its successor."""
    return torch.ones(n_tok, n_tok, dtype=torch.bool).tril(1)


@mistake("make_causal_mask", also_breaks=("self_attention", "causal_self_attention"))
def all_allowed(n_tok):
    """Your mask forbids nothing."""
    return torch.ones(n_tok, n_tok, dtype=torch.bool)


@mistake("make_causal_mask", also_breaks=("self_attention", "causal_self_attention"))
def only_itself(n_tok):
    """Your mask is the diagonal alone; the past is allowed, too."""
    return torch.eye(n_tok, dtype=torch.bool)


# ── apply_causal_mask ──────────────────────────────────────────────────────────────────


@mistake("apply_causal_mask", also_breaks=("self_attention", "causal_self_attention"))
def plus_infinity(mask, A):
    """You put +inf where attending is forbidden; the softmax needs -inf there."""
    return A.masked_fill(mask == 0, math.inf)


@mistake("apply_causal_mask", also_breaks=("self_attention", "causal_self_attention"))
def closes_the_allowed(mask, A):
    """You close what is allowed and leave the forbidden open: True (or 1) means 'may attend'."""
    return A.masked_fill(mask != 0, -math.inf)


@mistake("apply_causal_mask", also_breaks=("self_attention", "causal_self_attention"))
def zeros_instead(mask, A):
    """You put 0 (or a tiny number) where attending is forbidden; after the softmax, 0 still has weight."""
    return A * mask


@mistake("apply_causal_mask")
def not_low_enough(mask, A):
    """Your fill is not low enough: with large scores, forbidden places still get weight."""
    return A.masked_fill(mask == 0, -1e4)


@mistake("apply_causal_mask", also_breaks=("self_attention", "causal_self_attention"))
def zero_times_infinity(mask, A):
    """You multiply infinity by 0, which is NaN; choose with masked_fill or where."""
    return A + (1 - mask.to(A.dtype)) * -math.inf


@mistake("apply_causal_mask", also_breaks=("self_attention", "causal_self_attention"))
def does_nothing(mask, A):
    """Your output is the input: nothing is masked."""
    return A


# ── split_heads ────────────────────────────────────────────────────────────────────────


@mistake("split_heads", also_breaks=("self_attention", "causal_self_attention"))
def view_without_transpose(x, n_heads):
    """Your heads hold whole tokens: split the last axis first, then swap tokens and heads."""
    return x.reshape(x.size(0), n_heads, x.size(1), -1)


@mistake("split_heads", also_breaks=("self_attention", "causal_self_attention"))
def interleaved(x, n_heads):
    """Your heads take every n_heads-th feature; each must take neighbouring features."""
    return x.unflatten(-1, (-1, n_heads)).permute(0, 3, 1, 2)


@mistake("split_heads", also_breaks=("self_attention", "causal_self_attention"))
def heads_behind_tokens(x, n_heads):
    """Your heads stand behind the tokens: the order is batch, heads, tokens, head size."""
    return x.unflatten(-1, (n_heads, -1))


@mistake("split_heads", also_breaks=("self_attention", "causal_self_attention"))
def features_before_tokens(x, n_heads):
    """Your last two axes are swapped: tokens come before the features of a head."""
    return x.unflatten(-1, (n_heads, -1)).permute(0, 2, 3, 1)


@mistake("split_heads", also_breaks=("self_attention", "causal_self_attention"))
def head_size_for_heads(x, n_heads):
    """You use n_heads as the size of a head; it is the number of heads."""
    return x.unflatten(-1, (-1, n_heads)).transpose(1, 2)


# ── merge_heads ────────────────────────────────────────────────────────────────────────


@mistake("merge_heads", also_breaks=("self_attention", "causal_self_attention"))
def reshape_without_transpose(y):
    """Heads and tokens are mixed up: swap them before you join the last two axes."""
    return y.reshape(y.size(0), y.size(2), -1)


@mistake("merge_heads", also_breaks=("self_attention", "causal_self_attention"))
def merged_interleaved(y):
    """The features of the heads alternate; one head's features must stay together."""
    return y.permute(0, 2, 3, 1).flatten(-2)


@mistake("merge_heads", also_breaks=("self_attention", "causal_self_attention"))
def view_after_transpose(y):
    """view cannot join axes after a transpose; use reshape or flatten, or contiguous() first."""
    return y.transpose(1, 2).view(y.size(0), y.size(2), -1)


@mistake("merge_heads", also_breaks=("self_attention", "causal_self_attention"))
def mean_of_heads(y):
    """You average the heads; put them side by side."""
    return y.mean(1)
