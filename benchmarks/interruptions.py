"""Interrupted runs: python benchmarks/interruptions.py [COUNT] [ROUNDS]. Ends a run at random moments, again and again,
by Ctrl-C or kill -9, and lets the same command go on until it comes to its end; then once more on a local Dask cluster.

In the end, all files must be those of a run that nobody touched, to the byte but for times, and nothing may be left.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.crowd import ROOT, crowd, left_running, processes

SEED = 5
LONGEST = 8.0  # seconds until a run is ended


def contents(out: Path) -> dict[str, bytes]:
    """Every file of a run, without the times in it."""
    return {
        path.relative_to(out).as_posix(): re.sub(rb'"execution_time": [\d.]+', b"", path.read_bytes())
        for path in sorted(out.rglob("*"))
        if path.is_file()
    }


def command(folder: Path, out: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "autograder", "--root", str(ROOT), "grade", str(folder), "--out", str(out), *more]


def interrupted(folder: Path, out: Path, chance: random.Random, *more: str) -> list[str]:
    """Run until a run ends by itself; returns how the others were ended."""
    ended: list[str] = []
    while True:
        process = subprocess.Popen(
            command(folder, out, *more),
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        after = chance.uniform(0, LONGEST) * (1 + len(ended) / 10)  # so that it comes to an end
        how = chance.choice([signal.SIGINT, signal.SIGKILL])
        try:
            process.wait(after)
            return ended
        except subprocess.TimeoutExpired:
            if how == signal.SIGINT:
                os.killpg(process.pid, how)  # as a terminal does
            else:
                process.kill()
            process.wait()
            ended.append(
                f"{signal.Signals(how).name} after {after:.1f} s, {len(list(out.glob('*/results.json')))} done"
            )


def main(count: int, rounds: int) -> int:
    chance = random.Random(SEED)
    before, failures = processes(), 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "class"
        folder.mkdir()
        crowd(folder, count, hostile=False)
        subprocess.run(command(folder, Path(name) / "whole"), cwd=ROOT, stdout=subprocess.DEVNULL, check=False)
        whole = contents(Path(name) / "whole")
        kinds = [("here", ())] * rounds + [("Dask", ("--dask", "local"))]
        for number, (where, more) in enumerate(kinds, start=1):
            out = Path(name) / f"out{number}"
            ended = interrupted(folder, out, chance, *more)
            found = contents(out)
            differ = sorted(file for file in whole.keys() | found.keys() if whole.get(file) != found.get(file))
            failures += bool(differ)
            print(f"{where}, ended {len(ended)} times ({'; '.join(ended)}):", end=" ")
            print(f"{len(found)} files, {len(differ)} differ {' '.join(differ[:5])}".rstrip(), flush=True)
    time.sleep(1)
    left = left_running(before)
    print(f"{count} submissions, {rounds + 1} rounds: {failures} differ from the whole run; {len(left)} left running")
    return 1 if failures or left else 0


if __name__ == "__main__":
    sys.exit(main(*(int(one) for one in (*sys.argv[1:], *("60", "5")[len(sys.argv) - 1 :]))))
