"""Pictures as data: what a page may draw beside a message. Made for public checks only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

LARGEST = 16  # rows and columns of a map; more could not be read

Cell = float | str  # a number, or "nan", "inf", "-inf", which JSON has no numbers for


@dataclass(frozen=True)
class Panel:
    """One map: a small matrix under a title."""

    title: str
    values: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class Maps:
    """Matrices side by side: yours, expected, and their difference."""

    caption: str
    rows: str  # what a row stands for: "query"
    columns: str
    panels: tuple[Panel, ...]
    kind: str = "maps"


@dataclass(frozen=True)
class Bars:
    """How often each value was seen; `needed` says which of them must occur."""

    caption: str
    x: str
    labels: tuple[str, ...]
    counts: tuple[int, ...]
    needed: tuple[bool, ...]
    kind: str = "bars"


Picture = Maps | Bars


def maps(caption: str, actual: Tensor, expected: Tensor, axes: Sequence[str]) -> Maps | None:
    """The matrix that holds the largest error, of two tensors of the same shape; None if it would be too large."""
    if actual.dim() < 2 or min(actual.shape) == 0 or actual.is_complex():
        return None
    mine, wanted = actual.double(), expected.double()
    apart = torch.where(mine == wanted, 0.0, mine - wanted)  # inf - inf is no difference
    size = apart.abs().nan_to_num(nan=math.inf).flatten(-2).amax(-1)
    place = tuple(int(i) for i in torch.unravel_index(size.argmax(), size.shape)) if size.dim() else ()
    mine, wanted, apart = mine[place], wanted[place], apart[place]
    if max(mine.shape) > LARGEST or mine.numel() < 2:
        return None
    names = [*("batch", "head")[: actual.dim() - len(axes)], *axes] if actual.dim() >= len(axes) else list(axes)
    where = ", ".join(f"{name} {index}" for name, index in zip(names, place, strict=False))
    panels = tuple(
        Panel(title, _cells(values)) for title, values in (("yours", mine), ("expected", wanted), ("difference", apart))
    )
    return Maps(f"{caption}, {where}" if where else caption, names[-2], names[-1], panels)


def _cells(matrix: Tensor) -> tuple[tuple[Cell, ...], ...]:
    return tuple(tuple(_cell(value) for value in row) for row in matrix.tolist())


def _cell(value: float) -> Cell:
    return float(f"{value:.4g}") if math.isfinite(value) else str(value)


def revived(data: dict[str, Any] | None) -> Picture | None:
    """A picture that has been JSON."""
    if data is None:
        return None
    fields: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in data.items()}
    if fields["kind"] == "bars":
        return Bars(**fields)
    fields["panels"] = tuple(
        Panel(panel["title"], tuple(tuple(row) for row in panel["values"])) for panel in fields["panels"]
    )
    return Maps(**fields)
