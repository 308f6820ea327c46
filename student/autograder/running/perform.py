"""Carry out one request against student code and bring back plain data, never a verdict.

This module runs wherever student code runs: in the student's own check, and in the worker.
It knows no expected value.
"""

from __future__ import annotations

import builtins
import contextlib
import dis
import inspect
import io
import linecache
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import CodeType, SimpleNamespace
from typing import Any, Literal, NoReturn

import torch
from torch import Tensor, nn

from autograder.running import packages, room, scripts
from autograder.running.editions import Edition
from autograder.running.frames import is_own
from autograder.running.loading import Loader, Unloadable
from autograder.running.plain import Config, Handle, Plain, plain
from autograder.running.sheets import Stopped


@dataclass(frozen=True)
class Request:
    """One thing to do. `target` is a name in the submission, or a handle made before."""

    do: Literal["call", "create", "items", "value", "load", "script", "editions", "use"]
    target: str | Handle
    method: str = ""  # of a script, the file that it is to write
    arguments: tuple[Plain, ...] = ()
    options: dict[str, Plain] = field(default_factory=dict)
    state: dict[str, Tensor] | None = None  # weights to load by name
    cotangent: Tensor | None = None  # ask for gradients of (result * cotangent).sum()
    members: tuple[str, ...] = ()  # of the object, whose gradients are asked for as well
    give_back: bool = False  # the arguments, as they are after the call
    packed: dict[str, bytes] = field(default_factory=dict, compare=False, repr=False)  # see `wire.pack_request`


@dataclass(frozen=True)
class Script:
    """A command line of the student's own, `python name arguments`, in a folder that holds these files only."""

    name: str
    arguments: tuple[str, ...]
    output: str  # the file that it writes, which is what is wanted of it
    files: Mapping[str, Path | bytes]

    @property
    def request(self) -> Request:
        return Request("script", self.name, self.output, self.arguments)


@dataclass(frozen=True)
class Reply:
    """What came back: the value; the arguments as they are now, and gradients, if asked for."""

    value: Plain
    arguments: tuple[Plain, ...] = ()
    gradients: dict[str, Tensor | None] = field(default_factory=dict)
    noticed: tuple[str, ...] = ()  # of `room.WORDS`


Told = Literal["missing", "import", "broken", "not started", "exception", "arguments", "layers"]  # by the worker
Seen = Literal["timeout", "memory", "disk", "crash", "malformed"]  # by whoever watches it


@dataclass(frozen=True)
class Trouble:
    """Student code did not return. `frames` are the student's own, innermost last."""

    kind: Told | Seen
    type_name: str
    text: str
    frames: tuple[tuple[str, int, str], ...] = ()  # file, line number, source line
    column: int = 0  # in the last frame's line, from 1; for a syntax error
    noticed: tuple[str, ...] = ()


class Performer:
    """One submission, loaded as needed, and the objects it has made so far."""

    epoch = 0  # of one's own process, there is only one

    def __init__(self, loader: Loader, *, shared: bool = True) -> None:
        """shared: the tensors of requests belong to the grader, too; a worker has its own, straight off the wire."""
        self.loader, self.shared = loader, shared
        self.objects: list[Any] = []
        self._noticed: set[str] = set()
        packages.serve(loader.root)

    def begin(self, exercise: str, part: str) -> None:
        """Another exercise begins; nothing is to be done in one's own process."""

    def noticed(self) -> list[str]:
        words, self._noticed = sorted(self._noticed), set()
        return words

    def refused(self) -> tuple[str, ...]:
        """Nothing is refused in one's own process."""
        return ()

    def file_of(self, name: str) -> str:
        return self.loader.file_of(name)

    @property
    def root(self) -> Path:
        return self.loader.root

    def editions(self, name: str) -> list[Edition]:
        try:
            return self.loader.editions(name)
        except RecursionError:  # code that is too deeply nested to be looked at
            return []

    def use(self, name: str, edition: Edition | None) -> None:
        self.loader.use(name, edition.before if edition else 0)

    def handed_in(self, name: str) -> Path | None:
        return self.loader.locate(name)

    def perform_all(self, requests: Sequence[Request]) -> list[Reply | Trouble]:
        """One after the other; see `Channel`."""
        with room.entered():
            replies = [self.perform(request) for request in requests]
        self._noticed.update(*(reply.noticed for reply in replies))
        return replies

    def run(self, script: Script, seconds: int) -> Reply | Trouble:
        """In this process, and without a limit of time."""
        with scripts.folder_of(script.files) as folder, contextlib.chdir(folder):
            (reply,) = Performer(Loader(folder, {})).perform_all([script.request])
        self._noticed.update(reply.noticed)
        return reply

    def perform(self, request: Request) -> Reply | Trouble:
        """Do what is asked, in a room that is open; what was asked for there comes back with the reply."""
        reply = self._performed(request)
        if room.asked:
            # A script may use any kernel, and so may code that is run when a file is loaded.
            words = sorted(room.asked.difference(room.KERNELS if request.do in ("load", "script") else ()))
            room.asked.clear()
            return replace(reply, noticed=tuple(words))
        return reply

    def _performed(self, request: Request) -> Reply | Trouble:
        """Whatever student code raises becomes a Trouble."""
        try:
            with _Quiet():
                return getattr(self, f"_{request.do}")(request)  # type: ignore[no-any-return]
        except Unloadable as error:
            cause = error.__cause__
            if cause is None:
                return Trouble("missing", "", str(error))
            if isinstance(cause, Stopped):
                return Trouble("broken", "", str(cause), cause.frames)
            whole = not isinstance(cause, SyntaxError) and any(cause is one for one in self.loader.loaded.values())
            return self._trouble("import" if whole or isinstance(cause, SyntaxError) else "broken", cause)
        except _NotStarted:
            return Trouble("not started", "NotImplementedError", "not started yet (it does nothing and returns None)")
        except _WrongArguments as error:
            return Trouble("arguments", "TypeError", str(error))
        except _WrongLayers as error:
            return Trouble("layers", "", str(error))
        # SystemExit and KeyboardInterrupt raised by a submission are its own failure, too.
        except BaseException as error:
            return self._trouble("exception", error)

    def _call(self, request: Request) -> Reply:
        function = self._target(request)
        room.asked.difference_update(room.KERNELS)  # used while a file was loaded
        arguments = [self._received(argument) for argument in request.arguments]
        options = {name: self._received(option) for name, option in request.options.items()}
        leaves: dict[str, Tensor] = {}
        if request.cotangent is not None:
            for index, argument in enumerate(arguments):
                if isinstance(argument, Tensor) and argument.is_floating_point():
                    leaves[str(index)] = argument.requires_grad_()
            leaves |= {name: _member(self._object(request), name) for name in request.members}
        result = _called(function, arguments, options)
        if result is None and _does_nothing(function):
            raise _NotStarted
        gradients = _gradients(result, leaves, request.cotangent)
        after = tuple(plain(argument) for argument in arguments) if request.give_back else ()
        return Reply(plain(result), after, gradients)

    def _create(self, request: Request) -> Reply:
        assert isinstance(request.target, str)
        arguments = [self._received(argument) for argument in request.arguments]
        kind = self.loader.find(request.target)
        room.asked.difference_update(room.KERNELS)
        made = _called(kind, arguments, {})
        if request.state is not None:
            _load_weights(made, request.state)
        self.objects.append(made)
        return Reply(Handle(len(self.objects) - 1))

    def _items(self, request: Request) -> Reply:
        thing = self._object(request)
        return Reply(_together([thing[index] for index in request.arguments]))

    def _value(self, request: Request) -> Reply:
        if isinstance(request.target, Handle):
            return Reply(plain(_member(self._object(request), request.method), arrays=True))
        return Reply(plain(self.loader.find(request.target), arrays=True))

    def _load(self, request: Request) -> Reply:
        """Only find names, so that what a file does when it is loaded is told from what it does later."""
        assert isinstance(request.target, str)
        return Reply({**self.loader.files_like(request.target)})

    def _editions(self, request: Request) -> Reply:
        assert isinstance(request.target, str)
        return Reply([(one.before, one.place, one.line) for one in self.loader.editions(request.target)])

    def _use(self, request: Request) -> Reply:
        assert isinstance(request.target, str) and isinstance(request.arguments[0], int)
        self.loader.use(request.target, request.arguments[0])
        return Reply(None)

    def _script(self, request: Request) -> Reply:
        """Run it in the present folder, and bring back what it wrote."""
        assert isinstance(request.target, str)
        arguments = [str(argument) for argument in request.arguments]
        scripts.run(self.loader.root / request.target, request.target, arguments)
        return Reply(scripts.written(Path(request.method)))

    def _object(self, request: Request) -> Any:
        assert isinstance(request.target, Handle)
        return self.objects[request.target.number]

    def _target(self, request: Request) -> Callable[..., object]:
        if isinstance(request.target, Handle):
            return getattr(self._object(request), request.method)  # type: ignore[no-any-return]
        return self.loader.find(request.target)  # type: ignore[no-any-return]

    def _received(self, value: Plain) -> Any:
        """A copy for student code to do with as it likes; the grader keeps its own."""
        match value:
            case Tensor():
                return value.clone() if self.shared else value  # keeps strides: a non-contiguous input stays one
            case Config(settings):
                return SimpleNamespace(**settings)
            case Handle(number):
                return self.objects[number]
            case _:
                return value

    def _trouble(self, kind: Literal["import", "broken", "exception"], error: BaseException) -> Trouble:
        root = self.loader.root
        frames = tuple(_own_frames(error, root))
        if isinstance(error, SyntaxError) and error.filename and is_own(error.filename, root):
            name = Path(error.filename).relative_to(root).as_posix()
            source = (error.text or "").rstrip()
            frames = (*frames, (name, error.lineno or 0, source.lstrip()))
            column = max(1, (error.offset or 1) - (len(source) - len(source.lstrip())))
            return Trouble(kind, type(error).__name__, str(error.msg)[:2000], frames, column)
        try:
            text = str(error)
        except BaseException:  # it is the student's own __str__ that runs here
            text = ""
        if isinstance(error, NotImplementedError) and _raised_by_a_stub(error, root):
            return Trouble("not started", "NotImplementedError", text[:2000], frames)
        if isinstance(error, NameError) and isinstance(error.name, str) and (hint := self.loader.lacks(error.name)):
            text = f"{text[:1000]}\n{hint}"
        return Trouble(kind, type(error).__name__, text[:2000], frames)


def _raised_by_a_stub(error: BaseException, root: Path) -> bool:
    """Does a statement of the student's own raise it? torch raises it as well, of numbers that it cannot work with."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None or not is_own(last.tb_frame.f_code.co_filename, root):
        return False
    return last.tb_frame.f_code.co_code[last.tb_lasti] == dis.opmap["RAISE_VARARGS"]


class _WrongLayers(Exception):
    """An object has no place for the weights that are to be loaded into it."""


class _NotStarted(Exception):
    """It is a stub as some are handed out: `result = None`, and `return result`."""


def _does_nothing(function: Callable[..., Any]) -> bool:
    """Does its code only move constants about: no name is looked up, nothing is called or computed?"""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    if not isinstance(code, CodeType) or code.co_names:
        return False
    return all(one.opname.startswith(_IDLE) for one in dis.get_instructions(code))


_IDLE = ("RESUME", "NOP", "CACHE", "LOAD_CONST", "LOAD_FAST", "STORE_FAST", "POP_TOP", "RETURN")


class _WrongArguments(Exception):
    """The call itself was refused, before any line of the function ran."""


def _called(function: Callable[..., Any], arguments: list[Any], options: dict[str, Any]) -> Any:
    try:
        return function(*arguments, **options)
    except TypeError as error:
        if error.__traceback__ is None or error.__traceback__.tb_next is not None:  # raised further inside
            raise
        name = getattr(function, "__name__", "it")
        try:
            mine = f"\nYours is {name}{inspect.signature(function)}."
        except (TypeError, ValueError):
            mine = ""
        raise _WrongArguments(f"{error}{mine}") from error


class _Quiet:
    """Student code prints into the void and cannot wait for a person; a warning is no exception, whoever grades."""

    def __enter__(self) -> None:
        # In a worker they are ignored for good, and setting that up for every request would take its time.
        self.warnings = None if warnings.filters[:1] == [_IGNORED] else warnings.catch_warnings()
        if self.warnings is not None:
            self.warnings.__enter__()
            warnings.simplefilter("ignore")
        self.before = sys.stdout, sys.stderr, builtins.input, sys.breakpointhook
        sys.stdout = sys.stderr = _Void()
        builtins.input, sys.breakpointhook = _NO_INPUT, _NO_BREAKPOINT

    def __exit__(self, *_: object) -> None:
        sys.stdout, sys.stderr, builtins.input, sys.breakpointhook = self.before
        if self.warnings is not None:
            self.warnings.__exit__(None, None, None)


_IGNORED = ("ignore", None, Warning, None, 0)  # as `warnings.simplefilter("ignore")` puts it


class _Void(io.TextIOBase):
    """Takes what is printed and keeps none of it: hidden inputs could leave that way."""

    room = 10_000_000

    def write(self, text: str) -> int:
        self.room -= len(text)
        if self.room < 0:
            raise RuntimeError("your code printed more than 10 million characters; take out the print")
        return len(text)


def _nobody(what: str) -> Callable[..., NoReturn]:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise RuntimeError(f"{what} waits for a person, and nobody is there when code is graded; take it out")

    return refuse


_NO_INPUT, _NO_BREAKPOINT = _nobody("input()"), _nobody("breakpoint()")


def _own_frames(error: BaseException, root: Path) -> Iterator[tuple[str, int, str]]:
    for frame, line in traceback.walk_tb(error.__traceback__):
        file = frame.f_code.co_filename
        if is_own(file, root):
            yield Path(file).relative_to(root).as_posix(), line, linecache.getline(file, line).strip()


def _together(items: list[object]) -> Plain:
    """Items that are all alike, tuples of plain tensors, as one tensor per place: far quicker to send."""
    first = items[0] if items else None
    if (
        type(first) is tuple
        and first
        and all(
            type(item) is tuple
            and len(item) == len(first)
            and all(
                type(a) is Tensor and a.shape == b.shape and a.dtype == b.dtype
                for a, b in zip(item, first, strict=True)
            )
            for item in items
        )
    ):
        return {"stacked": tuple(plain(torch.stack(column)) for column in zip(*items, strict=True))}
    return [plain(item) for item in items]


def _member(thing: Any, dotted: str) -> Any:
    """`thing.key.weight`, or `thing[0].weight` for "0.weight"."""
    for part in dotted.split("."):
        thing = thing[int(part)] if part.isdigit() else getattr(thing, part)
    return thing


def _load_weights(module: Any, state: dict[str, Tensor]) -> None:
    """Copy weights in by name; buffers and extra parameters of the student's stay as they are."""
    if not isinstance(module, nn.Module):
        raise _WrongLayers(f"is {type(module).__name__}, expected an nn.Module")
    for name, weight in state.items():
        _fits(module, name, weight)
    dtype = next(iter(state.values())).dtype
    with torch.no_grad():
        for tensor in module.parameters():
            if tensor.dtype != dtype and tensor.is_floating_point():
                tensor.data = tensor.data.to(dtype)
        for part in module.modules():  # not module.to: it would cut a complex buffer in half
            for name, buffer in part._buffers.items():
                if buffer is not None and buffer.dtype != dtype and buffer.is_floating_point():
                    part._buffers[name] = buffer.to(dtype)  # a table that modules share stays as it is for the others
        for name, weight in state.items():
            _member(module, name).copy_(weight)
    module.eval()


def _fits(module: nn.Module, name: str, weight: Tensor) -> None:
    """Has it a parameter of that name and shape? If not, it is a layer of the given __init__ that is to blame."""
    layer, _, part = name.rpartition(".")
    held: Any = module
    for step in layer.split("."):
        held = getattr(held, step, None)
    if held is None:
        raise _WrongLayers(f"it has no layer called {layer}; the given __init__ makes it")
    mine = getattr(held, part, None)
    if mine is None and part == "bias":
        raise _WrongLayers(f"the layer {layer} has no bias; the given __init__ makes nn.Linear layers with bias")
    if not isinstance(mine, Tensor):
        raise _WrongLayers(f"the layer {layer} has no {part}; the given __init__ makes nn.Linear layers")
    if mine.shape != weight.shape:
        shapes = f"has shape {tuple(mine.shape)}, expected {tuple(weight.shape)}"
        raise _WrongLayers(f"the {part} of the layer {layer} {shapes}, as the given __init__ makes it")


def _gradients(result: object, leaves: dict[str, Tensor], cotangent: Tensor | None) -> dict[str, Tensor | None]:
    if cotangent is None:
        return {}
    nothing: dict[str, Tensor | None] = dict.fromkeys(leaves)
    if not isinstance(result, Tensor) or not result.requires_grad or result.shape != cotangent.shape:
        return nothing
    found = torch.autograd.grad(result, list(leaves.values()), cotangent.to(result.dtype), allow_unused=True)
    return dict(zip(leaves, found, strict=True))
