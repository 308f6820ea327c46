"""Which layers work on this machine: each one is tried for real, in a process of its own that ends afterwards."""

from __future__ import annotations

import os
import signal
import socket
import sys
import tempfile
from collections.abc import Callable
from functools import partial

from autograder.isolation import landlock, limits, paths, privileges, seccomp
from autograder.isolation.layers import NAMESPACES, WEAK, Layers
from autograder.isolation.namespaces import enter, fork_alone, own_root

_NOBODY = 65534  # only to try whether the user can be changed
_PATIENCE = 10  # seconds


def probe(*, namespaces: bool = True) -> Layers:
    """The layers that can be promised to `confine` here. Never raises; a machine that is no Linux has none."""
    if sys.platform != "linux":
        return WEAK
    is_root = os.geteuid() == 0
    tried = NAMESPACES if namespaces and is_root else ()
    return Layers(
        own_user=is_root and _works(_try_user),
        landlock=landlock.version() if _works(_try_landlock) else 0,
        seccomp=_works(_try_seccomp),
        namespaces=tuple(name for name in tried if _works(partial(_try_namespace, name))),
        no_new_privs=_works(privileges.gain_nothing_new),
        limits=_works(_try_limits),
    )


def _works(layer: Callable[[], None]) -> bool:
    """Does it go through in a forked child, within a few seconds?"""
    try:
        pid = os.fork()
    except OSError:
        return False
    if pid == 0:
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(_PATIENCE)
            layer()
            os._exit(0)
        finally:  # whatever was raised: the child must not go on as a second parent
            os._exit(1)
    return os.waitpid(pid, 0)[1] == 0


def _try_user() -> None:
    privileges.drop_bounding_set()
    privileges.become(_NOBODY, _NOBODY)
    privileges.drop_capabilities()
    _must_be_denied(lambda: os.setuid(0))


def _try_landlock() -> None:
    privileges.gain_nothing_new()
    version = landlock.version()
    landlock.restrict(version, landlock.ruleset(version, [], []))
    _must_be_denied(lambda: os.open("/", os.O_RDONLY))


def _try_seccomp() -> None:
    privileges.gain_nothing_new()
    seccomp.install()
    _must_be_denied(socket.socket)


def _try_namespace(name: str) -> None:
    if name == "pid":
        if (pid := fork_alone()) == 0:
            os._exit(0 if os.getpid() == 1 else 1)
        if os.waitpid(pid, 0)[1]:
            raise RuntimeError("the child is not alone")
        return
    enter([name])
    if name == "mount":  # some containers allow the namespace and forbid to mount in it
        own_root(paths.system_paths(), paths.devices(), tempfile.gettempdir())


def _try_limits() -> None:
    limits.set_limits(cpu_seconds=60, file_bytes=1 << 20, open_files=64, tasks=None)


def _must_be_denied(attempt: Callable[[], object]) -> None:
    try:
        attempt()
    except PermissionError:
        return
    raise RuntimeError("the layer is there and stops nothing")
