"""Ending a worker for sure: every process of it, also one that tried to get away."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path
from typing import NamedTuple

from autograder.isolation import privileges

_PATIENCE = 10.0  # seconds; a killed process that large takes a moment to give its memory back
_PAUSE = 0.002
_PROC = Path("/proc/self")
_OF_THE_KERNEL = 0x00200000  # a flag that no program can have: PF_KTHREAD
_GONE = "ZX"  # ended and not yet waited for, or just going


class _Process(NamedTuple):
    pid: int
    parent: int
    session: int
    user: int
    state: str


def kill_tree(pid: int, user: int | None, *, ended: bool = False) -> None:
    """Kill a worker by the pid that its parent knows, with every process it started; return when they are gone.

    `user` is the worker's own, if it has one: then everything of that user is killed, wherever it is. If the worker
    has `ended` and been waited for, its pid may be somebody else's, so only what it left is looked for. TimeoutError
    if something survives.
    """
    if user is not None and user in (0, os.getuid()):
        raise ValueError(f"user {user} is not a worker's own")
    if not _PROC.exists():
        _kill_session(pid)
        return
    deadline = time.monotonic() + _PATIENCE
    while alive := processes(pid, user, ended=ended):
        if time.monotonic() > deadline:
            raise TimeoutError(f"processes {alive} cannot be killed")
        if user is not None:
            _kill_everything_of(user)
        # All are stopped before the first is killed, so that none can start another meanwhile and orphan it.
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for process in alive:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, number)
        time.sleep(_PAUSE)


def processes(pid: int, user: int | None, *, ended: bool = False) -> list[int]:
    """The living processes of a worker: itself, its descendants, those of its session and those of its user."""
    table = _table()
    found = {one.pid for one in table if one.session == pid or one.user == user or (one.pid == pid and not ended)}
    while more := {one.pid for one in table if one.parent in found} - found:
        found |= more
    return [one.pid for one in table if one.pid in found and one.state not in _GONE]


def _kill_everything_of(user: int) -> None:
    """One signal to all of them at once: a process that forks quickly cannot slip through as it could between two."""
    killer = os.fork()
    if killer == 0:
        try:
            privileges.become(user, user)
            os.kill(-1, signal.SIGKILL)
        finally:
            os._exit(0)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(killer, 0)


def _kill_session(pid: int) -> None:
    """All that can be done without /proc, as on macOS: SIGKILL arrives, but we do not see when."""
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError):
            kill(pid, signal.SIGKILL)


def _table() -> list[_Process]:
    """Without pathlib: this is done twice for every submission, and a machine has hundreds of processes."""
    found = []
    with os.scandir(_PROC.parent) as entries:
        names = [entry.name for entry in entries]
    for name in names:
        if name.isdigit():
            with contextlib.suppress(OSError):  # it has ended meanwhile
                # The name, in brackets, may contain anything; what we want comes after it.
                fields = _read(f"{_PROC.parent}/{name}/stat").rpartition(b")")[2].split()
                if int(fields[6]) & _OF_THE_KERNEL:
                    continue
                user = _real_user(_read(f"{_PROC.parent}/{name}/status"))
                found.append(_Process(int(name), int(fields[1]), int(fields[3]), user, fields[0].decode()))
    return found


def _read(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, 1 << 16)
    finally:
        os.close(descriptor)


def _real_user(status: bytes) -> int:
    # Not the owner of the folder: that is root for a process that hides its memory.
    line = status.partition(b"\nUid:")[2]
    return int(line.split(maxsplit=1)[0]) if line else -1
