"""Run a trusted submission in this process: the student's own check, and the gate."""

from __future__ import annotations

from pathlib import Path

from autograder.course import Course
from autograder.engine import Sitting
from autograder.loading import Loader
from autograder.perform import Performer
from autograder.submission import Submission


def sitting(root: Path, course: Course) -> Sitting:
    return Sitting(course, Submission(Performer(Loader(root, course.files, course.by_cells))))
