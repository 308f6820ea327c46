"""Frames between grader and worker: a small JSON header, then raw tensor bytes. No pickle, ever.

    8 bytes   length of the header, then of the body, little-endian
    header    JSON: the value as a tree; a tensor is its dtype and shape
    body      the tensors' bytes, one after another, in the order of the header

Decoding trusts nothing: every length, type, count and shape is checked before it is used, and
whatever is wrong is Malformed, which fails the check that waited for the frame and no other.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from autograder.running.memory_layout import is_order, laid_out, memory_order
from autograder.running.plain import Config, Handle, Other, Plain

PREFIX = struct.Struct("<II")
MAX_HEADER = 1 << 20
ROOM = 100  # of it, for a number
MAX_BODY = 64 << 20
MAX_DEPTH = 16
SIMPLE, OPENED = 8192, 128  # characters and brackets of a header that is read the quick way
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


_NAMES = {dtype: name for name, dtype in _DTYPES.items()}
_quoted = json.encoder.encode_basestring_ascii


class Malformed(Exception):
    """A frame that does not say anything that may be said."""


class TooLarge(Exception):
    """A value that does not fit into a frame."""


def encode(value: Plain) -> bytes:
    """One frame."""
    header, body = described(value)
    return PREFIX.pack(len(header), len(body)) + header + body


def frame(header: bytes, body: bytes, number: int) -> bytes:
    """A frame of fields that were described before, with a number in front of them."""
    assert header.startswith(_PAIRS) and len(header) > len(_PAIRS) + 2
    numbered = b'%b["number",%d],%b' % (_PAIRS, number, header[len(_PAIRS) :])
    return PREFIX.pack(len(numbered), len(body)) + numbered + body


def described(value: Plain) -> tuple[bytes, bytes]:
    """Header and body."""
    words: list[str] = []
    chunks: list[bytes] = []
    _describe(value, words, chunks)
    header, body = "".join(words).encode(), b"".join(chunks)
    if len(header) > MAX_HEADER - ROOM or len(body) > MAX_BODY:
        raise TooLarge(f"a value of {len(header) + len(body):,} bytes is too large to be returned")
    return header, body


def _describe(value: Plain, words: list[str], chunks: list[bytes]) -> None:
    """The header is written at once, not as a tree that is written later: a submission takes hundreds of frames."""
    kind = type(value)
    if isinstance(value, Tensor):
        _describe_tensor(value, words, chunks)
    elif value is None or kind is bool:
        words.append(_WORDS[value])  # type: ignore[index]
    elif kind is int:
        words.append(repr(value))
    elif isinstance(value, str):
        words.append(_quoted(value))
    elif isinstance(value, float):
        # JSON has no NaN or infinity; hex keeps every bit of a float.
        words.append(f'{{"f":"{value.hex()}"}}')
    elif isinstance(value, (tuple, list)):
        before, after = ('{"p":[', "]}") if isinstance(value, tuple) else ("[", "]")
        if set(map(type, value)) == {int}:  # indices, often hundreds of them
            words.append(f"{before}{','.join(map(repr, value))}{after}")
            return
        words.append(before)
        for number, item in enumerate(value):
            if number:
                words.append(",")
            _describe(item, words, chunks)
        words.append(after)
    elif isinstance(value, dict):
        _describe_pairs(value, words, chunks)
    elif isinstance(value, Config):
        words.append('{"c":')
        _describe_pairs(value.settings, words, chunks)
        words.append("}")
    elif isinstance(value, Handle):
        words.append(f'{{"h":{value.number}}}')
    elif isinstance(value, Other):
        words.append(f'{{"o":{_quoted(value.type_name[:200])}}}')
    else:
        raise TypeError(f"{kind.__name__} is not plain")


_PAIRS = b'{"d":['
_WORDS = {None: "null", False: "false", True: "true"}


def _describe_pairs(pairs: Mapping[Any, Plain], words: list[str], chunks: list[bytes]) -> None:
    words.append('{"d":[')
    for number, (key, item) in enumerate(pairs.items()):
        words.append(f"{',' if number else ''}[{_quoted(key) if isinstance(key, str) else int(key)},")
        _describe(item, words, chunks)
        words.append("]")
    words.append("]}")


def _describe_tensor(tensor: Tensor, words: list[str], chunks: list[bytes]) -> None:
    shape = list(tensor.shape)
    if tensor.numel() * tensor.element_size() > MAX_BODY:
        raise TooLarge(f"a tensor of shape {tuple(shape)} is too large to be returned")
    name = _NAMES.get(tensor.dtype)
    if name is None:
        words.append(f'{{"o":"a tensor of dtype {str(tensor.dtype).removeprefix("torch.")}"}}')
        return
    chunks.append(_bytes(tensor))
    words.append(f'{{"t":["{name}",{shape},{memory_order(tensor)}]}}')


def _bytes(tensor: Tensor) -> bytes:
    whole = tensor.detach().contiguous()
    if whole.dtype is torch.bfloat16:  # NumPy has none
        whole = whole.view(torch.int16)
    return whole.numpy().tobytes()


def sizes(received: bytes | bytearray) -> tuple[int, int]:
    """Lengths of header and body, as a frame's beginning tells them; both are capped before the rest is waited for."""
    header, body = PREFIX.unpack_from(received)
    if header > MAX_HEADER or body > MAX_BODY:
        raise Malformed("a frame is too long")
    return header, body


def taken(received: bytearray, header: int, body: int) -> tuple[bytearray, bytearray]:
    """Take a frame of these sizes off what was received: its header and its body."""
    middle, end = PREFIX.size + header, PREFIX.size + header + body
    parts = received[PREFIX.size : middle], received[middle:end]
    del received[:end]
    return parts


def decode(header: bytes | bytearray, body: bytes | bytearray) -> Plain:
    """The value in a frame, or Malformed."""
    return Decoder().decode(header, body)


def _no_constant(name: str) -> Any:
    raise Malformed(f"{name} in the header")


_JSON = json.JSONDecoder(parse_constant=_no_constant)


class Decoder:
    """Reads frames, one after the other: walks the header, and takes tensors off the body."""

    def __init__(self) -> None:
        self.body = memoryview(b"")
        self.position = 0
        self.nodes = 0
        self._json = json.JSONDecoder(object_hook=self._hooked, parse_constant=_no_constant, parse_float=_no_constant)

    def decode(self, header: bytes | bytearray, body: bytes | bytearray) -> Plain:
        """The value in a frame, or Malformed."""
        self.body, self.position, self.nodes = memoryview(body), 0, 0
        try:
            text = header.decode()
            value: Plain = self._json.decode(text) if _is_simple(header) else self.value(_JSON.decode(text), 0)
        except Malformed:
            raise
        except (ValueError, RecursionError, OverflowError, TypeError, MemoryError) as error:
            raise Malformed(type(error).__name__) from None
        if self.position != len(body):
            raise Malformed("bytes are left over")
        return value

    def _hooked(self, tree: dict[str, Any]) -> Plain:
        """The same as `value` for an object whose inner values are read already: the JSON reader calls this for each.

        Nobody counts depth and values, so that the header must be simple.
        """
        if len(tree) != 1:
            raise Malformed("a value of unknown form")
        (tag, content), *_ = tree.items()
        kind = type(content)
        if kind is list:
            if tag == "t" and len(content) == 3:
                return self._tensor(*content)
            if tag == "p":
                return tuple(content)
            if tag == "d":
                return {self._key(pair): pair[1] for pair in content}
        return self._leaf(tag, content, content)

    def _leaf(self, tag: str, content: Any, settings: Any) -> Plain:
        """A tagged value that holds no others, or, of a Config, its `settings`."""
        kind = type(content)
        if kind is str and tag == "f":
            return float.fromhex(content)
        if kind is str and tag == "o":
            return Other(_text(content, 200))
        if kind is int and tag == "h" and content >= 0:
            return Handle(content)
        if tag == "c" and _are_settings(settings):
            return Config(settings)
        raise Malformed("a value of unknown form")

    def value(self, tree: Any, depth: int) -> Plain:
        self.nodes += 1
        if depth > MAX_DEPTH or self.nodes > MAX_NODES:
            raise Malformed("too deep or too many values")
        kind = type(tree)
        if kind is dict and len(tree) == 1:
            (tag, content), *_ = tree.items()
            return self._tagged(tag, content, depth)
        if tree is None or kind is bool or kind is int:
            return tree  # type: ignore[no-any-return]
        if kind is str:
            return _text(tree, MAX_TEXT)
        if kind is list:
            return [self.value(item, depth + 1) for item in tree]
        raise Malformed("a value of unknown form")

    def _tagged(self, tag: str, content: Any, depth: int) -> Plain:
        if type(content) is list:
            if tag == "t" and len(content) == 3:
                return self._tensor(*content)
            if tag == "p":
                return tuple([self.value(item, depth + 1) for item in content])
            if tag == "d":
                return {self._key(pair): self.value(pair[1], depth + 1) for pair in content}
        return self._leaf(tag, content, self.value(content, depth + 1) if tag == "c" else None)

    def _key(self, pair: Any) -> str | int:
        # Larger numbers can be chosen to have all the same hash, and a dict of such keys takes for ever.
        if type(pair) is list and len(pair) == 2 and (type(pair[0]) is str or _is_small(pair[0])):
            return pair[0]  # type: ignore[no-any-return]
        raise Malformed("a key of unknown form")

    def _tensor(self, dtype: Any, shape: Any, order: Any) -> Tensor:
        kind = _DTYPES.get(dtype) if type(dtype) is str else None
        if kind is None or type(shape) is not list or type(order) is not list or len(shape) > MAX_RANK:
            raise Malformed("a tensor of unknown form")
        count = room = 1
        for size in shape:
            if type(size) is not int or size < 0 or size > MAX_BODY:
                raise Malformed("a tensor of impossible shape")
            count *= size
            room *= size or 1  # a zero elsewhere would hide an overflow
            if room > MAX_BODY:
                raise Malformed("a tensor of impossible shape")
        end = self.position + count * kind.itemsize
        if end > len(self.body):
            raise Malformed("a tensor is longer than its bytes")
        raw = bytearray(self.body[self.position : end])
        self.position = end
        if kind is torch.bool and raw.strip(b"\0\1"):
            raise Malformed("a truth value that is neither")
        if kind is torch.bfloat16:  # NumPy, by which this is quickest, has none
            tensor = torch.from_numpy(np.ndarray(shape, np.int16, raw)).view(kind)
        else:
            tensor = torch.from_numpy(np.ndarray(shape, dtype, raw))
        if order == _IN_ORDER[len(shape)]:
            return tensor
        if not is_order(order, len(shape)):
            raise Malformed("a tensor of unknown form")
        return laid_out(tensor, order)


_IN_ORDER = [list(range(rank)) for rank in range(MAX_RANK + 1)]


def _is_simple(header: bytes | bytearray) -> bool:
    """Is it too short to be deep, or to hold much, and are its texts plain? Nearly all headers are."""
    return len(header) <= SIMPLE and header.count(b"[") + header.count(b"{") <= OPENED and b"\\" not in header


def _are_settings(value: object) -> bool:
    if type(value) is not dict:
        return False
    return all(isinstance(name, str) and isinstance(one, (bool, int, float)) for name, one in value.items())


def _is_small(key: object) -> bool:
    return type(key) is int and abs(key) < 1 << 53


def _text(text: str, limit: int) -> str:
    if len(text) > limit:
        raise Malformed("a text is too long")
    if text.isascii():
        return text
    return text.encode("utf-8", "replace").decode()  # lone surrogates cannot be written to a report
