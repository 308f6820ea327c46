"""What a run says while it goes on, and how lines fit a terminal."""

from __future__ import annotations

import os
import shutil
import sys
import time
from math import ceil

from autograder.checking.courses import Course
from autograder.checking.wording import inert
from autograder.classroom.columns import filled, lines, width
from autograder.grading.summaries import Record
from autograder.intake.entries import few
from autograder.intake.people import duration

LINES = 20  # of a kind are printed; for more of them, there is the page
ID = 24  # columns of an id, which may be longer; files have it in full
NAMED = 2  # exercises that are named of those that were lost
STEPS = 10  # times that a log says how far it is, by count
PAUSE = 30.0  # seconds after which it says so again; after every ten times, twice as many


def wrapped(text: str) -> str:
    """Lines that fit the terminal, if there is one; those of a log are left as they are."""
    if not sys.stdout.isatty():
        return text
    indent = text[: len(text) - len(text.lstrip())]
    first, *others = lines(text, _columns() - len(indent) - 2) or [""]
    return "\n".join([indent + first, *(f"{indent}  {line}" for line in others)])


def _columns() -> int:
    return max(20, shutil.get_terminal_size((80, 24)).columns)


class Progress:
    """On a terminal, one line with a bar, a rate and the time left; elsewhere, a line for each submission, and every
    so often one that says how far it is."""

    def __init__(self, course: Course, total: int) -> None:
        self.points = course.required
        self.total, self.done, self.fresh = total, 0, 0
        self.live = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
        self.started = time.monotonic()
        self.left_out = False  # whether a line names fewer exercises than were lost
        self._said, self._said_at = 0, 0.0

    def __enter__(self) -> Progress:
        self._show()
        return self

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started

    def told(self, record: Record) -> None:
        self.done += 1
        self.fresh += not record.kept
        if not self.live or self.total <= LINES:
            print(f"{self._clear()}{self._line(record)}", flush=True)
        self._show()

    def _show(self) -> None:
        if self.live:
            print(f"{self._clear()}{self._bar()}", end="", flush=True)
        elif 0 < self.done < self.total and self._is_time():
            self._said, self._said_at = self._said + 1, self.seconds
            print(f"--{self._far()}", flush=True)

    def _is_time(self) -> bool:
        """At every tenth of a long list, and after a pause that grows: a log of days has few of these lines."""
        step = ceil(self.total / STEPS)
        pause = PAUSE * 2 ** (self._said // STEPS)
        return (self.total > LINES and self.done % step == 0) or self.seconds - self._said_at >= pause

    def _clear(self) -> str:
        return "\r\033[K" if self.live else ""

    def _line(self, record: Record) -> str:
        """The columns of a table, whatever an id is made of; what does not fit beside them stands below."""
        lost = f"lost {few(record.lost, NAMED)}" if record.lost else ""
        self.left_out |= len(record.lost) > NAMED and not record.trouble
        told = ": ".join(filter(None, (inert(record.student.name), inert(record.trouble) or lost)))
        told += " (kept)" if record.kept else ""
        score = "–" if record.trouble else record.score
        columns = f"  {filled(record.id, ID)} {score:>4} / {self.points}"
        if not sys.stdout.isatty():
            return f"{columns}  {told}".rstrip()
        indent = " " * (width(columns) + 2)
        below = lines(told, max(20, _columns() - 1 - len(indent)))
        return f"{columns}  ".rstrip() if not below else f"{columns}  " + f"\n{indent}".join(below)

    def _bar(self) -> str:
        told = self._far()
        columns = shutil.get_terminal_size((80, 24)).columns - 1
        length = max(0, min(30, columns - len(told)))
        full = length * self.done // max(1, self.total)
        return f"{'█' * full}{'░' * (length - full)}{told}"[:columns]

    def _far(self) -> str:
        told = f" {self.done} of {self.total}"
        if self.fresh:
            rate = self.fresh / max(self.seconds, 1e-3)
            left = f"  {duration(ceil((self.total - self.done) / rate))} left" if self.done < self.total else ""
            return f"{told}  {rate:.1f} a second{left}"
        return f"{told}  starting" if self.done < self.total else told

    def __exit__(self, *_: object) -> None:
        if self.live:
            print(self._clear(), end="", flush=True)
