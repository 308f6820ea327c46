"""Known mistakes in the attention steps: similarities, scale, softmax, outputs, masks, heads."""

import math

import torch
from attention import make_causal_mask

from autograder.proving.mistakes import mistake

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


@mistake(
    "pairwise_similarities", also_breaks=("self_attention", "causal_self_attention"), loses=("keeps_dtype_and_layout",)
)
def always_float32(Q, K):
    """Your result is always float32; keep the dtype of the inputs."""
    return Q.float() @ K.float().transpose(-2, -1)


@mistake("pairwise_similarities", also_breaks=("self_attention", "causal_self_attention"))
def element_by_element(Q, K):
    """You multiply query i with key i only; every query meets every key (a matrix product)."""
    return (Q * K).sum(-1, keepdim=True).expand(*Q.shape[:-1], K.size(-2))


@mistake("pairwise_similarities", also_breaks=("self_attention", "causal_self_attention"))
def distances(Q, K):
    """You compute distances; similarity is the dot product, which is large when vectors agree."""
    return torch.cdist(Q, K)


@mistake("pairwise_similarities", also_breaks=("self_attention", "causal_self_attention"))
def first_sentence_only(Q, K):
    """You use the first entry of the batch for all of them."""
    return (Q[:1] @ K[:1].transpose(-2, -1)).expand(Q.size(0), *([-1] * (Q.dim() - 1)))


# ── attn_scaled ────────────────────────────────────────────────────────────────────────


@mistake("attn_scaled", also_breaks=("self_attention", "causal_self_attention"))
def not_scaled(A, n_embd, n_heads):
    """Your output is the input: nothing is scaled."""
    return A


@mistake("attn_scaled", also_breaks=("self_attention", "causal_self_attention"))
def multiplied(A, n_embd, n_heads):
    """In effect you multiply by √(n_embd / n_heads); divide by it."""
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


@mistake("attn_scaled", also_breaks=("self_attention", "causal_self_attention"))
def adds_the_root(A, n_embd, n_heads):
    """You subtract the square root; divide by it."""
    return A - math.sqrt(n_embd / n_heads)


@mistake("attn_scaled", also_breaks=("self_attention", "causal_self_attention"))
def head_size_hard_coded(A, n_embd, n_heads):
    """You divide by √64, whatever n_embd and n_heads say."""
    return A / 8.0


@mistake("attn_scaled", also_breaks=("self_attention", "causal_self_attention"), loses=("keeps_dtype_and_layout",))
def scaled_in_float32(A, n_embd, n_heads):
    """Your result is always float32; keep the dtype of A."""
    return A.float() / math.sqrt(n_embd / n_heads)


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


@mistake("attn_softmax", also_breaks=("self_attention", "causal_self_attention"))
def over_the_batch(A):
    """Your softmax runs over the first axis, so sentences compete with each other."""
    return torch.softmax(A, dim=0)


@mistake("attn_softmax", also_breaks=("self_attention", "causal_self_attention"))
def no_exponential(A):
    """You divide scores by their sum; take their exponentials first."""
    return A / A.sum(-1, keepdim=True)


@mistake("attn_softmax", also_breaks=("self_attention", "causal_self_attention"))
def sigmoid(A):
    """You use a sigmoid: each weight lies between 0 and 1, but a row does not sum to 1."""
    return torch.sigmoid(A)


@mistake("attn_softmax", also_breaks=("self_attention", "causal_self_attention"), loses=("keeps_dtype_and_layout",))
def softmax_in_float32(A):
    """Your result is always float32; keep the dtype of A."""
    return torch.softmax(A.float(), dim=-1)


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


@mistake("compute_outputs", also_breaks=("self_attention", "causal_self_attention"), loses=("keeps_dtype_and_layout",))
def computed_in_float32(A, V):
    """Your result is always float32; keep the dtype of the inputs."""
    return A.float() @ V.float()


@mistake("compute_outputs", also_breaks=("self_attention", "causal_self_attention"))
def sums_values_unweighted(A, V):
    """You average the values evenly; A says how much of each."""
    return V.mean(-2, keepdim=True).expand(*A.shape[:-1], V.size(-1))


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


@mistake("make_causal_mask", also_breaks=("self_attention", "causal_self_attention"))
def flipped(n_tok):
    """Your triangle is mirrored: row i belongs to query i, column j to key j."""
    return torch.ones(n_tok, n_tok, dtype=torch.bool).tril().flip(-1)


@mistake("make_causal_mask", also_breaks=("self_attention", "causal_self_attention"))
def forgets_the_first_token(n_tok):
    """Nobody may attend to token 0 in your mask, but it lies in everyone's past."""
    mask = torch.ones(n_tok, n_tok, dtype=torch.bool).tril()
    mask[1:, 0] = False
    return mask


@mistake("make_causal_mask", also_breaks=("self_attention", "causal_self_attention"))
def one_row_only(n_tok):
    """Your mask is the same for every query; it must grow from row to row."""
    return (torch.arange(n_tok) == 0).expand(n_tok, n_tok)


@mistake("make_causal_mask", also_breaks=("self_attention", "causal_self_attention"))
def size_hard_coded(n_tok):
    """Your mask always has the same size; it must be n_tok by n_tok."""
    return torch.ones(128, 128, dtype=torch.bool).tril()


@mistake("make_causal_mask", also_breaks=("self_attention", "causal_self_attention"))
def kept_from_the_first_call(n_tok):
    """Your mask is kept from an earlier call with another n_tok; make it anew."""
    if not hasattr(make_causal_mask, "kept"):
        make_causal_mask.kept = torch.ones(n_tok, n_tok, dtype=torch.bool).tril()
    return make_causal_mask.kept


# ── apply_causal_mask ──────────────────────────────────────────────────────────────────


@mistake("apply_causal_mask", also_breaks=("self_attention", "causal_self_attention"))
def plus_infinity(mask, A):
    """You put +inf or a huge number where attending is forbidden; the softmax needs -inf there."""
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


@mistake("apply_causal_mask", also_breaks=("self_attention", "causal_self_attention"))
def adds_the_mask(mask, A):
    """You add the mask of 0s and 1s to the scores; that forbids nothing."""
    return A + mask.to(A.dtype)


@mistake("apply_causal_mask", also_breaks=("self_attention", "causal_self_attention"))
def masks_the_whole_row(mask, A):
    """You close whole rows or columns; close only the places where the mask is 0."""
    return A.masked_fill((mask == 0).any(-1, keepdim=True), -math.inf)


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


@mistake("split_heads", also_breaks=("self_attention", "causal_self_attention"))
def heads_in_front(x, n_heads):
    """Your heads come before the batch: the order is batch, heads, tokens, head size."""
    return x.unflatten(-1, (n_heads, -1)).permute(2, 0, 1, 3)


@mistake("split_heads", also_breaks=("self_attention", "causal_self_attention"))
def copies_for_every_head(x, n_heads):
    """Every head gets the whole token; each must get its own slice of it."""
    return x.unsqueeze(1).expand(-1, n_heads, -1, -1)


@mistake("split_heads", also_breaks=("self_attention", "causal_self_attention"))
def splits_the_tokens(x, n_heads):
    """You share out the tokens among the heads; share out the features."""
    parts = x[:, : x.size(1) // n_heads * n_heads].unflatten(1, (n_heads, -1))
    return parts


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


@mistake("merge_heads", also_breaks=("self_attention", "causal_self_attention"))
def heads_side_by_side_along_tokens(y):
    """Your heads stand behind one another along the tokens; put them side by side along the features."""
    return y.flatten(1, 2)


@mistake("merge_heads", also_breaks=("self_attention", "causal_self_attention"))
def first_head_only(y):
    """Only the first head is left; keep all of them."""
    return y[:, 0].repeat(1, 1, y.size(1))


@mistake("merge_heads", also_breaks=("self_attention", "causal_self_attention"))
def heads_reversed(y):
    """The heads are merged in reverse order."""
    return y.flip(1).transpose(1, 2).flatten(-2)
