"""Confine this process, in the one order that works.

Nothing here gives way: a layer that was promised and cannot be put in force raises, and the process must end.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from autograder.isolation import descriptors, landlock, limits, namespaces, paths, privileges, seccomp
from autograder.isolation.layers import Confinement, NotConfined


def confine(spec: Confinement, lifeline: int) -> None:
    """Put every layer of `spec.layers` in force. To be called once, in a forked child, before any student code.

    A pid namespace must have been entered by the fork, see `namespaces.fork_alone`. The lifeline is the end of a pipe
    that closes with the parent. Raises NotConfined; the caller must then leave by os._exit.
    """
    with _promised("arguments"):
        _check(spec)
    with _promised("session"):
        _start_session()
    with _promised("descriptors"):
        # Opened before the others are closed: an old Python object must not close one of these by its number.
        bridges = _bridge_imports(spec)
        descriptors.close_all_but({*spec.keep, *bridges, lifeline})
        descriptors.reset_signals()
    with _promised("namespaces"):
        _enter_namespaces(spec)
    _clean_environment(spec.writable)
    with _promised("landlock"):
        rules = _rules(spec)
    with _promised("limits"):
        _limit(spec)
    with _promised("user"):
        _drop_privileges(spec)
    with _promised("parent"):
        _depend_on_parent(lifeline)
    with _promised("folder"):
        _enter_folder(spec.writable)
    # From here on hardly anything is allowed, so these two come last, and in this order.
    with _promised("landlock"):
        if rules is not None:
            landlock.restrict(spec.layers.landlock, rules)
    with _promised("seccomp"):
        if spec.layers.seccomp:
            seccomp.install()


@contextlib.contextmanager
def _promised(layer: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise NotConfined(f"{layer}: {error}") from error


def _check(spec: Confinement) -> None:
    if spec.layers.own_user and (not spec.user or not spec.group):
        raise ValueError("a user of its own needs the ids of a user and a group that are not root's")
    if not all(Path(path).is_absolute() for path in (*spec.readable, spec.writable)):
        raise ValueError("every path must be absolute")
    descriptors.check_sockets(spec.keep)


def _start_session() -> None:
    if os.getsid(0) != os.getpid():
        os.setsid()


def _enter_namespaces(spec: Confinement) -> None:
    names = spec.layers.namespaces
    if "pid" in names and os.getpid() != 1:
        raise RuntimeError("this process was not forked into a pid namespace of its own")
    if others := [name for name in names if name != "pid"]:
        namespaces.enter(others)
    if "mount" in names:
        os.umask(0o022)  # the folders above the mounted ones must be open
        namespaces.own_root([*paths.system_paths(), *spec.readable], paths.devices(), spec.writable)


def _bridge_imports(spec: Confinement) -> tuple[int, ...]:
    """Descriptors for the folders that the new user cannot reach, see `paths`."""
    # A root folder of its own makes all of them reachable. Without Landlock, late imports are not worth the hole.
    if not spec.layers.own_user or not spec.layers.landlock or "mount" in spec.layers.namespaces:
        return ()
    assert spec.user is not None and spec.group is not None
    return paths.import_through_descriptors(paths.out_of_reach(spec.readable, spec.user, spec.group))


def _clean_environment(home: str) -> None:
    os.umask(0o077)
    os.environ.clear()
    os.environ.update(
        PATH="/usr/bin:/bin",
        HOME=home,
        TMPDIR=home,
        LANG="C.UTF-8",
        TZ="UTC",
        OMP_NUM_THREADS="1",
        MKL_NUM_THREADS="1",
    )
    tempfile.tempdir = None  # it was found by the parent's environment
    sys.dont_write_bytecode = True


def _rules(spec: Confinement) -> int | None:
    """The Landlock rules, made while everything can be opened."""
    if not spec.layers.landlock:
        return None
    readable = [*paths.system_paths(), *spec.readable, *paths.devices()]
    writable = [spec.writable, *(path for path in paths.devices() if path in paths.WRITABLE_DEVICES)]
    return landlock.ruleset(spec.layers.landlock, readable, writable)


def _limit(spec: Confinement) -> None:
    if spec.layers.limits:
        limits.set_limits(
            cpu_seconds=spec.cpu_seconds,
            file_bytes=spec.file_bytes,
            open_files=spec.open_files,
            tasks=limits.tasks_allowed(spec.threads, own_user=spec.layers.own_user),
        )


def _drop_privileges(spec: Confinement) -> None:
    if sys.platform == "linux" and os.geteuid() == 0:
        privileges.drop_bounding_set()
    if spec.layers.own_user:
        assert spec.user is not None and spec.group is not None
        privileges.become(spec.user, spec.group)
    if sys.platform == "linux":
        privileges.drop_capabilities()
        privileges.hide_memory()  # a change of user would undo it
    if spec.layers.no_new_privs:
        privileges.gain_nothing_new()


def _depend_on_parent(lifeline: int) -> None:
    """Die with the parent. A change of user would undo this, so it comes late, and the parent may be gone by now."""
    if sys.platform == "linux":
        privileges.die_with_parent()
    gone = namespaces.is_closed(lifeline)
    os.close(lifeline)
    if gone:
        raise ProcessLookupError("it died meanwhile")


def _enter_folder(folder: str) -> None:
    os.chdir(folder)
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        raise PermissionError(f"user {os.getuid()} cannot write in its own folder")
