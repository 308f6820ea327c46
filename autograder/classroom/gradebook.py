"""The class in one table and one summary, made from the records of all submissions."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

from autograder.checking.courses import Course
from autograder.grading.results_file import versions
from autograder.grading.summaries import Note, Record
from autograder.intake.people import Person, Student
from autograder.judging.diagnosis import TOGETHER

# What Canvas asks for, by these names; Gradescope lets one choose.
PEOPLE = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
# Where some spreadsheet might begin a cell; what it may pass over there; and the signs with which a formula begins, in
# all their widths.
_ENDS = r";,|\x00-\x1f\x7f-\x9f"
_UNSEEN = r' "\xa0\xad\u061c\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufe00-\ufe0f\ufeff\ufff9-\ufffb'
_SIGN = r"=+\-@＝＋－＠﹦﹢﹣﹫⁼⁺⁻₌₊₋−﬩⩵⩶"
_FORMULA = re.compile(rf"(^|[{_ENDS}])(?=[{_UNSEEN}]*+[{_SIGN}\t\r])")
_NAME = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`|\S+\.(?:py|ipynb|zip|params|txt)\b")  # of what a student named


def gradebook(course: Course, records: Sequence[Record]) -> bytes:
    """A CSV with a row per student and a column per exercise. What could not be graded has no points at all."""
    slugs = [item.slug for item in course.graded if item.points]
    rows = [[*PEOPLE, "Email", "Submission", "Submitted", "Late", *slugs, "Total", "notes", "refused"]]
    for record, person in _everybody(records):
        student = record.student
        about = (person.email, student.id, student.submitted, student.late)
        points = ["" if record.trouble else str(record.exercises.get(slug, 0)) for slug in slugs]
        told = ("; ".join(note.text() for note in record.notes), ", ".join(record.refused))
        rows.append([*_known(student, person), *map(harmless, about), *points, _total(record), *map(harmless, told)])
    return _csv(rows)


def canvas(course: Course, records: Sequence[Record]) -> bytes:
    """The total alone, in the form that Canvas imports: to it, every further column is an assignment."""
    possible = ["    Points Possible", *[""] * (len(PEOPLE) - 1), str(course.required)]
    rows = [[*PEOPLE, harmless(course.title)], possible]
    rows += [[*_known(record.student, person), _total(record)] for record, person in _everybody(records)]
    return _csv(rows)


def _everybody(records: Sequence[Record]) -> Iterator[tuple[Record, Person]]:
    """Each member of a group has a row; so has a submission of which nobody says whose it is."""
    for record in records:
        for person in record.student.people or (Person(),):
            yield record, person


def _known(student: Student, person: Person) -> list[str]:
    return [*map(harmless, (person.name or student.id, person.canvas, person.sid, person.email)), ""]


def _total(record: Record) -> str:
    return "" if record.trouble else str(record.score)


def _csv(rows: Sequence[Sequence[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    return text.getvalue().encode("utf-8-sig")  # so that spreadsheets read names as they are


def harmless(text: str) -> str:
    """Text that no spreadsheet takes for a formula."""
    return _FORMULA.sub(r"\1'", text)


def summary(
    course: Course, records: Sequence[Record], similar: Sequence[dict[str, Any]] = (), similar_note: str = ""
) -> dict[str, Any]:
    """What the overview shows. It holds no time: the same submissions give the same bytes."""
    graded = [record for record in records if not record.trouble]
    items = [item for item in course.graded if item.points]
    return {
        "course": course.name,
        "title": course.title,
        "points": course.required,
        "isolation": ", ".join(sorted({record.isolation for record in graded})),
        "versions": versions(),
        "exercises": [
            {
                "slug": item.slug,
                "section": item.section,
                "points": item.points,
                "extra_credit": item.extra_credit,
                "full": sum(record.exercises.get(item.slug, 0) == item.points for record in graded),
            }
            for item in items
        ],
        "students": [_student(record) for record in records],
        "mistakes": _mistakes(graded),
        "notes": _noted(records),
        "refused": _refused(records),
        "similar": list(similar),
        "similar_note": similar_note,
    }


def _student(record: Record) -> dict[str, Any]:
    student = record.student
    return {
        **{name: getattr(student, name) for name in ("id", "name", "sid", "email")},
        **{name: getattr(student, name) for name in ("submitted", "late", "seconds_late")},
        "people": len(student.people) or 1,
        "score": None if record.trouble else record.score,
        "exercises": {} if record.trouble else record.exercises,
        "trouble": record.trouble,
        "report": f"{record.id}/report.html",
        "fix_first": record.advice,
        "notes": [asdict(note) for note in record.notes],
        "refused": list(record.refused),
    }


def _noted(records: Sequence[Record]) -> list[dict[str, Any]]:
    """The notes of the class, the most frequent first. Those that differ only in names are one: '… was renamed'."""
    who: dict[Note, dict[str, None]] = {}
    words: dict[Note, set[str]] = {}
    for record in records:
        for note in record.notes:
            alike = replace(note, note=_NAME.sub("…", note.note))
            who.setdefault(alike, {})[record.id] = None
            words.setdefault(alike, set()).add(note.note)
    ordered = sorted(who, key=lambda note: (-len(who[note]), note))
    said = {note: next(iter(words[note])) if len(words[note]) == 1 else note.note for note in ordered}
    return [
        {"exercise": note.exercise, "note": said[note], "students": list(who[note]), "count": len(who[note])}
        for note in ordered
    ]


def _refused(records: Sequence[Record]) -> list[dict[str, Any]]:
    """What the sandbox refused, and to whom."""
    who: dict[str, list[str]] = {}
    for record in records:
        for what in record.refused:
            who.setdefault(what, []).append(record.id)
    return [{"what": what, "students": who[what], "count": len(who[what])} for what in sorted(who)]


def _mistakes(records: Sequence[Record]) -> list[dict[str, Any]]:
    """The named mistakes of the class, the most frequent first. Two at once count for each of them."""
    made: dict[str, dict[str, None]] = {}  # the students, by mistake
    says: dict[str, str] = {}
    for record in records:
        for cause, text in record.causes.items():
            alone = TOGETHER not in cause
            for slug in cause.split(TOGETHER):
                made.setdefault(slug, {})[record.id] = None
                says[slug] = text if alone else says.get(slug, text)  # what is said of it alone is clearer
    found = [
        {"cause": slug, "exercise": slug.split(".")[0], "says": says[slug], "students": list(who), "count": len(who)}
        for slug, who in made.items()
    ]
    return sorted(found, key=lambda one: (-int(str(one["count"])), str(one["cause"])))
