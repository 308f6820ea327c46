"""Does a worker stay within its memory and its disk? The zygote looks, which has nothing else to do: a grader that is
busy with an answer would look too late.

Memory is what is its own beyond what it inherits, with swap, page tables and huge pages. Disk is what is in its folder,
and files that it has deleted and still holds: mapped ones are seen in every situation, open ones only by root with the
right to look into other processes. For all others, the limits on open files and on a file's size bound them.
"""

from __future__ import annotations

import contextlib
import os
import stat
from typing import Literal

from autograder.workers.zygote import Order

Over = Literal["memory", "disk", ""]
WATCH = 0.05  # seconds between two looks
SELDOM = 4  # looks between two at what is mapped, which takes longer
_COUNTED = (b"RssAnon:", b"RssShmem:", b"VmSwap:", b"VmPTE:", b"HugetlbPages:")
_DELETED = b" (deleted)\n"

Mapped = set[tuple[bytes, bytes]]  # deleted files: device and inode


class Watched:
    """One worker, from its fork on. To be made in its parent, before the worker hides its memory."""

    def __init__(self, pid: int, order: Order) -> None:
        self.pid, self.order = pid, order
        self.over: Over = ""  # which limit it was ended for
        self._inherited, self._looks = own_memory(os.getpid()), 0
        self._maps = -1
        with contextlib.suppress(OSError):  # no /proc, no such look
            self._maps = os.open(f"/proc/{pid}/maps", os.O_RDONLY | os.O_CLOEXEC)
        self._known = self._deleted()  # an upgrade may have deleted libraries that we have mapped

    def look(self) -> Over:
        """Which limit it is over."""
        self._looks += 1
        if own_memory(self.pid) - self._inherited > self.order.memory:
            self.over = "memory"
        elif self._disk() > self.order.disk:
            self.over = "disk"
        return self.over

    def forget(self) -> None:
        """It has ended."""
        if self._maps != -1:
            os.close(self._maps)
            self._maps = -1

    def _disk(self) -> int:
        used = in_folder(self.order.confinement.writable, self.order.disk, self.order.entries)
        if self._looks % SELDOM == 0:
            # How large they are cannot be seen: a single page of each may be mapped.
            used += len(self._deleted() - self._known) * self.order.confinement.file_bytes
        return used + open_without_name(self.pid)

    def _deleted(self) -> Mapped:
        if self._maps == -1:
            return set()
        lines = []
        with contextlib.suppress(OSError):
            os.lseek(self._maps, 0, os.SEEK_SET)
            with os.fdopen(os.dup(self._maps), "rb") as file:
                lines = [line.split(maxsplit=5) for line in file if line.endswith(_DELETED)]
        return {(fields[3], fields[4]) for fields in lines}


def own_memory(pid: int) -> int:
    """Bytes that a process has for itself, as far as this can be seen."""
    total = 0
    with contextlib.suppress(OSError, ValueError), open(f"/proc/{pid}/status", "rb") as status:  # noqa: PTH123 (often)
        for line in status:
            if line.startswith(_COUNTED):
                total += int(line.split()[1]) * 1024
    return total


def in_folder(folder: str, most: int, entries: int) -> int:
    """Bytes in a folder; more than `most` also if it holds too many entries. Never looks at more than it must."""
    used, waiting = 0, [folder]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as found:
                for entry in found:
                    entries -= 1
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    else:
                        seen = entry.stat(follow_symlinks=False)
                        used += max(seen.st_size, seen.st_blocks * 512)
                    if used > most or entries < 0:
                        return most + 1
        except FileNotFoundError:
            continue  # gone meanwhile
        except OSError:
            return most + 1  # too deep, or closed to us: nothing that an exercise needs
    return used


def open_without_name(pid: int) -> int:
    """Bytes in plain files that a process has open and nobody finds any more."""
    used = 0
    with contextlib.suppress(OSError):  # it hides them from us, or is gone
        for name in os.listdir(f"/proc/{pid}/fd"):  # noqa: PTH208
            with contextlib.suppress(OSError):
                seen = os.stat(f"/proc/{pid}/fd/{name}")  # noqa: PTH116 (often)
                if stat.S_ISREG(seen.st_mode) and seen.st_nlink == 0:
                    used += max(seen.st_size, seen.st_blocks * 512)
    return used
