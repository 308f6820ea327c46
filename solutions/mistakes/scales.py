"""Known mistakes in scaling and in the softmax, as beginners write them."""

import math

import torch

from autograder.proving.mistakes import mistake

# ── attn_scaled ────────────────────────────────────────────────────────────────────────


@mistake("attn_scaled", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def divides_by_width(A, n_embd, n_heads):
    """You divide by n_embd; divide by the square root of one head's size, n_embd / n_heads."""
    return A / n_embd


@mistake("attn_scaled", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def width_times_heads(A, n_embd, n_heads):
    """You divide by √(n_embd · n_heads); one head has the size n_embd / n_heads."""
    return A / math.sqrt(n_embd * n_heads)


@mistake("attn_scaled", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def divides_by_heads(A, n_embd, n_heads):
    """You divide by n_heads; divide by the square root of one head's size, n_embd / n_heads."""
    return A / n_heads


@mistake("attn_scaled", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def root_of_width_only(A, n_embd, n_heads):
    """Only n_embd is under the root: you divide by √n_embd / n_heads, not by √(n_embd / n_heads)."""
    return A / (math.sqrt(n_embd) / n_heads)


@mistake("attn_scaled", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def brackets_missing(A, n_embd, n_heads):
    """You divide by √n_embd and by n_heads; divide by √(n_embd / n_heads): mind the brackets."""
    return A / math.sqrt(n_embd) / n_heads


@mistake("attn_scaled", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def softmax_at_once(A, n_embd, n_heads):
    """You apply the softmax here already; this step only divides."""
    return torch.softmax(A / math.sqrt(n_embd / n_heads), dim=-1)


@mistake("attn_scaled", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def squared(A, n_embd, n_heads):
    """You divide by the square of the head size; divide by its square root."""
    return A / (n_embd / n_heads) ** 2


@mistake("attn_scaled", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def divides_by_tokens(A, n_embd, n_heads):
    """You divide by the number of tokens; divide by the square root of one head's size."""
    return A / A.size(-1)


@mistake("attn_scaled", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def root_rounded_down(A, n_embd, n_heads):
    """You round the root down to a whole number; divide by the root as it is."""
    return A / int(math.sqrt(n_embd / n_heads))


@mistake("attn_scaled", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def attn_scaled_in_half_precision(A, n_embd, n_heads):
    """Your numbers are only as exact as half precision; compute in the dtype of A."""
    return (A.half() / math.sqrt(n_embd / n_heads)).to(A.dtype)


# ── attn_softmax ───────────────────────────────────────────────────────────────────────


@mistake("attn_softmax", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def twice(A):
    """You apply the softmax twice, which makes the weights nearly even; once is enough."""
    return torch.softmax(torch.softmax(A, dim=-1), dim=-1)


@mistake("attn_softmax", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def without_dim(A):
    """Without dim, torch picks an axis in front (0 or 1); the weights run along the last: dim=-1."""
    return torch.nn.functional.softmax(A)


@mistake("attn_softmax", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def second_axis(A):
    """Your softmax runs over axis 1, the queries or the heads; it must run over the last axis, dim=-1."""
    return torch.softmax(A, dim=1)


@mistake("attn_softmax", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def over_the_whole_tensor(A):
    """The weights of the whole batch together sum to 1; each query's own weights must."""
    e = torch.exp(A - A.max())
    return e / e.sum()


@mistake("attn_softmax", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def without_keepdim(A):
    """The sums lose their axis and are divided along another one; write sum(-1, keepdim=True)."""
    e = torch.exp(A)
    return e / e.sum(-1)


@mistake("attn_softmax", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def largest_only(A):
    """The largest score takes all the weight; a softmax gives every score its share."""
    return torch.nn.functional.one_hot(A.argmax(-1), A.size(-1)).to(A.dtype)


@mistake("attn_softmax", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def of_the_negative(A):
    """Your largest scores get the smallest weights: the sign is wrong."""
    return torch.softmax(-A, dim=-1)


@mistake("attn_softmax", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def not_divided(A):
    """You take exponentials but do not divide them by their sum, so a row does not sum to 1."""
    return A.exp()


@mistake("attn_softmax", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def attn_softmax_in_half_precision(A):
    """Your numbers are only as exact as half precision; compute in the dtype of A."""
    return torch.softmax(A.bfloat16(), dim=-1).to(A.dtype)
