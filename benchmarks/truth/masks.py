"""Masks."""

from __future__ import annotations

import math
import re

import torch

from benchmarks.truth.said import Told, claims, is_number, shape_in
from benchmarks.truth.witness import apart


@claims(r"make_causal_mask: right shape (?P<shape>\(.*\)), wrong pattern")
def _pattern(about: Told, match: re.Match[str]) -> bool:
    return shape_in(match["shape"]) == tuple(about.mine.shape) and bool(
        (about.mine.double() != about.wanted.double()).any()
    )


@claims(r"Query (?P<query>\d+) (?P<may>may|may not) attend to key (?P<key>\d+)\.")
def _may(about: Told, match: re.Match[str]) -> bool:
    query, key = int(match["query"]), int(match["key"])
    return (key <= query) == (match["may"] == "may") and bool(about.mine[query, key]) != (key <= query)


@claims(
    r"make_causal_mask: entries must be True/False or 1/0|1 means 'may attend'; -inf belongs in apply_causal_mask\."
)
def _entries_of_a_mask(about: Told, match: re.Match[str]) -> bool:
    return not set(about.mine.double().flatten().tolist()) <= {0.0, 1.0}


@claims(r"One of yours is (?P<value>\S+)\.")
def _one_entry(about: Told, match: re.Match[str]) -> bool:
    return any(is_number(match["value"], value) for value in about.mine.double().flatten().tolist())


@claims(r"apply_causal_mask: a score that is allowed was changed")
def _allowed_changed(about: Told, match: re.Match[str]) -> bool:
    allowed = about.wanted.isfinite()
    return bool((apart(about.mine, about.wanted)[allowed] > 1e-6).any())


@claims(r"apply_causal_mask: a forbidden score still gets weight after the softmax")
def _leaks(about: Told, match: re.Match[str]) -> bool:
    weights = torch.softmax(about.mine, -1)[~about.wanted.isfinite()]
    return bool((weights > 0).any())


@claims(r"apply_causal_mask: a forbidden score became (?P<value>NaN|\+inf)")
def _forbidden_odd(about: Told, match: re.Match[str]) -> bool:
    scores = about.mine[~about.wanted.isfinite()]
    return bool((scores.isnan() if match["value"] == "NaN" else scores == math.inf).any())


@claims(r"Key (?P<key>\d+) comes after query (?P<query>\d+), so its score must become -inf\.")
def _comes_after(about: Told, match: re.Match[str]) -> bool:
    return int(match["key"]) > int(match["query"])
