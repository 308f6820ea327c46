"""Reference files: for each case its inputs, the expected output, and what known mistakes give.

A reference file is one safetensors file per exercise and part. All that is not a tensor is
one JSON text in its metadata: a single key, because several would be written in any order.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from autograder.errors import UserError
from autograder.judging.fingerprints import alike
from autograder.running.memory_layout import laid_out, memory_order

FORMAT = 3
Argument = Tensor | int | float | bool | str
Made = TypeVar("Made")


@dataclass(frozen=True)
class Case:
    """One call and what should come of it."""

    name: str
    arguments: dict[str, Argument]
    expected: Tensor
    lookalikes: dict[str, Tensor] = field(default_factory=dict)  # mistake -> fingerprint of its output, if it differs
    raises: dict[str, str] = field(default_factory=dict)  # mistake -> the exception it raises here
    cotangent: Tensor | None = None
    gradients: dict[str, Tensor] = field(default_factory=dict)  # argument -> expected gradient
    give_back: bool = False  # ask for the arguments as they are after the call
    made: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)  # of this case, see `kept`

    def kept(self, name: str, make: Callable[[], Made]) -> Made:
        """Something made of this case, once: the same cases go to every submission of a class."""
        if name not in self.made:
            self.made[name] = make()
        found: Made = self.made[name]
        return found

    def forward_only(self) -> Case:
        """The same case without a request for gradients: inputs are then no leaves of autograd."""
        return replace(self, cotangent=None, made={})

    @property
    def unusual(self) -> bool:
        """Is it about dtype or layout: is a tensor in float64, or not contiguous?"""
        tensors = [value for value in self.arguments.values() if isinstance(value, Tensor)]
        return any(one.dtype == torch.float64 or not one.is_contiguous() for one in tensors)

    def tensor(self, name: str) -> Tensor:
        value = self.arguments[name]
        assert isinstance(value, Tensor)
        return value

    def number(self, name: str) -> int:
        value = self.arguments[name]
        assert isinstance(value, int)
        return value

    def text(self, name: str) -> str:
        value = self.arguments[name]
        assert isinstance(value, str)
        return value


@dataclass(frozen=True)
class Reference:
    """All cases of one exercise in one part (public or hidden)."""

    exercise: str
    part: str
    cases: tuple[Case, ...]
    causes: dict[str, str]  # the known mistakes that may be named here, and what to say of each
    pairs: tuple[tuple[str, str], ...] = ()  # mistakes that were made together,
    prints: Tensor = field(default_factory=lambda: torch.empty(0))  # and their fingerprints: (pairs, cases, length)

    @cached_property
    def usual(self) -> tuple[Case, ...]:
        """The cases that are about values, not about dtype and layout."""
        return tuple(case for case in self.cases if not case.unusual)

    @cached_property
    def unusual(self) -> tuple[Case, ...]:
        return tuple(case for case in self.cases if case.unusual)


def encode(reference: Reference) -> bytes:
    """The file's bytes; equal references give equal bytes."""
    tensors: dict[str, Tensor] = {}
    described: list[dict[str, Any]] = []
    slugs = sorted(reference.causes)
    pairs = sorted(reference.pairs)
    for number, case in enumerate(reference.cases):
        arguments: list[list[Any]] = []
        for name, value in case.arguments.items():
            if isinstance(value, Tensor):
                tensors[f"{number}/in/{name}"] = value.contiguous()
                arguments.append([name, {"order": memory_order(value)}])
            else:
                arguments.append([name, value])
        tensors[f"{number}/out"] = case.expected.contiguous()
        seen = dict(sorted(case.lookalikes.items()))
        if seen:
            tensors[f"{number}/as"] = torch.stack(list(seen.values()))
        tensors |= {f"{number}/grad/{name}": value.contiguous() for name, value in case.gradients.items()}
        if case.cotangent is not None:
            tensors[f"{number}/cotangent"] = case.cotangent.contiguous()
        alike_to = [slugs.index(slug) for slug in seen]
        raises = dict(sorted(case.raises.items()))
        described.append({"name": case.name, "arguments": arguments, "raises": raises, "as": alike_to})
    header = {
        "format": FORMAT,
        "exercise": reference.exercise,
        "part": reference.part,
        "cases": described,
        "causes": dict(sorted(reference.causes.items())),
        "pairs": [[slugs.index(one), slugs.index(other)] for one, other in pairs],
    }
    if reference.pairs:
        tensors["pairs"] = reference.prints[[reference.pairs.index(pair) for pair in pairs]]
    return save(tensors, metadata={"reference": json.dumps(header, ensure_ascii=False)})


def read(path: Path) -> Reference:
    """Read a reference file; a damaged one is an error in one line."""
    try:
        return parse(path.read_bytes())
    except FileNotFoundError:
        raise UserError(f"{path} is missing; run 'python -m autograder references'") from None
    except (SafetensorError, KeyError, ValueError, TypeError, OSError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise UserError(f"{path} is not a reference file ({reason}); run 'python -m autograder references'") from None


def parse(content: bytes) -> Reference:
    """The reference in a file's bytes."""
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    return _decode(json.loads(header["__metadata__"]["reference"]), load(content))


def _decode(header: dict[str, Any], tensors: dict[str, Tensor]) -> Reference:
    if header["format"] != FORMAT:
        raise ValueError(f"format {header['format']}, this version reads {FORMAT}")
    cases = []
    slugs = list(header["causes"])
    for number, described in enumerate(header["cases"]):
        arguments: dict[str, Argument] = {}
        for name, value in described["arguments"]:
            if isinstance(value, dict):
                arguments[name] = laid_out(tensors[f"{number}/in/{name}"], value["order"])
            else:
                arguments[name] = value
        cases.append(
            Case(
                name=described["name"],
                arguments=arguments,
                expected=tensors[f"{number}/out"],
                lookalikes={slugs[place]: tensors[f"{number}/as"][row] for row, place in enumerate(described["as"])},
                raises=described["raises"],
                cotangent=tensors.get(f"{number}/cotangent"),
                gradients=_below(tensors, f"{number}/grad/"),
            )
        )
    pairs = tuple((slugs[one], slugs[other]) for one, other in header["pairs"])
    prints = tensors["pairs"] if pairs else torch.empty(0)
    return Reference(header["exercise"], header["part"], tuple(cases), header["causes"], pairs, prints)


def _below(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    # Sorted: a file's tensors come in any order, and the first one that is wrong is told.
    return {key.removeprefix(prefix): tensors[key] for key in sorted(tensors) if key.startswith(prefix)}


def differs(one: Reference, other: Reference) -> str:
    """How two references differ beyond the rounding of another processor, or ''.

    Inputs and the JSON part must be equal to the bit; outputs may differ by 1e-6 of their
    scale, because the order of additions is not the same on every machine.
    """
    if (one.exercise, one.part, one.causes, one.pairs) != (other.exercise, other.part, other.causes, other.pairs):
        return "the header differs"
    if not close(one.prints, other.prints, 1e-6):
        return "the fingerprints differ"
    if [case.name for case in one.cases] != [case.name for case in other.cases]:
        return "the list of cases differs"
    for a, b in zip(one.cases, other.cases, strict=True):
        if list(a.arguments) != list(b.arguments) or a.raises != b.raises:
            return f"case '{a.name}': another set of arguments or exceptions"
        for name, value in a.arguments.items():
            if not _identical(value, b.arguments[name]):
                return f"case '{a.name}': input {name} differs"
        if not close(a.expected, b.expected, 1e-6):
            return f"case '{a.name}': expected output differs"
        if a.lookalikes.keys() != b.lookalikes.keys():
            return f"case '{a.name}': another set of mistakes shows"
        for slug, seen in a.lookalikes.items():
            if not bool(alike(seen[None], b.lookalikes[slug][None])):
                return f"case '{a.name}': mistake {slug} differs"
        outputs_a, outputs_b = _outputs(a), _outputs(b)
        if outputs_a.keys() != outputs_b.keys():
            return f"case '{a.name}': another set of outputs"
        for name, output in outputs_a.items():
            if not close(output, outputs_b[name], 1e-6):
                return f"case '{a.name}': {name} differs"
    return ""


def _outputs(case: Case) -> dict[str, Tensor]:
    outputs = {f"gradient of {name}": value for name, value in case.gradients.items()}
    if case.cotangent is not None:
        outputs["cotangent"] = case.cotangent
    return outputs


def _identical(one: Argument, other: Argument) -> bool:
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        same_layout = memory_order(one) == memory_order(other)
        return one.dtype == other.dtype and same_layout and torch.equal(one, other)
    return type(one) is type(other) and bool(one == other)


def close(one: Tensor, other: Tensor, relative: float) -> bool:
    """Same shape, dtype, NaNs and infinities, and the rest equal within `relative` of its scale."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if not one.is_floating_point():
        return torch.equal(one, other)
    finite = one.isfinite()
    if not torch.equal(one[~finite].nan_to_num(nan=0.5), other[~finite].nan_to_num(nan=0.5)):
        return False
    if not torch.equal(finite, other.isfinite()):
        return False
    a, b = one[finite], other[finite]
    scale = float(b.abs().max()) if b.numel() else 0.0
    return bool(((a - b).abs() <= relative * scale).all())
