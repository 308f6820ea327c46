"""A mutant beside the solution: what both make of every case, and what the mutant does, found out by trying."""

from __future__ import annotations

import ast
import math
import random
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

FIRST = "make_causal_mask"
CLASSES = {"causal_self_attention": "CausalSelfAttention"}
ROPE = (
    "precompute_rotary_emb",
    "apply_rotary_emb",
    "causal_self_attention",
)  # judged to 1e-4, all others to 1e-5 of max


@dataclass(frozen=True)
class Case:
    """One call of a reference, as the grader has it; what should come of it is the solution's own affair."""

    name: str
    arguments: Mapping[str, Any]
    cotangent: Tensor | None = None
    apart: bool = False  # asked by a check of its own, of dtype and layout


@dataclass(frozen=True)
class Material:
    """What a grader asks with: its cases by exercise and part, and the public text that spans are cut from."""

    cases: Mapping[tuple[str, str], Sequence[Case]]
    text: str
    block_size: int


@dataclass(frozen=True)
class Raised:
    """In the place of an output: an exception, and the lines of the submission that it came through, innermost last."""

    kind: str
    text: str
    lines: tuple[tuple[str, int], ...]


class Code:
    """The code of one submission, run in this process."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = texts
        self._spaces: dict[str, dict[str, Any]] = {}

    def space(self, file: str) -> dict[str, Any]:
        if file not in self._spaces:
            space: dict[str, Any] = {"__name__": "submitted", "print": lambda *_, **__: None}
            for statement in ast.parse(self.texts[file]).body:
                try:
                    exec(compile(ast.Module([statement], []), file, "exec"), space)
                except Exception:  # a cell that fails costs what it sets, not what comes after it
                    if not file.startswith("notebooks/"):
                        raise
            self._spaces[file] = space
        return self._spaces[file]

    def call(self, exercise: str, arguments: Mapping[str, Any], gradients: bool = False) -> Any:
        """The result of a call with copies of these arguments, or Raised; always with the same random numbers."""
        torch.default_generator.manual_seed(0)
        given = {
            name: value.clone().requires_grad_(gradients and value.is_floating_point())
            if isinstance(value, Tensor)
            else value
            for name, value in arguments.items()
        }
        self.given = given  # to see afterwards what became of them
        with torch.set_grad_enabled(gradients):
            return self._tried(lambda: self._run(exercise, given))

    def call_by_name(self, exercise: str, given: Sequence[Tensor], options: Mapping[str, Any]) -> Any:
        """The same of a function that is given some of its arguments by name, or not at all."""
        return self._tried(lambda: self.space("src/attention.py")[exercise](*(one.clone() for one in given), **options))

    def _tried(self, run: Callable[[], Any]) -> Any:
        try:
            with warnings.catch_warnings(action="ignore"):  # what warns still gives a result
                return run()
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            lines = tuple((one.filename, one.lineno or 0) for one in frames if one.filename in self.texts)
            return Raised(type(error).__name__, str(error), lines)

    def _run(self, exercise: str, given: dict[str, Any]) -> Any:
        space = self.space("src/attention.py")
        if exercise not in CLASSES:
            return space[exercise](*given.values())
        module = self.module(given).to(given["x"].dtype).eval()
        for name, value in given.items():
            if "." in name:
                layer, part = name.split(".")
                module.get_submodule(layer)._parameters[part] = (
                    torch.nn.Parameter(value.detach()) if not value.requires_grad else value
                )
        return module(given["x"])

    def module(self, given: Mapping[str, Any]) -> torch.nn.Module:
        settings = {name: given[name] for name in ("n_embd", "n_head", "block_size", "rope")}
        config = SimpleNamespace(**settings, attn_pdrop=0.1, resid_pdrop=0.1)
        made = self.space("src/attention.py")[CLASSES["causal_self_attention"]](config)
        assert isinstance(made, torch.nn.Module)
        return made


@dataclass
class Witness:
    """A mutant beside the solution, and what both make of every case."""

    mutant: Code
    solution: Code
    material: Material
    _made: dict[tuple[str, str], list[Any]] = field(default_factory=dict)
    _drawn: dict[int, list[Any]] = field(default_factory=dict)
    _spelling: Mapping[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.made(FIRST, "public")  # because some code keeps what it saw first

    def made(self, exercise: str, part: str) -> list[Any]:
        """What the mutant makes of all cases, in their order."""
        if (exercise, part) not in self._made:
            cases = self.material.cases.get((exercise, part), ())
            self._made[exercise, part] = [self.mutant.call(exercise, case.arguments) for case in cases]
        return self._made[exercise, part]

    def mine(self, exercise: str, part: str, case: Case) -> Any:
        places = [number for number, one in enumerate(self.material.cases[exercise, part]) if one is case]
        return self.made(exercise, part)[places[0]]

    def wanted(self, exercise: str, case: Case) -> Tensor:
        key = f"{exercise} {id(case)}"
        if key not in _SOLVED:
            _SOLVED[key] = case, self.solution.call(exercise, case.arguments)
        found = _SOLVED[key][1]
        assert isinstance(found, Tensor), (exercise, case.name, found)
        return found

    def right(self, exercise: str, part: str, case: Case) -> bool:
        """Is the mutant right here, by the rules of the handout?"""
        mine, wanted = self.mine(exercise, part, case), self.wanted(exercise, case)
        if not isinstance(mine, Tensor) or mine.shape != wanted.shape:
            return False
        if exercise == "make_causal_mask":
            return bool((mine.double() == wanted.double()).all())
        if exercise == "precompute_rotary_emb" and mine.dtype == torch.float64:
            mine = mine.float()
        if mine.dtype != wanted.dtype:
            return False
        if exercise == "apply_causal_mask":
            allowed = wanted.isfinite()
            kept = torch.allclose(mine[allowed], wanted[allowed], rtol=1e-6, atol=1e-6)
            return kept and bool((torch.softmax(mine, -1)[~allowed] == 0).all())
        return bool((apart(mine, wanted) <= allowed_error(exercise, wanted)).all())

    def all_right(self, exercise: str, part: str) -> bool:
        """In all cases that are about values."""
        usual = [case for case in self.material.cases[exercise, part] if not case.apart]
        return all(self.right(exercise, part, case) for case in usual)

    def wrong(self, exercise: str, part: str) -> list[Case]:
        return [case for case in self.material.cases[exercise, part] if not self.right(exercise, part, case)]

    # What a mutant does, found out by trying

    def random(self, exercise: str, part: str) -> bool:
        for case in self.material.cases[exercise, part]:
            torch.default_generator.manual_seed(1)
            outputs = (
                [self.mutant._run(exercise, dict(case.arguments)) for _ in range(3)]
                if self._runs(exercise, case)
                else []
            )
            if any(not identical(outputs[0], other) for other in outputs[1:]):
                return True
        return False

    def _runs(self, exercise: str, case: Case) -> bool:
        return not isinstance(self.mutant.call(exercise, case.arguments), Raised)

    def sees_the_future(self, exercise: str, case: Case, token: int | None = None) -> bool:
        """Does another last token change the output of an earlier one?"""
        if not case.arguments.get("causal", True):
            return False
        names = [name for name in ("Q", "K", "V", "x") if name in case.arguments]
        other = {name: _last_changed(case.arguments[name]) for name in names}
        one, two = (self.mutant.call(exercise, {**case.arguments, **change}) for change in ({}, other))
        if not (isinstance(one, Tensor) and isinstance(two, Tensor) and one.shape == two.shape and one.dim() == 3):
            return False
        moved = (apart(one, two) > 1e-5 * (1 + one.nan_to_num().abs().max())).flatten(2).any(-1).any(0)[:-1]
        return bool(moved.any() if token is None else moved[token])

    def minds_the_order(self, case: Case) -> bool:
        order = torch.arange(case.arguments["K"].shape[1]).roll(1)
        other = {name: case.arguments[name][:, order] for name in ("K", "V")}
        one, two = (self.mutant.call("self_attention", {**case.arguments, **change}) for change in ({}, other))
        alike = isinstance(one, Tensor) and isinstance(two, Tensor) and one.shape == two.shape
        return alike and bool((apart(one, two) > 1e-4).any())

    def writes(self, exercise: str, case: Case) -> bool:
        self.mutant.call(exercise, case.arguments)
        return any(
            isinstance(value, Tensor) and "." not in name and not torch.equal(value, self.mutant.given[name])
            for name, value in case.arguments.items()
        )

    def gradient(self, code: Code, exercise: str, case: Case, name: str) -> Any:
        """A tensor, nothing if none flows, or Raised."""
        result = code.call(exercise, case.arguments, gradients=True)
        if isinstance(result, Raised):
            return result
        if not isinstance(result, Tensor) or not result.requires_grad or case.cotangent is None:
            return None
        try:
            leaf, along = code.given[name], case.cotangent.to(result.dtype)
            return torch.autograd.grad(result, [leaf], along, allow_unused=True)[0]
        except RuntimeError as error:
            return Raised(type(error).__name__, str(error), ())

    # How much of each value goes into each output: asked by changing values, whatever the output looks like

    def answer_to(self, exercise: str, case: Case, token: int | None) -> Tensor:
        """What is added to the output if 1 is added to all values, or to those of one token."""
        added = dict(case.arguments)
        if exercise == "self_attention":
            added["V"] = case.arguments["V"].clone()
            added["V"][:, slice(None) if token is None else token] += 1
        elif token is None:
            added["value.bias"] = case.arguments["value.bias"] + 1
        else:  # in this case tokens are one-hot: column t of the value layer is for token t alone
            added["value.weight"] = case.arguments["value.weight"].clone()
            added["value.weight"][:, token] += 1
        one, two = (self.mutant.call(exercise, arguments) for arguments in (case.arguments, added))
        return two.double() - one.double()  # type: ignore[no-any-return]

    # Span corruption: examples of the mutant, drawn here

    @cached_property
    def documents(self) -> list[str]:
        return self.material.text.split("\n")

    @cached_property
    def longest(self) -> int:
        return max(range(len(self.documents)), key=lambda index: len(self.documents[index]))

    def pairs(self, index: int, count: int) -> list[Any]:
        """So many items of one document, or what was raised."""
        drawn = self._drawn.setdefault(index, [])
        if len(drawn) < count:
            random.seed(7 + index)
            torch.default_generator.manual_seed(7 + index)
            space = self.mutant.space("src/dataset.py")
            dataset = space["CharCorruptionDataset"](self.material.text, self.material.block_size)
            self._spelling = dataset.itos
            drawn.clear()
            drawn += [self.mutant._tried(lambda: dataset[index]) for _ in range(count)]
        return drawn[:count]

    def texts(self, index: int, count: int) -> list[str]:
        """The same as texts; what is none is left out."""
        found = []
        for pair in self.pairs(index, count):
            if isinstance(pair, tuple) and len(pair) == 2 and all(isinstance(one, Tensor) for one in pair):
                x, y = pair
                found.append("".join(self._spelling.get(int(number), "�") for number in [*x.tolist(), y[-1]]))
        return found

    def parted(self, index: int, count: int) -> list[tuple[str, str, str]]:
        """Prefix, suffix and span of the examples of one document that have them."""
        pieces = [text.rstrip(PAD).split(MASK) for text in self.texts(index, count)]
        return [(one[0], one[1], one[2]) for one in pieces if len(one) >= 3]

    def long_examples(self) -> list[tuple[str, str, str]]:
        return self.parted(self.longest, 2500)


_SOLVED: dict[str, tuple[Case, Any]] = {}  # the case is kept, so that no other can have its id
MASK, PAD = "\u2047", "\u25a1"


def allowed_error(exercise: str, wanted: Tensor) -> float:
    return 1e-4 if exercise in ROPE else 1e-5 * float(wanted.abs().max())


def apart(one: Tensor, two: Tensor) -> Tensor:
    """How far two tensors are from each other; NaN is no distance from NaN, and as far as can be from a number."""
    a, b = one.double(), two.double()
    same = (a == b) | (a.isnan() & b.isnan())
    return torch.where(same, 0.0, (a - b).abs().nan_to_num(nan=math.inf, posinf=math.inf))


def identical(one: Any, two: Any) -> bool:
    if not isinstance(one, Tensor) or not isinstance(two, Tensor):
        return type(one) is type(two)
    return one.shape == two.shape and not bool(apart(one, two).any())


def _last_changed(value: Tensor) -> Tensor:
    other = value.clone()
    other[:, -1] += 3.0
    return other


def alike(one: Tensor, two: Tensor) -> bool:
    return one.shape == two.shape and bool(apart(one, two).max() <= 1e-4 * max(1.0, float(two.abs().max())))
