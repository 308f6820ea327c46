"""Folders for what workers see: users of their own can pass through, but not look around."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from autograder.files import remove_tree

NAME = "grading-"
_HELD: dict[Path, int] = {}  # our own, each locked for as long as we live


@contextlib.contextmanager
def den() -> Iterator[Path]:
    """A new one, which is gone in the end. What graders of ours left that were killed goes first."""
    folder = make_den()
    try:
        yield folder
    finally:
        remove_den(folder)


def make_den() -> Path:
    """Its real name is used, because Landlock goes by it."""
    _sweep()
    folder = Path(tempfile.mkdtemp(prefix=f"{NAME}{os.getpid()}-")).resolve()
    _HELD[folder] = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    with contextlib.suppress(OSError):  # some network disks have no locks
        fcntl.flock(_HELD[folder], fcntl.LOCK_EX)
    folder.chmod(0o711)
    return folder


def remove_den(folder: Path) -> None:
    remove_tree(folder)
    os.close(_HELD.pop(folder))


def _sweep() -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{NAME}*-*"):
        owner = re.fullmatch(rf"{NAME}(\d+)-\w+", folder.name)
        with contextlib.suppress(OSError):
            if owner and folder.lstat().st_uid == os.getuid() and not Path(f"/proc/{owner[1]}").exists():
                _remove_unless_locked(folder)


def _remove_unless_locked(folder: Path) -> None:
    """Containers and machines may share a disk, but not their processes: a grader that is not seen here may live."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        remove_tree(folder)
    finally:
        os.close(descriptor)
