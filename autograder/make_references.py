"""Make the reference files: run the solution and every mutant on every case, and keep the outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor

from autograder import references
from autograder.casebook import CASEBOOK, DIFFERENTIATED, Draw, cases_for
from autograder.course import Course
from autograder.diagnose import Raised
from autograder.errors import UserError
from autograder.exercises import EXERCISES, Exercise
from autograder.files import write_files
from autograder.findings import CheckFailed
from autograder.loading import Loader, forget
from autograder.mistakes import Mistake
from autograder.mutants import Sources, on_disk
from autograder.perform import Performer
from autograder.references import Case, Reference, close
from autograder.submission import Submission

PARTS = ("public", "hidden")


def make(sources: Sources, table: Sequence[Mistake], course: Course, told: Callable[[str], None]) -> dict[str, bytes]:
    """All reference files by name ('public/references/split_heads.safetensors')."""
    torch.set_num_threads(1)  # the order of additions, and so the last bit, depends on it
    inputs = {(slug, part): cases_for(slug, part) for slug in CASEBOOK for part in PARTS}
    with _running(sources.solved(), course) as solution:
        solved = {
            key: [_solve(solution, *key, name, case) for name, case in cases.items()] for key, cases in inputs.items()
        }
    outputs: dict[str, dict[tuple[str, str], list[Tensor | Raised]]] = {}
    for number, mistake in enumerate(table, start=1):
        told(f"mistake {number} of {len(table)}: {mistake.slug}")
        with _running(sources.mutant(mistake), course) as mutant:
            outputs[mistake.slug] = {
                key: [_output(mutant, EXERCISES[key[0]], case) for case in cases]
                for key, cases in solved.items()
                if key[0] in mistake.breaks
            }
    files: dict[str, bytes] = {}
    for item in course.graded:
        for part in PARTS:
            cases = solved.get((item.slug, part), [])
            if part == "hidden" and not item.hidden:
                continue
            found = [
                _with_lookalikes(
                    case, {slug: out[item.slug, part][n] for slug, out in outputs.items() if (item.slug, part) in out}
                )
                for n, case in enumerate(cases)
            ]
            causes = {mistake.slug: mistake.says for mistake in table if item.slug in mistake.breaks}
            reference = Reference(item.slug, part, tuple(found), causes)
            files[f"{part}/references/{item.slug}.safetensors"] = references.encode(reference)
    return files


def _solve(solution: Submission, slug: str, part: str, name: str, arguments: dict[str, references.Argument]) -> Case:
    exercise = EXERCISES[slug]
    blank = Case(name, arguments, torch.empty(0))
    expected = _output(solution, exercise, blank)
    if isinstance(expected, Raised):
        raise UserError(f"the solution of {slug} fails in case '{name}': {expected.text}")
    if slug not in DIFFERENTIATED:
        return Case(name, arguments, expected)
    cotangent = Draw(f"{slug}/{part}/{name}")(*expected.shape, dtype=expected.dtype)
    asked = Case(name, arguments, expected, cotangent=cotangent)
    found = exercise.call(solution, asked).gradients
    positions = [key for key in arguments if "." not in key]
    gradients = {}
    for key in DIFFERENTIATED[slug]:
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
    return value if isinstance(value, Tensor) else Raised(f"returned {type(value).__name__}")


def _with_lookalikes(case: Case, outputs: dict[str, Tensor | Raised]) -> Case:
    different = {
        slug: output
        for slug, output in outputs.items()
        if isinstance(output, Tensor) and not close(output, case.expected, 1e-5)
    }
    raises = {slug: output.text for slug, output in outputs.items() if isinstance(output, Raised)}
    return Case(case.name, case.arguments, case.expected, different, raises, case.cotangent, case.gradients)


@contextmanager
def _running(texts: dict[str, str], course: Course) -> Iterator[Submission]:
    with on_disk(texts) as folder:
        try:
            yield Submission(Performer(Loader(folder, course.files)))
        finally:
            forget(folder)


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
    on_disk_now = {path for part in PARTS for path in (folder / part / "references").glob("*")}
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
