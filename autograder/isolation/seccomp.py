"""The filter on system calls: what a worker asks of the kernel beyond computing and its own files is refused.

Assembled here, because pyseccomp (0.1.2) only wraps libseccomp.so, which a machine may lack, and a missing library must
not decide whether student code can open a socket. The filter is a list of denied calls under a ceiling: what torch,
OpenMP and malloc call differs between machines, so a list of allowed calls would fail honest work somewhere, while
calls newer than the list are answered with ENOSYS and so cannot open a new way out.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Iterable

from autograder.isolation import kernel, syscalls

_LOAD, _AND, _EQUAL, _GREATER, _RETURN = 0x20, 0x54, 0x15, 0x25, 0x06  # of the kernel's packet filter, on 32-bit words
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_FILTER_MODE = 2

_DENIED = (
    syscalls.NETWORK,
    syscalls.PROCESSES,
    syscalls.OTHERS,
    syscalls.METADATA,
    syscalls.MOUNTS,
    syscalls.LEFTOVERS,
    syscalls.UNSEEN,
    syscalls.SHARED_FILES,
    syscalls.MACHINE,
    syscalls.KERNEL,
)

_CLONE_THREAD, _CLONE_FILES = 0x10000, 0x400
_UNSHARE_DESCRIPTORS = 2  # of close_range
_ACCESS_MODE = 0o3
_WITHOUT_NAME = 0o20000000  # what O_TMPFILE is beside O_DIRECTORY
_SHARED_ANONYMOUS, _HUGE_PAGES = 0x21, 0x40000
# A child that changed these would outlive the grader, or let others look into it.
_PRCTL = (
    kernel.PR_SET_PDEATHSIG,
    kernel.PR_SET_DUMPABLE,
    kernel.PR_SET_MM,
    kernel.PR_SET_CHILD_SUBREAPER,
    kernel.PR_SET_PTRACER,
)
# What Python and its libraries ask for. Without leases and notifications, which make others wait or send them signals,
# without F_GETLK, which sees the locks of other submissions, and without F_SETPIPE_SZ: pipes are nobody's memory.
_FCNTL = [
    *(0, 1030),  # F_DUPFD, F_DUPFD_CLOEXEC
    *(1, 2, 3, 4),  # F_GETFD, F_SETFD, F_GETFL, F_SETFL
    *(6, 7),  # F_SETLK, F_SETLKW: databases
]
_IOCTL = [
    *(0x5401, 0x802C542A, 0x5413),  # TCGETS, TCGETS2, TIOCGWINSZ: is it a terminal, and how large?
    *(0x541B, 0x5421),  # FIONREAD, FIONBIO
    *(0x5450, 0x5451),  # FIONCLEX, FIOCLEX
]
# What malloc and libraries advise about memory. The rest reads pages of files ahead, drops them, or looks for them.
_MADVISE = [
    *(0, 1, 2, 4, 8),  # NORMAL, RANDOM, SEQUENTIAL, DONTNEED, FREE
    *(10, 11, 14, 15, 16, 17, 18, 19),  # about forks, huge pages and dumps
]

Code = list[tuple[int, int, int, int]]  # operation, jump if true, jump if false, operand


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def install() -> None:
    """Put the filter in force for this process and its threads, for good. Needs no_new_privs, or root."""
    code = program(os.getpid())
    packed = b"".join(struct.pack("=HBBI", *instruction) for instruction in code)
    kernel.prctl(kernel.PR_SET_SECCOMP, _FILTER_MODE, _Program(len(code), packed))


def program(pid: int) -> Code:
    """The filter for a process of this id, the only one it may signal."""
    code: Code = [
        (_LOAD, 0, 0, 4),
        (_EQUAL, 1, 0, syscalls.architecture().audit),
        (_RETURN, 0, 0, _KILL),  # a call made the 32-bit way has other numbers
        (_LOAD, 0, 0, 0),
        (_GREATER, 0, 1, syscalls.HIGHEST),  # also every call of the x32 kind
        _refuse(errno.ENOSYS),
    ]
    for name, body in _examined(pid).items():
        for number in syscalls.numbers({name: syscalls.EXAMINED[name]}).values():
            code += [(_EQUAL, 0, len(body) + 1, number), *body, (_RETURN, 0, 0, _ALLOW)]
    for number in syscalls.numbers(syscalls.ABSENT).values():
        code += [(_EQUAL, 0, 1, number), _refuse(errno.ENOSYS)]
    for group in _DENIED:
        for number in syscalls.numbers(group).values():
            code += [(_EQUAL, 0, 1, number), _refuse(errno.EPERM)]
    return [*code, (_RETURN, 0, 0, _ALLOW)]


def _examined(pid: int) -> dict[str, Code]:
    """For each call in `syscalls.EXAMINED`: the conditions under which it is allowed."""
    to_itself = dict.fromkeys(
        ("kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo"),
        _one_of(0, [pid]),  # not 0, -1 or another negative number: those are groups of processes
    )
    about_itself = dict.fromkeys(
        ("prlimit64", "sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr"),
        _one_of(0, [0, pid]),
    )
    return {
        **to_itself,
        **about_itself,
        # A thread with descriptors of its own would have the limit on them once more.
        "clone": _masked(0, _CLONE_THREAD | _CLONE_FILES, allowed=_CLONE_THREAD | _CLONE_FILES),
        "close_range": _masked(2, _UNSHARE_DESCRIPTORS, denied=_UNSHARE_DESCRIPTORS),
        "setpriority": _one_of(0, [0]) + _one_of(1, [0, pid]),
        "open": _opening(1),
        "openat": _opening(2),
        # Once it is given up with madvise(), such memory stays and belongs to nobody's resident memory. Nor do pages
        # of the machine's few huge ones.
        "mmap": _masked(3, _SHARED_ANONYMOUS, denied=_SHARED_ANONYMOUS) + _masked(3, _HUGE_PAGES, denied=_HUGE_PAGES),
        "madvise": _one_of(2, _MADVISE, errno.EINVAL),  # as from a kernel that does not know it
        "fcntl": _one_of(1, _FCNTL),
        "ioctl": _one_of(1, _IOCTL),
        "prctl": _none_of(0, _PRCTL),
        "sendto": _one_of(4, [0]) + _one_of(4, [0], upper=True),  # no address: only to the other end
    }


def _opening(flags: int) -> Code:
    # Opened for reading and yet truncated: Landlock before version 3 lets that pass.
    truncated = _masked(flags, os.O_TRUNC | _ACCESS_MODE, denied=os.O_TRUNC)
    # A file that never had a name is in no folder where it could be counted.
    return truncated + _masked(flags, _WITHOUT_NAME, denied=_WITHOUT_NAME)


def _one_of(argument: int, values: list[int], number: int = errno.EPERM, *, upper: bool = False) -> Code:
    jumps = [(_EQUAL, len(values) - index, 0, value) for index, value in enumerate(values)]
    return [_load(argument, upper=upper), *jumps, _refuse(number)]


def _none_of(argument: int, values: Iterable[int]) -> Code:
    tests = [((_EQUAL, 0, 1, value), _refuse(errno.EPERM)) for value in values]
    return [_load(argument), *(instruction for test in tests for instruction in test)]


def _masked(argument: int, mask: int, *, allowed: int | None = None, denied: int | None = None) -> Code:
    value, jump = (allowed, (1, 0)) if allowed is not None else (denied, (0, 1))
    assert value is not None
    return [_load(argument), (_AND, 0, 0, mask), (_EQUAL, *jump, value), _refuse(errno.EPERM)]


def _load(argument: int, *, upper: bool = False) -> tuple[int, int, int, int]:
    # All the arguments examined are ints to the kernel, which looks at their lower half only; pointers have two.
    return (_LOAD, 0, 0, 16 + 8 * argument + (4 if upper else 0))


def _refuse(number: int) -> tuple[int, int, int, int]:
    return (_RETURN, 0, 0, _ERROR | number)
