"""What is said, taken apart: which case a saying is about, and which pattern knows a statement."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from benchmarks.truth.witness import Case, Witness

AXES = {
    "split_heads": ("batch", "head", "token", "feature"),
    "precompute_rotary_emb": ("position", "pair", "cos/sin"),
    "apply_rotary_emb": ("batch", "head", "token", "feature"),
    "compute_outputs": ("batch", "head", "query", "feature"),
    **dict.fromkeys(("merge_heads", "self_attention", "causal_self_attention"), ("batch", "token", "feature")),
}
SQUARE = ("batch", "head", "query", "key")
PLURALS = {"batches": "batch", "queries": "query", "cos and sin": "cos/sin"}


class Unknown(Exception):
    """A statement that no pattern knows."""


@dataclass(frozen=True)
class Saying:
    """What one failed check says."""

    exercise: str
    part: str
    check: str
    claim: str
    headline: str
    evidence: tuple[str, ...]

    def statements(self) -> list[str]:
        return [self.headline, *self.evidence]


def sayings(results: Mapping[str, Any]) -> Iterator[Saying]:
    """All that a results.json says of failures."""
    for test in results["tests"]:
        about = test["extra_data"]
        for check in about["checks"]:
            if check["verdict"] == "failed" and check["message"]:
                said = check["message"]
                yield Saying(
                    about["exercise"],
                    about["part"],
                    check["name"].removeprefix(f"test_{about['exercise']}_"),
                    check["claim"],
                    said["headline"],
                    tuple(said["evidence"]),
                )


@dataclass(frozen=True)
class Told:
    """A saying with the case that it is about, and what the mutant and the solution make of that."""

    saying: Saying
    witness: Witness
    case: Case | None
    weights: bool  # it reads the output of the MAP case as weights

    @property
    def exercise(self) -> str:
        return self.saying.exercise

    @property
    def part(self) -> str:
        return self.saying.part

    @cached_property
    def about(self) -> Case:
        if self.case is None:
            raise Unknown("it does not say which example it is about")
        return self.case

    @cached_property
    def mine(self) -> Any:
        if OTHERWISE.search(self.saying.headline):
            return otherwise(self, self.about)
        mine = self.witness.mine(self.exercise, self.part, self.about)
        return self._read(mine) if self.weights and isinstance(mine, Tensor) else mine

    @cached_property
    def wanted(self) -> Tensor:
        wanted = self.witness.wanted(self.exercise, self.about)
        return self._read(wanted) if self.weights else wanted

    def _read(self, output: Tensor) -> Tensor:
        arguments = self.about.arguments
        heads = arguments.get("n_heads") or arguments["n_head"]
        batch, tokens, _ = output.shape
        return output.reshape(batch, tokens, heads, -1).transpose(1, 2)[..., :tokens]

    def names(self, count: int) -> list[str]:
        if "the gradient of" in self.saying.headline and count == 2:
            return ["row", "column"]
        names = SQUARE if self.weights else AXES.get(self.exercise, SQUARE)
        if len(names) > count and names[:2] == ("batch", "head"):
            return [*(names[:1] if count == 3 else ()), *names[2:]][-count:]
        return list(names[-count:])

    def cases(self) -> Sequence[Case]:
        return self.witness.material.cases[self.exercise, self.part]

    def tensors(self) -> list[tuple[Tensor, Tensor]]:
        """All wrong outputs beside the right ones: a story about axes must fit every one of them."""
        if self.weights:
            return [(self.mine, self.wanted)]
        pairs = [
            (self.witness.mine(self.exercise, self.part, case), self.witness.wanted(self.exercise, case))
            for case in self.witness.wrong(self.exercise, self.part)
        ]
        return [(mine, wanted) for mine, wanted in pairs if isinstance(mine, Tensor)]


Test = Callable[[Told, re.Match[str]], bool]
PATTERNS: list[tuple[re.Pattern[str], Test]] = []


def claims(pattern: str) -> Callable[[Test], Test]:
    def register(test: Test) -> Test:
        PATTERNS.append((re.compile(pattern, re.DOTALL), test))
        return test

    return register


def told(saying: Saying, witness: Witness) -> Told:
    known = witness.material.cases.get((saying.exercise, saying.part), ())
    first = saying.evidence[0] if saying.evidence else ""
    matching = [case for case in known if first.startswith(f"{case.name}: ")]
    case = max(matching, key=lambda case: len(case.name), default=None)
    return Told(saying, witness, case, "wrong attention weights" in saying.headline)


def holds(statement: str, about: Told) -> bool:
    """Is a statement true?"""
    for pattern, test in PATTERNS:
        if match := pattern.fullmatch(statement):
            return bool(test(about, match))
    raise Unknown(f"no pattern knows: {statement}")


OTHERWISE = re.compile(r"\(Q, K, V(?:, (?P<options>.+))?\)|for a mask of (?P<kind>.+)")
KINDS = {"booleans": torch.bool, "0.0 and 1.0": torch.float32, "whole numbers 0 and 1": torch.int64}


def otherwise(about: Told, case: Case) -> Any:
    """What comes of a case if it is called as the headline says: with arguments by name, with another kind of mask."""
    how = OTHERWISE.search(about.saying.headline)
    assert how
    if how["kind"]:
        return with_mask(about, case, how["kind"])
    options = {key: ast.literal_eval(value) for key, value in re.findall(r"(\w+)=(\w+)", how["options"] or "")}
    return by_name(about, case, options)


def with_mask(about: Told, case: Case, kind: str) -> Any:
    mask = case.arguments["mask"].to(KINDS[kind])
    return about.witness.mutant.call(about.exercise, {**case.arguments, "mask": mask})


def by_name(about: Told, case: Case, options: Mapping[str, Any]) -> Any:
    given = [case.arguments[name] for name in "QKV"]
    return about.witness.mutant.call_by_name(about.exercise, given, options)


def shape_in(text: str) -> tuple[int, ...]:
    found = ast.literal_eval(text)
    assert isinstance(found, tuple)
    return found


def place_in(text: str, about: Told, count: int) -> tuple[int, ...] | None:
    """'batch 0, head 1, token 2' as an index, if its axes are called as they should be."""
    if text == "the row":
        return ()
    parts = [part.rsplit(" ", 1) for part in text.split(", ")]
    names = about.names(count)[: len(parts)]
    return tuple(int(number) for _, number in parts) if [name for name, _ in parts] == names else None


def shown(text: str, row: Tensor, start: int = 0) -> bool:
    """Are the numbers in brackets those of a row?"""
    numbers = [word for word in text.strip("[]").split() if word != "…"]
    values = row.double()[start : start + len(numbers)].tolist()
    whole = text.startswith("[… ") == (start > 0) and text.endswith(" …]") == (len(row) > start + len(numbers))
    return whole and len(values) == len(numbers) and all(map(is_number, numbers, values))


def is_number(text: str, value: float) -> bool:
    written = float(text)
    if math.isnan(value) or math.isinf(value):
        return str(written) == str(value)
    return abs(written - value) <= 6e-3 * abs(value) + 1e-6


def axis_of(plural: str, about: Told, count: int) -> int:
    name = PLURALS.get(plural, plural.removesuffix("s"))
    return about.names(count).index(name)


def compared(about: Told) -> tuple[Tensor, Tensor]:
    """What the rows of a saying are rows of."""
    if found := re.search(r"gradient of ([\w.]+)", about.saying.headline):
        codes = about.witness.mutant, about.witness.solution
        one, two = (about.witness.gradient(code, about.exercise, about.about, found[1]) for code in codes)
        assert two is not None
        return (one if one is not None else torch.zeros_like(two)), two
    if "does not undo" in about.saying.headline:
        return merged(about)
    return about.mine, about.wanted


def split_counting() -> tuple[Tensor, Tensor]:
    whole = torch.arange(120.0, dtype=torch.float64).reshape(2, 5, 12)
    return whole, torch.stack(whole.chunk(3, dim=-1), dim=1)


def merged(about: Told) -> tuple[Tensor, Tensor]:
    whole, parts = split_counting()
    return about.witness.mutant.call("merge_heads", {"y": parts}), whole
