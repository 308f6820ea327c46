"""Files of parameters: are they numbers and nothing else? And the same files with other numbers in them.

Both formats are read here without running anything: safetensors, and what torch.save makes of a state_dict. The work
and the memory that this takes grow with the size of the file, which is limited, and with nothing that the file claims.
"""

from __future__ import annotations

import json
import math
import struct
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from autograder.files import zipped
from autograder.judging.pickled import MAX_AXES, NotPlain, Reader

MIB = 1 << 20
MAX_FILE = 64 * MIB  # the model of the handout has 13
MAX_HEADER = MIB
MAX_ENTRIES = 4096
MAX_LIST = MIB  # bytes of a zip's list of entries
SAVE = "save the state_dict alone: torch.save(model.state_dict(), path)"
_LENGTH = struct.Struct("<Q")
_WIDTHS = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1, "C64": 8}
_FLOATS = {"F32": (np.uint32, np.float32), "F64": (np.uint64, np.float64)}


class Unfit(Exception):
    """Not a file of parameters that can be used; says why, for the student whose it is."""


@dataclass(frozen=True)
class Block:
    """Numbers of one kind that lie together; of what is in `part`, from `start` on."""

    part: str
    start: int
    count: int
    kind: str
    width: int


@dataclass(frozen=True)
class View:
    """A tensor: numbers of one kind in a part, from byte `start` on, `strides` numbers apart."""

    part: str
    start: int
    kind: str
    sizes: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True)
class Parameters:
    """A file that was looked at. `parts` is its content: of a zip, each entry; else all of it, under one name."""

    parts: Mapping[str, bytes]
    blocks: tuple[Block, ...]
    tensors: Mapping[str, View]  # by the names that the file gives them; none reaches beyond its part
    is_zip: bool

    def changed(self, change: Callable[[str, np.ndarray[Any, Any]], np.ndarray[Any, Any]]) -> bytes:
        """The same file with other numbers in each block, as raw unsigned integers of its width."""
        parts = dict(self.parts)
        for name in {block.part for block in self.blocks}:
            content = bytearray(self.parts[name])
            for block in (block for block in self.blocks if block.part == name and block.count):
                raw = np.frombuffer(content, f"<u{block.width}", block.count, block.start)
                raw[:] = change(block.kind, raw)
            parts[name] = bytes(content)
        return zipped(parts) if self.is_zip else parts[""]

    def scrambled(self, seed: int) -> bytes:
        """Every number somewhere else in its block: statistics stay, whatever was learnt is gone."""
        generator = np.random.default_rng(seed)
        return self.changed(lambda _, raw: generator.permutation(raw))

    def nudged(self, seed: int) -> bytes:
        """The last bit of half of all fractions is flipped: no more than rounding does, but another file to the byte.

        Code that would know the file of its own by a checksum, and look answers up for that one only, is lost.
        """
        generator = np.random.default_rng(seed)

        def nudge(kind: str, raw: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
            if kind not in _FLOATS:
                return raw
            bits, floats = _FLOATS[kind]
            values = raw.view(floats)
            # Zeros and ones may be masks, which are compared exactly; NaN and infinity must stay what they are.
            fractions = np.isfinite(values) & (values != np.floor(values))
            flips: np.ndarray[Any, Any] = generator.integers(0, 2, raw.shape, bits) * fractions
            nudged: np.ndarray[Any, Any] = np.bitwise_xor(raw, flips.astype(bits))
            return nudged

        return self.changed(nudge)


def read_parameters(path: Path) -> Parameters:
    """Look at a file; raises Unfit. Nothing is unpickled, and nothing that it claims is believed."""
    size = path.stat().st_size
    if size > MAX_FILE:
        raise Unfit(f"{path.name} has {size / MIB:.0f} MiB, at most {MAX_FILE // MIB} are taken; {SAVE}")
    with path.open("rb") as file:
        start = file.read(4)
    if start == b"PK\x03\x04":
        return _of_zip(path)
    if start[:2] in (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"):
        raise Unfit(f"{path.name} is a pickle, which would run as a program, and is not loaded; {SAVE}")
    return _of_safetensors(path.name, path.read_bytes())


def _of_safetensors(name: str, content: bytes) -> Parameters:
    (length,) = _LENGTH.unpack(content[:8]) if len(content) >= 8 else (0,)
    if not 2 <= length <= min(MAX_HEADER, len(content) - 8) or content[8:9] != b"{":
        raise Unfit(f"{name} is neither of torch.save nor of safetensors: no parameters are found in it; {SAVE}")
    try:
        header = json.loads(content[8 : 8 + length])
    except (ValueError, RecursionError):
        raise Unfit(f"{name} is damaged: its header cannot be read; save it again") from None
    start, total = 8 + length, len(content) - 8 - length
    entries = {key: entry for key, entry in header.items() if key != "__metadata__"}
    found = {key: _block(name, key, entry, start, total) for key, entry in entries.items()}
    position = start
    for block in sorted(found.values(), key=lambda block: (block.start, block.count)):
        if block.start != position:
            raise Unfit(f"{name} is damaged: its tensors overlap, or leave holes; save it again")
        position += block.count * block.width
    if position != len(content):
        raise Unfit(f"{name} is damaged: {len(content) - position:,} bytes at its end belong to no tensor")
    tensors = {
        key: View("", block.start, block.kind, shape := tuple(entries[key]["shape"]), _side_by_side(shape))
        for key, block in found.items()
    }
    return Parameters({"": content}, tuple(found.values()), tensors, is_zip=False)


def _side_by_side(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of a tensor without gaps."""
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


def _block(name: str, key: str, entry: Any, start: int, total: int) -> Block:
    match entry:
        case {"dtype": str() as kind, "shape": [*shape], "data_offsets": [int() as first, int() as last]}:
            if kind not in _WIDTHS:
                raise Unfit(f"{name} holds numbers of type {kind[:10]}, which are not taken; use float32")
            if len(shape) <= MAX_AXES and all(type(size) is int and 0 <= size <= MAX_FILE for size in shape):
                count = math.prod(shape)
                if count * _WIDTHS[kind] != last - first or not 0 <= first <= last <= total:
                    raise Unfit(f"{name} claims a tensor of {count:,} numbers, but does not hold them; save it again")
                return Block("", start + first, count, kind, _WIDTHS[kind])
            raise Unfit(f"{name} claims a tensor of impossible shape {_short(shape)}; save it again")
    raise Unfit(f"{name} is damaged: what it says of {_short(key)} is no tensor; save it again")


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 40 else f"{text[:39]}…"


class _Careful:
    """A file for zipfile, which reads the list of entries at once, however long, before anybody can count them."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.seek, self.tell, self.seekable = file, file.seek, file.tell, file.seekable
        self.most: int | None = MAX_LIST  # bytes of one reading; None: as many as are asked for

    def read(self, size: int = -1) -> bytes:
        if self.most is None:
            return self.file.read(size)
        content = self.file.read(self.most + 1 if size < 0 else min(size, self.most + 1))
        if len(content) > self.most:
            raise zipfile.BadZipFile("its list of entries is too long")
        return content


def _of_zip(path: Path) -> Parameters:
    name = path.name
    try:
        with path.open("rb") as file, zipfile.ZipFile(careful := _Careful(file)) as archive:
            entries = archive.infolist()
            _check_entries(name, entries, path.stat().st_size)
            careful.most = None
            parts = {entry.filename: archive.read(entry) for entry in entries}
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError, ValueError):
        raise Unfit(f"{name} is damaged: it cannot be read as what torch.save writes; save it again") from None
    pickles = [entry for entry in parts if entry.endswith("/data.pkl")]
    if len(pickles) != 1 or len(parts[pickles[0]]) > MAX_HEADER:
        raise Unfit(f"{name} is not what torch.save writes; {SAVE}")
    folder = pickles[0].removesuffix("data.pkl")
    try:
        reader = Reader()
        found = reader.read(parts[pickles[0]])
    except NotPlain as error:
        raise Unfit(f"{name} {error}; {SAVE}") from None
    blocks = []
    for storage in reader.storages.values():
        part = f"{folder}data/{storage.key}"
        if len(parts.get(part, b"")) != storage.count * storage.width:
            raise Unfit(f"{name} claims {storage.count:,} numbers, but does not hold them; save it again")
        blocks.append(Block(part, 0, storage.count, storage.kind, storage.width))
    tensors = {
        key: View(
            f"{folder}data/{one.storage.key}", one.offset * one.storage.width, one.storage.kind, one.sizes, one.strides
        )
        for key, one in found.items()
    }
    return Parameters(parts, tuple(blocks), tensors, is_zip=True)


def _check_entries(name: str, entries: list[zipfile.ZipInfo], size: int) -> None:
    """What torch writes is stored, not compressed, so that no entry can be larger than the file."""
    if len(entries) > MAX_ENTRIES or len({entry.filename for entry in entries}) != len(entries):
        raise Unfit(f"{name} is not what torch.save writes; {SAVE}")
    for entry in entries:
        if entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size:
            raise Unfit(f"{name} is compressed, which torch.save never does; {SAVE}")
    if sum(entry.file_size for entry in entries) > size:
        raise Unfit(f"{name} claims to be larger than it is; {SAVE}")
