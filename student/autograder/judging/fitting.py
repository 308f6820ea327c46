"""Numbers fitted to wrong results: a scale, a shift, a power. What fits every case is said, with the number.

Each family is a set of facts about results, not about the code that made them. A fit may also be one of the known
mistakes, whose slug it then gives: rounding of large angles, say, hides it from a comparison of values.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from autograder.judging.references import Case

Outputs = Sequence[tuple[Case, Tensor]]
CLOSE = 1e-4


@dataclass(frozen=True)
class Fit:
    """A sentence that holds for every case, and the known mistake that it is, if it is one ("without_root")."""

    says: str
    known: str = ""


def fitted(exercise: str, outputs: Outputs, weights: Sequence[tuple[Case, Tensor, Tensor]] = ()) -> Fit | None:
    """What explains all outputs; `weights` are those that can be read off them, with those expected."""
    found = half_precision(outputs)
    if (
        found is None
        and exercise in FAMILIES
        and all(output.is_floating_point() or exercise == MASK for _, output in outputs)
    ):
        found = FAMILIES[exercise](outputs)
    return found or (scale_of_scores(weights) if weights else None)


def half_precision(outputs: Outputs) -> Fit | None:
    """Are all results nearly right, and numbers that half precision holds, though those expected are not?"""
    if not all(_nearly(out, case.expected) for case, out in outputs):
        return None
    for dtype in (torch.float16, torch.bfloat16):
        if all(_holds(out, dtype) for _, out in outputs) and not all(
            _holds(case.expected, dtype) for case, _ in outputs
        ):
            name = str(dtype).removeprefix("torch.")
            return Fit(f"All your numbers are as coarse as {name}.", "in_half_precision")
    return None


def _nearly(out: Tensor, expected: Tensor) -> bool:
    """Off by less than two per cent of the largest, which is what half precision may cost."""
    if out.dtype != torch.float32 or out.shape != expected.shape or expected.dtype != torch.float32:
        return False
    finite = expected.isfinite()
    kept = expected[finite]
    return not kept.numel() or bool(((out[finite] - kept).abs() <= 0.02 * kept.abs().max()).all())


def _holds(tensor: Tensor, dtype: torch.dtype) -> bool:
    kept = tensor[tensor.isfinite()]
    return bool((kept.to(dtype).to(kept.dtype) == kept).all())


# ── Scales ─────────────────────────────────────────────────────────────────────────────

POWERS = (-1.0, -0.5, 0.0, 0.5, 1.0)


def scale(outputs: Outputs) -> Fit | None:
    """A result that is the input times a factor made of the sizes, or times a number."""
    factors, sizes = [], []
    for case, out in outputs:
        scores = case.tensor("A").double()
        if out.shape != scores.shape:
            return None
        factor = float((out.double() * scores).sum() / (scores * scores).sum())
        if not factor or not torch.allclose(
            out.double(), factor * scores, rtol=CLOSE, atol=1e-5 * float(out.abs().max())
        ):
            return None
        factors.append(factor)
        sizes.append({"n_embd": case.number("n_embd"), "n_heads": case.number("n_heads"), "tokens": scores.shape[-1]})
    wanted = "it should be A / √(n_embd / n_heads)."
    sign = "-" if all(factor < 0 for factor in factors) else ""
    factors = [abs(factor) for factor in factors] if sign else factors
    formula = product_of_sizes(factors, sizes) if min(factors) > 0 else ""
    if formula:
        return Fit(f"Your result is {sign}A {formula}; {wanted}")
    if max(factors) - min(factors) <= CLOSE * abs(factors[0]):
        return Fit(f"Your result is {sign}A / {_number(1 / factors[0])}, whatever n_embd and n_heads are; {wanted}")
    return None


def product_of_sizes(factors: Sequence[float], sizes: Sequence[Mapping[str, int]]) -> str:
    """'/ (n_embd · √n_heads)': the simplest product of powers of the sizes that gives every factor."""
    names = list(sizes[0])
    for powers in sorted(itertools.product(POWERS, repeat=len(names)), key=lambda several: sum(map(abs, several))):
        if any(powers) and all(
            abs(factor / math.prod(size[name] ** power for name, power in zip(names, powers, strict=True)) - 1) < CLOSE
            for factor, size in zip(factors, sizes, strict=True)
        ):
            above = [_power(name, power) for name, power in zip(names, powers, strict=True) if power > 0]
            below = [_power(name, -power) for name, power in zip(names, powers, strict=True) if power < 0]
            said = f"· {' · '.join(above)}" if above else ""
            under = f"/ {below[0] if len(below) == 1 else '(' + ' · '.join(below) + ')'}" if below else ""
            return " ".join(part for part in (said, under) if part)
    return ""


def _power(name: str, power: float) -> str:
    return {1.0: name, 0.5: f"√{name}"}[power]


def _number(value: float) -> str:
    """A number, and the root that it is, if it is one."""
    square = value * value
    root = abs(square - round(square)) < 1e-3 and round(square) > 1 and abs(value - round(value)) > 1e-3
    return f"√{round(square)}" if root else f"{value:.4g}"


def scale_of_scores(weights: Sequence[tuple[Case, Tensor, Tensor]]) -> Fit | None:
    """Weights that are right but for the factor of the scores behind them: their logarithms differ by that factor."""
    said = ""
    for case, mine, wanted in weights:
        factor = _factor_of_logs(mine.double(), wanted.double())
        if factor is None:
            return None
        heads = case.number("n_heads" if "n_heads" in case.arguments else "n_head")
        width, tokens = next(iter(case.arguments.values())).shape[-1], mine.shape[-1]  # type: ignore[union-attr]
        size = width // heads
        divisor = math.sqrt(size) / factor
        names = {
            "n_embd": width,
            "√n_embd": math.sqrt(width),
            "the number of heads": heads,
            "√(number of heads)": math.sqrt(heads),
            "the number of tokens": tokens,
            "√(number of tokens)": math.sqrt(tokens),
            "the head size": size,
        }
        alike = [name for name, value in names.items() if abs(divisor / value - 1) < 1e-3]
        known = f", which is {' and '.join(alike)} here" if alike else ""
        said = said or (
            f"Your scores are divided by {_number(divisor)}{known};"
            f" with {heads} heads of size {size} it should be √{size}."
        )
    return Fit(said) if said else None


def temperature(outputs: Outputs) -> Fit | None:
    """Weights that are the softmax of the scores times a number."""
    if any(out.shape != case.expected.shape for case, out in outputs):
        return None
    told = [
        _factor_of_logs(out.double(), case.expected.double())
        for case, out in outputs
        if out.shape[-1] > 1 and float(case.tensor("A")[case.tensor("A").isfinite()].abs().max()) < 100
    ]
    factors = [factor for factor in told if factor is not None]
    if len(factors) < 2 or len(factors) < len(told) - 1 or max(factors) - min(factors) > 1e-3 * max(factors):
        return None  # of scores that are all equal, as in a case for people to read, nothing can be told
    known = ", as powers of 2 instead of e would give" if abs(factors[0] - math.log(2)) < 1e-3 else ""
    return Fit(
        f"Your weights are the softmax of {factors[0]:.4g} times the scores{known}; take the scores as they are."
    )


def _factor_of_logs(mine: Tensor, wanted: Tensor) -> float | None:
    """c, if mine is softmax(c · scores) where wanted is softmax(scores)."""
    if mine.shape != wanted.shape or not bool(((mine > 0) == (wanted > 0)).all()) or bool((mine < 0).any()):
        return None
    sums = mine.sum(-1)
    if not torch.allclose(sums, torch.ones_like(sums), atol=1e-4):
        return None
    open_ = wanted > 0
    first = wanted.argmax(-1, keepdim=True)
    apart = [torch.where(open_, (part / part.gather(-1, first)).log(), 0.0) for part in (mine, wanted)]
    if float((apart[1] ** 2).sum()) < 1e-6:
        return None
    factor = float((apart[0] * apart[1]).sum() / (apart[1] ** 2).sum())
    # Logarithms of tiny weights are inexact; compare where they can be told.
    sure = open_ & (mine > 1e-5) & (wanted > 1e-5)
    fits = torch.allclose(apart[0][sure], factor * apart[1][sure], rtol=1e-3, atol=1e-3)
    return factor if fits and factor > 0 and abs(factor - 1) > 1e-3 else None


# ── Masks ──────────────────────────────────────────────────────────────────────────────

MASK = "make_causal_mask"


def triangle(outputs: Outputs) -> Fit | None:
    """A triangle whose diagonal is moved, or a band of a certain width."""
    masks = []
    for case, out in outputs:
        if out.is_complex() or out.shape != case.expected.shape or not bool(((out == 0) | (out == 1)).all()):
            return None
        masks.append(out.bool())
    for by in (1, 2, 3, 4, -1, -2, -3, -4):
        if all(torch.equal(mask, torch.ones_like(mask).tril(by)) for mask in masks):
            if by > 0:
                return Fit(f"Each token sees the {by} after it, too: your diagonal is {by}; it should be 0.")
            return Fit(f"Each token sees only what is {-by} or more before it: your diagonal is {by}; it should be 0.")
        if all(torch.equal(mask, torch.ones_like(mask).triu(by)) for mask in masks):
            return Fit(
                f"Your mask is an upper triangle (diagonal {by}): tokens see the future. It should be the lower one."
            )
    for width in (2, 3, 4, 5, 8):
        if all(torch.equal(mask, torch.ones_like(mask).tril().triu(1 - width)) for mask in masks):
            return Fit(f"Each token sees the last {width} tokens only; all of the past is allowed.")
    return None


def fill(outputs: Outputs) -> Fit | None:
    """Scores that are all right where attending is allowed, and one number where it is not."""
    seen: set[float] = set()
    for case, out in outputs:
        allowed = case.expected.isfinite()
        if out.shape != allowed.shape or not torch.equal(out[allowed], case.expected[allowed]):
            return None
        seen |= set(out[~allowed].double().tolist())
    if len(seen) != 1:
        return None
    (number,) = seen
    known = "zeros_instead" if abs(number) < 1e-3 else "not_low_enough" if number < 0 else ""
    return Fit(
        f"You put {number:g} where attending is forbidden; put -inf there.", known if math.isfinite(number) else ""
    )


# ── Rotations ──────────────────────────────────────────────────────────────────────────

BASE = 10000.0
KNOWN = {  # (base, sign, factor, first i, first position) -> the mistake
    (BASE, 1, 2, 0, 0): "positive_exponent",
    (BASE, -1, 2, -1, 0): "subtracts_1_from_0",
    (BASE, -1, 2, 1, 0): "theta_starts_at_1",
    (BASE, -1, 1, 0, 0): "exponent_without_2",
    (BASE, -1, 4, 0, 0): "steps_of_two_twice",
    (BASE, -1, 2, 0, 1): "positions_start_at_1",
}


def angles(outputs: Outputs) -> Fit | None:
    """The base and the exponent of θ, recovered from the first positions, and the position that comes first."""
    if all(_as_if_swapped(case, out) for case, out in outputs):
        return Fit("Your table is the one for dim and max_positions swapped.", "arguments_swapped")
    if any(out.shape != case.expected.shape for case, out in outputs):
        return None
    tables = [(case.number("dim"), out.double()) for case, out in outputs]
    for swapped, base, (sign, factor, first, start) in itertools.product(
        (False, True), _bases(tables), itertools.product((-1, 1), (2, 1, 4), (0, -1, 1), (0, 1, -1, 2))
    ):
        right = (base, sign, factor, first, start) == (BASE, -1, 2, 0, 0)
        if right and not swapped:
            continue
        if all(_turns(table, dim, swapped, base, sign * factor, first, start) for dim, table in tables):
            said = [] if right else [_said(base, sign, factor, first, start)]
            said += ["The last axis must be [cos, sin], not [sin, cos]."] if swapped else []
            known = "" if swapped else KNOWN.get((base, sign, factor, first, start), "")
            return Fit(" ".join(said), "sin_before_cos" if swapped and right else known)
    return None


def _as_if_swapped(case: Case, out: Tensor) -> bool:
    dim, positions = case.number("dim"), case.number("max_positions")
    return (
        out.dim() == 3 and out.shape[0] == dim != positions and out.shape[1] in (positions // 2, (positions + 1) // 2)
    )


def _bases(tables: Sequence[tuple[int, Tensor]]) -> Iterator[float]:
    """10000, and the base that the second θ of some table would come from."""
    yield BASE
    for dim, table in tables:
        if table.shape[0] > 1 and table.shape[1] > 1:
            theta = float(torch.atan2(table[1, 1, 1], table[1, 1, 0]))
            if 0 < theta < 1:
                exact = theta ** (-dim / 2)
                base = next(one for one in (float(f"{exact:.3g}"), math.e, exact) if abs(exact / one - 1) < 1e-4)
                if abs(base / BASE - 1) > 1e-2:
                    yield base
                return


def _turns(table: Tensor, dim: int, swapped: bool, base: float, power: int, first: int, start: int) -> bool:
    """Is it a table of these angles? Those that are so large that float32 rounds them are left out."""
    pairs = torch.arange(dim // 2, dtype=torch.float64) + first
    turned = (torch.arange(table.shape[0], dtype=torch.float64) + start)[:, None] * base ** (power * pairs / dim)
    small = turned.abs() < 300
    cos, sin = table.unbind(-1) if not swapped else table.flip(-1).unbind(-1)
    off = torch.maximum((cos - turned.cos()).abs(), (sin - turned.sin()).abs())[small]
    return bool((off < 1e-3).all())


def _said(base: float, sign: int, factor: int, first: int, start: int) -> str:
    counted = "i" if not first else f"(i {'+' if first > 0 else '-'} {abs(first)})"
    power = f"{'-' if sign < 0 else ''}{'' if factor == 1 else factor}{counted}/dim"
    said = []
    if (base, sign, factor, first) != (BASE, -1, 2, 0):
        said.append(f"With i from 0, your θ is {base:g}^({power}); it should be 10000^(-2i/dim).")
    if start:
        said.append(f"Your first position is {start}; it should be 0.")
    return " ".join(said)


FAMILIES: Mapping[str, Callable[[Outputs], Fit | None]] = {
    "attn_scaled": scale,
    "attn_softmax": temperature,
    MASK: triangle,
    "apply_causal_mask": fill,
    "precompute_rotary_emb": angles,
}
