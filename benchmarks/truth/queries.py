"""Queries: four tokens of size 3."""

from __future__ import annotations

import re
from typing import Any

import torch
from torch import Tensor

from benchmarks.truth.said import Told, claims, is_number, shown
from benchmarks.truth.witness import alike


def _answers(about: Told) -> dict[str, Any]:
    return about.witness.mutant.space("notebooks/A2S1.py")


def _goal(about: Told, query_times: float = 1.0, row_times: float = 1.0) -> tuple[Tensor, Tensor, Tensor]:
    """The weights, the output and the goal, from the notebook's own keys and values; of another query or row 2."""
    space, slug = _answers(about), about.exercise
    values = space["V"].double()
    crafted = slug.startswith("key")
    query = torch.as_tensor(space["query132" if crafted else slug]).double()
    key = torch.as_tensor(space[slug] if crafted else space["K"]).double()
    goals = {
        **{"query121": values[0], "query122": values, "query131": values.mean(0), "query132": values[:2].mean(0)},
        **{"key141": values[:3].mean(0), "key142": values[2]},
    }
    key = torch.cat((key[:2], key[2:3] * row_times, key[3:]))
    weights = torch.softmax(query_times * query @ key.T, -1)
    return weights, weights @ values, goals[slug]


def _would_do(about: Told, query_times: float = 1.0, row_times: float = 1.0) -> bool:
    """Is the goal reached then, as near as the headline asks?"""
    most = re.search(r"must be at most ([\d.e-]+)", about.saying.headline)
    assert most
    _, output, goal = _goal(about, query_times, row_times)
    return float((output - goal).abs().max()) <= float(most[1])


@claims(r"A query in the same direction, (?:(?P<times>[\d.e+]+) times|1/(?P<part>[\d.e+]+)) as long, would do\.")
def _another_length(about: Told, match: re.Match[str]) -> bool:
    return _would_do(about, query_times=float(match["times"]) if match["times"] else 1 / float(match["part"]))


@claims(r"Row 2 is (?P<times>[\d.e+]+) times too (?P<way>long|short)\.")
def _another_row(about: Told, match: re.Match[str]) -> bool:
    times = float(match["times"])
    return _would_do(about, row_times=times if match["way"] == "short" else 1 / times)


@claims(r"(?:query|key)\d+: error (?P<error>\S+), must be at most (?P<most>\S+)")
def _error(about: Told, match: re.Match[str]) -> bool:
    _, output, goal = _goal(about)
    return is_number(match["error"], float((output - goal).abs().max())) and float(match["error"]) > float(
        match["most"]
    )


@claims(r"The goal is (?P<goal>.+)\.")
def _the_goal(about: Told, match: re.Match[str]) -> bool:
    words = {
        "query121": "the value of token 0",
        "query122": "V, row for row",
        "query131": "the mean of all four values",
        "query132": "the mean of values 0 and 1",
        "key141": "the mean of values 0, 1 and 2",
        "key142": "the value of token 2",
    }
    return words[about.exercise] == match["goal"]


@claims(r"(?P<row>Output|Row \d): yours (?P<mine>\[.*\]), goal (?P<goal>\[.*\])\.")
def _output(about: Told, match: re.Match[str]) -> bool:
    _, output, goal = _goal(about)
    if match["row"] != "Output":
        output, goal = (tensor[int(match["row"].split()[1])] for tensor in (output, goal))
    return shown(match["mine"], output) and shown(match["goal"], goal)


@claims(r"The weights of the four tokens are (?P<row>\[.*\])\.")
def _four_weights(about: Told, match: re.Match[str]) -> bool:
    weights, _, _ = _goal(about)
    return any(shown(match["row"], row) for row in weights.reshape(-1, 4))


@claims(r"key\d+: row (?P<row>\d) of the key was changed|yours (?P<mine>\[.*\]), given (?P<given>\[.*\])")
def _row_changed(about: Told, match: re.Match[str]) -> bool:
    found = re.search(r"row (\d) of the key", about.saying.headline)
    assert found
    mine, given = (_answers(about)[name].double()[int(found[1])] for name in (about.exercise, "K"))
    fits = match["mine"] is None or (shown(match["mine"], mine) and shown(match["given"], given))
    return fits and int(found[1]) != 2 and not alike(mine, given)


@claims(r"key\d+: row 2 has length (?P<length>\S+), must be 1")
def _row_length(about: Told, match: re.Match[str]) -> bool:
    return is_number(match["length"], float(_answers(about)[about.exercise].double()[2].norm()))
