"""Other ways of calling: arguments by name or by default, and other kinds of masks."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from benchmarks.truth.said import KINDS, Told, by_name, claims, otherwise, with_mask
from benchmarks.truth.witness import Case, Raised, allowed_error, apart

DEFAULTS = {"n_heads": 1, "causal": True}


def other_ways(about: Told) -> Iterator[tuple[str, Case, Any]]:
    """Every way that the check of a saying tries: its name, the case, and what comes of it."""
    for case in (
        about.cases() if about.saying.check in ("has_defaults_and_keywords", "takes_every_kind_of_mask") else ()
    ):
        if case.apart:
            continue
        if "mask" in case.arguments:
            for kind in KINDS:
                yield kind, case, with_mask(about, case, kind)
        else:
            every = {name: case.arguments[name] for name in ("causal", "n_heads")}
            needed = {name: value for name, value in every.items() if value != DEFAULTS[name]}
            yield "defaults", case, by_name(about, case, needed)
            yield "names", case, by_name(about, case, every)


def right_there(about: Told, case: Case, result: Any) -> bool:
    wanted = about.witness.wanted(about.exercise, case)
    if not isinstance(result, Tensor) or result.shape != wanted.shape or result.dtype != wanted.dtype:
        return False
    if about.exercise == "apply_causal_mask":
        allowed = wanted.isfinite()
        kept = torch.allclose(result[allowed], wanted[allowed], rtol=1e-6, atol=1e-6)
        return kept and bool((torch.softmax(result, -1)[~allowed] == 0).all())
    return bool((apart(result, wanted) <= allowed_error(about.exercise, wanted)).all())


@claims(r"self_attention\(Q, K, V.*\): wrong, though right with all five by position")
def _wrong_by_name(about: Told, match: re.Match[str]) -> bool:
    by_position = about.witness.right(about.exercise, about.part, about.about)
    return by_position and not right_there(about, about.about, about.mine)


@claims(r"self_attention\(Q, K, V.*\): refused|self_attention: it does not take the arguments that the handout names")
def _refused(about: Told, match: re.Match[str]) -> bool:
    """The call itself fails, before a line of the code runs."""
    if match[0].endswith(": refused"):
        tried = [otherwise(about, case) for case in about.cases() if not case.apart]
    else:
        tried = [made for _, _, made in other_ways(about)]
    return any(isinstance(one, Raised) and one.kind == "TypeError" and not one.lines for one in tried)


@claims(r"Yours is (?P<name>\w+)(?P<signature>\(.*\))\.")
def _signature(about: Told, match: re.Match[str]) -> bool:
    function = about.witness.mutant.space("src/attention.py")[match["name"]]
    return str(inspect.signature(function)) == match["signature"]


@claims(r"apply_causal_mask: does not work for a mask of .+")
def _wrong_for_a_kind(about: Told, match: re.Match[str]) -> bool:
    return not right_there(about, about.about, about.mine)


@claims(r"Right for a mask of (?P<kinds>.+)\.")
def _right_for_a_kind(about: Told, match: re.Match[str]) -> bool:
    if match["kinds"] == "your own make_causal_mask":
        return about.witness.all_right(about.exercise, about.part)
    right = [kind for kind in KINDS if right_there(about, about.about, with_mask(about, about.about, kind))]
    return match["kinds"] == " and ".join(right)
