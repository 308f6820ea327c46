"""Exceptions and their places."""

from __future__ import annotations

import ast
import re
import traceback

import torch

from benchmarks.truth.said import Told, claims, split_counting
from benchmarks.truth.ways import other_ways
from benchmarks.truth.witness import Raised, Witness


def exceptions(about: Told) -> list[Raised]:
    found = [made for made in about.witness.made(about.exercise, about.part) if isinstance(made, Raised)]
    found = found or [made for _, _, made in other_ways(about) if isinstance(made, Raised)]
    return found or _exceptions_of_properties(about)


def _exceptions_of_properties(about: Told) -> list[Raised]:
    """Not with the inputs of a reference, but with those that a property is tried with."""
    if about.exercise == "span_corruption":
        return crashes(about.witness)
    if about.exercise == "merge_heads":
        made = about.witness.mutant.call("merge_heads", {"y": split_counting()[1]})
    elif about.exercise == "split_heads_qkv":
        x = torch.arange(30.0).reshape(1, 5, 6)
        made = about.witness.mutant.call("split_heads_qkv", {"Q": x, "K": x, "V": x, "n_heads": 2})
    else:
        cases = [case for case in about.cases() if case.cotangent is not None]
        name = "Q" if about.exercise == "self_attention" else "x"
        results = [about.witness.gradient(about.witness.mutant, about.exercise, case, name) for case in cases]
        return [one for one in results if isinstance(one, Raised)]
    return [made] if isinstance(made, Raised) else []


def crashes(witness: Witness) -> list[Raised]:
    """What span corruption raises on each document, if it does."""
    found = []
    space, file = witness.mutant.space("src/dataset.py"), "src/dataset.py"
    for index, _ in enumerate(witness.material.text.split("\n")):
        try:
            dataset = space["CharCorruptionDataset"](witness.material.text, witness.material.block_size)
            for _ in range(20):
                dataset[index]
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            lines = tuple((one.filename, one.lineno or 0) for one in frames if one.filename == file)
            found.append(Raised(type(error).__name__, str(error), lines))
    return found


@claims(r"(?P<file>src/\w+\.py) line (?P<line>\d+)")
def _place_alone(about: Told, match: re.Match[str]) -> bool:
    return any(one.lines[-1:] == ((match["file"], int(match["line"])),) for one in exceptions(about))


@claims(r"[\w.]+: your code raised (?P<kind>\w+)(?: inside (?P<name>\w+))?")
def _raised(about: Told, match: re.Match[str]) -> bool:
    found = [one for one in exceptions(about) if one.kind == match["kind"]]
    return any(not match["name"] or _function(about, *one.lines[-1]) == match["name"] for one in found)


def _function(about: Told, file: str, line: int) -> str:
    for node in ast.parse(about.witness.mutant.texts[file]).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.lineno <= line <= (node.end_lineno or 0):
            return node.name
    return ""


@claims(r"(?P<kind>[A-Z]\w*(?:Error|Exception)): (?P<text>.*)")
def _exception_text(about: Told, match: re.Match[str]) -> bool:
    said = match["text"].removesuffix("…")
    return any(one.kind == match["kind"] and _first_line(one.text).startswith(said) for one in exceptions(about))


def _first_line(text: str) -> str:
    return (text.splitlines() or [""])[0]


@claims(r"(?P<how>at|called from) (?P<file>\S+) line (?P<line>\d+): (?P<source>.*)")
def _line(about: Told, match: re.Match[str]) -> bool:
    file, line = match["file"], int(match["line"])
    source = about.witness.mutant.texts[file].splitlines()[line - 1].strip()
    place = -1 if match["how"] == "at" else -2
    through = any(one.lines[place:][:1] == ((file, line),) for one in exceptions(about) if len(one.lines) >= -place)
    return through and source.startswith(match["source"].removesuffix("…"))
