"""What a run in a Gradescope container needs: python benchmarks/gradescope.py

Builds a course's bundle and runs it on the solution, as `python -m autograder simulate` does, on one core, in the
environment that the bundle's setup.sh makes. Memory is that of all processes of the run together, looked at again and
again; what they share counts once (and what they share with others, not whole: hence an environment of its own).
A container with half a processor takes at least twice the processor time.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from autograder.checking.courses import available, read_course  # noqa: E402 (the path comes first)
from autograder.gradescope.container import OURS, worker_memory  # noqa: E402
from autograder.proving.assembling import Sources, lay_out  # noqa: E402
from autograder.proving.schema import complaints  # noqa: E402
from autograder.proving.simulate import Case, environment, simulate  # noqa: E402
from autograder.publishing import bundle  # noqa: E402
from benchmarks.grading import descendants, in_proc, used_by_children  # noqa: E402

MIB = 1 << 20
PAUSE = 0.02  # seconds between two looks
SIZES = (768, 1536, 3072)  # MiB that Gradescope offers


@dataclass
class Peak:
    """The most memory that the descendants of this process had at one time, and the share of each."""

    together: int = 0
    shares: list[int] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    def watch(self) -> None:
        while not self.over.wait(PAUSE):
            shares = [in_proc(one, "smaps_rollup", "Pss") for one in descendants(os.getpid())[1:]]
            if sum(shares) > self.together:
                self.together, self.shares = sum(shares), sorted(filter(None, shares), reverse=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--course", action="append", help=f"one of {', '.join(available())} (default: all)")
    parser.add_argument("--venv", type=Path, help="an environment (default: what setup.sh makes)")
    options = parser.parse_args()
    if (load := os.getloadavg()[0]) > 0.5:
        print(
            f"NOISY: others keep {load:.1f} processors of {os.cpu_count()} busy; memory holds, times do not", flush=True
        )
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    worst = 0
    for name in options.course or available():
        worst = max(worst, measure(name, options.venv))
    print(f"we count on {OURS // MIB} MiB; what is left of a container's memory is a submission's:")
    for size in SIZES:
        print(f"  {size:5} MiB container: {worker_memory(size * MIB) // MIB:5} MiB for its own data")
    return 0 if worst <= OURS else 1


def measure(name: str, venv: Path | None) -> int:
    course = read_course(name)
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        path, submission = Path(folder) / "bundle.zip", Path(folder) / "solution"
        path.write_bytes(bundle.packed(bundle.build(ROOT / "scripts/gradescope/bundle.toml", ROOT, course)))
        venv = venv or environment(path)[0]
        lay_out(submission, Sources(ROOT / "solutions").whole())
        peak, before = Peak(), used_by_children()
        watcher = threading.Thread(target=peak.watch, daemon=True)
        watcher.start()
        done = simulate(path, Case(submission, timeout=600), venv)
        peak.over.set()
        watcher.join()
    if done.results is None or complaints(done.results):
        raise SystemExit(f"{name}: no valid results\n{done.said}")
    processor = used_by_children() - before
    shares = " + ".join(f"{share / MIB:.0f}" for share in peak.shares)
    print(
        f"{name:8} {peak.together / MIB:4.0f} MiB at the peak ({shares}); {done.seconds:.1f} s on one core, "
        f"{processor:.1f} s of processor time: about {2 * processor:.0f} s on half a processor",
        flush=True,
    )
    return peak.together


if __name__ == "__main__":
    sys.exit(main())
