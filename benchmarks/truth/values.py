"""How something was called, what came of it, and where it is wrong."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from benchmarks.truth.said import Told, claims, compared, merged, place_in, shape_in, shown
from benchmarks.truth.witness import Code, Raised, apart


@claims(r"(?!at |called from )(?P<name>[^:]+(?:: [^:]+)?): (?P<arguments>(?:\w+(?:, \w+)* (?:of shape|=) ).+)")
def _called_with(about: Told, match: re.Match[str]) -> bool:
    arguments = about.about.arguments
    rest = about.saying.evidence[0].removeprefix(f"{about.about.name}: ")
    pattern = r"((?:\w+, )*\w+) (?:of shape (\([\d, ]*\))|= (arange\(\d+\) shaped \([\d, ]*\)|[\w.]+))(?:, |$)"
    said: dict[str, str] = {}
    for names, shape, value in re.findall(pattern, rest):
        said |= dict.fromkeys(names.split(", "), shape or value)
    plain = {name: value for name, value in arguments.items() if "." not in name}
    return said.keys() == plain.keys() and all(_described(said[name], value) for name, value in plain.items())


def _described(said: str, value: Any) -> bool:
    if not isinstance(value, Tensor):
        return said == str(value)
    if counting := re.fullmatch(r"arange\((\d+)\) shaped (.*)", said):
        return shape_in(counting[2]) == tuple(value.shape) and value.flatten().tolist() == list(range(int(counting[1])))
    return shape_in(said) == tuple(value.shape)


@claims(r"Right for: (?P<names>.+)\.")
def _right_for(about: Told, match: re.Match[str]) -> bool:
    asked = [case for case in about.cases() if not case.apart]
    if about.saying.check == "keeps_dtype_and_layout":
        asked = [*(case for case in about.cases() if case.apart), *asked]
    right = [case.name for case in asked if about.witness.right(about.exercise, about.part, case)]
    return match["names"] == ", ".join(right)


@claims(r"\w+: right shape (?P<shape>\(.*\)), wrong values")
def _wrong_values(about: Told, match: re.Match[str]) -> bool:
    same_form = tuple(about.mine.shape) == tuple(about.wanted.shape) == shape_in(match["shape"])
    return same_form and not about.witness.right(about.exercise, about.part, about.about)


@claims(r"\w+: right shape, wrong attention weights")
def _wrong_weights(about: Told, match: re.Match[str]) -> bool:
    """The output can be read as weights: what each value adds to it is what it shows, and that is not right."""
    batch, heads, tokens, _ = about.mine.shape
    for token in range(tokens):
        added = about.witness.answer_to(about.exercise, about.about, token)  # (batch, queries, features)
        per_head = added.reshape(batch, tokens, heads, -1).transpose(1, 2)  # (batch, heads, queries, head size)
        if not bool(apart(per_head, about.mine[..., token, None].expand_as(per_head)).max() <= 1e-3):
            return False
    return bool(apart(about.mine, about.wanted).max() > 1e-5)


@claims(r"[\w.]+: shape (?P<mine>\(.*\)), expected (?P<wanted>\(.*\))")
def _shapes(about: Told, match: re.Match[str]) -> bool:
    if about.case is None:  # asked with inputs of its own
        made = _asked_alone(about, shape_in(match["wanted"]))
        return [tuple(one.shape) for one in made] == [shape_in(match[i]) for i in (1, 2)]
    return shape_in(match["mine"]) == tuple(about.mine.shape) and shape_in(match["wanted"]) == tuple(about.wanted.shape)


def _asked_alone(about: Told, wanted: tuple[int, ...]) -> Sequence[Tensor]:
    """What comes of inputs that are in no reference, beside something of the right shape."""
    if about.exercise == "merge_heads":
        return merged(about)
    if about.exercise == "apply_rotary_emb":
        cache = next(case.arguments["rope_cache"] for case in about.cases() if not case.apart)
        caches = [one.arguments["rope_cache"] for one in about.cases()] + [cache]
        fitting = next(one for one in caches if len(one) == wanted[-2] and 2 * one.shape[1] == wanted[-1])
        x = torch.ones(wanted)
        return [code.call(about.exercise, {"x": x, "rope_cache": fitting}) for code in both(about)]
    if about.exercise.startswith(("query", "key")):
        codes = both(about)
        return [torch.as_tensor(code.space("notebooks/A2S1.py")[about.exercise]) for code in codes]
    return _first_rows(about)


def both(about: Told) -> tuple[Code, Code]:
    return about.witness.mutant, about.witness.solution


def _first_rows(about: Told) -> list[Tensor]:
    *_, positions, half, _ = re.findall(r"\d+", about.saying.headline)
    asked = {"dim": 2 * int(half), "max_positions": int(positions)}
    return [code.call(about.exercise, asked) for code in (about.witness.mutant, about.witness.solution)]


@claims(r"\w+: dtype (?P<mine>\w+), expected (?P<wanted>\w+)")
def _dtypes(about: Told, match: re.Match[str]) -> bool:
    return [str(one.dtype) for one in (about.mine, about.wanted)] == [f"torch.{match[i]}" for i in (1, 2)]


@claims(r"\w+: returned (?P<kind>[\w.]+)(?:, expected a torch\.Tensor)?")
def _returned(about: Told, match: re.Match[str]) -> bool:
    return {"None": "NoneType"}.get(match["kind"], match["kind"]).rpartition(".")[2] == type(about.mine).__name__


@claims(r"Did you forget the return\?")
def _no_return(about: Told, match: re.Match[str]) -> bool:
    return about.mine is None


@claims(r"Return one tensor, not several\.")
def _several(about: Told, match: re.Match[str]) -> bool:
    return isinstance(about.mine, tuple) and len(about.mine) > 1


@claims(r"It holds one thing: is there a comma at the end of the line\?")
def _only_one(about: Told, match: re.Match[str]) -> bool:
    return isinstance(about.mine, tuple) and len(about.mine) == 1


@claims(r"torch\.tensor, torch\.stack or torch\.cat makes one of a list\.")
def _a_list(about: Told, match: re.Match[str]) -> bool:
    return isinstance(about.mine, list)


@claims(r"torch\.from_numpy makes one of an array\.")
def _an_array(about: Told, match: re.Match[str]) -> bool:
    return type(about.mine).__name__ == "ndarray"


@claims(r"\w+: (?:the result must be a tensor|expected a torch\.Tensor)")
def _no_tensor(about: Told, match: re.Match[str]) -> bool:
    made = about.witness.made(about.exercise, about.part)
    return any(not isinstance(one, Tensor | Raised) for one in made)


@claims(r"\w+: the result must hold real numbers")
def _complex(about: Told, match: re.Match[str]) -> bool:
    return any(isinstance(one, Tensor) and one.is_complex() for one in about.witness.made(about.exercise, about.part))


@claims(r"\w+: (?:dtype and layout|defaults and keywords|kinds of masks) are checked once the values are right")
def _values_first(about: Told, match: re.Match[str]) -> bool:
    return not about.witness.all_right(about.exercise, about.part)


@claims(r"The cache may be float32 or float64\.")
def _dtype_of_a_cache(about: Told, match: re.Match[str]) -> bool:
    return about.exercise == "precompute_rotary_emb" and about.mine.dtype not in (torch.float32, torch.float64)


LAYERS = (
    r"CausalSelfAttention: (?:it has no layer called (?P<none>\w+)|the layer (?P<layer>\w+) has no (?P<lacks>\w+)); .+"
)


@claims(rf"{LAYERS}|causal_self_attention: its layers are not those that the given __init__ makes")
def _layers(about: Told, match: re.Match[str]) -> bool:
    modules = [code.module(about.cases()[0].arguments)._modules for code in both(about)]
    made = [{name: layer for name, layer in one.items() if layer is not None} for one in modules]
    if match["none"]:
        return match["none"] not in made[0] and match["none"] in made[1]
    if match["layer"]:
        lacking, having = (getattr(one[match["layer"]], match["lacks"]) for one in made)
        return lacking is None and having is not None
    return any(
        name not in made[0]
        or made[0][name]._parameters.keys() != layer._parameters.keys()
        or _lacks(made[0][name], layer)
        for name, layer in made[1].items()
    )


def _lacks(mine: torch.nn.Module, given: torch.nn.Module) -> bool:
    return any(mine._parameters[name] is None and value is not None for name, value in given._parameters.items())


@claims(r"split_heads_qkv: must split Q, K and V with split_heads, as given")
def _not_alike(about: Told, match: re.Match[str]) -> bool:
    x = torch.arange(30.0).reshape(1, 5, 6)
    space = about.witness.mutant.space("src/attention.py")
    parts, single = space["split_heads_qkv"](x, x, x, 2), space["split_heads"](x, 2)
    same = isinstance(parts, tuple) and isinstance(single, Tensor)
    return not (same and all(isinstance(one, Tensor) and torch.equal(one, single) for one in parts))


@claims(r"Keep the dtype of the inputs\.")
def _keep_the_dtype(about: Told, match: re.Match[str]) -> bool:
    return about.wanted.dtype in {value.dtype for value in about.about.arguments.values() if isinstance(value, Tensor)}


@claims(r"\w+: (?P<kind>NaN|infinity) at (?P<place>.+)")
def _not_finite(about: Told, match: re.Match[str]) -> bool:
    index = place_in(match["place"], about, about.mine.dim())
    value = float(about.mine[index]) if index is not None else 0.0
    return (math.isnan if match["kind"] == "NaN" else math.isinf)(value) and bool(about.wanted.isfinite().all())


@claims(r"(?P<count>\d+) of (?P<all>\d+) entries are not finite; the first is at (?P<place>.+)\.")
def _how_many_not_finite(about: Told, match: re.Match[str]) -> bool:
    odd = ~about.mine.isfinite()
    first = tuple(int(i) for i in odd.nonzero()[0])
    counts = [int(odd.sum()), odd.numel()] == [int(match["count"]), int(match["all"])]
    return counts and place_in(match["place"], about, odd.dim()) == first


@claims(r"The whole row is NaN(?P<why>.*)")
def _row_of_nan(about: Told, match: re.Match[str]) -> bool:
    row = about.mine[tuple((~about.mine.isfinite()).nonzero()[0])[:-1]]
    # The older sentence blames a softmax, which only attention has.
    softmax = "attention" in about.exercise or "softmax" in about.exercise
    return bool(row.isnan().all()) and (softmax or not match["why"].startswith(": a softmax"))


@claims(
    r"(?P<place>.+?)(?:, from (?P<axis>[\w/]+) (?P<start>\d+))?: yours (?P<mine>\[.*\]), expected (?P<wanted>\[.*\])"
)
def _difference(about: Told, match: re.Match[str]) -> bool:
    mine, wanted = compared(about)
    index = place_in(match["place"], about, mine.dim())
    if index is None or (match["axis"] and match["axis"] != about.names(mine.dim())[-1]):
        return False
    start = int(match["start"] or 0)
    return shown(match["mine"], mine[index], start) and shown(match["wanted"], wanted[index], start)
