"""Plain data: the only things that pass between student code and checks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

MAX_BYTES = 32 << 20  # no exercise asks for a larger tensor
LARGEST_NUMBER = 1 << 10_000  # Python refuses to write much larger ones down


@dataclass(frozen=True)
class Other:
    """A value that is not plain, known by its type's name only."""

    type_name: str


@dataclass(frozen=True)
class Config:
    """Settings that student code receives as an object with attributes."""

    settings: dict[str, int | float | bool]


@dataclass(frozen=True)
class Handle:
    """An object that stays where student code runs; checks hold only its number."""

    number: int


Plain = (
    Tensor
    | Other
    | Config
    | Handle
    | bool
    | int
    | float
    | str
    | None
    | list["Plain"]
    | tuple["Plain", ...]
    | dict[str | int, "Plain"]
)


def plain(value: object, *, arrays: bool = False) -> Plain:
    """Copy a value out of student code, keeping plain data and nothing else.

    Exact types only: a subclass could carry lies in its methods. Parameters count as
    tensors. With `arrays`, NumPy arrays and scalars are taken as tensors too.
    """
    kind = type(value)
    if kind is Tensor or kind is torch.nn.Parameter:
        assert isinstance(value, Tensor)
        if value.layout is not torch.strided or value.is_quantized or value.is_meta:
            return Other("sparse, quantised or meta tensor")
        if value.numel() * value.element_size() > MAX_BYTES:  # an expanded tensor may claim anything
            return Other(f"tensor of {value.numel():,} numbers, which is too large")
        copy = Tensor.detach(value).cpu().clone()
        return copy.resolve_conj().resolve_neg() if copy.is_conj() or copy.is_neg() else copy
    if kind is int and abs(value) >= LARGEST_NUMBER:  # type: ignore[arg-type]
        return Other("whole number that is too large")
    if value is None or kind in (bool, int, float, str):
        return value  # type: ignore[return-value]
    if kind is list:
        return [plain(item, arrays=arrays) for item in value]  # type: ignore[attr-defined]
    if kind is tuple:
        return tuple(plain(item, arrays=arrays) for item in value)  # type: ignore[attr-defined]
    if kind is dict:
        if all(type(key) in (str, int) for key in value):  # type: ignore[attr-defined]
            return {key: plain(item, arrays=arrays) for key, item in value.items()}  # type: ignore[attr-defined]
        return Other("dict with keys that are neither text nor whole numbers")
    if arrays and (kind is np.ndarray or isinstance(value, np.number)):
        array = np.asarray(value)
        if array.dtype.kind in "fiub":
            return torch.from_numpy(array.copy())
    return Other(f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins."))
