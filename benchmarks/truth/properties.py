"""Properties that a result must have, tried out on the mutant."""

from __future__ import annotations

import re

import torch
from torch import Tensor

from benchmarks.truth.said import Told, claims, compared, is_number, merged, place_in, shown
from benchmarks.truth.witness import Raised, alike, identical


@claims(r"\w+: token (?P<token>\d+) depends on the future")
def _future(about: Told, match: re.Match[str]) -> bool:
    return about.witness.sees_the_future(about.exercise, about.about, int(match["token"]))


@claims(r"Changing only token (?P<last>\d+) changed the output of token (?P<token>\d+)\.")
def _changed(about: Told, match: re.Match[str]) -> bool:
    given = about.about.arguments.get("x", about.about.arguments.get("Q"))
    return int(match["last"]) == given.shape[1] - 1 and _future(about, match)


@claims(r"\w+: the order of keys matters, though nothing is masked|Keys and values were moved together .+")
def _order_matters(about: Told, match: re.Match[str]) -> bool:
    return not about.about.arguments["causal"] and about.witness.minds_the_order(about.about)


@claims(r"\w+: an input was written to")
def _written(about: Told, match: re.Match[str]) -> bool:
    return about.witness.writes(about.exercise, about.about)


@claims(r"\w+: no gradient reaches (?P<name>[\w.]+)")
def _no_gradient(about: Told, match: re.Match[str]) -> bool:
    codes = about.witness.mutant, about.witness.solution
    mine, wanted = (about.witness.gradient(code, about.exercise, about.about, match["name"]) for code in codes)
    return (mine is None or not mine.any()) and wanted is not None and bool(wanted.any())


@claims(r"\w+: the gradient of (?P<name>[\w.]+) is not the derivative of the result")
def _wrong_gradient(about: Told, match: re.Match[str]) -> bool:
    mine, wanted = compared(about)
    return not alike(mine, wanted) and about.witness.right(about.exercise, about.part, about.about)


@claims(r"\w+: gradients are (?:checked once the values are right|not checked yet: the values are not right)")
def _gradients_wait(about: Told, match: re.Match[str]) -> bool:
    return not about.witness.all_right(about.exercise, about.part)


@claims(
    r"\w+: (?:not checked: the result holds NaN or infinity|NaN or infinity for large scores"
    r"|the result holds NaN or infinity)"
)
def _nan_waits(about: Told, match: re.Match[str]) -> bool:
    mine = about.mine
    large = max(
        float(v.nan_to_num(neginf=0).abs().max()) for v in about.about.arguments.values() if isinstance(v, Tensor)
    )
    # The older sentence speaks of large scores, whatever they are.
    return not bool(mine.isfinite().all()) and ("large scores" not in match[0] or large >= 1e3)


@claims(
    r"\w+: two calls (?:with the same tensors differ: something in it is random|in evaluation mode differ)"
    r"|Dropout that is on, .+"
)
def _random(about: Told, match: re.Match[str]) -> bool:
    return about.witness.random(about.exercise, about.part)


@claims(r"apply_rotary_emb: position 0 must stay as it is")
def _position_0(about: Told, match: re.Match[str]) -> bool:
    return not alike(about.mine[..., 0, :], about.about.arguments["x"][..., 0, :])


@claims(r"apply_rotary_emb: a rotation keeps lengths, yours does not")
def _lengths(about: Told, match: re.Match[str]) -> bool:
    return bool((about.mine.norm(dim=-1) - about.about.arguments["x"].norm(dim=-1)).abs().max() > 1e-3)


@claims(r"(?P<place>.+): length (?P<before>\S+) became (?P<after>\S+)\.")
def _length(about: Told, match: re.Match[str]) -> bool:
    index = place_in(match["place"], about, about.mine.dim())
    before, after = about.about.arguments["x"][index].norm(), about.mine[index].norm()
    return is_number(match["before"], float(before)) and is_number(match["after"], float(after))


@claims(
    r"apply_rotary_emb: only the distance between two tokens may matter"
    r"|At distance (?P<by>\d+), query · key is (?P<row>\[.*\]); .+"
)
def _relative(about: Told, match: re.Match[str]) -> bool:
    case = about.cases()[1]
    cache = case.arguments["rope_cache"]
    vectors = case.arguments["x"].flatten(0, -2)[:2]
    turned = [
        about.witness.mutant.call(
            "apply_rotary_emb", {"x": vector.expand(1, *lead, len(cache), -1).contiguous(), "rope_cache": cache}
        )
        for vector in vectors
        for lead in _leading(about)
    ]
    half = len(turned) // 2
    for one, two in zip(turned[:half], turned[half:], strict=True):
        if isinstance(one, Raised) or isinstance(two, Raised):
            continue
        products = one.double().flatten(0, -2) @ two.double().flatten(0, -2).T
        if match["by"] is None:
            if any(float(d.max() - d.min()) > 1e-3 for d in map(products.diagonal, range(len(cache)))):
                return True
        elif shown(match["row"], products.diagonal(int(match["by"]))):
            return True
    return False


def _leading(about: Told) -> list[tuple[int, ...]]:
    return [(), (1,)]  # with or without an axis for heads


@claims(
    r"precompute_rotary_emb: position 0 must not rotate"
    r"|dim = (?P<dim>\d+), max_positions = (?P<count>\d+): row 0 should be .+"
)
def _row_0(about: Told, match: re.Match[str]) -> bool:
    asked = re.search(r"dim = (\d+), max_positions = (\d+)", " ".join(about.saying.statements()))
    assert asked
    cache = about.witness.mutant.call("precompute_rotary_emb", {"dim": int(asked[1]), "max_positions": int(asked[2])})
    return bool((cache[0].double() - torch.tensor([1.0, 0.0])).abs().max() > 1e-4)


@claims(r"merge_heads: merging does not undo splitting|x = arange\(120\) shaped \(2, 5, 12\), split into 3 heads")
def _not_undone(about: Told, match: re.Match[str]) -> bool:
    return not identical(*merged(about))


@claims(r"attn_softmax: a row is not a set of weights")
def _no_weights(about: Told, match: re.Match[str]) -> bool:
    return bool(((about.mine.double().sum(-1) - 1).abs() > 1e-4).any() or (about.mine < 0).any())


@claims(r"(?P<place>.+): (?P<row>\[.*\]) (?:sums to (?P<sum>\S+), not 1|holds a negative number)\.")
def _row_of_weights(about: Told, match: re.Match[str]) -> bool:
    row = about.mine[place_in(match["place"], about, about.mine.dim())].double()
    wrong = (
        is_number(match["sum"], float(row.sum())) and abs(float(row.sum()) - 1) > 1e-4 and float(match["sum"]) != 1
        if match["sum"]
        else bool((row < 0).any())
    )
    return wrong and shown(match["row"], row)
