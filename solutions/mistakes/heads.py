"""Known mistakes in splitting and merging heads, as beginners write them."""

import torch

from autograder.proving.mistakes import mistake

# ── split_heads ────────────────────────────────────────────────────────────────────────


@mistake("split_heads", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def view_with_tokens_last(x, n_heads):
    """Your view runs across tokens: cut the last axis of x in two first, then swap axes."""
    B, T, C = x.shape
    return x.reshape(B, n_heads, C // n_heads, T).transpose(-2, -1)


@mistake("split_heads", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def as_a_tuple(x, n_heads):
    """You return a tuple of pieces; torch.stack(pieces, dim=1) makes one tensor of them."""
    return x.chunk(n_heads, dim=-1)


@mistake("split_heads", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def heads_last(x, n_heads):
    """Your heads are the last axis: the order is batch, heads, tokens, head size."""
    return torch.stack(x.chunk(n_heads, dim=-1), dim=-1)


@mistake("split_heads", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def heads_along_tokens(x, n_heads):
    """Your heads stand behind one another along the tokens; they need an axis of their own (stack, not cat)."""
    return torch.cat(x.chunk(n_heads, dim=-1), dim=1)


@mistake("split_heads", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def heads_along_the_batch(x, n_heads):
    """Your heads stand behind one another along the batch; they need an axis of their own (stack, not cat)."""
    return torch.cat(x.chunk(n_heads, dim=-1), dim=0)


@mistake("split_heads", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def nothing_is_split(x, n_heads):
    """Your output is the input: nothing is split."""
    return x


@mistake("split_heads", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def view_then_transpose(x, n_heads):
    """Your view has heads and tokens in the wrong order: view(batch, tokens, heads, size), then transpose."""
    return x.reshape(x.size(0), n_heads, x.size(1), -1).transpose(1, 2)


# ── merge_heads ────────────────────────────────────────────────────────────────────────


@mistake("merge_heads", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def transposes_the_last_axes(y):
    """You swap tokens and features; swap heads and tokens: transpose(1, 2)."""
    return y.transpose(2, 3).reshape(y.size(0), y.size(2), -1)


@mistake("merge_heads", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def not_joined(y):
    """Heads and features are still two axes: join the last two, after the swap."""
    return y.transpose(1, 2)


@mistake("merge_heads", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def sum_of_heads(y):
    """You add up the heads; put them side by side."""
    return y.sum(1)


@mistake("merge_heads", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def joins_tokens_and_heads(y):
    """You join tokens and heads; join heads and features, the last two axes after the swap."""
    return y.transpose(1, 2).flatten(1, 2)


@mistake("merge_heads", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def width_before_tokens(y):
    """Your axes are (batch, n_embd, tokens); tokens come before features."""
    return y.transpose(2, 3).flatten(1, 2)


@mistake("merge_heads", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def reshape_before_transpose(y):
    """You reshape first and swap axes afterwards; swap heads and tokens first."""
    return y.reshape(y.size(0), -1, y.size(2)).transpose(1, 2)


@mistake("merge_heads", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def merges_as_a_list(y):
    """You return a list of heads; torch.cat(heads, dim=-1) makes one tensor of them."""
    return [head for head in y.unbind(1)]
