"""What Gradescope tells about a submission. Nothing here raises: missing or broken metadata never costs a grade."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from autograder.checking.wording import inert
from autograder.intake.people import Person, Student, moment, stamp

ID = "submission"  # there is only one in a container
DAY = timedelta(hours=24)
LONGEST = 200  # characters of a name
LARGEST = 64 << 20  # bytes of metadata; hundreds of earlier submissions, with all their results, have fewer


@dataclass(frozen=True)
class Previous:
    """An earlier submission of the same people."""

    at: datetime
    score: object = None
    results: Mapping[str, Any] = field(default_factory=dict)
    failed: bool = False  # the grader's failure, as Gradescope saw it

    @property
    def judged(self) -> bool:
        """Was anything learned from it? What nobody looked at does not count against a limit."""
        extra = self.results.get("extra_data")
        tests = self.results.get("tests")
        verdicts = {
            test["extra_data"].get("verdict")
            for test in (tests if isinstance(tests, list) else [])
            if isinstance(test, dict) and isinstance(test.get("extra_data"), dict)
        }
        over_limit = isinstance(extra, dict) and extra.get("over_limit") is True
        return not (self.failed or over_limit or verdicts == {"could not check"})


@dataclass(frozen=True)
class Metadata:
    """As much of `submission_metadata.json` as could be read."""

    student: Student = field(default_factory=lambda: Student(ID))
    created: datetime | None = None
    due: datetime | None = None
    previous: tuple[Previous, ...] = ()  # from the oldest to the newest
    trouble: str = ""  # for the staff: what could not be read

    @property
    def seconds_late(self) -> int:
        if self.created is None or self.due is None:
            return 0
        return max(0, int((self.created - self.due).total_seconds()))

    @property
    def now(self) -> datetime:
        return self.created or datetime.now(UTC)

    def next_try(self, limit: int) -> datetime | None:
        """When another submission will be graded, or None if this one is."""
        recent = [one.at for one in self.previous if one.judged and self.now - DAY < one.at <= self.now]
        return recent[-limit] + DAY if len(recent) >= limit else None

    @property
    def last_judged(self) -> Previous | None:
        return next((one for one in reversed(self.previous) if one.judged), None)


def read_metadata(path: Path) -> Metadata:
    try:
        if path.stat().st_size > LARGEST:
            return Metadata(trouble=f"{path.name} is larger than {LARGEST >> 20} MiB and was not read")
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        return Metadata(trouble=f"{path.name} could not be read: {error}")
    if not isinstance(data, dict):
        return Metadata(trouble=f"{path.name} holds no table")
    users = [user for user in _list(data.get("users")) if isinstance(user, dict)]
    created, due = moment(data.get("created_at")), _due(data, users)
    people = tuple(Person(name=_line(user, "name"), email=_line(user, "email")) for user in users)
    people = tuple(person for person in people if person != Person())
    missing = [name for name, value in (("created_at", created), ("users", people)) if not value]
    found = Metadata(
        created=created,
        due=due,
        previous=tuple(sorted(_previous(data), key=lambda one: one.at)),
        trouble=f"{path.name} has no usable {' and '.join(missing)}" if missing else "",
    )
    return replace(found, student=Student(ID, people, stamp(created), found.seconds_late))


def _due(data: Mapping[str, Any], users: list[dict[str, Any]]) -> datetime | None:
    """The latest that is said: a user may have an extension, and a group has that of any member."""
    tables = [data.get("assignment"), *(user.get("assignment") for user in users)]
    found = [moment(table.get("due_date")) for table in tables if isinstance(table, dict)]
    return max((moment for moment in found if moment is not None), default=None)


def _previous(data: Mapping[str, Any]) -> Iterator[Previous]:
    for one in _list(data.get("previous_submissions")):
        at = moment(one.get("submission_time")) if isinstance(one, dict) else None
        if at is not None:
            results = one.get("results")
            results = results if isinstance(results, dict) else {}
            yield Previous(at, one.get("score"), results, one.get("autograder_error") is True)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _line(user: Mapping[str, Any], key: str) -> str:
    value = user.get(key)
    return inert(value)[:LONGEST] if isinstance(value, str) else ""
