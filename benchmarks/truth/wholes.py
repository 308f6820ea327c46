"""Facts about a whole result: right but for something."""

from __future__ import annotations

import math
import re

import torch

from benchmarks.truth.said import PLURALS, Told, axis_of, claims, compared
from benchmarks.truth.witness import alike, allowed_error, apart


@claims(r"Every entry of yours is (?P<value>\S+)\.")
def _constant(about: Told, match: re.Match[str]) -> bool:
    return bool((about.mine.double() - float(match["value"])).abs().max() <= 1e-5 * abs(float(match["value"])))


@claims(r"Right up to a factor of (?P<factor>[\d.e+-]+?)(?: (?:=|≈) (?P<name>\S+))?\.")
def _factor(about: Told, match: re.Match[str]) -> bool:
    factor, mine, wanted = float(match["factor"]), about.mine.double(), about.wanted.double()
    several = len({round(value, 9) for value in wanted.abs().flatten().tolist() if value}) > 1
    fits = bool((mine - factor * wanted).abs().max() <= 2e-3 * abs(factor) * wanted.abs().max())
    return several and fits and (not match["name"] or abs(_value(match["name"]) - factor) <= 1e-3 * abs(factor))


def _value(name: str) -> float:
    sign, over, root, number = re.fullmatch(r"(-?)(1/)?(√)?(\d+)", name).groups()  # type: ignore[union-attr]
    value = math.sqrt(int(number)) if root else float(number)
    return (-1 if sign else 1) * (1 / value if over else value)


@claims(r"Right but for the sign\.")
def _sign(about: Told, match: re.Match[str]) -> bool:
    return alike(-about.mine, about.wanted)


@claims(r"Right up to a constant: every entry of yours is (?P<by>\S+) too (?P<way>large|small)\.")
def _offset(about: Told, match: re.Match[str]) -> bool:
    by = float(match["by"]) * (1 if match["way"] == "large" else -1)
    return bool((about.mine.double() - about.wanted.double() - by).abs().max() <= 1e-3 * abs(by))


@claims(r"Right but for two axes: (?P<one>.+) and (?P<other>.+) have changed places\.")
def _swapped(about: Told, match: re.Match[str]) -> bool:
    return all(
        alike(mine.transpose(*(axis_of(match[i], about, mine.dim()) for i in (1, 2))), wanted)
        for mine, wanted in about.tensors()
    )


@claims(r"Right, but the (?P<axis>.+) stand in reverse order\.")
def _reversed(about: Told, match: re.Match[str]) -> bool:
    return all(alike(mine.flip(axis_of(match["axis"], about, mine.dim())), wanted) for mine, wanted in about.tensors())


@claims(r"Right up to the order of the (?P<axis>[\w/ ]+?)(?:: yours hold those of [\w/ ]+? (?P<order>[\d, ]+))?\.")
def _order(about: Told, match: re.Match[str]) -> bool:
    axis = axis_of(match["axis"], about, about.mine.dim())
    if match["order"]:
        order = [int(place) for place in match["order"].split(", ")]
        return alike(about.mine, about.wanted.index_select(axis, torch.tensor(order)))
    mine, wanted = (tensor.movedim(axis, 0).flatten(1) for tensor in (about.mine, about.wanted))
    return all(any(alike(one, other) for other in wanted) for one in mine)


@claims(r"Right, but the (?P<axis>.+) are (?P<by>\d) places? too (?P<way>late|early)\.")
def _shifted(about: Told, match: re.Match[str]) -> bool:
    by, fits = int(match["by"]), []
    for mine, wanted in about.tensors():
        axis = axis_of(match["axis"], about, mine.dim())
        rest = mine.shape[axis] - by
        if rest > 0:
            first, second = (mine, wanted) if match["way"] == "late" else (wanted, mine)
            fits.append(alike(first.narrow(axis, by, rest), second.narrow(axis, 0, rest)))
    return all(fits) and bool(fits)


@claims(r"All the right numbers, but at the wrong places\.")
def _misplaced(about: Told, match: re.Match[str]) -> bool:
    return alike(about.mine.flatten().sort().values, about.wanted.flatten().sort().values)


@claims(
    r"(?:(?P<name>[A-Z][\w/]*) (?P<places>[\d, toand]+?)(?P<second>, … \(every second\))?"
    r"|(?P<count>\d+) of (?P<all>\d+) (?P<many>\w+))"
    r" (?:is|are) right, (?P<rest>the others are not|and the error grows from .+)\."
)
def _slices(about: Told, match: re.Match[str]) -> bool:
    raw = about.witness.mine(about.exercise, about.part, about.about), about.witness.wanted(about.exercise, about.about)
    found = []
    gradient = "the gradient of" in about.saying.headline
    shown = [compared(about)] if gradient else [(about.mine, about.wanted), *([raw] if about.weights else [])]
    for mine, wanted in shown:
        plain = Told(about.saying, about.witness, about.case, about.weights and mine is about.mine)
        name = (match["name"] or "").lower() or PLURALS.get(match["many"], match["many"].removesuffix("s"))
        if name not in plain.names(mine.dim()):
            continue
        axis = plain.names(mine.dim()).index(name)
        error = apart(mine, wanted).movedim(axis, 0).flatten(1).amax(1)
        allowed = 1e-3 * float(wanted.abs().max()) if gradient else allowed_error(about.exercise, wanted)
        right = {i for i, one in enumerate(error.tolist()) if one <= allowed * 1.001}
        if match["count"]:
            found.append([len(right), len(error)] == [int(match["count"]), int(match["all"])])
            continue
        said = _places(match["places"])
        if match["second"]:
            said = set(range(min(said), len(error), 2))
        grows = "grows" not in match["rest"] or bool((error[1:] > error[:-1]).all())
        found.append(said == right and grows)
    return any(found)


def _places(text: str) -> set[int]:
    places: set[int] = set()
    for part in text.split(", "):
        ends = [int(number) for number in re.findall(r"\d+", part)]
        places |= set(range(ends[0], ends[-1] + 1))
    return places


@claims(r"(?P<right>\d+) of (?P<all>\d+) entries are right \((?P<percent>\d+) %\)\.")
def _entries(about: Told, match: re.Match[str]) -> bool:
    mine, wanted = compared(about)
    gradient = "the gradient of" in about.saying.headline
    raw = about.witness.mine(about.exercise, about.part, about.about), about.witness.wanted(about.exercise, about.about)
    for one, other in [(mine, wanted), *([raw] if about.weights else [])]:
        allowed = 1e-3 * float(other.abs().max()) if gradient else allowed_error(about.exercise, other)
        right = int((apart(one, other) <= allowed).sum())
        if [right, one.numel()] == [int(match["right"]), int(match["all"])]:
            return True
    return False


@claims(r"(?P<percent>\d+) % of the entries are right\.")
def _share(about: Told, match: re.Match[str]) -> bool:
    raw = about.witness.mine(about.exercise, about.part, about.about), about.witness.wanted(about.exercise, about.about)
    share = float((apart(*raw) <= allowed_error(about.exercise, raw[1])).double().mean())
    return abs(100 * share - int(match["percent"])) <= 1 and int(match["percent"]) < 100


@claims(
    r"Close: (?:no entry is off by more than|the largest error is) (?P<most>\S+), "
    r"(?:but|and) (?P<allowed>\S+) is allowed\."
)
def _close(about: Told, match: re.Match[str]) -> bool:
    largest, allowed = float(apart(about.mine, about.wanted).max()), allowed_error(about.exercise, about.wanted)
    return (
        abs(float(match["most"]) - largest) <= 0.06 * largest
        and abs(float(match["allowed"]) - allowed) <= 0.06 * allowed
    )
