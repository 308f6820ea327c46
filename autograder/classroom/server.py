"""A grader that waits for work: a process of its own that examines the trees it is told of, one after the other.

Whoever cannot fork safely, because threads run in it, keeps one of these and talks to it: a line of JSON in, a
line of JSON out.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from autograder.errors import UserError
from autograder.files import remove_tree, write_files
from autograder.grading.dens import make_den, remove_den
from autograder.running.threads import one_each

if TYPE_CHECKING:
    from autograder.checking.courses import Course  # not at run time: it loads torch

COURSES, ANSWERS = "courses", "answers.json"


def packed(folders: Sequence[Path], course: Course, answers: Path | None) -> dict[str, bytes]:
    """All that a grader elsewhere needs beside the package: checks and references, the course, the held-out answers."""
    files = {f"{COURSES}/{name}": path.read_bytes() for name, path in course.files_read.items()}
    if answers is not None and answers.is_file():
        files[ANSWERS] = answers.read_bytes()
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                files[f"{folder.name}/{path.relative_to(folder).as_posix()}"] = path.read_bytes()
    return files


class Server:
    """The keeper's side. `examine` may be called from any thread, one call at a time."""

    def __init__(self, bundle: Mapping[str, bytes], limits: Mapping[str, int], *, weak_allowed: bool) -> None:
        self.den = make_den()
        self.bundle = self.den / "bundle"
        self.bundle.mkdir(mode=0o700)
        write_files(self.bundle, bundle)
        for path in self.bundle.iterdir():
            path.chmod(0o700)
        self.options = json.dumps({"limits": dict(limits), "weak_allowed": weak_allowed})
        self.lock = threading.Lock()
        self.closed = False
        self.process: subprocess.Popen[str] | None = None

    def examine(self, files: Mapping[str, bytes]) -> dict[str, Any]:
        """Lay a tree out, have it examined, and clear it away."""
        with self.lock:
            for attempt in (1, 2):
                try:
                    return self._asked(files)
                except (OSError, EOFError):  # the process is gone: somebody killed it
                    self._stop()
                    if attempt == 2 or self.closed:
                        raise
        raise AssertionError("unreachable")

    def _asked(self, files: Mapping[str, bytes]) -> dict[str, Any]:
        place = Path(tempfile.mkdtemp(prefix="tree-", dir=self.den))
        place.chmod(0o711)
        root = place / "submission"
        root.mkdir(mode=0o750)
        try:
            write_files(root, files)
            process = self._running()
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write(json.dumps({"root": str(root), "files": sorted(files)}) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
            if not line:
                raise EOFError("the grading process is gone")
            answer: dict[str, Any] = json.loads(line)
        finally:
            remove_tree(place)
        if "error" in answer:
            raise UserError(str(answer["error"]))
        return answer

    def _running(self) -> subprocess.Popen[str]:
        if self.process is None or self.process.poll() is not None:
            package = str(Path(__file__).resolve().parents[2])
            program = (
                f"import sys; sys.path.insert(0, {package!r}); from autograder.classroom.server import main; main()"
            )
            # -P and our own path: nothing in the folder where a cluster's worker happens to run may stand in.
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-c", program, str(self.bundle), self.options],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                process_group=0,  # Ctrl-C is not for it
            )
        return self.process

    def _stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def close(self) -> None:
        """End the process, whatever it is doing, and remove the bundle."""
        if self.closed:
            return
        self.closed = True
        process = self.process
        if process is not None:
            process.kill()  # its workers die with it
            process.wait()
            for line in (process.stdin, process.stdout):
                if line is not None:
                    with contextlib.suppress(OSError):
                        line.close()
        remove_den(self.den)


def main() -> None:
    """The process itself: `bundle options`, then trees on standard input until it ends."""
    one_each()
    bundle, options = Path(sys.argv[1]), json.loads(sys.argv[2])
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever prints, it is not an answer
    with contextlib.suppress(BrokenPipeError):  # the keeper was killed; somebody else does what we were at
        try:
            serve(bundle, options, sys.stdin, answers)
        except UserError as error:
            answers.write(json.dumps({"error": str(error)}) + "\n")
        answers.flush()
        return
    os._exit(1)


def serve(bundle: Path, options: Mapping[str, Any], requests: TextIO, answers: TextIO) -> None:
    from autograder.checking.courses import PARTS, only_course
    from autograder.grading.grade import Examined, Setting, Tree, here, require_isolation
    from autograder.intake.clean_tree import Intake
    from autograder.intake.people import Student
    from autograder.isolation import probe
    from autograder.workers.remote import Limits

    folders = tuple(bundle / part for part in PARTS)
    layers = probe()
    require_isolation(layers, bundle, weak_allowed=options["weak_allowed"])
    course, limits = only_course(bundle / COURSES), Limits(**options["limits"])
    setting = Setting(course, layers, limits, folders, 1, answers=bundle / ANSWERS)

    def waiting() -> Iterator[Tree]:
        for number, line in enumerate(requests):
            request = json.loads(line)
            intake = Intake(Path(request["root"]), tuple(request["files"]), (), (), "")
            yield Tree(number, Student(str(number)), intake)

    def done(_: Tree, examined: Examined) -> None:
        answers.write(json.dumps(asdict(examined)) + "\n")
        answers.flush()

    run: Callable[[Iterator[Tree], Callable[[Tree, Examined], None]], None] = here(setting, ahead=False)
    run(waiting(), done)
