"""What a run says while it goes on, and how lines fit a terminal."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
import time
from math import ceil

from autograder.course import Course
from autograder.entries import few
from autograder.people import duration
from autograder.records import Record
from autograder.report import inert

LINES = 20  # of a kind are printed; for more of them, there is the page


def wrapped(text: str) -> str:
    """Lines that fit the terminal, if there is one; those of a log are left as they are."""
    if not sys.stdout.isatty():
        return text
    width = max(20, shutil.get_terminal_size((80, 24)).columns)
    first = text[: len(text) - len(text.lstrip())]
    return textwrap.fill(text, width, subsequent_indent=f"{first}  ", break_on_hyphens=False)


class Progress:
    """On a terminal, one line with a bar, a rate and the time left; elsewhere, a line for each submission."""

    def __init__(self, course: Course, total: int) -> None:
        self.points = course.required
        self.total, self.done, self.fresh = total, 0, 0
        self.live = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
        self.started = time.monotonic()

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
            print(f"{self._clear()}{wrapped(self._line(record))}", flush=True)
        self._show()

    def _show(self) -> None:
        if self.live:
            print(f"{self._clear()}{self._bar()}", end="", flush=True)

    def _clear(self) -> str:
        return "\r\033[K" if self.live else ""

    def _line(self, record: Record) -> str:
        lost = f"lost {few(record.lost, 2)}" if record.lost else ""
        told = ": ".join(filter(None, (inert(record.student.name), inert(record.trouble) or lost)))
        score = "–" if record.trouble else record.score
        return f"  {record.id:18} {score:>4} / {self.points}  {told}{' (kept)' if record.kept else ''}".rstrip()

    def _bar(self) -> str:
        told = f" {self.done} of {self.total}"
        if self.fresh:
            rate = self.fresh / max(self.seconds, 1e-3)
            left = f"  {duration(ceil((self.total - self.done) / rate))} left" if self.done < self.total else ""
            told += f"  {rate:.1f} a second{left}"
        elif self.done < self.total:
            told += "  starting"
        columns = shutil.get_terminal_size((80, 24)).columns - 1
        width = max(0, min(30, columns - len(told)))
        full = width * self.done // max(1, self.total)
        return f"{'█' * full}{'░' * (width - full)}{told}"[:columns]

    def __exit__(self, *_: object) -> None:
        if self.live:
            print(self._clear(), end="", flush=True)
