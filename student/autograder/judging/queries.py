"""Query crafting: four tokens of size 3, judged by the grader's own keys, values and attention."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from autograder.judging.checks import fail
from autograder.judging.compare import numbers, type_name
from autograder.judging.findings import CheckFailed, Measure
from autograder.judging.near_misses import Setting, of_key, of_length, of_query
from autograder.judging.references import Reference
from autograder.judging.submission import Submission
from autograder.running.plain import Other, Plain

KEYS = torch.tensor(
    [[0.47, 0.65, 0.60], [0.64, 0.50, -0.59], [-0.03, -0.48, -0.88], [0.43, -0.83, 0.35]], dtype=torch.float64
)
VALUES = torch.tensor(
    [[-0.07, -0.88, 0.47], [0.37, -0.93, -0.07], [-0.25, -0.75, 0.61], [0.94, 0.20, 0.28]], dtype=torch.float64
)
UNIT_LENGTH = 0.01  # how far from 1 the length of a key may be
UNCHANGED = 1e-6  # how far a row that must stay may be off


@dataclass(frozen=True)
class Goal:
    """What attention should give with an answer. `query`: the answer to use with a crafted key."""

    shape: tuple[int, ...]
    target: Tensor
    says: str
    tokens: tuple[int, ...]  # whose values the target is made of
    query: str | None = None
    unit_length: bool = False


GOALS: Mapping[str, Goal] = {
    "query121": Goal((3,), VALUES[0], "the value of token 0", (0,)),
    "query122": Goal((4, 3), VALUES, "V, row for row", (0, 1, 2, 3)),
    "query131": Goal((3,), VALUES.mean(0), "the mean of all four values", (0, 1, 2, 3)),
    "query132": Goal((3,), VALUES[:2].mean(0), "the mean of values 0 and 1", (0, 1)),
    "key141": Goal((4, 3), VALUES[:3].mean(0), "the mean of values 0, 1 and 2", (0, 1, 2), query="query132"),
    "key142": Goal((4, 3), VALUES[2], "the value of token 2", (2,), query="query132", unit_length=True),
}


def error_of(query: Tensor, key: Tensor, target: Tensor) -> float:
    """The largest absolute difference between softmax(q Kᵀ) V and the target."""
    return float((torch.softmax(query @ key.T, dim=-1) @ VALUES - target).abs().max())


def close_enough(submission: Submission, reference: Reference, threshold: float) -> None:
    """The crafted answer brings attention within `threshold` of its goal."""
    slug = reference.exercise
    goal = GOALS[slug]
    answer = _answer(submission, slug, goal.shape)
    query, key = answer, KEYS
    if goal.query is not None:
        query, key = _answer(submission, goal.query, GOALS[goal.query].shape), answer
        _only_row_2_changed(slug, answer)
        if goal.unit_length:
            _unit_length(slug, answer[2])
    error = error_of(query, key, goal.target)
    submission.measured(Measure(error, smaller_is_better=True))
    if error <= threshold:
        submission.note(f"error {error:.4f} ≤ {threshold:g}")
        return
    weights = torch.softmax(query @ key.T, dim=-1)
    output = weights @ VALUES
    where = int((output - goal.target).abs().max(-1).values.argmax()) if output.dim() == 2 else None
    cause, said = _named(submission, slug, goal, query, key, threshold, reference.causes)
    mine, wanted = (output, goal.target) if where is None else (output[where], goal.target[where])
    fail(
        "values",
        f"{slug}: error {error:.4f}, must be at most {threshold:g}",
        f"The goal is {goal.says}.",
        f"{'Output' if where is None else f'Row {where}'}: yours {numbers(mine)}, goal {numbers(wanted)}.",
        f"The weights of the four tokens are {numbers(weights if where is None else weights[where])}.",
        *([said] if said else []),
        cause=cause,
        also=tuple(cause for cause in reference.causes if cause.split(".")[0] == goal.query),
    )


def _answer(submission: Submission, slug: str, shape: tuple[int, ...]) -> Tensor:
    value = submission.value(slug)
    if value is None or value == Other("ellipsis"):
        fail("not started", f"{slug}: not started yet (it is {'None' if value is None else '...'})")
    tensor = _tensor(value)
    if tensor is None:
        fail("type", f"{slug}: is {type_name(value)}, expected {_words(shape)}")
    if shape == (3,) and tensor.shape == (1, 3):
        tensor = tensor[0]
    if tuple(tensor.shape) != shape:
        cause = {(3,): "one_row_only", (4, 3): "a_matrix"}.get(tuple(tensor.shape), "")
        fail(
            "shape", f"{slug}: shape {tuple(tensor.shape)}, expected {shape}", cause=f"{slug}.{cause}" if cause else ""
        )
    if not bool(tensor.isfinite().all()):
        fail("non-finite", f"{slug}: holds NaN or infinity")
    return tensor


def _tensor(value: Plain) -> Tensor | None:
    """Tensors, arrays and nested lists of numbers; nothing else."""
    if isinstance(value, Tensor):
        return value.double() if not value.is_complex() else None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return torch.tensor(value, dtype=torch.float64) if abs(value) < 1e300 else None
    if isinstance(value, (list, tuple)) and value:
        rows = [_tensor(item) for item in value]
        if all(row is not None and row.shape == rows[0].shape for row in rows):  # type: ignore[union-attr]
            return torch.stack(rows)  # type: ignore[arg-type]
    return None


def _words(shape: tuple[int, ...]) -> str:
    return "three numbers" if shape == (3,) else "a 4 x 3 matrix"


def _only_row_2_changed(slug: str, key: Tensor) -> None:
    for row in (0, 1, 3):
        if float((key[row] - KEYS[row]).abs().max()) > UNCHANGED:
            fail(
                "property",
                f"{slug}: row {row} of the key was changed",
                f"yours {numbers(key[row])}, given {numbers(KEYS[row])}",
                cause=f"{slug}.other_row_changed",
            )


def _unit_length(slug: str, row: Tensor) -> None:
    length = float(row.norm())
    if abs(length - 1) > UNIT_LENGTH:
        fail(
            "property",
            f"{slug}: row 2 has length {length:.4f}, must be 1",
            cause=f"{slug}.not_unit_length",
        )


def _named(
    submission: Submission, slug: str, goal: Goal, query: Tensor, key: Tensor, threshold: float, known: Container[str]
) -> tuple[str, str]:
    """The mistake that the answer looks like, and a number to tell of it; "" if it looks like none."""

    def reaches(query: Tensor, key: Tensor) -> bool:
        return _reaches(goal, query, key, threshold)

    setting = Setting(KEYS, VALUES, query, key, goal.tokens, reaches)
    if goal.query is None:
        found = list(of_query(slug, setting))
    else:
        found = [(f"{slug}.not_copied", "")] if _same_as_other_key(submission, slug, key) else []
        if error_of(query, KEYS, GOALS[goal.query].target) <= threshold:
            found += of_key(slug, setting)
        for place in (f"{slug}.query", goal.query):
            found += [(cause.replace(".query.", ".query_"), said) for cause, said in of_length(place, setting)]
    return next(((cause, said) for cause, said in found if cause in known), ("", ""))


def _same_as_other_key(submission: Submission, slug: str, key: Tensor) -> bool:
    """Are two crafted keys one and the same? Then the second has changed the first, of which no copy was made."""
    for other, goal in GOALS.items():
        if goal.query is not None and other != slug:
            try:
                found = _tensor(submission.value(other))
            except CheckFailed:  # told by its own check
                continue
            if found is not None and found.shape == key.shape and torch.equal(found, key):
                return True
    return False


def _reaches(goal: Goal, query: Tensor, key: Tensor, threshold: float) -> bool:
    """Is it near enough, and, with a crafted key, good for what the query was made for as well?"""
    made_for = GOALS.get(goal.query or "")
    also = made_for is None or error_of(query, KEYS, made_for.target) <= threshold
    return also and error_of(query, key, goal.target) <= threshold
