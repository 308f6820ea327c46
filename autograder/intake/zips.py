"""What is in a zip, read without `zipfile`.

That one cuts names at a NUL, stops silently at the size a header claims, lists a million entries before one can count
them, and does not see entries that share their bytes.
"""

from __future__ import annotations

import os
import re
import stat
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import BinaryIO

from autograder.intake.entries import (
    AGAIN,
    CHUNK,
    MAX_ENTRIES,
    MIB,
    Entry,
    Refused,
    checked,
    decoded,
    quoted,
    special,
    too_many,
)

MAX_RATIO = 200
RATIO_COUNTS_BEYOND = 50 * MIB  # a small file of one repeated character is no bomb
MAX_DIRECTORY = 4 * MIB  # of a zip: 2,000 entries with the longest names fit
MAX_CLASS_ENTRIES = 300_000  # of a zip that holds a whole class; each submission in it has the limits above
MAX_CLASS_DIRECTORY = 64 * MIB

STORED, DEFLATED = 0, 8  # the others can give any amount of memory's worth for one byte, and no common tool uses them
ENCRYPTED = 0x1 | 0x40 | 0x2000  # flags: password, strong encryption, hidden directory
SIZES_FOLLOW = 0x8  # flag: the local header was written before the sizes were known
UNKNOWN = 0xFFFF_FFFF  # in place of a size or offset that is given in 64 bits elsewhere
END = struct.Struct("<4s4H2IH")
END64 = struct.Struct("<4s20x4Q")
LOCATOR_SIZE = 20
CENTRAL = struct.Struct("<4s4x2H4x3I4H2x2I")
LOCAL = struct.Struct("<4s2x2H4x3I2H")


@dataclass(frozen=True, slots=True)
class _Record:
    """What the directory at the end of a zip says about one entry."""

    raw: bytes  # its name
    flags: int
    method: int
    crc: int
    packed: int
    size: int
    mode: int  # as on Unix; 0 from tools that do not know it
    start: int  # of its local header

    @property
    def name(self) -> str:
        return decoded(self.raw)

    @property
    def is_folder(self) -> bool:
        return self.name.endswith(("/", "\\")) or stat.S_ISDIR(self.mode)


def zip_entries(file: BinaryIO, archive: str) -> list[Entry]:
    """The entries of a zip, once all that can be checked without unpacking has been."""
    records, end = _directory(file, archive, MAX_ENTRIES, MAX_DIRECTORY)
    return _entries(file, [(record, record.name) for record in records], end)


def _entries(file: BinaryIO, named: Sequence[tuple[_Record, str]], end: int) -> list[Entry]:
    """Entries under the names given: all those of a zip, or those of one submission in it."""
    names = [_checked_record(record, name) for record, name in named]
    records = [record for record, _ in named]
    _refuse_bombs(records)
    starts = _data_starts(file, records, end)
    return [
        Entry(name, record.is_folder, record.size, _reader(file, record, start), record.packed)
        for name, record, start in zip(names, records, starts, strict=True)
        if name
    ]


# A zip that holds a whole class


@dataclass(frozen=True)
class Catalogue:
    """What is in such a zip. Names are as they are in it, checked by nothing but the functions below."""

    records: list[_Record]
    end: int  # of all data

    @cached_property
    def folders(self) -> dict[str, list[tuple[_Record, str]]]:
        """What is in each folder of the first two levels, with the names from there on."""
        found: dict[str, list[tuple[_Record, str]]] = {}
        for record in self.records:
            for depth in (1, 2):
                folder, rest = divided(record.name, depth)
                if folder.count("/") == depth - 1 and (rest or record.is_folder):
                    found.setdefault(folder, []).append((record, rest))
        return found

    @cached_property
    def by_name(self) -> dict[str, list[_Record]]:
        found: dict[str, list[_Record]] = {}
        for record in self.records:
            found.setdefault(record.name, []).append(record)
        return found


def divided(name: str, depth: int) -> tuple[str, str]:
    """The first parts of a name, and the rest, which may well be hostile; empty parts and '.' do not count."""
    parts = re.split(r"[/\\]", name)
    named = [place for place, part in enumerate(parts) if part not in ("", ".")][:depth]
    rest = named[-1] + 1 if len(named) == depth else len(parts)
    return "/".join(parts[place] for place in named), "/".join(parts[rest:])


_CATALOGUES: dict[tuple[int, ...], Catalogue] = {}  # the last one: a thousand submissions in turn ask for the same


def catalogue(file: BinaryIO, archive: str) -> Catalogue:
    """Read once for all submissions in a zip, as long as it is the same file, unchanged."""
    now = os.fstat(file.fileno())
    key = (now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns)
    if key not in _CATALOGUES:
        _CATALOGUES.clear()
        _CATALOGUES[key] = Catalogue(*_directory(file, archive, MAX_CLASS_ENTRIES, MAX_CLASS_DIRECTORY))
    return _CATALOGUES[key]


def small_catalogue(file: BinaryIO, archive: str) -> Catalogue:
    """Of a zip that is one submission, or is refused."""
    return Catalogue(*_directory(file, archive, MAX_ENTRIES, MAX_DIRECTORY))


def zip_folder_entries(file: BinaryIO, archive: str, folder: str) -> list[Entry]:
    """One submission: a folder of the first two levels. What other folders hold has no say in it."""
    whole = catalogue(file, archive)
    named = whole.folders.get(folder, [])
    if len(named) > MAX_ENTRIES:
        raise too_many(folder, MAX_ENTRIES)
    return _entries(file, named, whole.end)


def zip_member_entries(file: BinaryIO, archive: str, members: Iterable[tuple[str, str]]) -> list[Entry]:
    """One submission: some files of the zip, under new names."""
    whole = catalogue(file, archive)
    named = [(record, new) for name, new in members for record in whole.by_name.get(name, [])]
    return _entries(file, named, whole.end)


# The format


def _directory(file: BinaryIO, archive: str, most: int, most_bytes: int) -> tuple[list[_Record], int]:
    try:
        return _read_directory(file, archive, most, most_bytes)
    except struct.error:
        raise _damaged(archive) from None


def _read_directory(file: BinaryIO, archive: str, most: int, most_bytes: int) -> tuple[list[_Record], int]:
    """All entries, and where their data must end. Sizes and counts are checked before memory is spent on them."""
    count, size, offset, end = _end_record(file, archive)
    if count > most or size > most_bytes:
        raise too_many(archive, most)
    start = end - size
    prefix = start - offset  # of programs that unpack themselves; offsets do not count it
    if prefix < 0:
        raise _damaged(archive)
    file.seek(start)
    data = file.read(size)
    records = []
    position = 0
    for _ in range(count):
        record, position = _record(data, position, prefix, archive)
        records.append(record)
    if position != size:
        raise Refused(f"{quoted(archive)} lists other files than it counts; {AGAIN}")
    return records, start


def _end_record(file: BinaryIO, archive: str) -> tuple[int, int, int, int]:
    """From the last bytes of a zip: number of entries, size and offset of the directory, and where it ends."""
    length = file.seek(0, os.SEEK_END)
    base = max(0, length - END.size - 0xFFFF - LOCATOR_SIZE - END64.size)
    file.seek(base)
    tail = file.read(length - base)
    at = tail.rfind(b"PK\5\6")
    while at >= 0:
        if at + END.size <= len(tail):
            _, disk, _, _, count, size, offset, comment = END.unpack_from(tail, at)
            if at + END.size + comment <= len(tail):
                break
        at = tail.rfind(b"PK\5\6", 0, at)
    else:
        raise Refused(f"{quoted(archive)} is not a zip file, or only a part of one; {AGAIN}")
    if disk not in (0, 0xFFFF):
        raise Refused(f"{quoted(archive)} is one part of a split zip; {AGAIN} as a single file")
    at64 = at - LOCATOR_SIZE - END64.size
    if at64 >= 0 and tail.startswith(b"PK\6\6", at64) and tail.startswith(b"PK\6\7", at - LOCATOR_SIZE):
        _, _, count, size, offset = END64.unpack_from(tail, at64)
        at = at64
    return count, size, offset, base + at


def _record(data: bytes, at: int, prefix: int, archive: str) -> tuple[_Record, int]:
    """One entry of the directory, and where the next one begins."""
    (magic, flags, method, crc, packed, size, *lengths, _, attributes, start) = CENTRAL.unpack_from(data, at)
    name_at = at + CENTRAL.size
    extra_at = name_at + lengths[0]
    comment_at = extra_at + lengths[1]
    after = comment_at + lengths[2]
    if magic != b"PK\1\2" or after > len(data):
        raise _damaged(archive)
    wide = _wide_values(data[extra_at:comment_at])
    size = next(wide) if size == UNKNOWN else size
    packed = next(wide) if packed == UNKNOWN else packed
    start = next(wide) if start == UNKNOWN else start
    raw = data[name_at:extra_at]
    return _Record(raw, flags, method, crc, packed, size, attributes >> 16, start + prefix), after


def _wide_values(extra: bytes) -> Iterator[int]:
    """The 64-bit values among an entry's extra fields; struct.error if there are too few."""
    at = 0
    while at < len(extra):
        kind, length = struct.unpack_from("<2H", extra, at)
        at += 4
        if kind == 1:
            yield from struct.unpack_from(f"<{length // 8}Q", extra, at)
        at += length
    raise struct.error


def _checked_record(record: _Record, called: str) -> str:
    """The clean form of the name that an entry gets; '' for the root folder, which needs no entry."""
    name = checked(called)
    shown = quoted(record.name)
    if stat.S_IFMT(record.mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise special(record.name, record.mode)
    if not name and not record.is_folder:
        raise Refused(f"{shown} is a file without a name; {AGAIN}")
    if record.is_folder and record.size:
        raise Refused(f"{shown} is a folder with bytes of its own; {AGAIN}")
    if record.flags & ENCRYPTED:
        raise Refused(f"{shown} is encrypted; zip it without a password")
    if record.method not in (STORED, DEFLATED):
        raise Refused(f"{shown} is compressed in an unusual way (method {record.method}); make an ordinary zip")
    return name


def _refuse_bombs(records: Sequence[_Record]) -> None:
    """One entry, or all together, that unpack to far more than honest files do."""
    if not records:
        return
    worst = max(records, key=lambda record: record.size / max(record.packed, 1))
    for record in records:
        refuse_bomb(record.name, record.size, record.packed)
    refuse_bomb(worst.name, sum(record.size for record in records), sum(record.packed for record in records))


def refuse_bomb(name: str, size: int, packed: int) -> None:
    if size > RATIO_COUNTS_BEYOND and size > MAX_RATIO * packed:
        raise Refused(
            f"{quoted(name)} unpacks to more than {MAX_RATIO} times its size, "
            f"beyond {RATIO_COUNTS_BEYOND // MIB} MiB; leave it out"
        )


def _data_starts(file: BinaryIO, records: Sequence[_Record], end: int) -> list[int]:
    """Where each entry's data begins; refuses entries that share bytes, with each other or with the directory."""
    starts = [_data_start(file, record, end) for record in records]
    free = 0
    for record, start in sorted(zip(records, starts, strict=True), key=lambda pair: pair[0].start):
        if record.start < free or start + record.packed > end:
            raise Refused(f"{quoted(record.name)} overlaps another part of the zip; {AGAIN}")
        free = start + record.packed
    return starts


def _data_start(file: BinaryIO, record: _Record, end: int) -> int:
    """Behind the local header, which repeats the directory and must agree with it."""
    header = b""
    if record.start + LOCAL.size <= end:
        file.seek(record.start)
        header = file.read(LOCAL.size)
    if len(header) < LOCAL.size or not header.startswith(b"PK\3\4"):
        raise _damaged(record.name)
    _, flags, method, crc, packed, size, name_length, extra_length = LOCAL.unpack(header)
    pairs = [(crc, record.crc), (packed, record.packed), (size, record.size)]
    agree = flags & SIZES_FOLLOW or all(here in (there, UNKNOWN) for here, there in pairs)
    same = method == record.method and not (flags ^ record.flags) & ENCRYPTED
    if not (agree and same and file.read(name_length) == record.raw):
        raise Refused(f"{quoted(record.name)} is described twice, and differently; {AGAIN}")
    return record.start + LOCAL.size + int(name_length) + int(extra_length)


def _reader(file: BinaryIO, record: _Record, start: int) -> Callable[[], Iterator[bytes]]:
    def pieces() -> Iterator[bytes]:
        crc = 0
        file.seek(start)
        try:
            for piece in _stored(file, record) if record.method == STORED else _inflated(file, record):
                crc = zlib.crc32(piece, crc)
                yield piece
        except zlib.error:
            raise _damaged(record.name) from None
        if crc != record.crc:
            raise Refused(f"{quoted(record.name)} is damaged (its checksum is wrong); {AGAIN}")

    return pieces


def _stored(file: BinaryIO, record: _Record) -> Iterator[bytes]:
    left = record.packed
    while left and (piece := file.read(min(CHUNK, left))):
        left -= len(piece)
        yield piece


def _inflated(file: BinaryIO, record: _Record) -> Iterator[bytes]:
    """Inflate piece by piece; no piece is larger than CHUNK, whatever the data claims."""
    engine = zlib.decompressobj(-zlib.MAX_WBITS)
    for piece in _stored(file, record):
        waiting = piece
        while waiting and not engine.eof:
            yield engine.decompress(waiting, CHUNK)
            waiting = engine.unconsumed_tail
        if engine.unused_data or (waiting and engine.eof):
            raise Refused(f"{quoted(record.name)} has bytes behind its end; {AGAIN}")
    yield engine.flush()
    if not engine.eof:
        raise _damaged(record.name)


def _damaged(name: str) -> Refused:
    return Refused(f"{quoted(name)} is damaged or cut off; {AGAIN}")
