"""Landlock: which files may be read and written, decided by the kernel and for good.

Written here in three system calls: py-landlock on PyPI does the same in 1,300 lines at version 0.1, and a boundary
should be read in one sitting. The rules must also be made before the user is dropped and put in force after it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import stat
from collections.abc import Iterable, Iterator

from autograder.isolation.kernel import call

NEWEST = 7  # the last version whose rights are listed here

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same on every architecture

_WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 1, 1 << 2, 1 << 3
_REMOVE_DIR, _REMOVE_FILE, _MAKE_DIR, _MAKE_FILE = 1 << 4, 1 << 5, 1 << 7, 1 << 8
_REFER, _TRUNCATE = 1 << 13, 1 << 14
_FILE_RIGHTS_BY_VERSION = {1: (1 << 13) - 1, 2: 1 << 13, 3: 1 << 14, 5: 1 << 15}

_READ = _READ_FILE | _READ_DIR
# No links, pipes, sockets or devices: whoever empties the folder afterwards must not trip over one.
_WRITE = _READ | _WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_FILE | _REFER | _TRUNCATE
_ON_A_FILE = _READ_FILE | _WRITE_FILE | _TRUNCATE  # the other rights are about folders

_BIND_AND_CONNECT = 0b11  # TCP, from version 4
_ABSTRACT_SOCKETS_AND_SIGNALS = 0b11  # from version 6
_DO_NOT_LOG = 1  # from version 7: a hostile loop must not fill the audit log
_ASK_VERSION = 1
_PATH_BENEATH = 1


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def version() -> int:
    """Of the running kernel, as far as this module knows its rights; OSError without Landlock."""
    return min(call("syscall", _CREATE, None, 0, _ASK_VERSION), NEWEST)


def ruleset(version: int, readable: Iterable[str], writable: Iterable[str]) -> int:
    """A descriptor of the rules. Made while every folder can still be reached, put in force by `restrict`."""
    handled = sum(rights for since, rights in _FILE_RIGHTS_BY_VERSION.items() if since <= version)
    asked = _Ruleset(
        handled,
        _BIND_AND_CONNECT if version >= 4 else 0,
        _ABSTRACT_SOCKETS_AND_SIGNALS if version >= 6 else 0,
    )
    # An older kernel takes a shorter structure, but also a longer one whose rest is zero.
    rules = call("syscall", _CREATE, asked, ctypes.sizeof(asked), 0)
    for rights, paths in ((_READ, readable), (_WRITE, writable)):
        for path in paths:
            with _opened(path) as (parent, is_folder):
                allowed = rights & handled & (~0 if is_folder else _ON_A_FILE)
                call("syscall", _ADD, rules, _PATH_BENEATH, _PathBeneath(allowed, parent), 0)
    return rules


def restrict(version: int, rules: int) -> None:
    """Put the rules in force for this process, and close them. Needs no_new_privs, or root."""
    call("syscall", _RESTRICT, rules, _DO_NOT_LOG if version >= 7 else 0)
    os.close(rules)


@contextlib.contextmanager
def _opened(path: str) -> Iterator[tuple[int, bool]]:
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        yield descriptor, stat.S_ISDIR(os.fstat(descriptor).st_mode)
    finally:
        os.close(descriptor)
