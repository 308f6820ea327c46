"""Train the solutions: python scripts/train_solutions.py. A quarter of an hour on two cores.

In a fresh student release with the solutions filled in, runs the commands of the handout, as they stand there, one
after the other. What a student would hand in then goes to solutions/trained/, for the gate and the examples.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from autograder.checking.courses import read_course  # noqa: E402 (the path comes first)
from autograder.checking.predictions import accuracy, lines_of, percent  # noqa: E402
from autograder.judging.held_out import read_answers  # noqa: E402
from autograder.publishing.terms import answers_file  # noqa: E402

HANDOUT = "handout/3-pretraining.md"
COURSE = "cs224n"  # it asks for everything


def commands(handout: Path) -> list[str]:
    lines = handout.read_text(encoding="utf-8").splitlines()
    return [line.strip() for line in lines if line.startswith("    python src/")]


def main() -> None:
    questions = read_answers(answers_file(ROOT / "data")).test
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "student"
        shutil.copytree(ROOT / "student", place)
        shutil.copytree(ROOT / "solutions" / "src", place / "src", dirs_exist_ok=True)
        began = time.monotonic()
        for command in commands(place / HANDOUT):
            print(f"$ {command}", flush=True)
            started = time.monotonic()
            subprocess.run([sys.executable, *shlex.split(command)[1:]], cwd=place, check=True)
            print(f"({time.monotonic() - started:.0f} s)\n", flush=True)
        print(f"all commands: {(time.monotonic() - began) / 60:.1f} minutes")
        for path in sorted(place.glob("*.test.predictions")):
            share = accuracy(lines_of(path.read_text(encoding="utf-8")), questions)
            print(f"{path.name}: {percent(share)} of {len(questions)}")
        trained = ROOT / "solutions" / "trained"
        shutil.rmtree(trained, ignore_errors=True)
        trained.mkdir()
        wanted = {name for item in read_course(COURSE).items.values() for name in item.files}
        for name in sorted(name for name in wanted if not name.startswith("src/")):
            shutil.copy(place / name, trained)
        print(f"{len(list(trained.iterdir()))} files in solutions/trained/")


if __name__ == "__main__":
    main()
