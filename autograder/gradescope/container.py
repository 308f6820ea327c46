"""What `run_autograder` starts in a Gradescope container: one submission, from the platform's folders to its results.

Results of 0 points lie there already (see `fallback`), and are replaced at the end, whole, or stay.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from autograder.running.threads import one_each

one_each()

from autograder.checking.courses import PARTS, Course, only_course  # noqa: E402 (threads come before torch)
from autograder.checking.engine import collect  # noqa: E402
from autograder.errors import UserError  # noqa: E402
from autograder.files import write_atomically  # noqa: E402
from autograder.gradescope.metadata import Metadata, read_metadata  # noqa: E402
from autograder.gradescope.quota import over_quota  # noqa: E402
from autograder.grading.grade import Setting, grade, require_isolation  # noqa: E402
from autograder.grading.results_file import fallback, text_of, versions  # noqa: E402
from autograder.grading.summaries import read_result  # noqa: E402
from autograder.intake.entries import Source  # noqa: E402
from autograder.intake.people import Entry  # noqa: E402
from autograder.isolation import probe  # noqa: E402
from autograder.judging.held_out import PLACE, read_answers  # noqa: E402
from autograder.workers.remote import Limits  # noqa: E402

MIB = 1 << 20
START, END = 30, 30  # seconds of a run that no exercise may take; half a processor needs half of the first
COURSES = Path("autograder") / "courses"
LAST_RESORT = 15  # seconds before the platform would end a run
OURS = 575 * MIB  # what a run on the solution needs of a container's memory, by benchmarks/gradescope.py
LEAST = 128 * MIB  # that a worker is given, however small the container
MEMORY_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
UNSAFE = (
    "This grading machine cannot run submissions safely, so nothing was judged and the 0 means nothing. "
    "The fault is ours; please tell the course staff, who can grade your submission elsewhere."
)


def main(arguments: list[str]) -> int:
    """ROOT: grade what lies there. ROOT --ready: only prove that everything needed is there."""
    started = time.monotonic()
    root = Path(arguments[0]).resolve()
    try:
        if arguments[1:] == ["--ready"]:
            print(ready(root / "source"))
            return 0
        run(root, started)
    except UserError as error:
        print(f"run_autograder: {error}", file=sys.stderr)
        return 2
    return 0


def ready(source: Path) -> str:
    """Everything that a run needs, tried once when the image is built, where a failure is seen by who can help."""
    course = only_course(source / COURSES)
    if course.asks:
        read_answers(source / PLACE)
    found: list[int] = []
    collect(check_folders(source), lambda examiner: found.append(len(examiner.exercises())))
    told = ", ".join(f"{name} {version}" for name, version in versions().items())
    return f"ready: {course.title}, checks for {found[0]} exercises; {told}; isolation: {probe().name}"


def run(root: Path, started: float) -> None:
    course = only_course(root / "source" / COURSES)
    end_in_time(course)
    metadata = read_metadata(root / "submission_metadata.json")
    if metadata.trouble:
        print(f"note: {metadata.trouble}; graded all the same", file=sys.stderr)
    content = over_quota(course, metadata) or graded(root, course, metadata, started)
    if metadata.student.late:
        content["output"] = f"Handed in {metadata.student.late}.\n\n{content['output']}"
    content["extra_data"]["seconds_late"] = metadata.seconds_late
    write_atomically(root / "results" / "results.json", text_of(content))
    extra, seconds = content["extra_data"], time.monotonic() - started
    print(f"{course.title}: {content['score']} points, isolation: {extra['isolation']}, {seconds:.1f} s")
    if extra["could_not_grade"]:
        print(f"note: {extra['could_not_grade']}", file=sys.stderr)


def graded(root: Path, course: Course, metadata: Metadata, started: float) -> dict[str, Any]:
    folders = check_folders(root / "source")
    layers = probe()
    try:
        require_isolation(layers, root / "source", root / "submission", weak_allowed=False)
    except UserError as error:
        print(f"run_autograder: {error}", file=sys.stderr)
        return fallback(course, UNSAFE)
    limits = Limits(memory=worker_memory(container_memory()))
    until, answers = started + time_for_checks(course), root / "source" / PLACE
    setting = Setting(course, layers, limits, folders, jobs=1, until=until, answers=answers)
    with tempfile.TemporaryDirectory(prefix="results-") as out:
        grade([Entry(metadata.student, Source(root / "submission"))], setting, Path(out))
        content = read_result(Path(out) / metadata.student.id / "results.json")
    assert content is not None
    return content


def check_folders(source: Path) -> tuple[Path, ...]:
    return tuple(source / "tests" / part for part in PARTS)


# Time and memory


def time_for_checks(course: Course) -> int:
    """Seconds after which no other exercise begins, so that the last one still ends in time."""
    return max(0, course.gradescope.minutes * 60 - END - course.longest - course.retries)


def end_in_time(course: Course) -> None:
    """Should all else fail, die before the platform ends the run: then it reads the results that lie there."""
    signal.alarm(course.gradescope.minutes * 60 - LAST_RESORT)


def container_memory() -> int:
    """Bytes that this container may use; the machine's, where nothing says less."""
    return min([os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), *_memory_limits()])


def _memory_limits() -> Iterator[int]:
    for name in MEMORY_LIMITS:
        try:
            yield int(Path(name).read_text())
        except (OSError, ValueError):  # not there, or "max"
            continue


def worker_memory(container: int) -> int:
    """What a submission may use of it: what we leave, and never more than elsewhere."""
    return min(Limits.memory, max(LEAST, container - OURS))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
