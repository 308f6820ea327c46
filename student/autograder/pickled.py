"""Look into a pickle without unpickling it: which tensors it would make, and of what. Nothing of it is run.

Unpickling is a small machine; this one knows the steps that a dict of tensors takes, and refuses every other.
"""

from __future__ import annotations

import math
import pickletools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

MOST_STEPS = 200_000
MAX_AXES = 12
# What torch calls each kind of storage, and the name and the bytes of one number in it.
STORAGES: Mapping[str, tuple[str, int]] = {
    "DoubleStorage": ("F64", 8),
    "FloatStorage": ("F32", 4),
    "HalfStorage": ("F16", 2),
    "BFloat16Storage": ("BF16", 2),
    "LongStorage": ("I64", 8),
    "IntStorage": ("I32", 4),
    "ShortStorage": ("I16", 2),
    "CharStorage": ("I8", 1),
    "ByteStorage": ("U8", 1),
    "BoolStorage": ("BOOL", 1),
}
_ALLOWED = {
    "collections.OrderedDict",
    "torch._utils._rebuild_tensor_v2",
    "torch._utils._rebuild_parameter",
    "torch.Size",
    *(f"torch.{name}" for name in STORAGES),
}


class NotPlain(Exception):
    """It would do something else than make tensors; says what."""


@dataclass(frozen=True)
class Storage:
    key: str
    kind: str
    width: int
    count: int


@dataclass(frozen=True)
class _Named:
    name: str


_MARK = object()
_MADE = object()  # a tensor, a dict, a list: nobody looks into it again
_PUSHED = (
    *("BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "UNICODE", "BININT", "BININT1", "BININT2", "INT", "LONG"),
    *("LONG1", "LONG4", "FLOAT", "BINFLOAT"),
)
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}


@dataclass
class Reader:
    """One walk over a pickle."""

    stack: list[Any] = field(default_factory=list)
    memo: dict[int, Any] = field(default_factory=dict)
    storages: dict[str, Storage] = field(default_factory=dict)

    def read(self, content: bytes) -> dict[str, Storage]:
        """The storages that it uses, by key."""
        try:
            for number, (step, argument, _) in enumerate(pickletools.genops(content)):
                if number > MOST_STEPS:
                    raise NotPlain("takes too many steps")
                if step.name == "STOP":
                    return self.storages
                self._step(step.name, argument)
        except NotPlain:
            raise
        except (ValueError, IndexError, KeyError, TypeError, AttributeError, OverflowError):
            pass
        raise NotPlain("is damaged")

    def _step(self, name: str, argument: Any) -> None:
        stack = self.stack
        if name in ("PROTO", "FRAME"):
            return
        if name in _PUSHED:
            stack.append(argument)
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name])
        elif name == "MARK":
            stack.append(_MARK)
        elif name in ("EMPTY_DICT", "EMPTY_LIST"):
            stack.append(_MADE)
        elif name in ("BINPUT", "LONG_BINPUT", "PUT"):
            self.memo[int(argument)] = stack[-1]
        elif name == "MEMOIZE":
            self.memo[len(self.memo)] = stack[-1]
        elif name in ("BINGET", "LONG_BINGET", "GET"):
            stack.append(self.memo[int(argument)])
        elif name in _STEPS:
            _STEPS[name](self, argument)
        else:
            raise NotPlain(f"asks Python for more than tensors ({name})")

    def _pop(self, count: int) -> list[Any]:
        if count > len(self.stack):
            raise IndexError
        taken = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        return taken

    def _to_mark(self) -> list[Any]:
        taken = []
        while (top := self.stack.pop()) is not _MARK:
            taken.append(top)
        return taken[::-1]

    def _tuple(self, size: int | None) -> None:
        self.stack.append(tuple(self._to_mark() if size is None else self._pop(size)))

    def _global(self, module: Any, name: Any) -> None:
        dotted = f"{module}.{name}".replace("__builtin__.", "builtins.")  # as Python 2 said
        if dotted not in _ALLOWED:
            raise NotPlain(f"asks Python to run {dotted[:80]}")
        self.stack.append(_Named(dotted))

    def _storage(self) -> None:
        (what,) = self._pop(1)
        match what:
            case ("storage", _Named(name), str() as key, str(), int() as count):
                kind, width = STORAGES[name.removeprefix("torch.")]
                known = self.storages.setdefault(key, Storage(key, kind, width, count))
                if known != Storage(key, kind, width, count) or count < 0:
                    raise NotPlain(f"describes its numbers {key[:20]} twice, and not alike")
                self.stack.append(known)
            case _:
                raise NotPlain("is damaged")

    def _reduce(self) -> None:
        called, arguments = self._pop(2)
        if not isinstance(called, _Named) or not isinstance(arguments, tuple):
            raise NotPlain("is damaged")
        if called.name == "torch.Size":
            (sizes,) = arguments
            self.stack.append(tuple(sizes))
            return
        if called.name == "torch._utils._rebuild_tensor_v2":
            _check_tensor(*arguments[:4])
        elif called.name.startswith("torch.") and called.name.endswith("Storage"):
            raise NotPlain(f"asks Python to run {called.name}")
        self.stack.append(_MADE)


def _check_tensor(storage: Any, offset: Any, sizes: Any, strides: Any) -> None:
    """No larger than the numbers that are there: one number, spread out, may claim to be a trillion."""
    if not isinstance(storage, Storage) or not len(sizes) == len(strides) <= MAX_AXES:
        raise NotPlain("is damaged")
    if not all(type(number) is int and number >= 0 for number in (offset, *sizes, *strides)):
        raise NotPlain("is damaged")
    reach = offset + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True)) + 1
    if math.prod(sizes) > storage.count or (math.prod(sizes) and reach > storage.count):
        raise NotPlain(f"claims a tensor of shape {_shape(sizes)}, but does not hold its numbers")


def _shape(sizes: Any) -> str:
    return " x ".join(f"{size:,}" for size in sizes)[:60]


_STEPS: Mapping[str, Callable[[Reader, Any], object]] = {
    "TUPLE1": lambda reader, _: reader._tuple(1),
    "TUPLE2": lambda reader, _: reader._tuple(2),
    "TUPLE3": lambda reader, _: reader._tuple(3),
    "TUPLE": lambda reader, _: reader._tuple(None),
    "APPEND": lambda reader, _: reader._pop(1),
    "SETITEM": lambda reader, _: reader._pop(2),
    "BUILD": lambda reader, _: reader._pop(1),  # what state_dict() adds to its OrderedDict: versions
    "APPENDS": lambda reader, _: reader._to_mark(),
    "SETITEMS": lambda reader, _: reader._to_mark(),
    "GLOBAL": lambda reader, argument: reader._global(*argument.split(" ", 1)),
    "STACK_GLOBAL": lambda reader, _: reader._global(*reader._pop(2)),
    "BINPERSID": lambda reader, _: reader._storage(),
    "REDUCE": lambda reader, _: reader._reduce(),
}
