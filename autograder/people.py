"""Who handed in what."""

from __future__ import annotations

from dataclasses import dataclass

from autograder.entries import Source

_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


@dataclass(frozen=True)
class Student:
    """Who handed a submission in: several people, joined by '; ', if it is a group's."""

    id: str  # a safe name for a folder, and nobody else's
    name: str = ""
    sid: str = ""
    email: str = ""
    late: str = ""  # '1 d 3 h late'; '' if on time, or if nobody says
    canvas: str = ""  # the number that Canvas gives a person, 'ID' in its gradebook: not the university's


@dataclass(frozen=True)
class Entry:
    student: Student
    source: Source


def late_by(seconds: int) -> str:
    """As in `Student.late`."""
    return f"{duration(seconds)} late" if seconds > 0 else ""


def duration(seconds: int) -> str:
    """The two largest units that say something; '' for no time at all."""
    parts = []
    for unit, length in _UNITS:
        count, seconds = divmod(seconds, length)
        parts.append((count, unit))
    while parts and not parts[0][0]:
        parts.pop(0)
    return " ".join(f"{count} {unit}" for count, unit in parts[:2] if count)
