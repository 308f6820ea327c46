"""How much a worker may use. Memory is not among it: torch reserves far more address space than it uses, so RLIMIT_AS
breaks it, and a watchdog or a cgroup of the caller's has to bound memory.
"""

from __future__ import annotations

import contextlib
import os
import resource
from pathlib import Path

_STACK = 8 << 20  # what Python expects of its main thread
_DEEPEST_STACK = 64 << 20
_ROOM = 256  # for what else the grader's user may start, where the worker shares it


def set_limits(*, cpu_seconds: int, file_bytes: int, open_files: int, tasks: int | None) -> None:
    """Lower the limits for good. `tasks` counts every thread of the user's, None leaves it as it is."""
    # SIGXCPU at the soft limit can be caught, SIGKILL a second later cannot.
    _lower("CPU", cpu_seconds, cpu_seconds + 1)
    _lower("FSIZE", file_bytes)
    _lower("NOFILE", open_files)
    _lower("CORE", 0)
    _lower("STACK", _STACK, _DEEPEST_STACK)
    _lower("MEMLOCK", 0)
    for name in ("MSGQUEUE", "NICE", "RTPRIO"):  # Linux only
        _lower(name, 0)
    if tasks is not None:
        _lower("NPROC", tasks)


def tasks_allowed(threads: int, *, own_user: bool) -> int | None:
    """The limit on tasks that leaves the worker its threads; the kernel counts them by user."""
    if own_user:
        return threads + 1  # and the main one
    if os.getuid() == 0 or not Path("/proc/self/status").exists():
        return None  # root is not held to it; elsewhere nobody counts
    return _tasks_of(os.getuid()) + threads + _ROOM


def _lower(name: str, soft: int, hard: int | None = None) -> None:
    which = getattr(resource, f"RLIMIT_{name}", None)
    if which is None:
        return
    now_soft, now_hard = resource.getrlimit(which)
    new_hard = _smaller(soft if hard is None else hard, now_hard)
    resource.setrlimit(which, (_smaller(_smaller(soft, now_soft), new_hard), new_hard))


def _smaller(one: int, other: int) -> int:
    return one if other == resource.RLIM_INFINITY else min(one, other)


def _tasks_of(user: int) -> int:
    count = 0
    for status in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
            if int(fields["Uid"].split()[0]) == user:
                count += int(fields["Threads"])
    return count
