"""What staff know of pairwise_similarities: its cases, its known mistakes and right but unusual variants."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from autograder.proving.cases import DOUBLE, Cases, Draw, not_contiguous, strided
from autograder.proving.mistakes import mistake, variant

if TYPE_CHECKING:  # what stands around a body in the solution
    pass


def cases(public: bool, draw: Draw) -> Cases:
    if public:
        return {
            "two tokens by hand": {
                "Q": torch.tensor([[[1.0, 0.0], [0.0, 2.0]]]),
                "K": torch.tensor([[[3.0, 4.0], [5.0, 6.0]]]),
            },
            "three sentences": {"Q": draw(3, 5, 4), "K": draw(3, 5, 4)},
            "with heads": {"Q": draw(2, 3, 5, 4), "K": draw(2, 3, 5, 4)},
            "float64": {"Q": draw(2, 5, 3, dtype=DOUBLE), "K": draw(2, 5, 3, dtype=DOUBLE)},
            "not contiguous": {"Q": strided(draw(2, 4, 3)), "K": strided(draw(2, 4, 3))},
        }
    return {
        "3-d": {"Q": draw(2, 7, 3), "K": draw(2, 7, 3)},
        "4-d": {"Q": draw(2, 3, 6, 5), "K": draw(2, 3, 6, 5)},
        "one token": {"Q": draw(3, 2, 1, 5), "K": draw(3, 2, 1, 5)},
        "one head": {"Q": draw(2, 1, 6, 4), "K": draw(2, 1, 6, 4)},
        "size one": {"Q": draw(4, 5, 1), "K": draw(4, 5, 1)},
        "as wide as long": {"Q": draw(3, 4, 4), "K": draw(3, 4, 4)},
        "float64": {"Q": draw(3, 4, 7, dtype=DOUBLE), "K": draw(3, 4, 7, dtype=DOUBLE)},
        "not contiguous": {"Q": strided(draw(2, 3, 8, 5)), "K": strided(draw(2, 3, 8, 5))},
        "large": {"Q": draw(2, 5, 3, scale=100.0), "K": draw(2, 5, 3, scale=100.0)},
        "long": {"Q": draw(1, 2, 32, 16), "K": draw(1, 2, 32, 16)},
    }


# ── Known mistakes ─────────────────────────────────────────────────────────────────────


@mistake()
def keys_by_queries(Q, K):
    """You compare keys with queries: row i must belong to query i, not to key i."""
    return K @ Q.transpose(-2, -1)


@mistake()
def transposes_axes_0_and_1(Q, K):
    """You swap two axes counted from the front; with heads these are other axes. Count from the back."""
    return Q @ K.transpose(1, 2)


@mistake()
def already_scaled(Q, K):
    """You scale here already; scaling is a step of its own."""
    return Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))


@mistake()
def cosine(Q, K):
    """Your vectors are normalised to length 1 first; a plain dot product is asked for."""
    return torch.nn.functional.normalize(Q, dim=-1) @ torch.nn.functional.normalize(K, dim=-1).transpose(-2, -1)


@mistake()
def queries_with_queries(Q, K):
    """You compare the queries with themselves; K is never used."""
    return Q @ Q.transpose(-2, -1)


@mistake(loses=("keeps_dtype_and_layout",))
def always_float32(Q, K):
    """Your result is always float32; keep the dtype of the inputs."""
    return Q.float() @ K.float().transpose(-2, -1)


@mistake()
def element_by_element(Q, K):
    """You multiply query i with key i only; every query meets every key (a matrix product)."""
    return (Q * K).sum(-1, keepdim=True).expand(*Q.shape[:-1], K.size(-2))


@mistake()
def distances(Q, K):
    """You compute distances; similarity is the dot product, which is large when vectors agree."""
    return torch.cdist(Q, K)


@mistake()
def first_sentence_only(Q, K):
    """You use the first entry of the batch for all of them."""
    return (Q[:1] @ K[:1].transpose(-2, -1)).expand(Q.size(0), *([-1] * (Q.dim() - 1)))


@mistake(alone=True)
def reverses_all_axes(Q, K):
    """K.T reverses all axes, the batch too; swap only the last two: K.transpose(-2, -1)."""
    return Q @ K.T


@mistake(alone=True)
def no_transpose(Q, K):
    """You multiply Q by K as it is; swap the last two axes of K first: K.transpose(-2, -1)."""
    return Q @ K


@mistake(alone=True)
def entry_by_entry(Q, K):
    """You multiply entry by entry (*); a matrix product (@) compares every query with every key."""
    return Q * K


@mistake(alone=True)
def features_with_features(Q, K):
    """You compare features with features: transpose K, not Q, and let Q come first."""
    return Q.transpose(-2, -1) @ K


@mistake(alone=True)
def one_number_per_token(Q, K):
    """You get one number for each token: query i meets key i only. Every query meets every key (@)."""
    return (Q * K).sum(-1)


@mistake(alone=True)
def keys_with_keys(Q, K):
    """You compare the keys with themselves; Q is never used."""
    return K @ K.transpose(-2, -1)


@mistake(alone=True)
def softmax_too_early(Q, K):
    """You apply a softmax here already; that is a step of its own."""
    return torch.softmax(Q @ K.transpose(-2, -1), dim=-1)


@mistake(alone=True)
def pairwise_similarities_in_half_precision(Q, K):
    """Your numbers are only as exact as half precision; compute in the dtype of the inputs."""
    return (Q.half() @ K.half().transpose(-2, -1)).to(Q.dtype)


@mistake(alone=True)
def three_axes_only(Q, K):
    """Your product takes three axes only (bmm), but heads are a fourth; @ takes any number."""
    return torch.bmm(Q, K.transpose(1, 2))


@mistake(alone=True)
def swaps_the_first_axes(Q, K):
    """You swap axes 0 and 1 of K; swap the last two: K.transpose(-2, -1)."""
    return Q @ K.transpose(0, 1)


# ── Right but unusual ──────────────────────────────────────────────────────────────────


@variant()
def einsum(Q, K):
    """Einstein's summation."""
    return torch.einsum("...id,...jd->...ij", Q, K)


@variant()
def broadcast_and_sum(Q, K):
    """Every query times every key, then a sum."""
    return (Q.unsqueeze(-2) * K.unsqueeze(-3)).sum(-1)


@variant()
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


@variant()
def float64_inside(Q, K):
    """More precise inside, rounded at the end."""
    return (Q.double() @ K.double().mT).to(Q.dtype)


@variant()
def not_contiguous(Q, K):
    """The result lies transposed in memory."""
    return (K @ Q.transpose(-2, -1)).transpose(-2, -1)
