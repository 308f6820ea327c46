"""How a check talks to a submission: like plain Python, whatever is on the other side."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol, TypeGuard

from torch import Tensor

from autograder.findings import CheckFailed, Finding
from autograder.perform import Reply, Request, Trouble
from autograder.plain import Handle, Plain


class Channel(Protocol):
    """Whatever carries out requests: in this process, or in a worker."""

    def begin(self, exercise: str, part: str) -> None: ...

    def perform(self, request: Request) -> Reply | Trouble: ...


class Submission:
    """The submission under test. `submission.split_heads(x, 3)` calls the student's function."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *arguments, **options: self.call(name, *arguments, **options).value

    def _begin(self, exercise: str, part: str) -> None:
        self._channel.begin(exercise, part)

    def call(self, name: str, *arguments: Plain, cotangent: Tensor | None = None, **options: Plain) -> Reply:
        """Call a function; with a cotangent, gradients of its floating inputs come back too."""
        request = Request("call", name, arguments=arguments, options=options, cotangent=cotangent)
        return self._ask(request, name)

    def create(self, name: str, *arguments: Plain, state: dict[str, Tensor] | None = None) -> Instance:
        """Make an object of a class; `state` is loaded into it by name, in evaluation mode."""
        made = self._ask(Request("create", name, arguments=arguments, state=state), name).value
        if not isinstance(made, Handle):
            raise CheckFailed(Finding("malformed", f"{name}: the object could not be made"))
        return Instance(self, name, made, state)

    def value(self, name: str) -> Plain:
        """The value of a variable; arrays are taken as tensors."""
        return self._ask(Request("value", name), name).value

    def _ask(self, request: Request, name: str) -> Reply:
        reply = self._channel.perform(request)
        if isinstance(reply, Trouble):
            fail_with(reply, name)
        return reply


@dataclass(frozen=True)
class Instance:
    """An object of the student's, by handle."""

    submission: Submission
    name: str
    handle: Handle
    state: dict[str, Tensor] | None

    def call(self, method: str, *arguments: Plain, cotangent: Tensor | None = None) -> Reply:
        request = Request("call", self.handle, method, arguments=arguments, state=self.state, cotangent=cotangent)
        return self.submission._ask(request, f"{self.name}.{method}")

    def items(self, indices: Sequence[int]) -> Items:
        """`object[i]` for each index, in order."""
        reply = self.submission._ask(
            Request("items", self.handle, arguments=tuple(indices)), f"{self.name}.__getitem__"
        )
        match reply.value:
            case {"stacked": tuple() as columns} if columns:
                stacked = tuple(column for column in columns if _has_rows(column, len(indices)))
                if len(stacked) == len(columns):
                    return Items(stacked)
            case list() as items if len(items) == len(indices):
                return Items(None, items)
        raise CheckFailed(Finding("malformed", f"{self.name}: the items could not be read"))

    def length(self) -> Plain:
        return self.call("__len__").value

    def attribute(self, name: str) -> Plain:
        return self.submission._ask(Request("value", self.handle, name), f"{self.name}.{name}").value


@dataclass(frozen=True)
class Items:
    """What indexing gave. Tuples of tensors that are all alike come as one tensor per place, one row per item."""

    columns: tuple[Tensor, ...] | None
    single: Sequence[Plain] = ()

    def each(self) -> Sequence[Plain]:
        """One value per item."""
        if self.columns is None:
            return self.single
        return list(zip(*(column.unbind(0) for column in self.columns), strict=True))


def _has_rows(column: Plain, count: int) -> TypeGuard[Tensor]:
    return isinstance(column, Tensor) and column.dim() > 0 and column.shape[0] == count


def fail_with(trouble: Trouble, name: str) -> NoReturn:
    """Turn what student code did instead of returning into the finding that says so."""
    file, line, source = trouble.frames[-1] if trouble.frames else ("", 0, "")
    place = f"{file} line {line}" if file else ""
    match trouble.kind:
        case "not started":
            raise CheckFailed(Finding("not started", f"{name}: {trouble.text or 'not started yet'}", where=place))
        case "missing" | "timeout" | "memory" | "disk" | "crash" | "malformed":
            # These texts are the grader's own, so hidden checks may show what they say about the cause.
            raise CheckFailed(
                Finding(
                    trouble.kind, f"{name}: {trouble.text}", where=trouble.text if trouble.kind != "missing" else ""
                )
            )
        case "import":
            headline = f"{name}: {file or 'a file'} could not be loaded"
        case "exception":
            headline = f"{name}: your code raised {trouble.type_name}"
    evidence = (f"{trouble.type_name}: {trouble.text}".splitlines() or [""])[:1]
    if place:
        evidence.append(f"at {place}: {source}")
    # The name of a made-up exception class could carry hidden inputs out; Python's own cannot.
    known = trouble.type_name if hasattr(builtins, trouble.type_name) else "an exception"
    where = ", ".join(part for part in (known, place) if part)
    raise CheckFailed(Finding(trouble.kind, headline, tuple(evidence), where=where))
