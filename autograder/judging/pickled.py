"""Look into a pickle without unpickling it: which tensors it would make, and of what. Nothing of it is run.

Unpickling is a small machine; this one knows the steps that a dict of tensors takes, and refuses every other. What it
keeps is bounded: a few bytes of pickle can describe a number of a million digits, or a tuple of tuples of tuples that
would fill the memory if it were printed.
"""

from __future__ import annotations

import math
import pickletools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

MOST_STEPS = 200_000
MAX_AXES = 12
LARGEST = 1 << 64  # of a whole number
MOST_IN_A_TUPLE = 10_000  # counted through all tuples within it
DEEPEST = 6  # dicts within dicts in which tensors are looked for
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
    "ComplexFloatStorage": ("C64", 8),
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
class Tensor:
    """Where the numbers of a tensor lie: in a storage, from `offset` on, `strides` apart."""

    storage: Storage
    offset: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True)
class _Named:
    name: str


@dataclass
class _Dict:
    """A dict, as far as it holds tensors or dicts under names."""

    items: dict[str, Tensor | _Dict] = field(default_factory=dict)


class _Tuple(tuple[Any, ...]):
    """A tuple that knows how much there is in it."""

    weight: int


_MARK = object()
_MADE = object()  # a list, a set of versions: nobody looks into it again
_PUSHED = (
    *("BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "UNICODE", "BININT", "BININT1", "BININT2", "INT", "LONG"),
    *("LONG1", "LONG4", "FLOAT", "BINFLOAT"),
)
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}


def _packed(things: Iterable[Any]) -> _Tuple:
    made = _Tuple(things)
    made.weight = 1 + sum(thing.weight if isinstance(thing, _Tuple) else 1 for thing in made)
    if made.weight > MOST_IN_A_TUPLE:
        raise NotPlain("holds tuples of more than a checkpoint needs")
    return made


@dataclass
class Reader:
    """One walk over a pickle."""

    stack: list[Any] = field(default_factory=list)
    memo: dict[int, Any] = field(default_factory=dict)
    storages: dict[str, Storage] = field(default_factory=dict)  # that it uses, by key

    def read(self, content: bytes) -> dict[str, Tensor]:
        """The tensors in its dicts, by name; in a dict within a dict, by both names with a dot between."""
        try:
            for number, (step, argument, _) in enumerate(pickletools.genops(content)):
                if number > MOST_STEPS:
                    raise NotPlain("takes too many steps")
                if step.name == "STOP":
                    return _tensors_in(self.stack[-1])
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
            if type(argument) is int and abs(argument) > LARGEST:
                raise NotPlain("holds a whole number that no checkpoint needs")
            stack.append(argument)
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name])
        elif name == "MARK":
            stack.append(_MARK)
        elif name == "EMPTY_DICT":
            stack.append(_Dict())
        elif name == "EMPTY_LIST":
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
        self.stack.append(_packed(self._to_mark() if size is None else self._pop(size)))

    def _set(self, pairs: list[Any]) -> None:
        made = self.stack[-1]
        for key, value in zip(pairs[::2], pairs[1::2], strict=True):
            if isinstance(made, _Dict) and isinstance(key, str) and isinstance(value, Tensor | _Dict):
                made.items[key] = value

    def _global(self, module: Any, name: Any) -> None:
        if not isinstance(module, str) or not isinstance(name, str):
            raise NotPlain("is damaged")
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
            self.stack.append(_packed(sizes))
        elif called.name == "torch._utils._rebuild_tensor_v2":
            self.stack.append(_tensor(*arguments[:4]))
        elif called.name == "torch._utils._rebuild_parameter":
            self.stack.append(arguments[0])
        elif called.name == "collections.OrderedDict":
            self.stack.append(_Dict())
        else:
            raise NotPlain(f"asks Python to run {called.name}")


def _tensor(storage: Any, offset: Any, sizes: Any, strides: Any) -> Tensor:
    """No larger than the numbers that are there: one number, spread out, may claim to be a trillion."""
    if not isinstance(storage, Storage) or not len(sizes) == len(strides) <= MAX_AXES:
        raise NotPlain("is damaged")
    if not all(type(number) is int and number >= 0 for number in (offset, *sizes, *strides)):
        raise NotPlain("is damaged")
    reach = offset + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True)) + 1
    if math.prod(sizes) > storage.count or (math.prod(sizes) and reach > storage.count):
        raise NotPlain(f"claims a tensor of shape {_shape(sizes)}, but does not hold its numbers")
    return Tensor(storage, offset, tuple(sizes), tuple(strides))


def _tensors_in(top: Any) -> dict[str, Tensor]:
    """Each dict is looked into once, so that dicts which hold one another are no trap."""
    found: dict[str, Tensor] = {}
    seen: set[int] = set()
    waiting = [("", top, 1)] if isinstance(top, _Dict) else []
    while waiting:
        before, holder, depth = waiting.pop()
        if id(holder) in seen or depth > DEEPEST:
            continue
        seen.add(id(holder))
        for key, value in holder.items.items():
            if isinstance(value, Tensor):
                found[f"{before}{key}"] = value
            else:
                waiting.append((f"{before}{key}.", value, depth + 1))
    return found


def _shape(sizes: Any) -> str:
    return " x ".join(f"{size:,}" for size in sizes)[:60]


_STEPS: Mapping[str, Callable[[Reader, Any], object]] = {
    "TUPLE1": lambda reader, _: reader._tuple(1),
    "TUPLE2": lambda reader, _: reader._tuple(2),
    "TUPLE3": lambda reader, _: reader._tuple(3),
    "TUPLE": lambda reader, _: reader._tuple(None),
    "APPEND": lambda reader, _: reader._pop(1),
    "SETITEM": lambda reader, _: reader._set(reader._pop(2)),
    "BUILD": lambda reader, _: reader._pop(1),  # what state_dict() adds to its OrderedDict: versions
    "APPENDS": lambda reader, _: reader._to_mark(),
    "SETITEMS": lambda reader, _: reader._set(reader._to_mark()),
    "GLOBAL": lambda reader, argument: reader._global(*argument.split(" ", 1)),
    "STACK_GLOBAL": lambda reader, _: reader._global(*reader._pop(2)),
    "BINPERSID": lambda reader, _: reader._storage(),
    "REDUCE": lambda reader, _: reader._reduce(),
}
