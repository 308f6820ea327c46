"""What hidden checks may say."""

from __future__ import annotations

import re

from torch import Tensor

from benchmarks.truth import spans
from benchmarks.truth.raised import exceptions
from benchmarks.truth.said import Told, claims, merged
from benchmarks.truth.ways import other_ways, right_there
from benchmarks.truth.witness import Raised, alike, apart, identical


@claims(r"Asked for: (?P<claim>.+)\.")
def _asked_for(about: Told, match: re.Match[str]) -> bool:
    return match["claim"] == about.saying.claim


@claims(r"(?P<kind>[A-Z]\w*(?:Error|Exception))")
def _kind_alone(about: Told, match: re.Match[str]) -> bool:
    return any(one.kind == match["kind"] for one in exceptions(about))


@claims(r"(?P<kind>\w+(?:Error|Exception)|an exception), (?P<file>\S+) line (?P<line>\d+)")
def _where(about: Told, match: re.Match[str]) -> bool:
    return any(one.lines[-1:] == ((match["file"], int(match["line"])),) for one in exceptions(about))


@claims(
    r"\w+: (?P<words>the values differ from the reference|the result has the wrong (?P<what>shape|dtype|type)|"
    r"the result holds NaN or infinity where it should not|your code raised an exception|this does not hold|"
    r"not checked: the (?:values|results) are not right yet|"
    r"two calls with the same tensors differ: something in it is random)"
)
def _spoken(about: Told, match: re.Match[str]) -> bool:
    if about.exercise == "span_corruption":
        return spans.spoken(about, match["words"])
    if any(not right_there(about, case, made) for _, case, made in other_ways(about)) and "values" in match["words"]:
        return True  # by name, by default, or with another kind of mask
    words, made = match["words"], about.witness.made(about.exercise, about.part)
    wanted = [
        about.witness.wanted(about.exercise, case)
        for case in about.witness.material.cases.get((about.exercise, about.part), ())
    ]
    pairs = [(one, other) for one, other in zip(made, wanted, strict=True) if isinstance(one, Tensor)]
    match words:
        case "your code raised an exception":
            return bool(exceptions(about))
        case "this does not hold":
            return _does_not_hold(about)
        case "not checked: the values are not right yet" | "not checked: the results are not right yet":
            return not about.witness.all_right(about.exercise, about.part)
        case "the values differ from the reference":
            return any(one.shape == other.shape and apart(one, other).max() > 0 for one, other in pairs)
        case "the result holds NaN or infinity where it should not":
            return any(not bool(one.isfinite().all()) for one, _ in pairs)
        case "the result has the wrong shape":
            return any(one.shape != other.shape for one, other in pairs)
        case "the result has the wrong dtype":
            return any(one.dtype != other.dtype for one, other in pairs)
        case "the result has the wrong type":
            return len(pairs) < len(made)
    return about.witness.random(about.exercise, about.part)


def _does_not_hold(about: Told) -> bool:
    """Is the claim of a hidden check untrue of the mutant?"""
    witness, cases, exercise = about.witness, about.cases(), about.exercise
    match about.saying.check:
        case "cannot_see_the_future":
            return any(witness.sees_the_future(exercise, case) for case in cases)
        case "without_mask_ignores_order":
            return any(witness.minds_the_order(case) for case in cases if not case.arguments["causal"])
        case "leaves_its_inputs_alone":
            return any(witness.writes(exercise, case) for case in cases)
        case "is_the_same_twice":
            return witness.random(exercise, about.part)
        case "lets_gradients_flow":
            return _gradients_differ(about)
        case "undoes_split":
            return not identical(*merged(about))
        case _:  # a property of the values themselves, such as rows that sum to 1
            return not witness.all_right(exercise, about.part)


def _gradients_differ(about: Told) -> bool:
    names = {"self_attention": "QKV", "apply_rotary_emb": "x"}.get(
        about.exercise, ("x", "key.weight", "query.weight", "value.weight", "proj.weight")
    )
    for case in about.cases():
        for name in names:
            if case.cotangent is None or not isinstance(about.witness.mine(about.exercise, about.part, case), Tensor):
                continue
            mine = about.witness.gradient(about.witness.mutant, about.exercise, case, name)
            wanted = about.witness.gradient(about.witness.solution, about.exercise, case, name)
            if isinstance(mine, Raised) or (wanted.any() and (mine is None or not mine.any())):
                return True
            if mine is not None and about.witness.right(about.exercise, about.part, case) and not alike(mine, wanted):
                return True
    return False
