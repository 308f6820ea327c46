"""Folders for what workers see: users of their own can pass through, but not look around."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from autograder.files import remove_tree

NAME = "grading-"


@contextlib.contextmanager
def den() -> Iterator[Path]:
    """A new one, which is gone in the end. What graders of ours left that were killed goes first."""
    folder = make_den()
    try:
        yield folder
    finally:
        remove_tree(folder)


def make_den() -> Path:
    """Its real name is used, because Landlock goes by it."""
    _sweep()
    folder = Path(tempfile.mkdtemp(prefix=f"{NAME}{os.getpid()}-")).resolve()
    folder.chmod(0o711)
    return folder


def _sweep() -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{NAME}*-*"):
        owner = re.fullmatch(rf"{NAME}(\d+)-\w+", folder.name)
        with contextlib.suppress(OSError):
            if owner and folder.lstat().st_uid == os.getuid() and not Path(f"/proc/{owner[1]}").exists():
                remove_tree(folder)
