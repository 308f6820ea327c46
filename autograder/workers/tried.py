"""What student code tried and the walls refused, in a few words for course staff: "fork, socket".

The kernel refuses without telling the grader, so the worker itself writes it down: Python raises an audit event before
it asks the kernel for such things. That is for people to look at and decides nothing: code that calls the kernel past
Python (by ctypes, or in a library) is refused all the same and not seen here, and hostile code can write any of these
words, or none.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from autograder.workers.whereabouts import read_plain

NAME = ".tried"  # in the worker's own folder
WORDS = ("fork", "subprocess", "socket", "signal", "read", "write")
_EVENTS = {
    **dict.fromkeys(("os.fork", "os.forkpty"), "fork"),
    **dict.fromkeys(("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "pty.spawn"), "subprocess"),
    **dict.fromkeys(("socket.__new__", "socket.getaddrinfo", "socket.gethostbyname"), "socket"),
}
_SIGNALS = ("os.kill", "os.killpg")
_CHANGES = ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
# Where no honest path points to, as one to a home or a mounted drive may: what is refused there is a search.
_PRIVATE = ("/etc/", "/proc/", "/root/", "/var/", "/dev/", "/sys/")
_HARMLESS = (
    *("/dev/null", "/dev/random", "/dev/urandom", "/dev/shm", "/proc/self/", "/proc/cpuinfo", "/proc/meminfo"),
    *("/sys/devices/system/cpu", "/etc/localtime", "/etc/ld.so.cache"),
)


def watch(folder: Path, readable: Sequence[str]) -> None:
    """In the worker, for good: write down each word the first time that it fits."""
    descriptor = os.open(folder / NAME, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o640)
    said: set[str] = set()
    own = str(folder)
    # Tracebacks look for the lines of our own files, too.
    harmless = (*_HARMLESS, *readable, str(Path(__file__).parents[1]))

    def hook(event: str, details: tuple[object, ...]) -> None:
        if event not in _ASKED:
            return
        with contextlib.suppress(Exception):  # or what student code does would fail of what we do
            word = _EVENTS.get(event) or _word(event, details, own, harmless)
            if word and word not in said:
                said.add(word)
                os.write(descriptor, f"{word}\n".encode())

    sys.addaudithook(hook)


_ASKED = frozenset({"open", *_EVENTS, *_SIGNALS, *_CHANGES})


def _word(event: str, details: tuple[object, ...], own: str, harmless: tuple[str, ...]) -> str:
    if event in _SIGNALS:
        return "" if details[0] == os.getpid() else "signal"
    if not isinstance(details[0], str | bytes):  # an open descriptor
        return ""
    path = os.path.abspath(os.fsdecode(details[0]))  # noqa: PTH100 (links are not to be followed)
    if path == own or path.startswith((f"{own}/", "/dev/null")):
        return ""
    if event != "open" or (isinstance(details[2], int) and details[2] & _WRITING):
        return "write"
    return "read" if path.startswith(_PRIVATE) and not path.startswith(harmless) else ""


def told(folder: Path) -> set[str]:
    """In the grader: the words that a worker wrote down, as far as they are words."""
    return set(read_plain(folder / NAME).split()) & set(WORDS)
