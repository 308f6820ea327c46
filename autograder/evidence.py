"""What holds and what fails, in words, for results that no known mistake explains.

Every sentence is a fact about the two tensors; none guesses at the code that made them.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

MOST = 2  # sentences; more would not be read


def sentences(actual: Tensor, expected: Tensor, axes: Sequence[str], allowed: float) -> list[str]:
    """At most two facts, the most telling first. Both tensors have the same shape and are finite where expected is."""
    mine, wanted = actual.double(), expected.double()
    if actual.is_complex() or not bool(wanted.isfinite().all()) or mine.numel() < 2:
        return []
    names = axis_names(mine.dim(), axes)
    slack = max(allowed, 1e-5 * float(wanted.abs().max()))
    for whole in (_constant, _factor, _offset, _swapped, _order, _shifted, _misplaced):
        found = whole(mine, wanted, names, slack)
        if found:
            return [found]
    return [*_where_right(mine, wanted, names, slack), *_close(mine, wanted, slack)][:MOST]


def axis_names(count: int, axes: Sequence[str]) -> list[str]:
    """A name for each of so many axes; `axes` names the last ones, those before are batch and heads."""
    unnamed = count - len(axes)
    if unnamed <= 0:
        return list(axes[-unnamed:])
    return [*(("batch", "head")[:unnamed] if unnamed <= 2 else [f"axis {i}:" for i in range(unnamed)]), *axes]


def plural(name: str) -> str:
    return {"batch": "batches", "query": "queries", "cos/sin": "cos and sin"}.get(name, f"{name}s")


def _same(one: Tensor, other: Tensor, slack: float) -> bool:
    return bool(((one - other).abs() <= slack).all())


def _constant(mine: Tensor, wanted: Tensor, names: list[str], slack: float) -> str:
    first = float(mine.flatten()[0])
    return f"Every entry of yours is {first:g}." if bool((mine == first).all()) else ""


def _factor(mine: Tensor, wanted: Tensor, names: list[str], slack: float) -> str:
    """Right up to a factor, which is named if it is a number that one would know."""
    place = int(wanted.abs().argmax())
    factor = float(mine.flatten()[place] / wanted.flatten()[place]) if float(wanted.abs().max()) else 0.0
    if abs(factor) < 1e-6 or not _same(mine, factor * wanted, slack * max(1.0, abs(factor))):
        return ""
    if abs(factor + 1) < 1e-5:
        return "Right but for the sign."
    return f"Right up to a factor of {factor:.4g}{_familiar(factor)}."


def _familiar(factor: float) -> str:
    for value, name in ((factor, "{}"), (1 / factor, "1/{}")):
        size = abs(value)
        sign = "-" if value < 0 else ""
        if abs(size - round(size)) <= 1e-4 * size and round(size) > 1:
            return f" = {sign}{name.format(round(size))}" if name != "{}" else ""
        square = size * size
        if abs(square - round(square)) <= 2e-4 * square and 1 < round(square) <= 1024:
            return f" ≈ {sign}{name.format(f'√{round(square)}')}"
    return ""


def _offset(mine: Tensor, wanted: Tensor, names: list[str], slack: float) -> str:
    apart = mine - wanted
    mean = float(apart.mean())
    if abs(mean) <= slack or not _same(apart, torch.full_like(apart, mean), slack):
        return ""
    return f"Right up to a constant: every entry of yours is {abs(mean):.4g} too {'large' if mean > 0 else 'small'}."


def _swapped(mine: Tensor, wanted: Tensor, names: list[str], slack: float) -> str:
    """Two axes of the same size that have changed places."""
    for i in range(mine.dim()):
        for j in range(i + 1, mine.dim()):
            if mine.shape[i] == mine.shape[j] and _same(mine.transpose(i, j), wanted, slack):
                return f"Right but for two axes: {plural(names[i])} and {plural(names[j])} have changed places."
    return ""


def _order(mine: Tensor, wanted: Tensor, names: list[str], slack: float) -> str:
    """The right slices in another order."""
    for axis, name in enumerate(names):
        count = mine.shape[axis]
        if not 2 <= count <= 64:
            continue
        a = mine.movedim(axis, 0).reshape(count, -1)
        b = wanted.movedim(axis, 0).reshape(count, -1)
        matches = ((a[:, None] - b[None]).abs() <= slack).all(-1)  # (mine, wanted)
        if not bool((matches.sum(0) == 1).all() and (matches.sum(1) == 1).all()):
            continue
        order = matches.double().argmax(1).tolist()
        if order == list(range(count))[::-1]:
            return f"Right, but the {plural(name)} stand in reverse order."
        if count <= 8:
            held = ", ".join(map(str, order))
            return f"Right up to the order of the {plural(name)}: yours hold those of {plural(name)} {held}."
        return f"Right up to the order of the {plural(name)}."
    return ""


def _shifted(mine: Tensor, wanted: Tensor, names: list[str], slack: float) -> str:
    """All slices moved by a few places along an axis."""
    for axis, name in enumerate(names):
        count = mine.shape[axis]
        for by in range(1, min(3, count - 1)):
            low, high = mine.narrow(axis, 0, count - by), mine.narrow(axis, by, count - by)
            early, late = wanted.narrow(axis, 0, count - by), wanted.narrow(axis, by, count - by)
            for moved, fits in (("late", _same(high, early, slack)), ("early", _same(low, late, slack))):
                if fits and not _same(early, late, slack):
                    return f"Right, but the {plural(name)} are {by} place{'s' * (by > 1)} too {moved}."
    return ""


def _misplaced(mine: Tensor, wanted: Tensor, names: list[str], slack: float) -> str:
    a, b = mine.flatten().sort().values, wanted.flatten().sort().values
    spread = len(set(b.tolist())) > max(2, b.numel() // 2)  # a few values that repeat would say nothing
    return "All the right numbers, but at the wrong places." if spread and _same(a, b, slack) else ""


def _where_right(mine: Tensor, wanted: Tensor, names: list[str], slack: float) -> list[str]:
    """Which slices are right, along the axis that tells most; and whether the error grows along it."""
    wrong = (mine - wanted).abs() > slack
    found = []
    for axis, name in enumerate(names):
        count = mine.shape[axis]
        if count < 2:
            continue
        others = [i for i in range(mine.dim()) if i != axis]
        bad = wrong.any(dim=others) if others else wrong
        right = [i for i in range(count) if not bad[i]]
        if not right or len(right) == count:
            continue
        said = f"{name.capitalize()} {_span(right)} {'is' if len(right) == 1 else 'are'} right"
        size = (mine - wanted).abs().amax(dim=others) if others else (mine - wanted).abs()
        grows = count >= 4 and right == [0] and bool((size[1:] >= size[:-1] * 0.999).all())
        found.append(f"{said}, and the error grows from {name} to {name}." if grows else f"{said}, the others are not.")
    share = 1 - float(wrong.double().mean())
    if not found and share >= 0.005:
        found.append(f"{100 * share:.0f} % of the entries are right.")
    return found


def _span(places: Sequence[int]) -> str:
    """0, 1, 2 and 5 as '0 to 2 and 5'; every other one as 'all even ones'."""
    if len(places) > 2 and places == list(range(places[0], places[-1] + 1, 2)) and places[0] < 2:
        return ", ".join(map(str, places[:2])) + ", … (every second)"
    runs: list[list[int]] = []
    for place in places:
        if runs and place == runs[-1][-1] + 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    words = [str(run[0]) if len(run) == 1 else f"{run[0]} {'and' if len(run) == 2 else 'to'} {run[-1]}" for run in runs]
    return ", ".join(words[:3]) + (", …" if len(words) > 3 else "")


def _close(mine: Tensor, wanted: Tensor, slack: float) -> list[str]:
    scale = float(wanted.abs().max())
    largest = float((mine - wanted).abs().max())
    if scale and slack < largest <= 1e-2 * scale:
        return [f"Close: no entry is off by more than {largest:.1e}, but {slack:.1e} is allowed."]
    return []


def of_weights(weights: Tensor, causal: bool) -> str:
    """What an attention map says of itself: (…, queries, keys)."""
    if not bool(weights.isfinite().all()):
        return ""
    rows = weights.double()
    held, failed = [], []
    sums = rows.sum(-1)
    if _same(sums, torch.ones_like(sums), 1e-4):
        held.append("rows sum to 1")
    else:
        worst = int((sums - 1).abs().reshape(-1, rows.shape[-2]).amax(0).argmax())
        value = float(sums.reshape(-1, rows.shape[-2])[:, worst].flatten()[0])
        failed.append(f"the weights of query {worst} sum to {value:.4g}, not 1")
        down = rows.sum(-2)
        if _same(down, torch.ones_like(down), 1e-4):
            failed[-1] = "columns sum to 1, not rows"
    if causal and rows.shape[-2] == rows.shape[-1]:
        ahead = rows.abs().reshape(-1, *rows.shape[-2:]).amax(0).triu(1)
        if float(ahead.max()) > 1e-6:
            query, key = divmod(int((ahead > 1e-6).flatten().double().argmax()), ahead.shape[-1])
            failed.append(f"query {query} attends to key {key}, which comes later")
        else:
            held.append("nobody looks ahead")
    if not failed:
        return ""
    return f"{', '.join([*held, ''])}{'but ' if held else ''}{' and '.join(failed)}.".capitalize()
