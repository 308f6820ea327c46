"""Compare a student's tensor with a reference tensor: type, shape, dtype, finiteness, values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from autograder.findings import Finding
from autograder.plain import Other, Plain

SHOWN = 5  # at most so many numbers of a row are shown


@dataclass(frozen=True)
class Tolerance:
    """How far values may be off: a share of the largest expected magnitude, plus a constant."""

    relative: float = 1e-5
    absolute: float = 0.0

    def allowed(self, expected: Tensor) -> float:
        finite = expected[expected.isfinite()]
        scale = float(finite.abs().max()) if finite.numel() else 0.0
        return self.relative * scale + self.absolute


def type_name(value: Plain) -> str:
    """How a value's type is called in a message."""
    if isinstance(value, Tensor):
        return "torch.Tensor"
    return value.type_name if isinstance(value, Other) else type(value).__name__


def compare_form(name: str, actual: Plain, expected: Tensor, *, dtype: bool = True) -> Finding | None:
    """Is it a tensor of the right shape and, if asked, dtype?"""
    if actual is None:
        return Finding("type", f"{name}: returned None", ("Did you forget the return?",))
    if not isinstance(actual, Tensor):
        return Finding("type", f"{name}: returned {type_name(actual)}, expected a torch.Tensor")
    if actual.shape != expected.shape:
        mine, wanted = tuple(actual.shape), tuple(expected.shape)
        hint = ("The axes are right, their order is not.",) if sorted(mine) == sorted(wanted) else ()
        return Finding("shape", f"{name}: shape {mine}, expected {wanted}", hint)
    if dtype and actual.dtype != expected.dtype:
        return Finding("dtype", f"{name}: dtype {_short(actual.dtype)}, expected {_short(expected.dtype)}")
    return None


def compare_values(
    name: str, actual: Plain, expected: Tensor, tolerance: Tolerance, axes: Sequence[str]
) -> Finding | None:
    """The whole comparison; `axes` names the last axes in the words of the handout."""
    form = compare_form(name, actual, expected)
    if form is not None:
        return form
    assert isinstance(actual, Tensor)
    odd = ~actual.isfinite() & expected.isfinite()
    if odd.any():
        index = first_index(odd)
        value = "NaN" if actual[index].isnan() else "infinity"
        many = int(odd.sum())
        return Finding(
            "non-finite",
            f"{name}: {value} at {spoken(index, axes)}",
            (f"{many} of {odd.numel()} entries are not finite.",),
        )
    wrong = ~((actual == expected) | ((actual - expected).abs() <= tolerance.allowed(expected)))
    if not wrong.any():
        return None
    right = 1 - float(wrong.double().mean())
    evidence = [
        difference(actual, expected, first_index(wrong), axes),
        f"{right:.0%} of the entries are right." if right >= 0.005 else "No entry is right.",
    ]
    return Finding("values", f"{name}: right shape {tuple(actual.shape)}, wrong values", tuple(evidence))


def difference(actual: Tensor, expected: Tensor, index: tuple[int, ...], axes: Sequence[str]) -> str:
    """Evidence at one place: the row that holds it, yours against expected."""
    row = index[:-1]
    start = min(index[-1], max(0, actual.shape[-1] - SHOWN)) if actual.shape[-1] > SHOWN else 0
    place = spoken(row, axes[: max(0, len(axes) - 1)]) or "the row"
    if start:
        place += f", from {axes[-1] if axes else 'entry'} {start}"
    return f"{place}: yours {numbers(actual[row], start)}, expected {numbers(expected[row], start)}"


def numbers(row: Tensor, start: int = 0) -> str:
    """A few numbers of a row, short enough to read."""
    shown = [f"{value:.4g}" for value in row[start : start + SHOWN].double().tolist()]
    before, after = "… " if start else "", " …" if row.numel() > start + SHOWN else ""
    return f"[{before}{' '.join(shown)}{after}]"


def first_index(wrong: Tensor) -> tuple[int, ...]:
    return tuple(int(i) for i in torch.nonzero(wrong)[0])


def spoken(index: Sequence[int], axes: Sequence[str]) -> str:
    """An index in words: 'batch 0, head 1, token 2'. `axes` names the last axes."""
    unnamed = len(index) - len(axes)
    names = [f"axis {i}" for i in range(unnamed)] + list(axes[max(0, -unnamed) :])
    return ", ".join(f"{name} {place}" for name, place in zip(names, index, strict=True))


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
