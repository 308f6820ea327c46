"""What is remembered of one graded submission: enough for the gradebook and the overview, and no more."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.grading.results_file import text_of
from autograder.intake.people import Student


@dataclass(frozen=True, order=True)
class Note:
    """Something that costs nothing, about an exercise, or '' about the files."""

    exercise: str
    note: str

    def text(self) -> str:
        return f"{self.exercise}: {self.note}" if self.exercise else self.note


@dataclass(frozen=True)
class Record:
    """One submission's end."""

    student: Student
    score: int
    exercises: dict[str, int]  # points by slug
    lost: tuple[str, ...]  # the exercises that did not get all of their points
    causes: dict[str, str]  # the known mistakes that were named, and what was said of each
    advice: str  # what to fix first
    trouble: str  # why it could not be graded, if so
    isolation: str
    seconds: float
    notes: tuple[Note, ...] = ()  # what cost nothing and is good to know
    refused: tuple[str, ...] = ()  # what its code tried and the sandbox refused: "fork", "socket"
    kept: bool = False  # graded in an earlier run

    @property
    def id(self) -> str:
        return self.student.id

    @staticmethod
    def of(content: Mapping[str, Any]) -> Record:
        """From a results.json, whoever wrote it."""
        extra = content["extra_data"]
        exercises: dict[str, int] = {}
        lost: dict[str, None] = {}
        causes: dict[str, str] = {}
        roots = {one["exercise"] for one in extra["advice"]}  # what only follows from another mistake is no mistake
        for test in content["tests"]:
            about = test["extra_data"]
            exercises[about["exercise"]] = exercises.get(about["exercise"], 0) + test["score"]
            if test["score"] < test["max_score"]:
                lost[about["exercise"]] = None
            for check in about["checks"]:
                own = check["cause"].startswith(f"{about['exercise']}.")
                if own and about["exercise"] in roots and check["message"]:
                    causes[check["cause"]] = check["message"]["says"]
        first = extra["advice"][0] if extra["advice"] else None
        return Record(
            student=Student.of(extra["student"]),
            score=content["score"],
            exercises=exercises,
            lost=tuple(lost),
            causes=causes,
            advice=f"{first['exercise']}: {first['says']}" if first else "",
            trouble=extra["could_not_grade"],
            isolation=extra["isolation"],
            seconds=content["execution_time"],
            notes=_notes(content),
            refused=tuple(sorted({str(word) for word in extra.get("refused", [])})),  # older results have none
        )


def _notes(content: Mapping[str, Any]) -> tuple[Note, ...]:
    """What the grader noticed, and the claims that are notes and do not hold. Where an exercise earns nothing, those
    may only follow from that."""
    found = {Note(str(one["exercise"]), str(one["note"])): None for one in content["extra_data"].get("notes", [])}
    for test in content["tests"]:
        about = test["extra_data"]
        if test["score"] > 0 or about["verdict"] == "passed":
            for check in about["checks"]:
                if check.get("counts") == "note" and check["verdict"] == "failed":
                    found[Note(about["exercise"], f"this does not hold: {check['claim']}")] = None
    return tuple(found)


def digest_of(content: Mapping[str, Any]) -> str:
    """Of all that a results.json says, but for times and people: two runs give the same."""
    about = {key: value for key, value in content["extra_data"].items() if key not in ("digest", "student")}
    same = {**content, "extra_data": about, "execution_time": 0}
    return hashlib.sha256(text_of(same)).hexdigest()


def read_result(path: Path) -> dict[str, Any] | None:
    """A results.json of an earlier run, or None if there is none that is whole and as it was written."""
    try:
        content: dict[str, Any] = json.loads(path.read_bytes())
        if content["extra_data"]["digest"] != digest_of(content):
            return None
        Record.of(content)
        content["extra_data"]["hashes"], float(content["execution_time"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return content
