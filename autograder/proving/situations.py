"""The three situations in which submissions are graded, all of which can be tried on one machine as root.

Root with namespaces (a server), root without them (a Gradescope container), and an ordinary
user (a TA's laptop). Started by an ordinary user, only the last can be tried.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from autograder.isolation import Layers, namespaces, paths, privileges, probe, python_folders, syscalls
from autograder.isolation.kernel import call, prctl
from autograder.proving.gate import Line

ORDINARY = 65534  # nobody, everywhere
_RECURSIVE_PRIVATE = 1 << 14 | 1 << 18
_PR_SET_DUMPABLE = 4
_MOUNTS = syscalls.numbers(syscalls.MOUNTS) if sys.platform == "linux" else {}
_NEW_USERS = 0x10000000
_FROM_HERE = -100  # AT_FDCWD
_CLONED = 1 | os.O_CLOEXEC | 0x8000  # OPEN_TREE_CLONE, with what is mounted below
_MAPPED, _EMPTY_PATH, _EMPTY_SOURCE = 0x00100000, 0x1000, 4  # MOUNT_ATTR_IDMAP, AT_…, MOVE_MOUNT_F_…


@dataclass(frozen=True)
class Situation:
    """One of them; `run` carries a task out in it, in a forked process."""

    name: str
    namespaces: bool
    ordinary: bool

    def run(self, task: Callable[[Layers], list[Line]]) -> list[Line]:
        sys.stdout.flush()
        sys.stderr.flush()
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.close(reader)
                with os.fdopen(writer, "w") as pipe:
                    json.dump([asdict(line) for line in self._carried_out(task)], pipe)
            finally:
                os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as pipe:
            content = pipe.read()
        os.waitpid(child, 0)
        if not content:
            return [Line(self.name, "a result", "the grader itself died", False)]
        return [Line(**(row | {"notes": tuple(row["notes"])})) for row in json.loads(content)]

    def _carried_out(self, task: Callable[[Layers], list[Line]]) -> list[Line]:
        try:
            if self.ordinary and os.getuid() == 0:
                become_ordinary()
            layers = probe(namespaces=self.namespaces)
            if layers.name != self.name:
                return [Line(self.name, "this situation", f"this machine has '{layers.name}' instead", False)]
            return task(layers)
        except BaseException:
            trace = tuple(traceback.format_exc().splitlines()[-3:])
            return [Line(self.name, "a result", "the grader raised", False, trace)]


def situations() -> list[Situation]:
    """Those that can be tried here."""
    ordinary = Situation("ordinary user", namespaces=True, ordinary=True)
    if os.getuid() != 0:
        return [ordinary]
    return [
        Situation("root with namespaces", namespaces=True, ordinary=False),
        Situation("root without namespaces", namespaces=False, ordinary=False),
        ordinary,
    ]


def become_ordinary() -> None:
    """From root, become a user without rights who can read the interpreter and owns it, as whoever installed it does.

    For this process alone, its folders are mounted as this user's. They may lie in root's closed home: then they are
    mounted where they can be reached.
    """
    namespaces.enter(["mount"])
    namespaces.mount(None, "/", None, _RECURSIVE_PRIVATE)
    folders = [*python_folders(), str(Path(sys.executable).resolve().parent)]
    closed = paths.out_of_reach(folders, ORDINARY, ORDINARY)
    with _users_of_the_mount() as users:
        copies = {folder: _owned(folder, users) for folder in dict.fromkeys(folders)}
    for folder, copy in copies.items():
        if folder in closed:
            for parent in reversed(Path(folder).parents):
                if not parent.stat().st_mode & 0o001:
                    namespaces.mount("tmpfs", str(parent), "tmpfs", 0, "mode=755")
                    break
            Path(folder).mkdir(parents=True, exist_ok=True)
        call("syscall", _MOUNTS["move_mount"], copy, b"", _FROM_HERE, os.fsencode(folder), _EMPTY_SOURCE)
        os.close(copy)
    privileges.become(ORDINARY, ORDINARY)
    prctl(_PR_SET_DUMPABLE, 1)  # as for a process that was this user's from the start


class _Attributes(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "users"))


def _owned(folder: str, users: int) -> int:
    """A mount of the folder, not yet anywhere, in which root's files are the ordinary user's.

    On a file system that cannot do that, they stay root's: the user can read them and no more.
    """
    copy = call("syscall", _MOUNTS["open_tree"], _FROM_HERE, os.fsencode(folder), _CLONED)
    with contextlib.suppress(OSError):
        attributes = _Attributes(_MAPPED, 0, 0, users)
        size = ctypes.sizeof(attributes)
        call("syscall", _MOUNTS["mount_setattr"], copy, b"", _EMPTY_PATH, attributes, size)
    return copy


@contextlib.contextmanager
def _users_of_the_mount() -> Iterator[int]:
    """A descriptor of a user namespace that maps root to the ordinary user, and nobody else."""
    (ready, tell), (gate, end) = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        try:
            call("unshare", _NEW_USERS)
            os.write(tell, b"!")
            os.close(end)
            os.read(gate, 1)
        finally:
            os._exit(0)
    for descriptor in (tell, gate):
        os.close(descriptor)
    os.read(ready, 1)
    for name in ("uid_map", "gid_map"):
        Path(f"/proc/{child}/{name}").write_text(f"0 {ORDINARY} 1")
    users = os.open(f"/proc/{child}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield users
    finally:
        for descriptor in (users, ready, end):
            os.close(descriptor)
        os.waitpid(child, 0)
