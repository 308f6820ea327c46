"""Run a trusted submission in this process: the student's own check, and the gate."""

from __future__ import annotations

from pathlib import Path

from autograder.course import Course
from autograder.engine import Sitting
from autograder.held_out import Answers, of_students
from autograder.loading import Loader
from autograder.perform import Performer
from autograder.submission import Submission


def sitting(root: Path, course: Course, answers: Answers | None = None) -> Sitting:
    """Without answers, the questions are those that students have in data/."""
    submission = Submission(Performer(Loader(root, course.files, course.by_cells)))
    return Sitting(course, submission, answers=answers or of_students(root / "data"))
