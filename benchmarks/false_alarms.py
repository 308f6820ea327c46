"""Grade the solution of span corruption again and again, each time with other random numbers: is it ever failed?

    python benchmarks/false_alarms.py [TIMES]

Right but unusual variants take turns with the solution. Prints how often a check failed; 0 is the only good answer.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy
import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from autograder.checking.courses import read_course  # noqa: E402
from autograder.checking.engine import Examiner, Outcome, Sitting, collect  # noqa: E402
from autograder.grading.batch import Candidate, examine_all  # noqa: E402
from autograder.proving.assembling import Sources, lay_out  # noqa: E402
from autograder.proving.mistakes import read_table  # noqa: E402
from autograder.selfcheck.local import sitting  # noqa: E402

EXERCISE = "span_corruption"


def main(times: int) -> int:
    torch.set_num_threads(1)  # forking after multi-threaded work hangs the child
    sources = Sources(ROOT / "solutions")
    variants = [v for v in read_table(ROOT / "solutions/exercises", "variant") if v.exercise == EXERCISE]
    failed: list[tuple[int, Outcome]] = []
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        courses = [read_course("default"), *(read_course(variant.courses[0]) for variant in variants)]
        for number, texts in enumerate([sources.solved(), *(sources.mutant(variant) for variant in variants)]):
            lay_out(Path(folder) / str(number), texts)

        def seating(turn: int, _: int) -> Sitting:
            random.seed(turn)
            numpy.random.seed(turn)
            torch.manual_seed(turn)
            # The solution every other time, the variants in between.
            kind = 0 if turn % 2 == 0 else 1 + turn // 2 % len(variants)
            return sitting(Path(folder) / str(kind), courses[kind])

        def job(examiner: Examiner) -> None:
            waiting = (Candidate(partial(seating, turn), [EXERCISE]) for turn in range(2 * times))
            runs = examine_all(examiner, waiting, os.cpu_count() or 1)
            for done, (turn, outcomes, _) in enumerate(runs, start=1):
                counted = [outcome for outcome in outcomes if outcome.counts != "note"]
                failed.extend((turn, outcome) for outcome in counted if outcome.verdict != "passed")
                if not outcomes:
                    raise SystemExit(f"turn {turn} gave no outcome")
                if done % 100 == 0:
                    print(f"{done} of {2 * times} gradings, {len(failed)} failed checks", flush=True)

        collect([ROOT / "tests/public", ROOT / "tests/hidden"], job)
    for turn, outcome in failed:
        print(f"turn {turn}: {outcome.name} ({outcome.part}): {outcome.finding.headline if outcome.finding else '?'}")
    what = f"{times} gradings of the solution and {times} of {len(variants)} variants"
    print(f"{what}: {len(failed)} false alarms, {time.monotonic() - started:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000))
