"""Many submissions, one collected suite, several at a time in forked children.

Where student code runs in the examining process itself, each child examines one submission (`examine_all`). Where it
runs in workers, a child examines one after the other (`examine_in_workers`): what it inherits is copied but once.
"""

from __future__ import annotations

import contextlib
import gc
import json
import math
import os
import select
import selectors
import signal
import socket
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from autograder.checking.engine import Examiner, Outcome, Sitting
from autograder.isolation.forks import forked, limit_memory
from autograder.judging import pictures
from autograder.judging.findings import Finding, Measure
from autograder.running import room

MEMORY = 4 << 30  # bytes that a child which examines submissions may use beyond what it inherits

Seating = Callable[[int], Sitting]  # called in the child, with a number that no other child has meanwhile


@dataclass(frozen=True)
class Candidate:
    """A submission that waits for its turn. `only` names the exercises to examine, if not all."""

    seating: Seating
    only: Iterable[str] | None = None


def examine_all(
    examiner: Examiner, candidates: Iterable[Candidate], jobs: int
) -> Iterator[tuple[int, list[Outcome], float]]:
    """Examine many submissions, each in a forked child; yields (position, outcomes, seconds) as they end.

    Candidates are asked for only when one of `jobs` places is free, so they need not all exist at once.
    No outcomes at all mean that the child did not come to an end by itself.
    """
    waiting = enumerate(candidates)
    slots = set(range(jobs))
    running: dict[int, _Running] = {}  # by the pipe on which outcomes come
    selector = selectors.DefaultSelector()
    gc.freeze()  # a collection in a child would touch, and so copy, every inherited page
    try:
        while True:
            while slots and (following := next(waiting, None)) is not None:
                position, candidate = following
                slot = slots.pop()
                pipe, child = _fork(examiner, candidate.seating, slot, candidate.only)
                running[pipe] = _Running(position, child, slot)
                selector.register(pipe, selectors.EVENT_READ)
            if not running:
                return
            for key, _ in selector.select():
                one = running[key.fd]
                chunk = os.read(key.fd, 1 << 20)
                if chunk:
                    one.received.extend(chunk)
                    continue
                selector.unregister(key.fd)
                os.close(key.fd)
                os.waitpid(one.child, 0)
                del running[key.fd]
                slots.add(one.slot)
                yield one.index, _outcomes(one.received), time.monotonic() - one.started
    finally:
        for pipe, one in running.items():
            os.close(pipe)
            os.kill(one.child, signal.SIGKILL)
            os.waitpid(one.child, 0)


@dataclass(frozen=True)
class Task:
    """A submission that has been taken in: its folder, and the names of its files."""

    root: str
    files: Sequence[str]


Serving = Callable[[Task, int], Sitting]  # called in a child, with a number that no other child has meanwhile


def examine_in_workers(
    examiner: Examiner,
    serving: Serving,
    tasks: Iterable[Task],
    jobs: int,
    *,
    ahead: bool = True,
    seconds: float = math.inf,
    lost: Callable[[int], None] = lambda _: None,
) -> Generator[tuple[int, list[Outcome], float], None, None]:
    """Like `examine_all`, for submissions that are served by workers: no student code runs in our children.

    ahead: a child has its next task before its last outcomes are yielded, so that it works while they are written down.
    Not for tasks of which the next comes only when the last is answered.
    seconds: a child that takes longer for one submission is killed. Then there are no outcomes.
    lost: told the number of a child that is dead, before another one has it.
    """
    waiting = enumerate(tasks)
    free = [_Standing(slot) for slot in range(jobs)]
    busy: dict[int, _Standing] = {}  # by descriptor

    def take_up() -> None:
        while free and (following := next(waiting, None)) is not None:
            child = free.pop()
            child.take_up(examiner, serving, *following)
            busy[child.channel.fileno()] = child

    gc.freeze()
    try:
        while True:
            take_up()
            if not busy:
                return
            until = min(child.started for child in busy.values()) + seconds
            patience = None if math.isinf(until) else max(0.0, until - time.monotonic())
            readable = select.select(list(busy), [], [], patience)[0]
            now = time.monotonic()
            for descriptor in readable or [one for one, child in busy.items() if now >= child.started + seconds]:
                child = busy[descriptor]
                outcomes = child.read() if readable else child.given_up()
                if outcomes is not None:
                    if not child.pid:
                        lost(child.slot)
                    examined = child.position, outcomes, time.monotonic() - child.started
                    free.append(busy.pop(descriptor))
                    if ahead:
                        take_up()
                    yield examined
    finally:
        for child in (*free, *busy.values()):
            child.end()


class _Standing:
    """A child that examines one submission after the other: a line of JSON in, a line of JSON out."""

    def __init__(self, slot: int) -> None:
        self.slot = slot
        self.pid = 0  # none yet, or it has died
        self.position = 0
        self.started = 0.0

    def take_up(self, examiner: Examiner, serving: Serving, position: int, task: Task) -> None:
        self.position, self.started = position, time.monotonic()
        self.received = bytearray()
        line = json.dumps(asdict(task)).encode() + b"\n"
        if self.pid:
            try:
                self.channel.sendall(line)
                return
            except ConnectionError:  # it has died while it had nothing to do, which is not this submission's fault
                self.end()
        self._fork(examiner, serving)
        with contextlib.suppress(ConnectionError):  # reading will tell
            self.channel.sendall(line)

    def read(self) -> list[Outcome] | None:
        """The outcomes, if all of them have come; none at all if the child died of its task."""
        chunk = b""
        with contextlib.suppress(ConnectionError):  # it has died with its task unread
            chunk = self.channel.recv(1 << 20)
        self.received += chunk
        if not chunk:
            self.end()
            return []
        return _outcomes(self.received) if self.received.endswith(b"\n") else None

    def given_up(self) -> list[Outcome]:
        self.end()
        return []

    def end(self) -> None:
        if self.pid:
            self.channel.close()
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.pid = 0

    def _fork(self, examiner: Examiner, serving: Serving) -> None:
        def work(channel: socket.socket) -> None:
            _let_workers_run()
            limit_memory(MEMORY)
            gc.set_threshold(10_000)  # as in a worker
            for line in channel.makefile():
                sitting = serving(Task(**json.loads(line)), self.slot)
                try:
                    outcomes = examiner.examine(sitting)
                finally:
                    sitting.close()
                channel.sendall(json.dumps(outcomes, default=vars).encode() + b"\n")

        self.pid, self.channel = forked(work)


def _let_workers_run() -> None:
    """A worker that answers several requests is not to be interrupted by us at every answer."""
    if sys.platform != "linux":
        return
    with contextlib.suppress(OSError):  # where a container forbids it, all is but a little slower
        if os.sched_getscheduler(0) == os.SCHED_OTHER:
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def _fork(examiner: Examiner, seating: Seating, slot: int, only: Iterable[str] | None) -> tuple[int, int]:
    def work(channel: socket.socket) -> None:
        room.install()  # once, and not for every request: this process runs student code and nothing else
        sitting = seating(slot)
        try:
            outcomes = examiner.examine(sitting, only)
        finally:
            sitting.close()
        channel.sendall(json.dumps(outcomes, default=vars).encode())

    child, channel = forked(work)
    return channel.detach(), child


@dataclass
class _Running:
    """A child at work."""

    index: int
    child: int
    slot: int
    started: float = field(default_factory=time.monotonic)
    received: bytearray = field(default_factory=bytearray)


def _outcomes(received: bytearray) -> list[Outcome]:
    try:
        return [revived(row) for row in json.loads(received.decode() or "[]")]
    except ValueError:  # the child died while it wrote
        return []


def revived(row: dict[str, Any]) -> Outcome:
    """An outcome that has been JSON."""
    finding, measure = row.pop("finding"), row.pop("measure")
    row["refused"] = tuple(row["refused"])
    if finding is not None:
        told: dict[str, Any] = {name: tuple(finding[name]) for name in ("evidence", "also")}
        told["picture"] = pictures.revived(finding["picture"])
        told["places"] = tuple((file, line) for file, line in finding["places"])
        finding = Finding(**(finding | told))
    return Outcome(**row, finding=finding, measure=Measure(**measure) if measure else None)
