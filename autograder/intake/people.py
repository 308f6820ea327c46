"""Who handed in what, and when."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from autograder.intake.entries import Source

_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


@dataclass(frozen=True)
class Person:
    """One student, as far as anybody says."""

    name: str = ""
    sid: str = ""
    email: str = ""
    canvas: str = ""  # the number that Canvas gives a person, 'ID' in its gradebook: not the university's


@dataclass(frozen=True)
class Student:
    """Who handed a submission in: nobody that we know, one, or a group."""

    id: str  # a safe name for a folder, and nobody else's
    people: tuple[Person, ...] = ()
    submitted: str = ""  # '2026-11-15 23:10:00-08:00'
    seconds_late: int | None = 0  # None: late, but nobody says by how much

    @staticmethod
    def of(data: Mapping[str, Any]) -> Student:
        """One that has been JSON."""
        return Student(**{**data, "people": tuple(Person(**one) for one in data["people"])})

    @property
    def name(self) -> str:
        return self._joined("name")

    @property
    def sid(self) -> str:
        return self._joined("sid")

    @property
    def email(self) -> str:
        return self._joined("email")

    @property
    def late(self) -> str:
        """'1 d 3 h late'; '' if on time, or if nobody says."""
        return "late" if self.seconds_late is None else late_by(self.seconds_late)

    def _joined(self, key: str) -> str:
        return "; ".join(value for person in self.people if (value := getattr(person, key)))


@dataclass(frozen=True)
class Entry:
    student: Student
    source: Source
    lateness_told: bool = False  # by whoever knows of extensions

    @staticmethod
    def of(data: Mapping[str, Any]) -> Entry:
        """One that has been JSON, of which `plain` was the beginning."""
        return Entry(Student.of(data["student"]), Source.of(data["source"]), data["lateness_told"])

    def plain(self) -> dict[str, Any]:
        return asdict(self) | {"source": self.source.plain()}


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


def moment(value: object) -> datetime | None:
    """A time as Gradescope writes it, in JSON or in YAML. One without a zone is taken as UTC."""
    try:
        written = re.sub(r"\s+(?=[Z+-])", "", re.sub(r"UTC$", "Z", value.strip())) if isinstance(value, str) else ""
        found = datetime.fromisoformat(written)
    except ValueError:
        return None
    if not 1970 < found.year < 9999:  # at the ends of time, a day more or less is an error
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def stamp(when: datetime | None) -> str:
    """As in `Student.submitted`."""
    return when.isoformat(" ", "seconds") if when else ""
