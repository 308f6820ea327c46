"""Run small changes of the solutions through the checks: python benchmarks/mutants.py [COUNT] [--seed S]

Without COUNT, all of them (about seven minutes on two cores). Each is examined like a submission
to the default course, in a forked child with limits of its own; one that keeps full marks
survives. Survivors that are right answers are listed, with the reason, in equivalent_mutants.toml.
Exit code 1: a survivor is not in that list, or a listed one lost points.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import sys
import tempfile
import time
import tomllib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402 (the path comes first)

from autograder.checking.courses import Course, read_course  # noqa: E402
from autograder.checking.engine import Examiner, Outcome, Sitting, collect  # noqa: E402
from autograder.checking.points import lost  # noqa: E402
from autograder.grading.batch import Candidate, examine_all  # noqa: E402
from autograder.proving.assembling import Sources, lay_out, on_disk  # noqa: E402
from autograder.running.loading import forget  # noqa: E402
from autograder.selfcheck.local import sitting  # noqa: E402
from benchmarks.mutation import Mutant, mutants  # noqa: E402

EQUIVALENT = ROOT / "benchmarks" / "equivalent_mutants.toml"
SECONDS, MEMORY = 20, 4 << 30  # a mutant may loop for ever, or ask for everything


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant. `outcomes` are empty if its process did not live to tell."""

    mutant: Mutant
    outcomes: tuple[Outcome, ...]
    lost: frozenset[str]

    @property
    def killed(self) -> bool:
        return not self.outcomes or bool(self.lost)

    @property
    def accusations(self) -> list[tuple[str, str, str]]:
        """(exercise, known mistake that was named there, what the student reads), each once."""
        named = [(o.exercise, o.finding.cause, o.says) for o in self.outcomes if o.finding and o.finding.cause]
        return list(dict.fromkeys(named))


@dataclass(frozen=True)
class Equivalent:
    """A mutant that is a right answer, and why."""

    exercise: str
    statement: str
    reason: str
    chance: bool = False  # the contract leaves it open, and so it may pass or fail

    @property
    def key(self) -> tuple[str, str]:
        return self.exercise, self.statement


def read_equivalents(path: Path) -> list[Equivalent]:
    return [
        Equivalent(entry["exercise"], statement, entry["reason"], entry.get("chance", False))
        for entry in tomllib.loads(path.read_text(encoding="utf-8"))["equivalent"]
        for statement in entry["statements"]
    ]


def stale(equivalents: Sequence[Equivalent], made: Sequence[Mutant]) -> list[Equivalent]:
    """Entries that stand for no mutant any more."""
    present = {mutant.key for mutant in made}
    return [entry for entry in equivalents if entry.key not in present]


def judge(
    chosen: Sequence[Mutant], sources: Sources, jobs: int, seed: int, told: Callable[[int], None]
) -> list[Verdict]:
    """Examine mutants, each in a child; verdicts in the order of `chosen`."""
    torch.set_num_threads(1)  # forking after multi-threaded work hangs the child
    course = read_course("default").of_code
    verdicts: dict[int, Verdict] = {}

    def run(examiner: Examiner) -> None:
        solved = _solved(examiner, sources, course)
        with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
            waiting = (
                _candidate(Path(folder) / str(number), mutant, sources, course, seed)
                for number, mutant in enumerate(chosen)
            )
            for index, outcomes, _ in examine_all(examiner, waiting, jobs):
                only = _touched(course, chosen[index].file)
                rest = [outcome for outcome in solved if outcome.exercise not in only]
                verdicts[index] = Verdict(chosen[index], tuple(outcomes), frozenset(lost(course, [*outcomes, *rest])))
                told(len(verdicts))

    collect([ROOT / "tests" / "public", ROOT / "tests" / "hidden"], run)
    return [verdicts[index] for index in sorted(verdicts)]


def _solved(examiner: Examiner, sources: Sources, course: Course) -> list[Outcome]:
    """The solution's outcomes; examined in this process, so that what torch sets up on first use is inherited."""
    with on_disk(sources.solved()) as folder:
        outcomes = examiner.examine(sitting(folder, course))
        forget(folder)
    if lost(course, outcomes):
        raise SystemExit("the solution itself loses points; run 'python -m autograder verify'")
    return outcomes


def _touched(course: Course, file: str) -> list[str]:
    """The exercises that a file may hold; the others run the very code that the solution ran."""
    return [item.slug for item in course.graded if Path(file).name in {Path(name).name for name in item.files}]


def _candidate(root: Path, mutant: Mutant, sources: Sources, course: Course, seed: int) -> Candidate:
    lay_out(root, mutant.submission(sources))
    return Candidate(lambda _: _confined(root, course, seed), _touched(course, mutant.file))


def _confined(root: Path, course: Course, seed: int) -> Sitting:
    """Called in the child: limits, and random numbers that are the same in the next run."""
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    random.seed(seed)
    torch.default_generator.manual_seed(seed)
    return sitting(root, course)


def report(verdicts: Sequence[Verdict], equivalents: Sequence[Equivalent]) -> tuple[str, bool]:
    """The summary, and whether all is well."""
    known = {entry.key: entry for entry in equivalents}
    survivors = [v for v in verdicts if not v.killed]
    explained = [v for v in survivors if v.mutant.key in known]
    unexplained = [v for v in survivors if v.mutant.key not in known]
    punished = [v for v in verdicts if v.killed and v.mutant.key in known and not known[v.mutant.key].chance]
    died = sum(not v.outcomes for v in verdicts)
    text = [
        f"{len(verdicts)} mutants run, {len(verdicts) - len(survivors)} killed ({died} died), {len(survivors)} survived"
    ]
    text += _section("survivors that are right answers", explained, known)
    text += _section("SURVIVORS that nobody has explained: holes in the checks?", unexplained, {})
    text += _section("RIGHT ANSWERS that lost points, though they are listed as equivalent", punished, known)
    text += _section("our own checks broke on these", [v for v in verdicts if _broke(v)], {})
    text += _section("killed, but not where the change is", [v for v in verdicts if _elsewhere(v)], {})
    return "\n".join(text), not unexplained and not punished


def _broke(verdict: Verdict) -> bool:
    return any(outcome.verdict == "could not check" for outcome in verdict.outcomes)


def _elsewhere(verdict: Verdict) -> bool:
    return bool(verdict.lost) and bool(verdict.outcomes) and verdict.mutant.exercise not in verdict.lost


def _section(title: str, verdicts: Sequence[Verdict], known: Mapping[tuple[str, str], Equivalent]) -> list[str]:
    if not verdicts:
        return []
    text = [f"\n{title}: {len(verdicts)}"]
    for verdict in verdicts:
        mutant = verdict.mutant
        why = f": {known[mutant.key].reason}" if mutant.key in known else ""
        text.append(f"  {mutant.exercise} ({mutant.operator}){why}")
        text += [f"    {line}" for line in mutant.diff.splitlines()]
        if verdict.lost:
            text.append(f"    lost {', '.join(sorted(verdict.lost))}")
    return text


def accusations(verdicts: Sequence[Verdict]) -> str:
    """Every known mistake that was named, and the mutants it was named for: is the sentence true of each?"""
    named: defaultdict[tuple[str, str, str], list[Mutant]] = defaultdict(list)
    for verdict in verdicts:
        for accusation in verdict.accusations:
            named[accusation].append(verdict.mutant)
    text = [f"known mistakes named: {len({cause for _, cause, _ in named})}"]
    for (exercise, cause, says), accused in sorted(named.items()):
        text.append(f"\nat {exercise}, {cause}: {says}")
        text += [f"  {mutant.exercise}: {' ; '.join(mutant.statement.splitlines())}" for mutant in accused]
    return "\n".join(text)


def details(verdicts: Sequence[Verdict]) -> str:
    """Everything, one mutant after the other."""
    text = []
    for verdict in verdicts:
        fate = "survived" if not verdict.killed else "killed" if verdict.outcomes else "died"
        text.append(f"{verdict.mutant.exercise} ({verdict.mutant.operator}): {fate}")
        text += [f"  {line}" for line in verdict.mutant.diff.splitlines()]
        for outcome in verdict.outcomes:
            if outcome.verdict != "passed":
                told = outcome.finding.headline if outcome.finding else outcome.trouble.splitlines()[-1]
                cause = outcome.finding.cause if outcome.finding else ""
                text.append(f"    {outcome.part} {outcome.name}: {told}" + (f" [{cause}]" if cause else ""))
    return "\n".join(text) + "\n"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="run small changes of the solutions through the checks")
    parser.add_argument("count", nargs="?", type=int, help="a sample of so many (default: all)")
    parser.add_argument("--seed", type=int, default=0, help="of the sample, and of the mutants' random numbers")
    parser.add_argument("--only", metavar="EXERCISE", help="mutants of one exercise")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--details", type=Path, metavar="FILE", help="write down what every check said of every mutant")
    options = parser.parse_args(arguments)
    sources = Sources(ROOT / "solutions")
    made = mutants(sources)
    chosen = [mutant for mutant in made if options.only in (None, mutant.exercise)]
    if options.count is not None:
        chosen = random.Random(options.seed).sample(chosen, min(options.count, len(chosen)))
    print(f"{len(made)} mutants generated, {len(chosen)} to run", flush=True)
    started = time.monotonic()

    def told(number: int) -> None:
        if number % 100 == 0:
            print(f"{number} of {len(chosen)}, {time.monotonic() - started:.0f} s", flush=True)

    verdicts = judge(chosen, sources, max(1, options.jobs), options.seed, told)
    equivalents = read_equivalents(EQUIVALENT)
    text, well = report(verdicts, equivalents)
    old = stale(equivalents, made)
    print(accusations(verdicts), end="\n\n")
    print(text)
    for entry in old:
        print(f"stale, matches no mutant: {entry.exercise}: {entry.statement}")
    if options.details:
        options.details.write_text(details(verdicts), encoding="utf-8")
    return 0 if well and not old else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
