"""Right but unusual: the attention steps. Each must keep full marks."""

import math

import torch

from autograder.proving.mistakes import variant

# ── pairwise_similarities ──────────────────────────────────────────────────────────────


@variant("pairwise_similarities")
def einsum(Q, K):
    """Einstein's summation."""
    return torch.einsum("...id,...jd->...ij", Q, K)


@variant("pairwise_similarities")
def broadcast_and_sum(Q, K):
    """Every query times every key, then a sum."""
    return (Q.unsqueeze(-2) * K.unsqueeze(-3)).sum(-1)


@variant("pairwise_similarities")
def loops_over_numbers(Q, K):
    """Plain loops: legal, only slow."""
    out = torch.zeros(*Q.shape[:-1], K.shape[-2], dtype=Q.dtype)
    rows = [()]
    for size in Q.shape[:-2]:
        rows = [(*row, i) for row in rows for i in range(size)]
    for row in rows:
        for i in range(Q.shape[-2]):
            for j in range(K.shape[-2]):
                out[(*row, i, j)] = Q[(*row, i)] @ K[(*row, j)]
    return out


@variant("pairwise_similarities")
def float64_inside(Q, K):
    """More precise inside, rounded at the end."""
    return (Q.double() @ K.double().mT).to(Q.dtype)


@variant("pairwise_similarities")
def not_contiguous(Q, K):
    """The result lies transposed in memory."""
    return (K @ Q.transpose(-2, -1)).transpose(-2, -1)


# ── attn_scaled ────────────────────────────────────────────────────────────────────────


@variant("attn_scaled")
def negative_power(A, n_embd, n_heads):
    """A power instead of a root."""
    return A * (n_embd // n_heads) ** -0.5


@variant("attn_scaled")
def in_place(A, n_embd, n_heads):
    """The small steps may write into their argument."""
    A /= math.sqrt(n_embd // n_heads)
    return A


@variant("attn_scaled")
def with_a_tensor(A, n_embd, n_heads):
    """The root as a tensor."""
    return A / torch.sqrt(torch.tensor(n_embd / n_heads)).to(A.dtype)


@variant("attn_scaled")
def with_numpy(A, n_embd, n_heads):
    """The root from numpy."""
    import numpy

    return A / float(numpy.sqrt(n_embd / n_heads))


# ── attn_softmax ───────────────────────────────────────────────────────────────────────


@variant("attn_softmax")
def by_hand(A):
    """Exponentials of what is left after the maximum, divided by their sum."""
    e = (A - A.amax(-1, keepdim=True)).exp()
    return e / e.sum(-1, keepdim=True)


@variant("attn_softmax")
def as_a_layer(A):
    """A Softmax layer made on the spot."""
    return torch.nn.Softmax(dim=-1)(A)


@variant("attn_softmax")
def through_logarithms(A):
    """exp of log_softmax."""
    return torch.log_softmax(A, dim=-1).exp()


@variant("attn_softmax")
def last_axis_by_number(A):
    """The last axis counted from the front, but for any number of axes."""
    return torch.nn.functional.softmax(A, dim=A.dim() - 1)


# ── compute_outputs ────────────────────────────────────────────────────────────────────


@variant("compute_outputs")
def outputs_by_einsum(A, V):
    """Einstein's summation."""
    return torch.einsum("...ij,...jd->...id", A, V)


@variant("compute_outputs")
def outputs_by_broadcasting(A, V):
    """Weights times values, then a sum over the keys."""
    return (A.unsqueeze(-1) * V.unsqueeze(-3)).sum(-2)


@variant("compute_outputs")
def token_by_token(A, V):
    """One query after the other."""
    return torch.stack([(A[..., i, :, None] * V).sum(-2) for i in range(A.size(-2))], dim=-2)


# ── make_causal_mask ───────────────────────────────────────────────────────────────────


@variant("make_causal_mask")
def floats(n_tok):
    """1.0 and 0.0."""
    return torch.tril(torch.ones(n_tok, n_tok))


@variant("make_causal_mask")
def whole_numbers(n_tok):
    """1 and 0 as int64."""
    return torch.ones(n_tok, n_tok, dtype=torch.int64).tril()


@variant("make_causal_mask")
def bytes_of_a_mask(n_tok):
    """1 and 0 as uint8."""
    return torch.ones(n_tok, n_tok, dtype=torch.uint8).tril()


@variant("make_causal_mask")
def half_precision(n_tok):
    """1 and 0 as bfloat16."""
    return torch.ones(n_tok, n_tok).tril().to(torch.bfloat16)


@variant("make_causal_mask")
def comparison(n_tok):
    """Positions compared with each other."""
    return torch.arange(n_tok)[:, None] >= torch.arange(n_tok)


@variant("make_causal_mask")
def negated_upper_triangle(n_tok):
    """What is not in the future."""
    return ~torch.triu(torch.ones(n_tok, n_tok), diagonal=1).bool()


@variant("make_causal_mask")
def nested_lists(n_tok):
    """Written out as lists."""
    return torch.tensor([[j <= i for j in range(n_tok)] for i in range(n_tok)])


# ── apply_causal_mask ──────────────────────────────────────────────────────────────────


@variant("apply_causal_mask")
def where(mask, A):
    """torch.where."""
    return torch.where(mask.bool(), A, float("-inf"))


@variant("apply_causal_mask")
def minus_a_billion(mask, A):
    """-1e9: the same in effect."""
    return A.masked_fill(mask == 0, -1e9)


@variant("apply_causal_mask")
def lowest_number(mask, A):
    """The lowest number of the dtype."""
    return A.masked_fill(~mask.bool(), torch.finfo(A.dtype).min)


@variant("apply_causal_mask")
def filled_in_place(mask, A):
    """Writes into A, with -1e10."""
    return A.masked_fill_(mask == 0, -1e10)


@variant("apply_causal_mask")
def added(mask, A):
    """An additive mask made from the one that was given."""
    return A + torch.zeros_like(A).masked_fill(mask == 0, -math.inf)


@variant("apply_causal_mask")
def by_index(mask, A):
    """A copy, and an assignment to the forbidden places."""
    out = A.clone()
    out[..., mask == 0] = -math.inf
    return out


# ── split_heads, merge_heads ───────────────────────────────────────────────────────────


@variant("split_heads")
def permuted_and_contiguous(x, n_heads):
    """reshape, permute, contiguous."""
    B, T, C = x.shape
    return x.reshape(B, T, n_heads, C // n_heads).permute(0, 2, 1, 3).contiguous()


@variant("split_heads")
def chunks(x, n_heads):
    """Slices of features, stacked."""
    return torch.stack(x.chunk(n_heads, -1), 1)


@variant("split_heads")
def loop_over_heads(x, n_heads):
    """One head after the other."""
    size = x.size(-1) // n_heads
    return torch.stack([x[..., h * size : (h + 1) * size] for h in range(n_heads)], dim=1)


@variant("merge_heads")
def concatenated(y):
    """Heads concatenated along the features."""
    return torch.cat(list(y.unbind(1)), -1)


@variant("merge_heads")
def contiguous_and_view(y):
    """permute, contiguous, view."""
    B, H, T, S = y.shape
    return y.permute(0, 2, 1, 3).contiguous().view(B, T, H * S)


@variant("merge_heads")
def written_into_zeros(y):
    """Slices written into a new tensor."""
    B, H, T, S = y.shape
    out = torch.zeros(B, T, H * S, dtype=y.dtype)
    for h in range(H):
        out[..., h * S : (h + 1) * S] = y[:, h]
    return out
