"""What staff know of compute_outputs: its cases, its known mistakes and right but unusual variants."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from autograder.proving.cases import DOUBLE, Cases, Draw, strided
from autograder.proving.mistakes import mistake, variant

if TYPE_CHECKING:  # what stands around a body in the solution
    pass


def cases(public: bool, draw: Draw) -> Cases:
    def weights(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        drawn = draw(*shape).abs() + 0.125
        return (drawn / drawn.sum(-1, keepdim=True)).to(dtype)

    if public:
        return {
            "by hand": {
                "A": torch.tensor([[[0.5, 0.5], [1.0, 0.0]]]),
                "V": torch.tensor([[[2.0, 4.0], [6.0, 8.0]]]),
            },
            "three sentences": {"A": weights(3, 5, 5), "V": draw(3, 5, 4)},
            "with heads": {"A": weights(2, 3, 5, 5), "V": draw(2, 3, 5, 4)},
            "float64": {"A": weights(2, 4, 4, dtype=DOUBLE), "V": draw(2, 4, 3, dtype=DOUBLE)},
            "not contiguous": {"A": strided(weights(2, 5, 5)), "V": strided(draw(2, 5, 3))},
        }
    return {
        "3-d": {"A": weights(2, 7, 7), "V": draw(2, 7, 3)},
        "4-d": {"A": weights(3, 2, 6, 6), "V": draw(3, 2, 6, 5)},
        "as wide as long": {"A": weights(2, 5, 5), "V": draw(2, 5, 5)},
        "one token": {"A": weights(3, 2, 1, 1), "V": draw(3, 2, 1, 5)},
        "one head": {"A": weights(2, 1, 6, 6), "V": draw(2, 1, 6, 4)},
        "float64": {"A": weights(2, 4, 4, dtype=DOUBLE), "V": draw(2, 4, 3, dtype=DOUBLE)},
        "not contiguous": {"A": strided(weights(2, 3, 6, 6)), "V": strided(draw(2, 3, 6, 5))},
        "large": {"A": weights(2, 5, 5), "V": draw(2, 5, 3, scale=1000.0)},
        "long": {"A": weights(1, 2, 32, 32), "V": draw(1, 2, 32, 7)},
    }


# ── Known mistakes ─────────────────────────────────────────────────────────────────────


@mistake()
def weights_transposed(A, V):
    """Your weights are transposed: row i of A mixes the values for query i."""
    return A.transpose(-2, -1) @ V


@mistake()
def best_value_only(A, V):
    """You look up the value with the largest weight; mix all of them by their weights."""
    best = A.argmax(-1, keepdim=True).expand(*A.shape[:-1], V.size(-1))
    return V.gather(-2, best)


@mistake()
def softmax_again(A, V):
    """You apply a softmax here; A holds weights already."""
    return torch.softmax(A, dim=-1) @ V


@mistake()
def averages(A, V):
    """You divide by the number of tokens; the weights sum to 1 already."""
    return A @ V / V.size(-2)


@mistake(loses=("keeps_dtype_and_layout",))
def computed_in_float32(A, V):
    """Your result is always float32; keep the dtype of the inputs."""
    return A.float() @ V.float()


@mistake()
def sums_values_unweighted(A, V):
    """You average the values evenly; A says how much of each."""
    return V.mean(-2, keepdim=True).expand(*A.shape[:-1], V.size(-1))


@mistake(alone=True)
def values_by_weights(A, V):
    """You multiply V by A; the weights come first: A @ V."""
    return V @ A


@mistake(alone=True)
def weights_times_values(A, V):
    """You multiply entry by entry (*); a matrix product (@) mixes the values by their weights."""
    return A * V


@mistake(alone=True)
def one_sum_for_each_query(A, V):
    """You multiply entry by entry and add up; a matrix product (@) mixes the values by their weights."""
    return (A * V).sum(-1)


@mistake(alone=True)
def one_sum_of_all(A, V):
    """You add everything up to one number; a matrix product (@) gives an output for each query."""
    return (A * V).sum()


@mistake(alone=True)
def nothing_is_mixed(A, V):
    """Your output is V itself: the values are not mixed."""
    return (A.unsqueeze(-1) * V.unsqueeze(-2)).sum(-2)


@mistake(alone=True)
def sums_over_queries(A, V):
    """You add up over the queries; the output of a query is a sum over the keys."""
    return (A.unsqueeze(-1) * V.unsqueeze(-3)).sum(-3)


@mistake(alone=True)
def values_transposed(A, V):
    """You transpose V; the values are mixed as they are: A @ V."""
    return A @ V.transpose(-2, -1)


@mistake(alone=True)
def transposed_values_by_weights(A, V):
    """You multiply the transposed V by A; the weights come first: A @ V."""
    return V.transpose(-2, -1) @ A


@mistake(alone=True)
def adds_values_unweighted(A, V):
    """You add up the values without their weights; A says how much of each."""
    return V.sum(-2, keepdim=True).expand(*A.shape[:-1], V.size(-1))


@mistake(alone=True)
def scales_the_outputs(A, V):
    """You divide the outputs by √(head size); scaling belongs to the scores."""
    return A @ V / V.size(-1) ** 0.5


@mistake(alone=True)
def compute_outputs_in_half_precision(A, V):
    """Your numbers are only as exact as half precision; compute in the dtype of the inputs."""
    return (A.bfloat16() @ V.bfloat16()).to(V.dtype)


# ── Right but unusual ──────────────────────────────────────────────────────────────────


@variant()
def outputs_by_einsum(A, V):
    """Einstein's summation."""
    return torch.einsum("...ij,...jd->...id", A, V)


@variant()
def outputs_by_broadcasting(A, V):
    """Weights times values, then a sum over the keys."""
    return (A.unsqueeze(-1) * V.unsqueeze(-3)).sum(-2)


@variant()
def token_by_token(A, V):
    """One query after the other."""
    return torch.stack([(A[..., i, :, None] * V).sum(-2) for i in range(A.size(-2))], dim=-2)
