"""Make the reference files: run the solution and every mutant on every case, and keep the outputs."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from autograder.checking.courses import PARTS, Course
from autograder.checking.places import REFERENCES, reference_file
from autograder.errors import UserError
from autograder.files import write_files
from autograder.isolation.forks import spread
from autograder.judging import references
from autograder.judging.compare import Tolerance
from autograder.judging.diagnosis import Raised, not_a_tensor
from autograder.judging.exercises import EXERCISES, Exercise
from autograder.judging.findings import CheckFailed
from autograder.judging.fingerprints import alike, fingerprint
from autograder.judging.references import Case, Reference, close
from autograder.judging.submission import Submission
from autograder.proving.assembling import Kit, Sources
from autograder.proving.cases import Draw
from autograder.proving.knowledge import Knowledge
from autograder.proving.mistakes import Mistake
from autograder.running.loading import Loader
from autograder.running.perform import Performer

FILE = "src/attention.py"  # all exercises with reference tensors are in it

Key = tuple[str, str]  # exercise and part
Outputs = dict[Key, list[Tensor | Raised]]


def make(
    sources: Sources,
    knowledge: Mapping[str, Knowledge],
    table: Sequence[Mistake],
    course: Course,
    homes: Mapping[str, str],
    told: Callable[[str], None],
) -> dict[str, bytes]:
    """All reference files by name ('public/attention/references/split_heads.safetensors').

    homes: the part of the assignment that each exercise belongs to.
    """
    torch.set_num_threads(1)  # the order of additions, and so the last bit, depends on it
    inputs = {(slug, part): known.of(part) for slug, known in knowledge.items() for part in PARTS}
    kit = Kit(sources, FILE)
    solution = _submission(kit)
    solved = {
        key: [_solve(solution, knowledge[key[0]], key[1], name, case) for name, case in cases.items()]
        for key, cases in inputs.items()
        if key[0] in EXERCISES
    }
    outputs: dict[str, Outputs] = {}
    for number, mistake in enumerate(table, start=1):
        told(f"mistake {number} of {len(table)}: {mistake.slug}")
        broken = [key for key in solved if key[0] in mistake.breaks]
        outputs[mistake.slug] = _outputs(_submission(kit, mistake), solved, broken) if broken else {}
    together = _pairs(kit, table, solved, outputs, told)
    files: dict[str, bytes] = {}
    for item in course.graded:
        for part in PARTS:
            cases = solved.get((item.slug, part), [])
            if part == "hidden" and not item.hidden:
                continue
            if item.slug not in EXERCISES:  # with many right results: inputs alone
                cases = [Case(name, case, torch.empty(0)) for name, case in inputs.get((item.slug, part), {}).items()]
            found = [
                _with_lookalikes(
                    EXERCISES.get(item.slug),
                    case,
                    {slug: out[item.slug, part][n] for slug, out in outputs.items() if (item.slug, part) in out},
                    course.tolerance(item.slug),
                )
                for n, case in enumerate(cases)
            ]
            causes = {mistake.slug: mistake.says for mistake in table if item.slug in mistake.breaks}
            pairs = together.get((item.slug, part), {})
            prints = torch.stack(list(pairs.values())) if pairs else torch.empty(0)
            reference = Reference(item.slug, part, tuple(found), causes, tuple(pairs), prints)
            place = reference_file(Path(part) / homes[item.slug], item.slug)
            files[place.as_posix()] = references.encode(reference)
    return files


def _outputs(submission: Submission, solved: Mapping[Key, list[Case]], keys: Iterable[Key]) -> Outputs:
    return {key: [_output(submission, EXERCISES[key[0]], case) for case in solved[key]] for key in keys}


def _pairs(
    kit: Kit,
    table: Sequence[Mistake],
    solved: Mapping[Key, list[Case]],
    single: Mapping[str, Outputs],
    told: Callable[[str], None],
) -> dict[Key, dict[tuple[str, str], Tensor]]:
    """Fingerprints of two mistakes at once, by exercise; only those that nothing else looks like."""
    usual = {key: [case for case in cases if not case.unusual] for key, cases in solved.items()}  # about values
    one_alone = {
        slug: {
            key: [output for output, case in zip(several, solved[key], strict=True) if not case.unusual]
            for key, several in outputs.items()
        }
        for slug, outputs in single.items()
    }
    seen = {slug: {key for key in outputs if _visible(outputs[key], usual[key])} for slug, outputs in one_alone.items()}
    wanted = {
        (one, other): [
            key
            for key in sorted(seen[one.slug] & seen[other.slug])
            if key[1] == "public" and _worth_trying(key[0], one, other)
        ]
        for one, other in itertools.combinations(table, 2)
        if not (one.alone or other.alone)
        and (one.region != other.region or (one.replaces != other.replaces and one.replaces and other.replaces))
    }
    tried = [(pair, keys) for pair, keys in wanted.items() if keys]
    told(f"{len(tried)} pairs of mistakes, each two at once")

    def run(one: tuple[tuple[Mistake, Mistake], list[Key]]) -> list[list[list[float]] | None]:
        pair, keys = one
        try:
            outputs = _outputs(_submission(kit, *pair), usual, keys)
        except UserError:  # the one mistake has taken away the statement that the other replaces
            return [None for _ in keys]
        several = [_prints(key[0], given) for key, given in outputs.items()]
        return [None if prints is None else prints.tolist() for prints in several]

    found: dict[Key, dict[tuple[str, str], Tensor]] = {}
    for ((one, other), keys), several in zip(tried, spread(run, tried, os.cpu_count() or 1), strict=True):
        for key, prints in zip(keys, several, strict=True):
            if prints is not None:
                found.setdefault(key, {})[one.slug, other.slug] = torch.tensor(prints, dtype=torch.float64)
    for key, pairs in found.items():
        alone = [_prints(key[0], [case.expected for case in usual[key]])]
        alone += [_prints(key[0], outputs[key]) for outputs in one_alone.values() if key in outputs]
        known = [prints for prints in alone if prints is not None]
        found[key] = _unmistakable(key[0], pairs, known)
    return found


def _visible(outputs: Sequence[Tensor | Raised], cases: Sequence[Case]) -> bool:
    """Does a mistake show by its values in some case, and in none by an exception, behind which another would hide?"""
    tensors = [output for output in outputs if isinstance(output, Tensor)]
    apart = [not close(output, case.expected, 1e-5) for output, case in zip(tensors, cases, strict=False)]
    return len(tensors) == len(outputs) and any(apart)


def _worth_trying(exercise: str, one: Mistake, other: Mistake) -> bool:
    """Two mistakes in steps below are told by the checks of those steps; here one must be the exercise's own."""
    return exercise in (one.exercise, other.exercise)


def _prints(exercise: str, outputs: Sequence[Tensor | Raised]) -> Tensor | None:
    seen_as = EXERCISES[exercise].seen_as
    tensors = [fingerprint(seen_as(output)) for output in outputs if isinstance(output, Tensor)]
    return torch.stack(tensors) if len(tensors) == len(outputs) else None


def _unmistakable(
    exercise: str, pairs: Mapping[tuple[str, str], Tensor], others: Sequence[Tensor]
) -> dict[tuple[str, str], Tensor]:
    """The pairs whose outputs are neither those of one mistake alone nor of another pair of the same rank.

    As with single mistakes, those of the exercise itself go before those of the steps that it is built from.
    """
    prints, alone = torch.stack(list(pairs.values())), torch.stack(list(others))
    names = list(pairs)
    own = [sum(slug.startswith(f"{exercise}.") for slug in pair) for pair in names]
    kept = {}
    for number, pair in enumerate(names):
        twins = alike(prints, prints[number]).nonzero().flatten().tolist()
        best = [twin for twin in twins if own[twin] == max(own[twin] for twin in twins)]
        if best == [number] and not bool(alike(alone, prints[number]).any()):
            kept[pair] = prints[number]
    return kept


def _solve(
    solution: Submission, known: Knowledge, part: str, name: str, arguments: dict[str, references.Argument]
) -> Case:
    slug, exercise = known.slug, EXERCISES[known.slug]
    blank = Case(name, arguments, torch.empty(0))
    expected = _output(solution, exercise, blank)
    if isinstance(expected, Raised):
        raise UserError(f"the solution of {slug} fails in case '{name}': {expected.text}")
    if not known.gradients or blank.unusual:
        return Case(name, arguments, expected)
    cotangent = Draw(f"{slug}/{part}/{name}")(*expected.shape, dtype=expected.dtype)
    asked = Case(name, arguments, expected, cotangent=cotangent)
    found = exercise.call(solution, asked).gradients
    positions = [key for key in arguments if "." not in key]
    gradients = {}
    for key in known.gradients:
        gradient = found.get(key) if "." in key else found.get(str(positions.index(key)))
        if gradient is not None and float(gradient.abs().max()) > 1e-3:  # one token: nothing to learn for Q and K
            gradients[key] = gradient
    return Case(name, arguments, expected, cotangent=cotangent, gradients=gradients)


def _output(submission: Submission, exercise: Exercise, case: Case) -> Tensor | Raised:
    torch.default_generator.manual_seed(0)  # a mistake may be random; its reference must not be
    try:
        value = exercise.call(submission, case.forward_only()).value
    except CheckFailed as failed:
        return Raised(failed.finding.evidence[0] if failed.finding.evidence else failed.finding.headline)
    return value if isinstance(value, Tensor) else not_a_tensor(value)


def _with_lookalikes(
    exercise: Exercise | None, case: Case, outputs: dict[str, Tensor | Raised], allowed: Tolerance
) -> Case:
    """With what each mistake gives in this case, if it shows: if it is judged to be wrong, as a student's would be."""
    if exercise is None:
        return case
    different = {
        slug: fingerprint(exercise.seen_as(output))
        for slug, output in outputs.items()
        if isinstance(output, Tensor) and exercise.judge(output, case, allowed) is not None
    }
    raises = {slug: output.line for slug, output in outputs.items() if isinstance(output, Raised)}
    return Case(case.name, case.arguments, case.expected, different, raises, case.cotangent, case.gradients)


def _submission(kit: Kit, *mistakes: Mistake) -> Submission:
    return Submission(Performer(_Assembled(kit.names(*mistakes))))


class _Assembled(Loader):
    """Finds names where they have been put together, not in files."""

    def __init__(self, names: dict[str, Any]) -> None:
        super().__init__(Path(), {})
        self.names = names

    def find(self, name: str) -> Any:
        return self.names[name]


def differences(folder: Path, made: dict[str, bytes]) -> tuple[list[str], bool]:
    """What is wrong with the files on disk, and whether they equal `made` to the last bit."""
    wrong: list[str] = []
    exact = True
    for name, content in made.items():
        path = folder / name
        if path.is_file() and path.read_bytes() == content:
            continue
        exact = False
        try:
            how = references.differs(references.read(path), references.parse(content))
        except UserError as error:
            how = str(error)
        if how:
            wrong.append(f"{path}: {how}")
    on_disk_now = {path for part in PARTS for path in (folder / part).glob(f"*/{REFERENCES}/*")}
    for path in sorted(on_disk_now - {folder / name for name in made}):
        wrong.append(f"{path}: belongs to no exercise")
    return wrong, exact and not wrong


def write(folder: Path, made: dict[str, bytes]) -> list[str]:
    """Write what changed; files that differ only by another machine's rounding stay."""
    stale = {}
    for name, content in made.items():
        wrong, _ = differences(folder, {name: content})
        if any(str(folder / name) in line for line in wrong):
            stale[name] = content
    return write_files(folder, stale)
