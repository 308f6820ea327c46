"""Becoming nobody: another user, no groups, no capabilities, and no way to get any back."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Collection

from autograder.isolation.kernel import (
    PR_CAP_AMBIENT,
    PR_CAPBSET_DROP,
    PR_CAPBSET_READ,
    PR_SET_DUMPABLE,
    PR_SET_NO_NEW_PRIVS,
    PR_SET_PDEATHSIG,
    call,
    prctl,
)

_AMBIENT_CLEAR_ALL = 4
_CAPABILITIES_3 = 0x20080522  # the version of the structures below


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Sets(ctypes.Structure):
    _fields_ = (("words", ctypes.c_uint32 * 6),)


def become(user: int, group: int) -> None:
    """Change to the user for good; OSError or PermissionError if a way back is left."""
    os.setgroups([])
    os.setresgid(group, group, group)
    os.setresuid(user, user, user)
    if os.getresuid() != (user,) * 3 or os.getresgid() != (group,) * 3 or os.getgroups():
        raise PermissionError(f"the change to user {user} left something of the old one")


def drop_bounding_set(keep: Collection[int] = ()) -> None:
    """As root, before the change of user: no program could hand a capability out any more, but those to `keep`."""
    for capability in range(64):
        try:
            prctl(PR_CAPBSET_READ, capability)
        except OSError:
            return  # past the last one this kernel knows
        if capability not in keep:
            prctl(PR_CAPBSET_DROP, capability)


def drop_capabilities() -> None:
    """Give up every capability, ambient and inheritable ones too; allowed to everybody."""
    prctl(PR_CAP_AMBIENT, _AMBIENT_CLEAR_ALL)
    call("capset", _Header(_CAPABILITIES_3, 0), _Sets())


def gain_nothing_new() -> None:
    """No program started from here on can have more rights than this process."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)


def die_with_parent() -> None:
    """Be killed when the parent ends. To be called after a change of user, which clears it."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def hide_memory() -> None:
    """No core dumps, and /proc entries that belong to root. A change of user undoes this, too."""
    prctl(PR_SET_DUMPABLE, 0)
