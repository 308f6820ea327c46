"""Where student code was when its time ran out: the worker writes it down when it is asked by a signal.

Python's faulthandler does that from the signal handler itself, so it works in a loop of C code, too.
What it writes is a hint and no more: student code could forge it, so only places that exist are told,
and to public checks only.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import re
import signal
import stat
import time
from collections.abc import Callable
from pathlib import Path

from autograder.running.frames import is_own

NAME = ".whereabouts"  # in the worker's own folder
REACHED = ".reached"
LONGEST = 1 << 14
_FRAME = re.compile(r'^  File "(?P<file>.+)", line (?P<line>\d{1,6}) in ', re.MULTILINE)
_LOOP = re.compile(r"^(?P<indent>\s*)(async\s+for|for|while)\b.*:")
_DEF = re.compile(r"^(?P<indent>\s*)(async\s+def|def|class)\b")


def prepare(folder: Path) -> None:
    """In the worker: be ready to tell."""
    descriptor = os.open(folder / NAME, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o640)
    faulthandler.register(signal.SIGUSR1, file=descriptor, all_threads=False, chain=False)


def keeping_track(folder: Path) -> Callable[[str, int], None]:
    """In the worker: something to call with the statement of a file that is about to be run."""
    descriptor = os.open(folder / REACHED, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o640)

    def reached(file: str, number: int) -> None:
        note = f"{number} {file}\n".encode()
        with contextlib.suppress(OSError):  # student code may have closed it
            os.pwrite(descriptor, note, 0)
            os.ftruncate(descriptor, len(note))

    return reached


def reached(folder: Path) -> tuple[str, int] | None:
    """In the grader: the statement that a worker ran last. Forged, it only makes the forger lose that statement."""
    number, _, file = read_plain(folder / REACHED).partition(" ")
    if not re.fullmatch(r"[0-9]{1,6}", number) or not file.strip():
        return None
    return file.strip(), int(number)


def ask(pid: int, folder: Path, patience: float = 0.2) -> str:
    """In the grader: ask the worker, and read what it wrote, if it did."""
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGUSR1)
    until = time.monotonic() + patience
    while time.monotonic() < until:
        text = read_plain(folder / NAME)
        if text.count("\n") > 1:
            return text
        time.sleep(0.01)
    return ""


def read_plain(path: Path) -> str:
    """The beginning of a plain file; never through a link, and never waiting for a pipe's other end."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ""
        return os.read(descriptor, LONGEST).decode(errors="replace")
    except OSError:
        return ""
    finally:
        os.close(descriptor)


def places(text: str, root: Path) -> list[tuple[str, int]]:
    """The places in files of the student's below `root`, outermost first."""
    found = []
    for match in _FRAME.finditer(text):
        if is_own(match["file"], root):
            found.append((Path(match["file"]).relative_to(root).as_posix(), int(match["line"])))
    return found[::-1]


def loop_around(lines: list[str], number: int) -> int:
    """The line in which the innermost loop around a line begins (it may be that line itself), or 0."""
    if not 0 < number <= len(lines):
        return 0
    if _LOOP.match(lines[number - 1]):
        return number
    inside = _indent(lines[number - 1])
    for above in range(number - 1, 0, -1):
        line = lines[above - 1]
        if not line.strip() or _indent(line) >= inside:
            continue
        inside = _indent(line)
        if _LOOP.match(line):
            return above
        if _DEF.match(line):
            return 0
    return 0


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
