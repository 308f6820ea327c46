"""Folders and single files, as they are on the disk of whoever hands them in."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from autograder.entries import (
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


def folder_entries(source: Path) -> list[Entry]:
    """Everything below a folder, without following links or descending into what is left out.

    Listed before anything is written, so that even a folder that holds the one to unpack into has an end.
    """
    found: list[Entry] = []
    waiting = [(source, "")]
    while waiting:
        folder, prefix = waiting.pop()
        for path, name, seen in listed(folder, prefix, MAX_ENTRIES):
            if len(found) == MAX_ENTRIES:
                raise too_many(name, MAX_ENTRIES)
            entry = _folder_entry(path, name, seen)
            found.append(entry)
            if entry.folder and left_behind(entry.name) is None:
                waiting.append((path, f"{name}/"))
    return found


def member_entries(folder: Path, members: Iterable[tuple[str, str]]) -> list[Entry]:
    """Some files of a folder, under new names."""
    found = []
    for name, new in members:
        try:
            seen = (folder / name).lstat()
        except (OSError, ValueError):
            raise Refused(f"{quoted(name)} is not there any more; hand it in again") from None
        found.append(_folder_entry(folder / name, new, seen))
    return found


def _folder_entry(path: Path, name: str, seen: os.stat_result) -> Entry:
    clean = checked(name)
    if stat.S_ISDIR(seen.st_mode):
        return Entry(clean, True, 0, lambda: iter(()))
    if not stat.S_ISREG(seen.st_mode):
        raise special(name, seen.st_mode)
    if seen.st_nlink > 1:  # perhaps to a file that the student may not read, but the grader may
        raise Refused(f"{quoted(name)} is a hard link; hand in plain files and folders only")
    return file_entry(path, clean, seen)


def listed(folder: Path, prefix: str, most: int) -> list[tuple[Path, str, os.stat_result]]:
    """What is in one folder, in order, but no more of it than it takes to refuse it."""
    try:
        with os.scandir(folder) as listing:
            items = sorted(islice(listing, most + 1), key=lambda item: item.name)
        return [
            (Path(item.path), prefix + decoded(os.fsencode(item.name)), item.stat(follow_symlinks=False))
            for item in items
        ]
    except OSError as error:
        raise _unreadable(prefix.rstrip("/") or folder.name, error) from None


def file_entry(path: Path, name: str, seen: os.stat_result) -> Entry:
    def pieces() -> Iterator[bytes]:
        with opened(path, name, seen) as file:
            try:
                while piece := file.read(CHUNK):
                    yield piece
            except OSError as error:
                raise _unreadable(name, error) from None

    return Entry(name, False, seen.st_size, pieces)


@contextmanager
def opened(path: Path, name: str, seen: os.stat_result) -> Iterator[BinaryIO]:
    """Open the very file that was seen: not a link or a pipe that has taken its place."""
    try:
        file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    except OSError as error:
        raise _unreadable(name, error) from None
    with file:
        now = os.fstat(file.fileno())
        if not stat.S_ISREG(now.st_mode) or not os.path.samestat(now, seen):
            raise Refused(f"{quoted(name)} was changed while it was read; hand it in again")
        yield file


def _unreadable(name: str, error: OSError) -> Refused:
    return Refused(f"{quoted(name)} cannot be read ({error.strerror}); check its permissions")
