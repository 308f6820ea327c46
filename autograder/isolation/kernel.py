"""Calls that Python 3.11 has no function for. Each raises OSError instead of returning -1."""

from __future__ import annotations

import ctypes
import os

# Loaded at import, in the warm process: finding a library later would read files a worker may not open.
_libc = ctypes.CDLL(None, use_errno=True)

Argument = int | bytes | ctypes.Structure | None

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_CAPBSET_READ = 23
PR_CAPBSET_DROP = 24
PR_SET_MM = 35
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47
PR_SET_PTRACER = 0x59616D61


def call(name: str, *arguments: Argument) -> int:
    """A function of the C library by name, e.g. `call("unshare", CLONE_NEWNET)`."""
    function = getattr(_libc, name)
    # Only syscall() returns a word; read as one, the -1 of the others would be 4294967295.
    function.restype = ctypes.c_long if name == "syscall" else ctypes.c_int
    result = int(function(*[_passed(argument) for argument in arguments]))
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result


def prctl(option: int, *arguments: int | ctypes.Structure) -> int:
    """prctl(2); arguments that are not given are zero, as many options demand."""
    padded = (*arguments, 0, 0, 0, 0)[:4]
    return call("prctl", option, *padded)


def _passed(value: Argument) -> object:
    # Integers go as full words: in a variadic call the upper half of a shorter one is undefined.
    if isinstance(value, int):
        return ctypes.c_ulong(value)
    return ctypes.byref(value) if isinstance(value, ctypes.Structure) else value
