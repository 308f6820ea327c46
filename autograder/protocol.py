"""Frames between grader and worker: a small JSON header, then raw tensor bytes. No pickle, ever.

    8 bytes   length of the header, then of the body, little-endian
    header    JSON: the value as a tree; a tensor is its dtype and shape
    body      the tensors' bytes, one after another, in the order of the header

Decoding trusts nothing: every length, type, count and shape is checked before it is used, and
whatever is wrong is Malformed, which fails the check that waited for the frame and no other.
"""

from __future__ import annotations

import json
import math
import struct
from typing import Any

import torch
from torch import Tensor

from autograder.layout import is_order, laid_out, memory_order
from autograder.plain import Config, Handle, Other, Plain

PREFIX = struct.Struct("<II")
MAX_HEADER = 1 << 20
MAX_BODY = 64 << 20
MAX_DEPTH = 16
MAX_NODES = 200_000
MAX_RANK = 12
MAX_TEXT = 100_000

_DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        *(torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128),
        *(torch.int8, torch.int16, torch.int32, torch.int64, torch.bool),
        *(torch.uint8, torch.uint16, torch.uint32, torch.uint64),
    )
}


class Malformed(Exception):
    """A frame that does not say anything that may be said."""


class TooLarge(Exception):
    """A value that does not fit into a frame."""


def encode(value: Plain) -> bytes:
    """One frame."""
    chunks: list[bytes] = []
    header = json.dumps(_described(value, chunks), separators=(",", ":")).encode()
    size = sum(map(len, chunks))
    if len(header) > MAX_HEADER or size > MAX_BODY:
        raise TooLarge(f"a value of {size:,} bytes is too large to be returned")
    return b"".join([PREFIX.pack(len(header), size), header, *chunks])


def _described(value: Plain, chunks: list[bytes]) -> Any:
    match value:
        case None | bool() | int() | float() | str():
            # JSON has no NaN or infinity; hex keeps every bit of a float.
            return {"f": value.hex()} if isinstance(value, float) else value
        case Tensor():
            if value.numel() * value.element_size() > MAX_BODY:
                raise TooLarge(f"a tensor of shape {tuple(value.shape)} is too large to be returned")
            name = str(value.dtype).removeprefix("torch.")
            if name not in _DTYPES:
                return {"o": f"a tensor of dtype {name}"}
            chunks.append(_bytes(value))
            return {"t": [name, list(value.shape), memory_order(value)]}
        case list():
            return [_described(item, chunks) for item in value]
        case tuple():
            return {"p": [_described(item, chunks) for item in value]}
        case dict():
            return {"d": [[key, _described(item, chunks)] for key, item in value.items()]}
        case Other(type_name):
            return {"o": type_name[:200]}
        case Config(settings):
            return {"c": {"d": [[key, _described(item, chunks)] for key, item in settings.items()]}}
        case Handle(number):
            return {"h": number}
    raise TypeError(f"{type(value).__name__} is not plain")


def _bytes(tensor: Tensor) -> bytes:
    flat = tensor.detach().contiguous().reshape(-1)
    return bytes(flat.view(torch.uint8).numpy().tobytes()) if flat.numel() else b""


def sizes(prefix: bytes) -> tuple[int, int]:
    """Lengths of header and body; both are capped before anything is read."""
    header, body = PREFIX.unpack(prefix)
    if header > MAX_HEADER or body > MAX_BODY:
        raise Malformed("a frame is too long")
    return header, body


def decode(header: bytes, body: bytes) -> Plain:
    """The value in a frame, or Malformed."""
    try:
        tree = json.loads(header, parse_constant=_no_constant)
        reader = _Reader(body)
        value = reader.value(tree, 0)
    except Malformed:
        raise
    except (ValueError, RecursionError, OverflowError, TypeError, MemoryError) as error:
        raise Malformed(type(error).__name__) from None
    if reader.position != len(body):
        raise Malformed("bytes are left over")
    return value


def _no_constant(name: str) -> Any:
    raise Malformed(f"{name} in the header")


class _Reader:
    """Walks the header; takes tensors off the body."""

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.position = 0
        self.nodes = 0

    def value(self, tree: Any, depth: int) -> Plain:
        self.nodes += 1
        if depth > MAX_DEPTH or self.nodes > MAX_NODES:
            raise Malformed("too deep or too many values")
        if tree is None or type(tree) in (bool, int):
            return tree  # type: ignore[no-any-return]
        if type(tree) is str:
            return _text(tree, MAX_TEXT)
        if type(tree) is list:
            return [self.value(item, depth + 1) for item in tree]
        if type(tree) is dict and len(tree) == 1:
            (tag, content), *_ = tree.items()
            return self._tagged(tag, content, depth)
        raise Malformed("a value of unknown form")

    def _tagged(self, tag: str, content: Any, depth: int) -> Plain:
        match tag, content:
            case "f", str():
                return float.fromhex(content)
            case "t", [str() as dtype, list() as shape, list() as order]:
                return self._tensor(dtype, shape, order)
            case "p", list():
                return tuple(self.value(item, depth + 1) for item in content)
            case "d", list():
                return {self._key(pair): self.value(pair[1], depth + 1) for pair in content}
            case "o", str():
                return Other(_text(content, 200))
            case "h", int() if type(content) is int and content >= 0:
                return Handle(content)
            case "c", {"d": list()}:
                settings = self.value(content, depth + 1)
                assert isinstance(settings, dict)
                if all(isinstance(k, str) and isinstance(v, (bool, int, float)) for k, v in settings.items()):
                    return Config(settings)  # type: ignore[arg-type]
        raise Malformed("a value of unknown form")

    def _key(self, pair: Any) -> str | int:
        # Larger numbers can be chosen to have all the same hash, and a dict of such keys takes for ever.
        if type(pair) is list and len(pair) == 2 and (type(pair[0]) is str or _is_small(pair[0])):
            return pair[0]  # type: ignore[no-any-return]
        raise Malformed("a key of unknown form")

    def _tensor(self, dtype: str, shape: list[Any], order: list[Any]) -> Tensor:
        if dtype not in _DTYPES or len(shape) > MAX_RANK or not is_order(order, len(shape)):
            raise Malformed("a tensor of unknown form")
        if any(type(size) is not int or size < 0 or size > MAX_BODY for size in shape):
            raise Malformed("a tensor of impossible shape")
        kind = _DTYPES[dtype]
        if math.prod(size for size in shape if size) > MAX_BODY:  # a zero elsewhere would hide an overflow
            raise Malformed("a tensor of impossible shape")
        length = math.prod(shape) * kind.itemsize
        if length > len(self.body) - self.position:
            raise Malformed("a tensor is longer than its bytes")
        raw = bytearray(self.body[self.position : self.position + length])
        self.position += length
        if kind is torch.bool and raw.strip(b"\0\1"):
            raise Malformed("a truth value that is neither")
        tensor = torch.frombuffer(raw, dtype=kind) if length else torch.empty(0, dtype=kind)
        return laid_out(tensor.reshape(shape), order)


def _is_small(key: object) -> bool:
    return type(key) is int and abs(key) < 1 << 53


def _text(text: str, limit: int) -> str:
    if len(text) > limit:
        raise Malformed("a text is too long")
    return text.encode("utf-8", "replace").decode()  # lone surrogates cannot be written to a report
