"""Train the solutions: python scripts/train_solutions.py. A quarter of an hour on two cores.

In a fresh student release with the solutions filled in, runs the commands of the handout, as they stand there, one
after the other. What a student would hand in then goes to solutions/trained/, for the gate and the examples.
"""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from autograder.terms import answers_file  # noqa: E402 (the path comes first)

HANDOUT = "handout/3-pretraining.md"
HANDED_IN = ("vanilla.model.params", "*.finetune.params", "*.predictions", "london_baseline_accuracy.txt")


def commands(handout: Path) -> list[str]:
    lines = handout.read_text(encoding="utf-8").splitlines()
    return [line.strip() for line in lines if line.startswith("    python src/")]


def main() -> None:
    answers = [place for _, place in json.loads(answers_file(ROOT / "data").read_text(encoding="utf-8"))["test"]]
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
            lines = path.read_text(encoding="utf-8").splitlines()
            right = sum(mine == wanted for mine, wanted in zip(lines, answers, strict=True))
            print(f"{path.name}: {right} of {len(answers)} = {100 * right / len(answers):.1f}%")
        trained = ROOT / "solutions" / "trained"
        shutil.rmtree(trained, ignore_errors=True)
        trained.mkdir()
        for pattern in HANDED_IN:
            for path in place.glob(pattern):
                shutil.copy(path, trained)
        print(f"{len(list(trained.iterdir()))} files in solutions/trained/")


if __name__ == "__main__":
    main()
