"""Time the instructor's commands: python benchmarks/gate.py

Each runs in a fresh process, as an instructor would run it; importing torch is part of it and
is shown by itself, because it is the floor of everything here.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = {
    "import torch": ["-c", "import torch"],
    "release --check": ["-m", "autograder", "release", "--check"],
    "references --check": ["-m", "autograder", "references", "--check"],
    "verify": ["-m", "autograder", "verify"],
}


def main() -> int:
    floor = 0.0
    print(f"{'command':20} {'seconds':>8} {'of importing torch':>19}")
    for name, arguments in COMMANDS.items():
        started = time.perf_counter()
        run = subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - started
        floor = floor or seconds
        print(f"{name:20} {seconds:8.1f} {seconds / floor:18.1f}x", flush=True)
        if run.returncode:
            print(run.stdout + run.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
