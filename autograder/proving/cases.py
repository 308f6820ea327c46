"""What the inputs of reference cases are drawn with. Runs only when references are made; the files keep the results.

The cases of an exercise are a function `cases(public, draw)` in its file below solutions/exercises. Sizes within a case
are pairwise distinct wherever they can be, so that a swapped axis cannot hide: batch, heads, tokens, head size and
width are five different numbers.
"""

from __future__ import annotations

import zlib

import torch
from torch import Tensor

from autograder.judging.references import Argument

Inputs = dict[str, Argument]
Cases = dict[str, Inputs]  # name -> inputs


FINE = 1 << 16  # steps to 1: half precision holds 1 in steps of 1/1024, float32 in steps of 2^-23
COARSE = 1 << 6  # products of these are exact in float32, so that large scores are the same everywhere


class Draw:
    """Random inputs, the same on every machine."""

    def __init__(self, label: str) -> None:
        self.generator = torch.Generator().manual_seed(zlib.crc32(label.encode()))

    def __call__(
        self, *shape: int, scale: float = 1.0, dtype: torch.dtype = torch.float32, steps: int = FINE
    ) -> Tensor:
        # Rounded, so that a value is the same in float32 and float64; but no half precision holds it.
        drawn = torch.randn(shape, generator=self.generator, dtype=torch.float64)
        return ((drawn * steps).round() / steps * scale).to(dtype)


DOUBLE = torch.float64


def strided(tensor: Tensor) -> Tensor:
    """The same values with the last two axes swapped in memory: not contiguous."""
    return tensor.mT.contiguous().mT


def not_contiguous(inputs: Inputs) -> Inputs:
    """The same inputs with those of three axes (sentences, not weights) swapped in memory."""
    return {
        name: strided(value) if isinstance(value, Tensor) and value.dim() == 3 else value
        for name, value in inputs.items()
    }


def counting(*shape: int) -> Tensor:
    """0, 1, 2, ...: a student sees at once what went where."""
    return torch.arange(float(torch.Size(shape).numel())).reshape(shape)


def one_hot(batch: int, tokens: int, heads: int, size: int) -> Tensor:
    """Values of which token t has a single 1, at place t of every head: mixing them shows the weights themselves."""
    return torch.eye(tokens, size).repeat(1, heads).expand(batch, -1, -1).contiguous()


def gappy(draw: Draw, *shape: int, size: float) -> Tensor:
    """Large scores whose order is clear: a row's entries differ by far more than rounding.

    Softmax of large numbers is sensitive to the last bit of their differences; with gaps of
    several per cent of `size`, every right way of computing it gives the same weights.
    """
    tokens = shape[-1]
    order = draw(*shape).argsort(-1).to(torch.float32)
    return (order / max(1, tokens - 1) * 2 - 1) * size
