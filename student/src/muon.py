"""Muon: gradient descent on matrices whose every direction gets the same step. (Given.)

A gradient matrix mostly points in a few directions. Muon replaces it by the nearest matrix that points equally in
all of them (U V^T of its singular value decomposition), found by a few matrix products. torch has this
optimiser, too; this one works in float32 and on all matrices of a shape at once, which is far quicker on a CPU.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable

import torch
from torch import Tensor

# Five steps of X <- aX + (bA + cA^2) X with A = X X^T bring all singular values close to 1.
STEPS, COEFFICIENTS = 5, (3.4445, -4.7750, 2.0315)


def orthogonalized(matrices: Tensor) -> Tensor:
    """(..., rows, columns) -> the same shape, with singular values near 1.

    Example: a diagonal matrix with positive entries becomes nearly the identity.
    """
    x = matrices / (matrices.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    tall = x.size(-2) > x.size(-1)
    if tall:  # the products below are smaller for wide matrices
        x = x.mT
    a, b, c = COEFFICIENTS
    for _ in range(STEPS):
        square = x @ x.mT
        x = a * x + (b * square + c * square @ square) @ x
    return x.mT if tall else x


class Muon(torch.optim.Optimizer):
    """For matrices only. A step has the size of a step of AdamW with the same learning rate."""

    def __init__(self, matrices: Iterable[Tensor], lr: float, momentum: float = 0.95) -> None:
        super().__init__(matrices, {"lr": lr, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            by_shape: dict[torch.Size, list[Tensor]] = defaultdict(list)
            for matrix in group["params"]:
                if matrix.grad is not None:
                    by_shape[matrix.shape].append(matrix)
            for shape, matrices in by_shape.items():
                self._move(matrices, group["lr"] * 0.2 * math.sqrt(max(shape)), group["momentum"])

    def _move(self, matrices: list[Tensor], size: float, momentum: float) -> None:
        for matrix in matrices:
            self.state[matrix].setdefault("average", torch.zeros_like(matrix)).lerp_(matrix.grad, 1 - momentum)
        ahead = [matrix.grad.lerp(self.state[matrix]["average"], momentum) for matrix in matrices]
        for matrix, direction in zip(matrices, orthogonalized(torch.stack(ahead)), strict=True):
            matrix.sub_(direction, alpha=size)
