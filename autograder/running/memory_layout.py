"""How a tensor lies in memory: kept in files and frames, because students' code may depend on it."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor


def memory_order(tensor: Tensor) -> list[int]:
    """The axes from the one with the longest step to the one with the shortest; 0, 1, 2 ... if contiguous."""
    if tensor.is_contiguous():
        return list(range(tensor.dim()))
    steps = tensor.stride()
    return sorted(range(tensor.dim()), key=lambda axis: (-steps[axis], axis))


def laid_out(tensor: Tensor, order: Sequence[int]) -> Tensor:
    """The same values with the axes in this order in memory."""
    if list(order) == list(range(tensor.dim())):
        return tensor.contiguous()
    back = sorted(range(tensor.dim()), key=lambda place: order[place])
    return tensor.permute(*order).contiguous().permute(*back)


def is_order(order: Sequence[object], rank: int) -> bool:
    """Is it a permutation of the axes?"""
    return all(type(axis) is int for axis in order) and sorted(order) == list(range(rank))  # type: ignore[type-var]
