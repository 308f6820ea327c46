"""Self-attention, one small step at a time.

Axes are always named the same way: batch, heads, tokens, head size. The width of
the model, n_embd, is heads x head size. In masks, True means "may attend".
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn


def init_qkv_proj(n_embd: int) -> tuple[nn.Linear, nn.Linear, nn.Linear]:
    """Make the three projections of an embedding: to queries, keys and values. (Given.)

    Example: each of the three maps (batch, tokens, n_embd) to the same shape.
    """
    return nn.Linear(n_embd, n_embd), nn.Linear(n_embd, n_embd), nn.Linear(n_embd, n_embd)


def pairwise_similarities(Q: Tensor, K: Tensor) -> Tensor:
    """Compare every query with every key by their dot product.

    Q, K: (..., tokens, size). Returns A: (..., tokens, tokens), where A[..., i, j] is
    the dot product of query i with key j. Any number of leading axes is allowed.

    Example: Q = [[1, 0], [0, 2]], K = [[3, 4], [5, 6]] gives [[3, 5], [8, 12]].
    """
    # TODO(pairwise_similarities): one line. Which axes of K must trade places?
    # BEGIN SOLUTION pairwise_similarities
    return Q @ K.transpose(-2, -1)  # (..., tokens, tokens)
    # END SOLUTION pairwise_similarities


def attn_scaled(A: Tensor, n_embd: int, n_heads: int) -> Tensor:
    """Scale similarities so that their spread does not grow with the head size.

    A: any shape, returned unchanged in shape. A dot product of two random vectors of
    length d has a standard deviation of √d; here d is the size of one head.

    Example: A = [[6.0]], n_embd = 12, n_heads = 3: one head has size 4, so [[3.0]].
    """
    # TODO(attn_scaled): one line. How long are the vectors that were compared?
    # BEGIN SOLUTION attn_scaled
    return A / math.sqrt(n_embd / n_heads)
    # END SOLUTION attn_scaled


def attn_softmax(A: Tensor) -> Tensor:
    """Turn each query's scores into weights that are positive and sum to 1.

    A: (..., tokens, tokens), rows are queries, columns are keys. Same shape returned.

    Example: [[0, 0], [0, -inf]] gives [[0.5, 0.5], [1, 0]].
    """
    # TODO(attn_softmax): one line. Along which axis must the weights sum to 1?
    # BEGIN SOLUTION attn_softmax
    return torch.softmax(A, dim=-1)
    # END SOLUTION attn_softmax


def compute_outputs(A: Tensor, V: Tensor) -> Tensor:
    """Mix the values: each query's output is a weighted sum of all values.

    A: (..., tokens, tokens) weights. V: (..., tokens, size). Returns V's shape.

    Example: A = [[0.5, 0.5], [1, 0]], V = [[2, 4], [6, 8]] gives [[4, 6], [2, 4]].
    """
    # TODO(compute_outputs): one line.
    # BEGIN SOLUTION compute_outputs
    return A @ V  # (..., tokens, size)
    # END SOLUTION compute_outputs


def make_causal_mask(n_tok: int) -> Tensor:
    """Say who may attend to whom when nobody may look ahead.

    Returns (n_tok, n_tok); entry [i, j] is True (or 1) if query i MAY attend to key j:
    its own position and everything before it.

    Example: n_tok = 3 gives [[1, 0, 0], [1, 1, 0], [1, 1, 1]].
    """
    # TODO(make_causal_mask): one line. Is a token allowed to attend to itself?
    # BEGIN SOLUTION make_causal_mask
    return torch.ones(n_tok, n_tok, dtype=torch.bool).tril()  # (tokens, tokens), True = may attend
    # END SOLUTION make_causal_mask


def apply_causal_mask(mask: Tensor, A: Tensor) -> Tensor:
    """Close the forbidden places, so that the softmax gives them weight 0.

    mask: (tokens, tokens), True or 1 = may attend. A: (..., tokens, tokens) scores,
    before the softmax. Returns A with -inf wherever attending is not allowed.

    Example: mask = [[1, 0], [1, 1]], A = [[1, 2], [3, 4]] gives [[1, -inf], [3, 4]].
    """
    # TODO(apply_causal_mask): one line. It must work for a mask of booleans and for one of 0s and 1s.
    # BEGIN SOLUTION apply_causal_mask
    return A.masked_fill(mask == 0, -math.inf)
    # END SOLUTION apply_causal_mask


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """Give each head its own slice of every token's features.

    x: (batch, tokens, n_embd). Returns (batch, heads, tokens, head size). Head h gets the
    features h * head size up to (h + 1) * head size of each token.

    Example: one batch, two tokens, x = [[[1, 2, 3, 4], [5, 6, 7, 8]]], n_heads = 2
    gives head 0 = [[1, 2], [5, 6]] and head 1 = [[3, 4], [7, 8]].
    """
    # TODO(split_heads): one line. First cut the last axis in two, only then move axes.
    # BEGIN SOLUTION split_heads
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)  # (batch, heads, tokens, head size)
    # END SOLUTION split_heads


def merge_heads(y: Tensor) -> Tensor:
    """Undo split_heads: put the heads side by side again.

    y: (batch, heads, tokens, head size). Returns (batch, tokens, n_embd).

    Example: heads [[1, 2], [5, 6]] and [[3, 4], [7, 8]] give [[1, 2, 3, 4], [5, 6, 7, 8]].
    """
    # TODO(merge_heads): one line, and the exact inverse of split_heads.
    # BEGIN SOLUTION merge_heads
    return y.transpose(1, 2).flatten(-2)  # (batch, tokens, n_embd)
    # END SOLUTION merge_heads


def split_heads_qkv(Q: Tensor, K: Tensor, V: Tensor, n_heads: int) -> tuple[Tensor, Tensor, Tensor]:
    """Split queries, keys and values alike. (Given.)

    Example: three (batch, tokens, n_embd) in, three (batch, heads, tokens, head size) out.
    """
    return split_heads(Q, n_heads), split_heads(K, n_heads), split_heads(V, n_heads)


def self_attention(Q: Tensor, K: Tensor, V: Tensor, n_heads: int = 1, causal: bool = True) -> Tensor:
    """Do all the steps in order: split, compare, scale, mask, softmax, mix, merge.

    Q, K, V: (batch, tokens, n_embd). Returns the same shape. There is no output projection.
    Q, K and V themselves are left as they are.

    Example: with one token there is nothing to choose from, so the output is V.
    """
    # TODO(self_attention): use the steps above; mask only if causal.
    # BEGIN SOLUTION self_attention
    n_tok, n_embd = Q.shape[-2:]
    q, k, v = split_heads_qkv(Q, K, V, n_heads)  # each (batch, heads, tokens, head size)
    A = attn_scaled(pairwise_similarities(q, k), n_embd, n_heads)  # (batch, heads, tokens, tokens)
    if causal:
        A = apply_causal_mask(make_causal_mask(n_tok).to(A.device), A)
    return merge_heads(compute_outputs(attn_softmax(A), v))  # (batch, tokens, n_embd)
    # END SOLUTION self_attention


# BEGIN PART pretraining
def precompute_rotary_emb(dim: int, max_positions: int) -> Tensor:
    """Tabulate the rotations of RoPE: position p turns pair i by the angle p * θ_i.

    θ_i = 10000^(-2(i-1)/dim) for i = 1 ... dim/2, where dim is the head size.
    Returns (max_positions, dim/2, 2); the last axis holds [cos, sin].

    Example: dim = 2 has one pair with θ = 1, so row p is [[cos p, sin p]]; row 0 is [[1, 0]].
    """
    # TODO(precompute_rotary_emb): first the dim/2 values of θ, then every position times every θ.
    # BEGIN SOLUTION precompute_rotary_emb
    theta = 10000.0 ** (-2 * torch.arange(dim // 2) / dim)  # (dim/2,)
    angles = torch.arange(max_positions)[:, None] * theta  # (max_positions, dim/2)
    return torch.stack((angles.cos(), angles.sin()), dim=-1)  # (max_positions, dim/2, 2)
    # END SOLUTION precompute_rotary_emb


def apply_rotary_emb(x: Tensor, rope_cache: Tensor) -> Tensor:
    """Rotate each adjacent pair of features by the angle of its token's position.

    x: (batch, heads, tokens, head size). rope_cache: (at least tokens, head size / 2, 2), as
    made by precompute_rotary_emb. Pairs are neighbours: features (0, 1), (2, 3), ... Returns
    x's shape and dtype; x itself is left as it is.

    Example: head size 2, x = [[1, 0], [1, 0]]: token 0 stays, token 1 becomes [cos 1, sin 1].
    """
    # TODO(apply_rotary_emb): (a, b) becomes (a cos - b sin, a sin + b cos). The cache may be longer than x.
    # BEGIN SOLUTION apply_rotary_emb
    cos, sin = rope_cache[: x.size(-2)].to(x.dtype).unbind(-1)  # each (tokens, head size / 2)
    a, b = x[..., 0::2], x[..., 1::2]  # each (..., tokens, head size / 2)
    rotated = torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1)
    return rotated.flatten(-2)  # (..., tokens, head size)
    # END SOLUTION apply_rotary_emb


class CausalSelfAttention(nn.Module):
    """Multi-head causal self-attention with its four projections, with or without RoPE.

    config has n_embd, n_head, block_size, attn_pdrop, resid_pdrop and, optionally, rope.

    Example: a config with rope = True and block_size = 128 holds a cache of 128 positions.
    """

    rope_cache: Tensor

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.key = nn.Linear(config.n_embd, config.n_embd)
        self.query = nn.Linear(config.n_embd, config.n_embd)
        self.value = nn.Linear(config.n_embd, config.n_embd)
        self.proj = nn.Linear(config.n_embd, config.n_embd)
        self.attn_drop = nn.Dropout(config.attn_pdrop)
        self.resid_drop = nn.Dropout(config.resid_pdrop)
        self.n_head = config.n_head
        self.rope = getattr(config, "rope", False)
        if self.rope:
            # The table follows from the config, so it has no place in a checkpoint.
            cache = precompute_rotary_emb(config.n_embd // config.n_head, config.block_size)
            self.register_buffer("rope_cache", cache, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """Attend from every token of x: (batch, tokens, n_embd) to itself and those before it.

        Example: with one token, the output is proj(value(x)), whatever query and key are.
        """
        # TODO(causal_self_attention): project, split, rotate queries and keys (if self.rope), then the steps
        # as in self_attention. Use attn_drop on the weights and resid_drop on the projected output.
        # BEGIN SOLUTION causal_self_attention
        n_tok, n_embd = x.shape[-2:]
        q, k, v = split_heads_qkv(self.query(x), self.key(x), self.value(x), self.n_head)
        if self.rope:
            q, k = apply_rotary_emb(q, self.rope_cache), apply_rotary_emb(k, self.rope_cache)
        A = attn_scaled(pairwise_similarities(q, k), n_embd, self.n_head)  # (batch, heads, tokens, tokens)
        A = apply_causal_mask(make_causal_mask(n_tok).to(x.device), A)
        y = merge_heads(compute_outputs(self.attn_drop(attn_softmax(A)), v))  # (batch, tokens, n_embd)
        return self.resid_drop(self.proj(y))
        # END SOLUTION causal_self_attention


# END PART pretraining
