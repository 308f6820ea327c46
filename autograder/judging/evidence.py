"""What holds and what fails, in words, for results that no known mistake explains.

Every sentence is a fact about the two tensors; none guesses at the code that made them. A fact that could be chance
(two axes of one size, a factor of one number) is not said. benchmarks/truth.py checks every sentence against the code
that it was said of: a new one needs its test there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import torch
from torch import Tensor

MOST = 2  # sentences; more would not be read


def sentences(actual: Tensor, expected: Tensor, axes: Sequence[str], allowed: float) -> list[str]:
    """At most two facts, the most telling first. Both tensors have the same shape."""
    mine, wanted = actual.double(), expected.double()
    if actual.is_complex() or mine.numel() < 2 or not bool(wanted.isfinite().all() and mine.isfinite().all()):
        return []
    names = axis_names(mine.dim(), axes)
    slack = max(allowed, 1e-5 * float(wanted.abs().max()))  # of what is like the right answer, but not it
    for whole in (_constant, _factor, _offset):
        if found := whole(mine, wanted, slack):
            return [found]
    if distinct_sizes(wanted.shape, axes):
        for story in (_swapped, _order, _shifted):
            if found := story(mine, wanted, names, slack):
                return [found]
    if found := _misplaced(mine, wanted, slack):
        return [found]
    return [*_where_right(mine, wanted, names, allowed), *_close(mine, wanted, allowed)][:MOST]


SQUARE = ("query", "key")  # axes of one size by nature: as many keys as queries


def distinct_sizes(shape: Sequence[int], axes: Sequence[str]) -> bool:
    """Can every axis be told from the others by its size? If not, axes that seem to trade places may be chance."""
    square = tuple(axes[-2:]) == SQUARE and len(shape) >= 2 and shape[-1] == shape[-2]
    sizes = [*shape[:-1]] if square else [*shape]
    return len(set(sizes)) == len(sizes)


def story(sentence: str) -> str:
    """What a sentence about a whole result says, numbers aside; '' if it is about a part of it.

    It is no story if another result of the same code does not tell it, too.
    """
    found = re.match(r"Right (?:up to|but)[^:\d]*|Right, but the [^\d]*|Every entry|All the right numbers", sentence)
    return found[0] if found else ""


def _distinct(slices: Tensor, slack: float) -> bool:
    """Are no two of these (count, size) alike? Else, which of them stands where cannot be told."""
    alike = ((slices[:, None] - slices[None]).abs() <= 2 * slack).all(-1)
    return int(alike.sum()) == len(slices)


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


def _constant(mine: Tensor, wanted: Tensor, slack: float) -> str:
    first = float(mine.flatten()[0]) + 0.0  # no -0
    return f"Every entry of yours is {first:g}." if bool((mine == first).all()) else ""


def _factor(mine: Tensor, wanted: Tensor, slack: float) -> str:
    """Right up to a factor, which is named if it is a number that one would know."""
    if len(set(wanted[wanted != 0].abs().tolist())) < 3:
        return ""  # one number is always right up to a factor
    place = int(wanted.abs().argmax())
    factor = float(mine.flatten()[place] / wanted.flatten()[place])
    if abs(factor) < 1e-6 or not _same(mine, factor * wanted, slack * abs(factor)):
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


def _offset(mine: Tensor, wanted: Tensor, slack: float) -> str:
    apart = mine - wanted
    mean = float(apart.mean())
    if abs(mean) <= slack or not _same(apart, torch.full_like(apart, mean), slack):
        return ""
    return f"Right up to a constant: every entry of yours is {abs(mean):.4g} too {'large' if mean > 0 else 'small'}."


def _swapped(mine: Tensor, wanted: Tensor, names: list[str], slack: float) -> str:
    """Queries and keys that have changed places; other axes of one size have it by chance."""
    if tuple(names[-2:]) == SQUARE and mine.shape[-1] == mine.shape[-2] > 1 and _same(mine.mT, wanted, slack):
        return f"Right but for two axes: {plural(names[-2])} and {plural(names[-1])} have changed places."
    return ""


def _order(mine: Tensor, wanted: Tensor, names: list[str], slack: float) -> str:
    """The right slices in another order."""
    for axis, name in enumerate(names):
        count = mine.shape[axis]
        a = mine.movedim(axis, 0).reshape(count, -1)
        b = wanted.movedim(axis, 0).reshape(count, -1)
        if not 2 <= count <= 64 or not _distinct(b, slack):
            continue
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
        if not 3 <= count <= 64 or not _distinct(wanted.movedim(axis, 0).reshape(count, -1), slack):
            continue
        for by in range(1, min(3, count - 1)):
            low, high = mine.narrow(axis, 0, count - by), mine.narrow(axis, by, count - by)
            early, late = wanted.narrow(axis, 0, count - by), wanted.narrow(axis, by, count - by)
            for moved, fits in (("late", _same(high, early, slack)), ("early", _same(low, late, slack))):
                if fits:
                    return f"Right, but the {plural(name)} are {by} place{'s' * (by > 1)} too {moved}."
    return ""


def _misplaced(mine: Tensor, wanted: Tensor, slack: float) -> str:
    a, b = mine.flatten().sort().values, wanted.flatten().sort().values
    spread = len(set(b.tolist())) > max(2, b.numel() // 2)  # a few values that repeat would say nothing
    return "All the right numbers, but at the wrong places." if spread and _same(a, b, slack) else ""


def _where_right(mine: Tensor, wanted: Tensor, names: list[str], allowed: float) -> list[str]:
    """Which slices are right, along each axis that tells; and whether the error grows along it."""
    wrong = (mine - wanted).abs() > allowed
    found = []
    for axis, name in enumerate(names):
        count = mine.shape[axis]
        if count < 2:
            continue
        others = [i for i in range(mine.dim()) if i != axis]
        bad = wrong.any(dim=others) if others else wrong
        right = [i for i in range(count) if not bad[i]]
        if not right or len(right) == count or all(_all_alike(wanted.select(axis, i)) for i in right):
            continue
        said = f"{_span(right, count, name)} {'is' if len(right) == 1 else 'are'} right"
        size = (mine - wanted).abs().amax(dim=others) if others else (mine - wanted).abs()
        grows = count >= 4 and right == [0] and bool((size[1:] > size[:-1]).all())
        found.append(f"{said}, and the error grows from {name} to {name}." if grows else f"{said}, the others are not.")
    return found or _share(wrong)


def _all_alike(part: Tensor) -> bool:
    """Of several numbers: whoever gets such a slice right may owe it to chance."""
    return part.numel() > 1 and bool((part == part.flatten()[0]).all())


def _share(wrong: Tensor) -> list[str]:
    right, count = int((~wrong).sum()), wrong.numel()
    percent = 100 * right // count
    return [f"{right} of {count} entries are right ({percent} %)."] if percent else []


def _span(places: Sequence[int], count: int, name: str) -> str:
    """'Feature 0 to 2, 5', or, of every other one of `count`, 'Feature 0, 2, … (every second)'."""
    if len(places) > 2 and list(places) == list(range(places[0], count, 2)) and places[0] < 2:
        return f"{name.capitalize()} {places[0]}, {places[1]}, … (every second)"
    runs: list[list[int]] = []
    for place in places:
        if runs and place == runs[-1][-1] + 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    if len(runs) > 3:
        return f"{len(places)} of {count} {plural(name)}"
    words = [str(run[0]) if len(run) == 1 else f"{run[0]} {'and' if len(run) == 2 else 'to'} {run[-1]}" for run in runs]
    return f"{name.capitalize()} {', '.join(words)}"


def _close(mine: Tensor, wanted: Tensor, allowed: float) -> list[str]:
    scale = float(wanted.abs().max())
    largest = float((mine - wanted).abs().max())
    if scale and allowed < largest <= 1e-2 * scale:
        return [f"Close: the largest error is {largest:.1e}, and {allowed:.1e} is allowed."]
    return []


def can_be_weights(weights: Tensor, rest: Tensor) -> bool:
    """Could an attention map be what it looks like: shares of the whole, and nothing where no token has a value?"""
    if not bool(weights.isfinite().all() and rest.isfinite().all()):
        return False
    off = max(float((weights - weights.clamp(0, 1)).abs().max()), float(rest.abs().max()) if rest.numel() else 0.0)
    return off <= 1e-4


def of_weights(weights: Tensor, causal: bool) -> str:
    """What an attention map says of itself: (…, queries, keys), of numbers that can be weights."""
    rows = weights.double()
    held, failed = [], []
    sums = rows.sum(-1)
    if _same(sums, torch.ones_like(sums), 1e-4):
        held.append("rows sum to 1")
    else:
        worst = int((sums - 1).abs().argmax())
        value = float(sums.flatten()[worst])
        failed.append(f"the weights of query {worst % rows.shape[-2]} sum to {value:.6g}, not 1")
        down = rows.sum(-2)
        if _same(down, torch.ones_like(down), 1e-4):
            failed[-1] = "columns sum to 1, rows do not"
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
