"""Compare a student's tensor with a reference tensor: type, shape, dtype, finiteness, values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from autograder.judging.evidence import axis_names, distinct_sizes, sentences
from autograder.judging.findings import Finding
from autograder.judging.pictures import maps
from autograder.running.plain import Other, Plain

SHOWN = 4  # at most so many numbers of a row are shown


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


def compare_form(
    name: str, actual: Plain, expected: Tensor, *, dtype: bool = True, axes: Sequence[str] = ()
) -> Finding | None:
    """Is it a tensor of the right shape and, if asked, dtype?"""
    if actual is None:
        return Finding("type", f"{name}: returned None", ("Did you forget the return?",))
    if not isinstance(actual, Tensor):
        hint = {
            "tuple": ("Return one tensor, not several.",),
            "list": ("torch.tensor, torch.stack or torch.cat makes one of a list.",),
            "numpy.ndarray": ("torch.from_numpy makes one of an array.",),
        }
        kind = type_name(actual)
        comma = ("It holds one thing: is there a comma at the end of the line?",)
        hints = comma if _of_one(actual) else hint.get(kind, ())
        return Finding("type", f"{name}: returned {kind}, expected a torch.Tensor", hints)
    if actual.shape != expected.shape:
        mine, wanted = tuple(actual.shape), tuple(expected.shape)
        return Finding("shape", f"{name}: shape {mine}, expected {wanted}", _shape_hint(actual, expected, axes))
    if dtype and actual.dtype != expected.dtype:
        hint_of_dtype = "Keep the dtype of the inputs." if actual.is_floating_point() else ""
        return Finding(
            "dtype",
            f"{name}: dtype {_short(actual.dtype)}, expected {_short(expected.dtype)}",
            (hint_of_dtype,) if hint_of_dtype else (),
        )
    return None


def _of_one(value: Plain) -> bool:
    return isinstance(value, tuple) and len(value) == 1


def _shape_hint(actual: Tensor, expected: Tensor, axes: Sequence[str]) -> tuple[str, ...]:
    """What a wrong shape looks like: axes in another order, merged, missing, or too many."""
    mine, wanted = tuple(actual.shape), tuple(expected.shape)
    names = axis_names(len(wanted), axes)
    said = f"Expected axes: {', '.join(names)}." if axes else ""
    clear = len(set(wanted)) == len(wanted)  # only then do sizes say which axis is which
    if sorted(mine) == sorted(wanted):
        if not clear:
            return ("As many axes as expected and of the right sizes, but in another order.", said)
        order = ", ".join(names[wanted.index(size)] for size in mine)
        if _equal(actual.permute([mine.index(size) for size in wanted]), expected):
            return (f"The axes are right, their order is not: yours are {order}.", said)
        return (f"The sizes are right, their order is not: yours are those of {order}.", said)
    if mine == wanted[1:] and distinct_sizes(wanted, axes):
        return (f"The first axis ({names[0]}) is missing.",)
    if tuple(size for size in mine if size != 1) == tuple(size for size in wanted if size != 1):
        count, how = abs(len(mine) - len(wanted)), "too many" if len(mine) > len(wanted) else "too few"
        one = "There is an axis" if count == 1 else f"There are {count} axes"
        return (f"{one} of size 1 {how}.",)
    if math.prod(mine) == math.prod(wanted):
        if _merged(wanted, mine):
            return ("As many entries as expected, but axes are merged.", said)
        if _merged(mine, wanted):
            return ("As many entries as expected, but axes are split.", said)
        return ("As many entries as expected, but other axes.", said)
    return (said,) if said else ()


def _equal(one: Tensor, other: Tensor) -> bool:
    return bool(torch.isclose(one.to(other.dtype), other, rtol=1e-4, atol=1e-5, equal_nan=True).all())


def _merged(before: tuple[int, ...], after: tuple[int, ...]) -> bool:
    """Does `after` follow from `before` by taking neighbouring axes together?"""
    if len(after) >= len(before):
        return False
    waiting = list(before)
    for size in after:
        product = 1
        while waiting and product < size:
            product *= waiting.pop(0)
        if product != size:
            return False
    return not waiting


def compare_values(
    name: str, actual: Plain, expected: Tensor, tolerance: Tolerance, axes: Sequence[str]
) -> Finding | None:
    """The whole comparison; `axes` names the last axes in the words of the handout."""
    form = compare_form(name, actual, expected, axes=axes)
    if form is not None:
        return form
    assert isinstance(actual, Tensor)
    if _plainly_close(actual, expected, tolerance):
        return None
    odd = ~actual.isfinite() & expected.isfinite()
    if odd.any():
        return _not_finite(name, actual, expected, odd, axes)
    allowed = tolerance.allowed(expected)
    wrong = ~((actual == expected) | ((actual - expected).abs() <= allowed))
    if not wrong.any():
        return None
    words = sentences(actual, expected, axes, allowed)
    evidence = (difference(actual, expected, worst_index(actual, expected), axes), *words)
    headline = f"{name}: right shape {tuple(actual.shape)}, wrong values"
    return Finding("values", headline, evidence, picture=maps(name, actual, expected, axes))


def _plainly_close(actual: Tensor, expected: Tensor, tolerance: Tolerance) -> bool:
    """Is there nothing more to look at? Quick, and never true of what the whole comparison would not pass."""
    if not expected.is_floating_point() or not expected.numel():
        return False
    scale = float(expected.abs().max())
    allowed = tolerance.relative * scale + tolerance.absolute
    # NaN and infinity, on either side, make a comparison false.
    return scale < math.inf and float((actual - expected).abs().max()) <= allowed


def _not_finite(name: str, actual: Tensor, expected: Tensor, odd: Tensor, axes: Sequence[str]) -> Finding:
    """NaN or infinity, where it first appears, and whether whole rows are lost."""
    index = first_index(odd)
    value = "NaN" if actual[index].isnan() else "infinity"
    evidence = [f"{int(odd.sum())} of {odd.numel()} entries are not finite; the first is at {spoken(index, axes)}."]
    if value == "NaN" and bool(actual[index[:-1]].isnan().all()) and actual.shape[-1] > 1:
        evidence.append("The whole row is NaN. 0/0 gives NaN, and inf - inf, and a softmax over nothing but -inf.")
    picture = maps(name, actual, expected, axes)
    return Finding("non-finite", f"{name}: {value} at {spoken(index, axes)}", tuple(evidence), picture=picture)


def difference(actual: Tensor, expected: Tensor, index: tuple[int, ...], axes: Sequence[str]) -> str:
    """Evidence at one place: the part of the row around it, yours against expected."""
    row = index[:-1]
    start = max(0, min(index[-1] - 1, actual.shape[-1] - SHOWN))
    place = spoken(row, axes[: max(0, len(axes) - 1)]) or "the row"
    if start:
        place += f", from {axes[-1] if axes else 'entry'} {start}"
    for digits in (3, 5, 8):  # as few as tell the two apart
        mine, wanted = (numbers(tensor[row], start, digits) for tensor in (actual, expected))
        if mine != wanted:
            break
    return f"{place}: yours {mine}, expected {wanted}"


def numbers(row: Tensor, start: int = 0, digits: int = 4) -> str:
    """A few numbers of a row, short enough to read."""
    shown = [f"{value:.{digits}g}" for value in row[start : start + SHOWN].double().tolist()]
    before, after = "… " if start else "", " …" if row.numel() > start + SHOWN else ""
    return f"[{before}{' '.join(shown)}{after}]"


def first_index(wrong: Tensor) -> tuple[int, ...]:
    return tuple(int(i) for i in torch.nonzero(wrong)[0])


def worst_index(actual: Tensor, expected: Tensor) -> tuple[int, ...]:
    """Where the two are furthest apart."""
    apart = torch.where(actual == expected, 0.0, (actual - expected).abs().double()).nan_to_num(nan=math.inf)
    return tuple(int(i) for i in torch.unravel_index(apart.argmax(), apart.shape))


def spoken(index: Sequence[int], axes: Sequence[str]) -> str:
    """An index in words: 'batch 0, head 1, token 2'. `axes` names the last axes."""
    return ", ".join(f"{name} {place}" for name, place in zip(axis_names(len(index), axes), index, strict=True))


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
