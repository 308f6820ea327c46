"""Work in forked children: where a student's file is read, with limits; and plain work on several cores.

A child inherits what it needs, and answers in JSON: nothing that it says is ever unpickled or run.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import resource
import select
import signal
import socket
import stat
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from autograder.isolation.allowance import longest
from autograder.isolation.privileges import die_with_parent

MIB = 1 << 20
LONGEST_ANSWER = 64 * MIB

Item = TypeVar("Item")


class TooMuch(Exception):
    """A child used up its time or its memory, or crashed. Says so in words that follow a name: 'took more than …'."""


def run_limited(
    function: Callable[..., Any],
    *arguments: Any,
    seconds: float,
    memory: int,
    raises: Sequence[type[Exception]] = (),
) -> Any:
    """`function(*arguments)`, called once in a child with limits; see `Limited`. Arguments may be of any kind."""
    with contextlib.closing(
        Limited(lambda: function(*arguments), seconds=seconds, memory=memory, raises=raises)
    ) as one:
        return one()


class Limited:
    """A function that runs in a child of its own, with limits for each call; TooMuch if it does not keep to them.

    The child starts with the first call and serves the following ones, too; after one that it did not survive, there
    is a new one. Arguments and results are plain data, as JSON has it. The child has none of our sockets and pipes.

    seconds: of processor time; by the clock, it is `allowance.longest` of them, so that no busy neighbour counts.
    memory: bytes beyond what the child inherits.
    raises: exceptions that are raised here as they were there, each made from its text. Any other is a RuntimeError.
    """

    def __init__(
        self, function: Callable[..., Any], *, seconds: float, memory: int, raises: Sequence[type[Exception]] = ()
    ) -> None:
        self.function, self.seconds, self.memory, self.raises = function, seconds, memory, tuple(raises)
        self.pid = 0
        self.channel: socket.socket | None = None

    def __call__(self, *arguments: Any) -> Any:
        request = json.dumps(arguments).encode() + b"\n"
        try:
            answer = self._answer(request)
        except BaseException:
            self.close()
            raise
        if "value" in answer:
            return answer["value"]
        if "raised" in answer:
            kind, text = answer["raised"]
            raise self.raises[kind](text)
        self.close()  # who knows in what state it is
        if "memory" in answer:
            raise self._too_large()
        raise RuntimeError(answer["failed"])

    def _answer(self, request: bytes) -> dict[str, Any]:
        until = time.monotonic() + longest(self.seconds)
        if self.channel is None:
            self.pid, self.channel = forked(self._serve)
        self.channel.setblocking(False)
        rest, received = memoryview(request), bytearray()
        while not received.endswith(b"\n"):
            left = until - time.monotonic()
            if left <= 0:
                raise self._too_long()
            readable, writable, _ = select.select([self.channel], [self.channel] if rest else [], [], left)
            if writable:
                with contextlib.suppress(ConnectionError):  # reading will tell
                    rest = rest[self.channel.send(rest) :]
            if readable:
                with contextlib.suppress(ConnectionError):
                    if chunk := self.channel.recv(MIB):
                        received += chunk
                        if len(received) > LONGEST_ANSWER:
                            raise self._too_large()
                        continue
                raise self._died()
        found: dict[str, Any] = json.loads(received)
        return found

    def _died(self) -> TooMuch:
        _, status = os.waitpid(self.pid, 0)
        self.pid = 0
        ended = os.waitstatus_to_exitcode(status)
        if -ended == signal.SIGXCPU:
            return self._too_long()
        if -ended in (signal.SIGKILL, signal.SIGABRT) or ended >= 0:  # it could not even say so
            return self._too_large()
        return TooMuch(f"crashed the process that worked on it (signal {-ended})")

    def _too_long(self) -> TooMuch:
        return TooMuch(f"took more than {self.seconds:g} s")

    def _too_large(self) -> TooMuch:
        return TooMuch(f"took more than {self.memory // MIB:,} MiB of memory")

    def close(self) -> None:
        """End the child, if there is one."""
        if self.channel is not None:
            self.channel.close()
            self.channel = None
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.pid = 0

    # In the child

    def _serve(self, channel: socket.socket) -> None:
        _let_go_of_lines(channel.fileno())
        _limit(resource.RLIMIT_CORE, 0)
        limit_memory(self.memory)
        for line in channel.makefile("rb"):
            used = resource.getrusage(resource.RUSAGE_SELF)
            _limit(resource.RLIMIT_CPU, math.ceil(used.ru_utime + used.ru_stime + self.seconds))
            channel.sendall(self._served(json.loads(line)) + b"\n")

    def _served(self, arguments: list[Any]) -> bytes:
        try:
            answer = {"value": self.function(*arguments)}
            return json.dumps(answer).encode()
        except self.raises as error:
            kind = next(number for number, one in enumerate(self.raises) if isinstance(error, one))
            return json.dumps({"raised": [kind, str(error)]}).encode()
        except Exception as error:
            if isinstance(error, MemoryError) or "can't allocate memory" in str(error):  # as torch says it
                return b'{"memory": true}'
            traceback.print_exc()
            return json.dumps({"failed": f"{type(error).__name__}: {error}"[:1000]}).encode()


def limit_memory(more: int) -> None:
    """Let this process have so many bytes more than now, and no others."""
    _limit(resource.RLIMIT_DATA, _private_memory() + more)


def _private_memory() -> int:
    """What counts for RLIMIT_DATA: not only what is used, but all private memory that was asked for."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmData:"):
                return int(line.split()[1]) * 1024
    return 0


def _limit(kind: int, most: int) -> None:
    """The soft limit alone: a child's child may be given other limits."""
    _, hard = resource.getrlimit(kind)
    with contextlib.suppress(OSError, ValueError):  # macOS has no limit of memory; then there is only the deadline
        resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _let_go_of_lines(mine: int) -> None:
    """Let inherited sockets and pipes lead nowhere: whoever is at the other end waits for all of us to close them.

    They are not closed: their owners, which were inherited, too, would later close what has their numbers by then.
    """
    nowhere = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for path in Path("/proc/self/fd" if sys.platform == "linux" else "/dev/fd").iterdir():
        number = int(path.name)
        with contextlib.suppress(OSError):  # that of the listing itself
            kind = stat.S_IFMT(os.fstat(number).st_mode)
            if number not in (1, 2, mine) and kind in (stat.S_IFSOCK, stat.S_IFIFO):
                os.dup2(nowhere, number, inheritable=False)


# On several cores


def spread(function: Callable[[Item], Any], items: Sequence[Item], jobs: int) -> list[Any]:
    """`[function(item) for item in items]`, in `jobs` processes; a child that fails fails the whole."""

    def work(channel: socket.socket, mine: Sequence[Item]) -> None:
        channel.sendall(json.dumps([function(item) for item in mine]).encode())

    children = [forked(work, items[start::jobs]) for start in range(jobs)]
    found: list[Any] = [None] * len(items)
    broken = False
    for start, (pid, channel) in enumerate(children):
        with channel, channel.makefile("rb") as answer:
            text = answer.read()
        os.waitpid(pid, 0)
        if text:
            found[start::jobs] = json.loads(text)
        broken |= not text
    if broken:
        raise RuntimeError("a forked child failed; its traceback is above")
    return found


def forked(work: Callable[..., None], *arguments: Any) -> tuple[int, socket.socket]:
    """A child that does `work(channel, *arguments)` and ends, also when we do: its pid, and our end of the channel.

    Ctrl-C is for whoever started it.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    ours, theirs = socket.socketpair()
    # Ctrl-C between the fork and the next step would leave a child that nobody knows, and it is not the child's.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    pid = os.fork()
    if pid:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()
        return pid, ours
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        ours.close()
        if sys.platform == "linux":
            die_with_parent()
        work(theirs, *arguments)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(0)
