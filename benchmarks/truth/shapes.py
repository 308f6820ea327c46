"""Shapes."""

from __future__ import annotations

import itertools
import math
import re

from torch import Tensor

from benchmarks.truth.said import Told, claims
from benchmarks.truth.witness import alike


@claims(r"The axes are right, their order is not(?:: yours are (?P<order>.+))?\.")
def _axes_moved(about: Told, match: re.Match[str]) -> bool:
    if match["order"]:
        names, mine = about.names(about.wanted.dim()), match["order"].split(", ")
        orders = [[mine.index(name) for name in names]]
    else:
        orders = _permutations(about.wanted.dim())
    return any(
        all(mine.dim() == len(order) and alike(mine.permute(order), wanted) for mine, wanted in about.tensors())
        for order in orders
    )


def _permutations(count: int) -> list[list[int]]:
    return [list(order) for order in itertools.permutations(range(count))]


@claims(r"The sizes are right, their order is not: yours are those of (?P<order>.+)\.")
def _sizes_moved(about: Told, match: re.Match[str]) -> bool:
    names = about.names(about.wanted.dim())
    return tuple(about.wanted.shape[names.index(name)] for name in match["order"].split(", ")) == tuple(
        about.mine.shape
    )


@claims(r"As many axes as expected and of the right sizes, but in another order\.")
def _sizes_somehow(about: Told, match: re.Match[str]) -> bool:
    return sorted(about.mine.shape) == sorted(about.wanted.shape) and about.mine.shape != about.wanted.shape


@claims(r"The first axis \((?P<name>\w+)\) is missing\.")
def _first_missing(about: Told, match: re.Match[str]) -> bool:
    named = about.names(about.wanted.dim())[0] == match["name"]
    return named and all(mine.shape == wanted.shape[1:] for mine, wanted in about.tensors())


@claims(r"There (?:is an axis|are (?P<count>\d+) axes) of size 1 too (?P<way>many|few)\.")
def _axes_of_one(about: Told, match: re.Match[str]) -> bool:
    mine, wanted = list(about.mine.shape), list(about.wanted.shape)
    more = (len(mine) - len(wanted)) * (1 if match["way"] == "many" else -1)
    return [s for s in mine if s != 1] == [s for s in wanted if s != 1] and more == int(match["count"] or 1)


@claims(r"As many entries as expected, but (?P<how>axes are merged|axes are split|other axes)\.")
def _other_axes(about: Told, match: re.Match[str]) -> bool:
    mine, wanted = tuple(about.mine.shape), tuple(about.wanted.shape)
    if math.prod(mine) != math.prod(wanted):
        return False
    if match["how"] == "other axes":
        return True
    return mine in _groups(wanted) if "merged" in match["how"] else wanted in _groups(mine)


def _groups(sizes: tuple[int, ...]) -> set[tuple[int, ...]]:
    """Every shape that comes of taking neighbouring axes together."""
    if len(sizes) < 2:
        return {sizes}
    return {(math.prod(sizes[:cut]), *rest) for cut in range(1, len(sizes)) for rest in _groups(sizes[cut:])} | {
        (math.prod(sizes),)
    }


@claims(r"Expected axes: (?P<names>.+)\.")
def _expected_axes(about: Told, match: re.Match[str]) -> bool:
    return match["names"].split(", ") == about.names(about.wanted.dim())


@claims(r"\w+: the result must be a tensor with the shape of its input")
def _shape_of_input(about: Told, match: re.Match[str]) -> bool:
    return any(
        not isinstance(mine, Tensor) or mine.shape != about.witness.wanted(about.exercise, case).shape
        for case, mine in zip(about.cases(), about.witness.made(about.exercise, about.part), strict=True)
    )
