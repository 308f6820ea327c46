"""Namespaces: a worker alone with itself, without network, under a root folder that holds only what it may see."""

from __future__ import annotations

import os
import select
import stat
from collections.abc import Iterable
from pathlib import Path

from autograder.isolation import syscalls
from autograder.isolation.kernel import call

FLAGS = {"mount": 0x00020000, "uts": 0x04000000, "ipc": 0x08000000, "pid": 0x20000000, "net": 0x40000000}

READ_ONLY, NO_SETUID, NO_DEVICES = 1, 2, 4
_NO_TIMES = 1 << 10  # when a file was read last is not kept, and so tells the next submission nothing
_REMOUNT, BIND, _RECURSIVE, _PRIVATE = 32, 1 << 12, 1 << 14, 1 << 18
_DETACH = 2


def enter(names: Iterable[str]) -> None:
    """Leave the namespaces of these names for new ones; "pid" takes a fork as well, see `fork_alone`."""
    flags = 0
    for name in names:
        flags |= FLAGS[name]
    call("unshare", flags)


def fork_alone() -> int:
    """Fork. The child is the first of a new pid namespace: when it ends, the kernel kills whatever else is there."""
    own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    enter(["pid"])  # not for this process, but for its children from now on
    pid = -1
    try:
        pid = os.fork()
    finally:
        if pid:
            call("setns", own, FLAGS["pid"])  # or the next child would have to live in the same
        os.close(own)
    return pid


def is_closed(pipe: int) -> bool:
    """Has whoever held the other end gone?"""
    return bool(select.select([pipe], [], [], 0)[0])


def own_root(readable: Iterable[str], devices: Iterable[str], writable: str) -> None:
    """Make a root folder of just these paths, under their own names, and throw the old one away.

    To be called in a new mount namespace. The folders above a path are ours and open to everybody, so a path that lies
    below somebody's closed home can be reached, and nothing beside it.
    """
    mount(None, "/", None, _RECURSIVE | _PRIVATE)
    flags = dict.fromkeys(readable, READ_ONLY | NO_SETUID | NO_DEVICES | _NO_TIMES)
    flags |= dict.fromkeys(devices, READ_ONLY | NO_SETUID)
    flags |= {writable: NO_SETUID | NO_DEVICES}
    # Held open, because the new root is built on top of the writable folder and hides what is there.
    sources = {path: os.open(path, os.O_PATH | os.O_CLOEXEC) for path in flags}
    mount("tmpfs", writable, "tmpfs", NO_SETUID | NO_DEVICES, "mode=755,size=1m")
    for path in sorted(flags):  # a folder comes before what is in it
        target = Path(f"{writable}{path}")
        _make_place(target, is_folder=stat.S_ISDIR(os.fstat(sources[path]).st_mode))
        mount(f"/proc/self/fd/{sources[path]}", str(target), None, BIND)
        mount(None, str(target), None, _REMOUNT | BIND | flags[path])
        os.close(sources[path])
    mount(None, writable, None, _REMOUNT | BIND | READ_ONLY | NO_SETUID | NO_DEVICES)
    os.chdir(writable)
    call("syscall", syscalls.numbers(syscalls.MOUNTS)["pivot_root"], b".", b".")
    call("umount2", b".", _DETACH)
    os.chdir("/")


def mount(source: str | None, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    """mount(2)."""
    texts = [None if text is None else os.fsencode(text) for text in (source, target, kind, options)]
    call("mount", texts[0], texts[1], texts[2], flags, texts[3])


def _make_place(target: Path, *, is_folder: bool) -> None:
    """Something to mount on; it is there already when the path lies in a folder mounted before."""
    if is_folder:
        target.mkdir(parents=True, exist_ok=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            target.touch()
