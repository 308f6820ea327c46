"""Is feedback true, and does it say what to fix? Measured on every known mistake:

    python benchmarks/feedback.py [--against CHECKOUT ...] [--show]

Every mutant of the solutions is examined; every statement of its report is checked against the mutant by `truth.py`.
--against grades the same mutants with the grader of another checkout, for figures of before and after; --show lists the
untrue statements. "No names" is what would be said if no mistake were known: that is how it is for most real mistakes.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
if os.environ.get("FEEDBACK_OF") is None:  # else PYTHONPATH says whose grader it is
    sys.path.insert(0, str(ROOT))

import torch  # noqa: E402

# What a hidden check says of a failure, in every version of the grader: a sentence of its own, but no cause.
BARE = re.compile(
    r"(?:[\w()., ]+: )?(?:the values differ from the reference|this does not hold|your code raised an exception|"
    r"the result has the wrong \w+|the result holds NaN or infinity where it should not|"
    r"the file could not be loaded)\.?"
)
CHANGED = "changed.json"  # beside a mutant: the modules that are not the solution's, all that need be examined
FILE = re.compile(r"\b(?:src|notebooks)/\w+\.py\b")


@dataclass
class Figures:
    """What was counted of one grader."""

    reports: int = 0
    with_file: int = 0
    with_cause: int = 0
    with_both: int = 0
    both_unnamed: int = 0  # if no mistake were known
    statements: int = 0
    untrue: list[tuple[str, str, str]] = field(default_factory=list)  # mistake, exercise, statement
    unknown: list[tuple[str, str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Report:
    """What a grader says of one submission: results.json as it is, and if no mistake had a name."""

    name: str
    results: Mapping[str, Any]
    unnamed: Mapping[str, Any]


def examine(folder: Path, checks: Path) -> Iterator[Report]:
    """Examine all submissions in a folder with the grader that can be imported, here and now."""
    from autograder.checking.courses import read_course
    from autograder.checking.engine import Examiner, Outcome, Sitting, collect
    from autograder.checking.points import rows
    from autograder.grading.batch import Candidate, examine_all
    from autograder.grading.results_file import results
    from autograder.isolation.layers import WEAK
    from autograder.running.loading import forget
    from autograder.selfcheck.local import sitting

    torch.set_num_threads(1)  # forking after multi-threaded work hangs the child
    course, places = read_course("default").of_code, sorted(path for path in folder.iterdir() if path.is_dir())
    found: list[Report] = []

    def said(outcomes: Sequence[Outcome]) -> Mapping[str, Any]:
        told: Mapping[str, Any] = results(course, rows(course, outcomes), WEAK, None, "", {})
        return told

    def nameless(outcome: Outcome) -> Outcome:
        finding = replace(outcome.finding, cause="", also=()) if outcome.finding else None
        return replace(outcome, finding=finding, says="")

    def seated(place: Path, _: int) -> Sitting:
        return sitting(place, course)

    def job(examiner: Examiner) -> None:
        changed = {place: set(json.loads((place / CHANGED).read_text())) for place in places}
        touched = {
            place: [item.slug for item in course.graded if changed[place] & {Path(file).stem for file in item.files}]
            for place in places
        }
        waiting = (Candidate(partial(seated, place), touched[place]) for place in places)
        examiner.examine(sitting(places[0], course))  # what torch sets up on first use is inherited by the children
        forget(places[0])
        for position, outcomes, _ in examine_all(examiner, waiting, os.cpu_count() or 1):
            if not outcomes:
                raise SystemExit(f"{places[position].name} gave no outcome")
            found.append(Report(places[position].name, said(outcomes), said([nameless(one) for one in outcomes])))

    collect([checks / "public", checks / "hidden"], job)
    yield from found


def material(checks: Path) -> Any:
    """What the grader that can be imported asks with, as plain data."""
    from autograder.judging import references

    cases = {}
    for part in ("public", "hidden"):
        for path in sorted((checks / part).glob("**/references/*.safetensors")):
            cases[path.stem, part] = [
                (case.name, dict(case.arguments), case.cotangent, getattr(case, "unusual", False))
                for case in references.read(path).cases
            ]
    spans = cases["span_corruption", "public"][0][1]
    cases |= {("span_corruption", part): [] for part in ("public", "hidden")}  # these are not called with tensors
    return {"cases": cases, "text": spans["text"], "block_size": spans["block_size"]}


def figures(
    reports: Sequence[Report], asked: Any, mutants: Mapping[str, Mapping[str, str]], solved: Mapping[str, str]
) -> Figures:
    """Count what reports say, and what of it is untrue."""
    from benchmarks import truth

    torch.set_num_threads(1)
    order = [*dict.fromkeys(exercise for exercise, _ in asked["cases"])]
    cases = {
        key: [truth.Case(*one) for one in asked["cases"][key]]
        for key in sorted(asked["cases"], key=lambda k: order.index(k[0]))
    }
    given = truth.Material(cases, asked["text"], asked["block_size"])
    solution, counted = truth.Code(solved), Figures()
    for report in reports:
        counted.reports += 1
        first = fix_first(report.results)
        named, sure = bool(FILE.search(first)), bool(first) and not BARE.fullmatch(first)
        counted.with_file += named
        counted.with_cause += sure
        counted.with_both += named and sure
        unnamed = fix_first(report.unnamed)
        counted.both_unnamed += bool(FILE.search(unnamed)) and not BARE.fullmatch(unnamed)
        witness = truth.Witness(truth.Code(mutants[report.name]), solution, given)
        for saying in truth.sayings(report.results):
            about = truth.told(saying, witness)
            for statement in saying.statements():
                counted.statements += 1
                where = report.name, f"{saying.exercise} ({saying.part})", statement
                try:
                    if not truth.holds(statement, about):
                        counted.untrue.append(where)
                except Exception as error:  # of a pattern that cannot be computed as well: nobody has checked it
                    counted.unknown.append((*where[:2], f"{statement} [{type(error).__name__}: {error}]"))
    return counted


def fix_first(results: Mapping[str, Any]) -> str:
    advice = results["extra_data"]["advice"]
    return f"{advice[0]['exercise']}: {advice[0]['says']}" if advice else ""


def lay_out_all(folder: Path, mutants: Mapping[str, Mapping[str, str]], sources: Any) -> None:
    """Each mutant in a folder of its own, with the names of the modules that are not the solution's."""
    from autograder.proving.assembling import lay_out

    for slug, texts in mutants.items():
        changed = [Path(name).stem for name, text in texts.items() if text != sources.texts[name]]
        lay_out(folder / slug, {**texts, CHANGED: json.dumps(changed)})


def measured(
    grader: Path, folder: Path, mutants: Mapping[str, Mapping[str, str]], solved: Mapping[str, str]
) -> Figures:
    """The figures of a grader, which runs in a process of its own."""
    out = folder.with_name(f"{folder.name}-said")
    out.mkdir(exist_ok=True)
    environment = {**os.environ, "PYTHONPATH": str(grader), "FEEDBACK_OF": str(grader)}
    command = [sys.executable, str(Path(__file__)), "--say", str(folder), str(out)]
    subprocess.run(command, env=environment, cwd=grader, check=True)
    reports = [Report(path.stem, *json.loads(path.read_text(encoding="utf-8"))) for path in sorted(out.glob("*.json"))]
    return figures(reports, torch.load(out / "asked.pt"), mutants, solved)


def say(grader: Path, folder: Path, out: Path) -> None:
    """In a process of its own: what a grader says, written down."""
    for report in examine(folder, grader / "tests"):
        (out / f"{report.name}.json").write_text(json.dumps([report.results, report.unnamed]), encoding="utf-8")
    torch.save(material(grader / "tests"), out / "asked.pt")


def table(found: Mapping[str, Figures]) -> str:
    rows: dict[str, Callable[[Figures], int]] = {
        "reports": lambda one: one.reports,
        "Fix first names a file": lambda one: one.with_file,
        "Fix first names a cause": lambda one: one.with_cause,
        "both": lambda one: one.with_both,
        "both, if no mistake had a name": lambda one: one.both_unnamed,
        "statements": lambda one: one.statements,
        "untrue": lambda one: len(one.untrue),
        "not understood": lambda one: len(one.unknown),
    }
    lines = [f"{'':32}" + "".join(f"{name:>12}" for name in found)]
    return "\n".join(
        lines + [f"{what:32}" + "".join(f"{count(one):12}" for one in found.values()) for what, count in rows.items()]
    )


def kinds(statements: Sequence[tuple[str, str, str]]) -> list[tuple[str, int]]:
    """How often each kind of statement occurs, numbers aside."""
    return Counter(re.sub(r"-?\d[\d.e+-]*", "N", text)[:100] for _, _, text in statements).most_common()


def main(arguments: Sequence[str]) -> int:
    if arguments[:1] == ["--say"]:
        say(Path(os.environ["FEEDBACK_OF"]), Path(arguments[1]), Path(arguments[2]))
        return 0
    from autograder.proving.assembling import Sources
    from autograder.proving.mistakes import read_table

    parser = argparse.ArgumentParser(description="Is feedback true, and does it say what to fix?")
    parser.add_argument("--against", type=Path, action="append", default=[], help="another checkout, to compare with")
    parser.add_argument("--show", action="store_true", help="list what is untrue")
    options = parser.parse_args(arguments)
    sources = Sources(ROOT / "solutions")
    mutants = {mistake.slug: sources.mutant(mistake) for mistake in read_table(ROOT / "solutions/exercises")}
    found: dict[str, Figures] = {}
    with tempfile.TemporaryDirectory() as folder:
        lay_out_all(Path(folder) / "mutants", mutants, sources)
        for grader in (*(path.resolve() for path in options.against), ROOT):
            name = "here" if grader == ROOT else grader.name
            found[name] = measured(grader, Path(folder) / "mutants", mutants, sources.solved())
    print(table(found))
    for name, one in found.items():
        for what, statements in (("untrue", one.untrue), ("not understood", one.unknown)):
            for kind, count in kinds(statements):
                print(f"{name}: {what}, {count} x {kind}")
            if options.show:
                print("\n".join(f"  {slug}, {exercise}: {text}" for slug, exercise, text in statements))
    return 1 if found["here"].untrue or found["here"].unknown else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
