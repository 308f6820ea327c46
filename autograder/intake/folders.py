"""Folders and single files, as they are on the disk of whoever hands them in.

Their owner may change them while they are read. So everything below the path that somebody named is opened step by step
from the folder that holds it, never through a link, and is read only if it is still what was seen.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from autograder.intake.entries import (
    CHUNK,
    MAX_ENTRIES,
    Entry,
    Refused,
    checked,
    decoded,
    left_behind,
    quoted,
    special,
    too_many,
)

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@contextmanager
def holding(path: Path, named: Path) -> Iterator[tuple[int | None, str]]:
    """The folder that holds `path`, and what it calls it there. Links are followed only up to `named`."""
    if path == named:
        yield None, str(path)
        return
    *above, name = path.relative_to(named).parts
    with _below(None, [str(named), *above]) as folder:
        yield folder, name


@contextmanager
def folder_at(path: Path, named: Path) -> Iterator[int]:
    """A folder as a descriptor; see `holding`."""
    with holding(path, named) as (folder, name), _below(folder, [name]) as found:
        yield found


@contextmanager
def _below(folder: int | None, parts: Sequence[str]) -> Iterator[int]:
    """The folder that one comes to from another one, or from nowhere, without a step through a link."""
    found = folder
    try:
        for count, part in enumerate(parts, 1):
            try:
                inner = os.open(part, _FOLDER, dir_fd=found)
            except OSError as error:
                names = [Path(parts[0]).name or parts[0], *parts[1:count]]
                raise _unreadable(decoded(os.fsencode("/".join(names))), error) from None
            if found is not None and found != folder:
                os.close(found)
            found = inner
        assert found is not None
        yield found
    finally:
        if found is not None and found != folder:
            os.close(found)


def folder_entries(root: int) -> list[Entry]:
    """Everything below a folder, without following links or descending into what is left out.

    Listed before anything is written, so that even a folder that holds the one to unpack into has an end. The folder
    must stay open for as long as the entries are read.
    """
    found: list[Entry] = []
    waiting: list[tuple[list[str], str, os.stat_result]] = [([], "", os.fstat(root))]
    while waiting:
        parts, prefix, before = waiting.pop()
        with _below(root, parts) as folder:
            if not os.path.samestat(os.fstat(folder), before):
                raise _changed(prefix.rstrip("/"))
            for called, name, seen in listed(folder, prefix, MAX_ENTRIES):
                if len(found) == MAX_ENTRIES:
                    raise too_many(name, MAX_ENTRIES)
                entry = _folder_entry(root, [*parts, called], name, seen)
                found.append(entry)
                if entry.folder and left_behind(entry.name) is None:
                    waiting.append(([*parts, called], f"{name}/", seen))
    return found


def member_entries(root: int, members: Iterable[tuple[str, str]]) -> list[Entry]:
    """Some files of a folder, under new names."""
    found = []
    for name, new in members:
        try:
            seen = os.stat(name, dir_fd=root, follow_symlinks=False)
        except (OSError, ValueError):
            raise Refused(f"{quoted(name)} is not there any more; hand it in again") from None
        found.append(_folder_entry(root, [name], new, seen))
    return found


def _folder_entry(root: int, parts: Sequence[str], name: str, seen: os.stat_result) -> Entry:
    clean = checked(name)
    if stat.S_ISDIR(seen.st_mode):
        return Entry(clean, True, 0, lambda: iter(()))
    if not stat.S_ISREG(seen.st_mode):
        raise special(name, seen.st_mode)
    if seen.st_nlink > 1:  # perhaps to a file that the student may not read, but the grader may
        raise Refused(f"{quoted(name)} is a hard link; hand in plain files and folders only")

    def pieces() -> Iterator[bytes]:
        with _below(root, parts[:-1]) as folder, opened(folder, parts[-1], clean, seen) as file:
            yield from _chunks(file, clean)

    return Entry(clean, False, seen.st_size, pieces)


def listed(folder: int, prefix: str, most: int) -> list[tuple[str, str, os.stat_result]]:
    """What is in one folder, in order, but no more of it than it takes to refuse it: what the system calls it, its
    name with the prefix, and what it is."""
    try:
        with os.scandir(folder) as listing:
            items = sorted(islice(listing, most + 1), key=lambda item: item.name)
            return [
                (item.name, prefix + decoded(os.fsencode(item.name)), item.stat(follow_symlinks=False))
                for item in items
            ]
    except OSError as error:
        raise _unreadable(prefix.rstrip("/") or "the folder", error) from None


def file_entry(path: Path, named: Path, name: str, seen: os.stat_result) -> Entry:
    """A single file as a submission."""

    def pieces() -> Iterator[bytes]:
        with holding(path, named) as (folder, called), opened(folder, called, name, seen) as file:
            yield from _chunks(file, name)

    return Entry(name, False, seen.st_size, pieces)


def _chunks(file: BinaryIO, name: str) -> Iterator[bytes]:
    try:
        while piece := file.read(CHUNK):
            yield piece
    except OSError as error:
        raise _unreadable(name, error) from None


@contextmanager
def opened(folder: int | None, called: str, name: str, seen: os.stat_result) -> Iterator[BinaryIO]:
    """Open the very file that was seen: not a link or a pipe that has taken its place. `name`: what it is to people."""
    try:
        file = os.fdopen(os.open(called, _FILE, dir_fd=folder), "rb")
    except OSError as error:
        raise _unreadable(name, error) from None
    with file:
        now = os.fstat(file.fileno())
        if not stat.S_ISREG(now.st_mode) or not os.path.samestat(now, seen):
            raise _changed(name)
        yield file


def _unreadable(name: str, error: OSError) -> Refused:
    if error.errno in (errno.ELOOP, errno.ENOTDIR):  # a link, or a file, has taken its place
        return _changed(name)
    return Refused(f"{quoted(name)} cannot be read ({error.strerror}); check its permissions")


def _changed(name: str) -> Refused:
    return Refused(f"{quoted(name)} was changed while it was read; hand it in again")
