"""The time that an exercise has, counted so that no neighbour on the same machine takes any of it.

Processor time counts, and so does waiting: code that computes or does nothing for as long as its deadline says is
stopped. Time in which it could run, but other programs have the processor, is neither.
There is a limit by the clock, too, so that everything ends: four times the deadline, and at least 20 s more than it.
With as many jobs as processors, a worker has more than half of one; four times leaves room for what else a machine
does, and 20 s for a moment in which it does something else entirely. Only code that computes and waits in turns, or a
machine that is hopelessly busy, comes to it.
"""

from __future__ import annotations

import os
import time
from typing import Literal, NamedTuple

TIMES, MORE = 4, 20
WATCH = 0.05  # seconds between two looks at the time that a worker uses
_ASLEEP = b"STt"  # states of a process that waits for something, or was stopped; not D, which is the disk's doing
_TICKS = os.sysconf("SC_CLK_TCK")

Why = Literal["computing", "waiting", "by the clock"]


def longest(seconds: float) -> float:
    """What an exercise may take by the clock."""
    return max(TIMES * seconds, seconds + MORE)


class Seen(NamedTuple):
    """A process at one moment."""

    processor: float  # seconds that all its threads have computed
    asleep: bool


def look(pid: int) -> Seen | None:
    """None if it cannot be seen: it is gone, or this system has no /proc."""
    try:
        descriptor = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
        try:
            # Its name, in brackets, may contain anything; what we want comes after it.
            fields = os.read(descriptor, 1 << 12).rpartition(b")")[2].split()
        finally:
            os.close(descriptor)
        return Seen((int(fields[11]) + int(fields[12])) / _TICKS, fields[0] in _ASLEEP)
    except (OSError, IndexError, ValueError):
        return None


class Allowance:
    """The time of one exercise. Whoever watches its worker shows it to `charge` again and again."""

    def __init__(self, seconds: float, by_the_clock: float | None = None) -> None:
        self.seconds = seconds
        self.limit = longest(seconds) if by_the_clock is None else by_the_clock
        self.began = self.looked = time.monotonic()
        self.computed = self.waited = 0.0
        self._pid = 0  # of the worker that was charged last

    @property
    def until(self) -> float:
        """On the monotonic clock."""
        return self.began + self.limit

    @property
    def used(self) -> float:
        return self.computed + self.waited

    def not_counted(self, seconds: float) -> None:
        """Time that was ours."""
        self.began += seconds

    def charge(self, pid: int, before: Seen | None, *, idle: bool) -> Seen | None:
        """Count what a worker has done since it was seen `before`; returns what is seen now.

        idle: it has had all that it could wait for from us, and has sent nothing.
        """
        now, seen = time.monotonic(), look(pid)
        passed, self.looked = min(now - self.looked, 2 * WATCH), now  # we may have been late ourselves
        if seen is None:
            self.computed += passed
            return None
        computed = seen.processor - (before.processor if before else 0.0)
        if pid != self._pid:
            # Some of it was perhaps for the exercise before, but no more than there was time for is of this one.
            computed, self._pid = min(computed, now - self.began), pid
        elif computed == 0 and seen.asleep and idle:
            self.waited += passed
        self.computed += max(0.0, computed)
        return seen

    def over(self) -> Why | None:
        """Why there is no time left, if there is none."""
        if self.computed >= self.seconds:
            return "computing"
        if self.used >= self.seconds:
            return "waiting"
        return "by the clock" if time.monotonic() >= self.until else None

    def told(self, why: Why) -> str:
        """What a student reads."""
        match why:
            case "computing":
                return f"did not finish within {self.seconds:g} s of processor time"
            case "waiting":
                how = "only" if self.computed < 0.1 * self.seconds else "partly"
                return f"did not finish within {self.seconds:g} s, in which it {how} waited"
        return f"did not finish within {self.limit:.0f} s, though it was not computing all the time"
