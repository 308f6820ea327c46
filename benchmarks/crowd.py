"""A crowd: python benchmarks/crowd.py [COUNT]. Grades that many submissions, one in ten hostile or broken.

Every one must have a result, the honest ones exactly the score they earn, and nothing may be left running.
Prints time, rate and peak memory.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from autograder.checking.courses import Course, read_course  # noqa: E402
from autograder.checking.engine import Examiner, collect  # noqa: E402
from autograder.checking.points import score as points  # noqa: E402
from autograder.files import zipped  # noqa: E402
from autograder.grading.batch import Candidate, examine_all  # noqa: E402
from autograder.proving.assembling import Sources, lay_out  # noqa: E402
from autograder.proving.attacks import ATTACKED, read_attacks  # noqa: E402
from autograder.proving.mistakes import read_table  # noqa: E402
from autograder.publishing import regions  # noqa: E402 (the path comes first)
from autograder.selfcheck.local import sitting  # noqa: E402


def earned(texts: list[dict[str, str]], course: Course) -> list[int]:
    """What each of some submissions earns, by the same checks without a worker: the second opinion."""
    found = [0] * len(texts)
    with tempfile.TemporaryDirectory() as folder:

        def candidate(number: int) -> Candidate:
            place = Path(folder) / str(number)
            lay_out(place, texts[number])
            return Candidate(lambda _: sitting(place, course))

        def job(examiner: Examiner) -> None:
            waiting = (candidate(number) for number in range(len(texts)))
            for number, outcomes, _ in examine_all(examiner, waiting, os.cpu_count() or 1):
                found[number] = points(course, outcomes)

        collect([ROOT / "tests" / "public", ROOT / "tests" / "hidden"], job)
    return found


def crowd(folder: Path, count: int, *, hostile: bool = True) -> dict[str, int | None]:
    """Write the submissions; returns the score that each must get, or None for those that cannot be graded.

    Without hostile ones, all results are the same to the byte whenever they are made: none hangs on a deadline.
    """
    torch.set_num_threads(1)  # forking after multi-threaded work hangs the child
    course, sources = read_course("default"), Sources(ROOT / "solutions")
    total = sum(item.points for item in course.of_code.graded)
    mistakes = read_table(ROOT / "solutions/exercises")
    # Some are right in another course only: they are what the original accepts.
    variants = [one for one in read_table(ROOT / "solutions/exercises", "variant") if "default" in one.courses]
    attacks = read_attacks(ROOT / "tests/project/attacks")
    blank = {name: regions.stubbed(text, name) for name, text in sources.texts.items()}
    scores = earned([sources.mutant(mistake) for mistake in mistakes[: count // 3 + 1]], course)
    chance = random.Random(7)
    expected: dict[str, int | None] = {}
    for number in range(count):
        name = f"student{number:04}"
        note = {"src/notes.py": f"NUMBER = {number}\n"}  # no two are equal to the byte
        if number % 20 == 0 and hostile:
            attack = attacks[number // 20 % len(attacks)]
            texts, expected[name] = blank | {ATTACKED: blank[ATTACKED] + "\n\n" + attack.source}, 0
        elif number % 20 == 10:
            whole = zipped(sources.solved())
            (folder / f"{name}.zip").write_bytes(chance.choice([b"", b"no zip", whole[:-200], whole[:40] + whole[60:]]))
            expected[name] = None
            continue
        elif number % 3 == 0:
            which = number // 3 % len(mistakes)
            texts, expected[name] = sources.mutant(mistakes[which]), scores[which]
        elif number % 3 == 1:
            texts, expected[name] = sources.mutant(variants[number // 3 % len(variants)]), total
        else:
            texts, expected[name] = sources.solved(), total
        (folder / f"{name}.zip").write_bytes(zipped(texts | note))
    return expected


def memory_of(leader: int) -> int:
    """Kilobytes that a process and all its descendants hold together; shared pages count once."""
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
            parents[int(path.parent.name)] = int(fields[1])
        except OSError:
            continue
    found = {leader}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    total = 0
    for pid in found:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            total += next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        except (OSError, StopIteration):
            continue
    return total


def main(count: int) -> int:
    with tempfile.TemporaryDirectory() as name:
        folder, out = Path(name) / "class", Path(name) / "out"
        folder.mkdir()
        expected = crowd(folder, count)
        before = processes()
        command = [sys.executable, "-m", "autograder", "--root", str(ROOT), "grade", str(folder), "--out", str(out)]
        started = time.monotonic()
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
        peak = [0]

        def watch() -> None:
            while process.poll() is None:
                peak[0] = max(peak[0], memory_of(process.pid))
                time.sleep(2)

        watcher = threading.Thread(target=watch)
        watcher.start()
        process.wait()
        watcher.join()
        seconds = time.monotonic() - started
        wrong = []
        for student, score in expected.items():
            path = out / student / "results.json"
            if not path.is_file():
                wrong.append(f"{student}: no result")
                continue
            content = json.loads(path.read_text())
            refused = bool(content["extra_data"]["could_not_grade"])
            if refused != (score is None) or content["score"] != (score or 0):
                why = content["extra_data"]["could_not_grade"]
                wrong.append(f"{student}: {content['score']} points {why}, expected {score}")
        time.sleep(1)
        left = left_running(before)
    for line in wrong[:20]:
        print(line)
    print(f"{count} submissions, {sum(score is None for score in expected.values())} of them broken, ", end="")
    print(f"{sum(number % 20 == 0 for number in range(count))} hostile: {len(wrong)} wrong or missing results")
    print(f"{seconds:.0f} s, {count / seconds:.1f} a second; peak memory {peak[0] >> 10} MB; {len(left)} left running")
    return 1 if wrong or left else 0


def processes() -> set[str]:
    return {path.name for path in Path("/proc").glob("[0-9]*")}


def left_running(before: set[str]) -> list[str]:
    """Processes of this repository that were not there before."""
    return [pid for pid in processes() - before if "autograder" in (told := _command_line(pid)) and str(ROOT) in told]


def _command_line(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000))
