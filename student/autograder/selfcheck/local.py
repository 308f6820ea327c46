"""Run a trusted submission in this process: the student's own check, and the gate."""

from __future__ import annotations

from pathlib import Path

from autograder.checking.courses import Course
from autograder.checking.engine import Sitting
from autograder.judging.held_out import Answers, of_students
from autograder.judging.submission import Submission
from autograder.running.loading import Loader
from autograder.running.perform import Performer


def sitting(root: Path, course: Course, answers: Answers | None = None) -> Sitting:
    """Without answers, the questions are those that students have in data/."""
    submission = Submission(Performer(Loader(root, course.files, course.by_cells)))
    return Sitting(course, submission, answers=answers or of_students(root / "data"))
