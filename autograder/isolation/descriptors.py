"""What a forked process inherits and must not: open files, and the signal handlers of its parent."""

from __future__ import annotations

import os
import signal
import socket
import stat
from collections.abc import Iterable
from pathlib import Path

_STANDARD = frozenset({0, 1, 2})


def close_all_but(keep: Iterable[int]) -> None:
    """Close every descriptor but these; standard input, output and errors lead nowhere instead."""
    kept = set(keep)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in _STANDARD - kept:
        if standard != nowhere:
            os.dup2(nowhere, standard)
    for descriptor in _open() - kept - _STANDARD:
        os.close(descriptor)


def check_sockets(keep: Iterable[int]) -> None:
    """A datagram socket could be sent from to any address, past the filter on connect(): refuse it."""
    for descriptor in keep:
        if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
            with socket.socket(fileno=os.dup(descriptor)) as channel:
                if channel.family != socket.AF_UNIX or channel.type == socket.SOCK_DGRAM:
                    raise ValueError(f"descriptor {descriptor} is not a connected stream between two processes")


def reset_signals() -> None:
    """The parent's Python handlers would run the parent's code here."""
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        handler = signal.getsignal(number)
        if callable(handler) and handler is not signal.default_int_handler:
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def _open() -> set[int]:
    # The descriptor that reads the listing is in it, and closed by now; os.close would mind.
    listed = {int(entry.name) for entry in Path("/dev/fd").iterdir()}
    return {descriptor for descriptor in listed if _is_open(descriptor)}


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True
