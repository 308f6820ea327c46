"""What the test files call: one function per kind of check, used by public and hidden tests alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn, TypeGuard
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from autograder.compare import Tolerance, compare_values, difference, first_index, numbers, spoken, worst_index
from autograder.diagnose import Raised, explain
from autograder.evidence import of_weights
from autograder.exercises import EXERCISES, MAP, Exercise, attention_map
from autograder.findings import CheckFailed, Finding, Kind
from autograder.perform import Reply
from autograder.pictures import Picture, maps
from autograder.plain import Plain
from autograder.references import Case, Reference, close
from autograder.submission import Submission


def fail(
    kind: Kind,
    headline: str,
    *evidence: str,
    cause: str = "",
    also: tuple[str, ...] = (),
    picture: Picture | None = None,
    open: bool = False,
) -> NoReturn:
    """Fail the running check; `cause` is the slug of a known mistake that was recognised."""
    raise CheckFailed(Finding(kind, headline, evidence, cause, also, picture=picture, open=open))


def matches_reference(submission: Submission, reference: Reference, tolerance: Tolerance) -> None:
    """Every case gives the reference's output; if not, the first failure is told, and its cause."""
    exercise = EXERCISES[reference.exercise]
    outputs: list[tuple[Case, Plain | Raised]] = []
    findings: list[Finding | None] = []
    ask_ahead(submission, exercise, reference.cases)
    for case in reference.cases:
        try:
            value = answer(submission, exercise, case).value
            finding = exercise.judge(value, case, tolerance)
            outputs.append((case, value))
        except CheckFailed as failed:
            if failed.finding.kind != "exception":  # no other case would fare better
                raise
            finding = failed.finding
            outputs.append((case, Raised(finding.evidence[0])))
        findings.append(finding)
    wrong = [
        (case, output, finding)
        for (case, output), finding in zip(outputs, findings, strict=True)
        if finding is not None
    ]
    if not wrong:
        return
    cause, also = explain(reference, outputs, [finding is None for finding in findings])
    case, output, finding = next((one for one in wrong if one[0].name == MAP), wrong[0])
    if case.name == MAP and isinstance(output, Tensor) and finding.kind in ("values", "non-finite"):
        finding = _read_map(exercise, case, output, finding)
    evidence = (called_with(case), *finding.evidence)
    if len(wrong) < len(findings):
        right = ", ".join(case.name for case, found in zip(reference.cases, findings, strict=True) if not found)
        evidence = (*evidence, f"Right for: {right}.")
    raise CheckFailed(replace(finding, evidence=evidence, cause=cause, also=also))


def _read_map(exercise: Exercise, case: Case, output: Tensor, finding: Finding) -> Finding:
    """Tell the weights instead of what was mixed with them: this case shows them."""
    mine, wanted = attention_map(case, output), attention_map(case, case.expected)
    axes = ("query", "key")
    words = of_weights(mine, causal=True)
    evidence = (
        difference(mine, wanted, worst_index(mine, wanted), axes),
        *([words] if words else finding.evidence[1:]),
    )
    headline = f"{finding.headline.split(':')[0]}: right shape, wrong attention weights"
    return replace(finding, headline=headline, evidence=evidence, picture=maps("attention map", mine, wanted, axes))


def called_with(case: Case) -> str:
    """The arguments in words: tensors by shape, small counting ones by what they are; neighbours alike together."""
    shown: list[tuple[list[str], str]] = []  # names, and what is said of them
    for name, value in case.arguments.items():
        if "." in name:  # weights loaded by name
            continue
        said = _described(value) if isinstance(value, Tensor) else f"= {value}"
        if shown and shown[-1][1] == said:
            shown[-1][0].append(name)
        else:
            shown.append(([name], said))
    parts = [f"{', '.join(names)} {said}" for names, said in shown]
    return f"{case.name}: {', '.join(parts)}"


def _described(value: Tensor) -> str:
    shape = tuple(value.shape)
    if value.is_floating_point() and torch.equal(value.flatten(), torch.arange(value.numel()).to(value.dtype)):
        return f"= arange({value.numel()}) shaped {shape}"
    return f"of shape {shape}"


def leaves_inputs_unchanged(submission: Submission, reference: Reference) -> None:
    """After the call, the caller's tensors are what they were."""
    exercise = EXERCISES[reference.exercise]
    for case in few(reference, 2):
        reply = answer(submission, exercise, case)
        given = [value for name, value in case.arguments.items() if "." not in name]
        if not reply.arguments:
            fail("malformed", f"{exercise.slug}: the inputs did not come back")
        for before, after in zip(given, reply.arguments, strict=False):
            if isinstance(before, Tensor) and not (isinstance(after, Tensor) and torch.equal(before, after)):
                fail(
                    "property",
                    f"{exercise.slug}: an input was written to",
                    called_with(case),
                    cause=f"{exercise.slug}.writes_into_input",
                )


def gradients_flow(submission: Submission, reference: Reference, tolerance: Tolerance, count: int = 4) -> None:
    """Gradients reach every input (and every weight) and are the reference's, in so many cases."""
    exercise = EXERCISES[reference.exercise]
    cases = few(reference, count)
    for case, reply in zip(cases, exercise.ask(submission, cases), strict=True):
        if isinstance(reply, CheckFailed):
            raise reply
        if exercise.judge(reply.value, case, tolerance) is not None:
            fail("property", f"{exercise.slug}: gradients are checked once the values are right")
        found = {name: _gradient(reply, case, name) for name in case.gradients}
        for name, gradient in found.items():  # all of them, before any value: a cut path bends the others, too
            if gradient is None or not gradient.any():
                fail(
                    "property",
                    f"{exercise.slug}: no gradient reaches {name}",
                    called_with(case),
                    cause=f"{exercise.slug}.detached",
                    also=tuple(slug for slug in reference.causes if slug.endswith(".detached")),
                )
        for name, expected in case.gradients.items():
            finding = compare_values(f"gradient of {name}", found[name], expected, Tolerance(1e-3), ())
            if finding is not None:
                headline = f"{exercise.slug}: the gradient of {name} is not the derivative of the result"
                fail("property", headline, called_with(case), *finding.evidence)


def _gradient(reply: Reply, case: Case, name: str) -> Tensor | None:
    if name in reply.gradients:
        return reply.gradients[name]
    position = [key for key in case.arguments if "." not in key].index(name)
    return reply.gradients.get(str(position))


def future_changes_nothing(submission: Submission, reference: Reference, inputs: tuple[str, ...]) -> None:
    """Changing the last token of the inputs leaves all earlier outputs as they were."""
    exercise = EXERCISES[reference.exercise]
    cases = [case for case in few(reference) if case.arguments.get("causal", True) and case.expected.shape[1] > 1]
    changed = [case.kept("changed", lambda case=case: _changed(case, inputs)) for case in cases]  # type: ignore[misc]
    for case, later in zip(cases, exercise.ask(submission, changed), strict=True):
        first = answer(submission, exercise, case).value
        if isinstance(later, CheckFailed):
            raise later
        _earlier_tokens_stay(exercise, case, inputs, first, later.value)


def _changed(case: Case, inputs: tuple[str, ...]) -> Case:
    return _with(case, {name: _other_end(case.tensor(name)) for name in inputs})


def _other_end(value: Tensor) -> Tensor:
    changed = value.clone()
    changed[:, -1] += 3.0
    return changed


def _earlier_tokens_stay(exercise: Exercise, case: Case, inputs: tuple[str, ...], first: Plain, later: Plain) -> None:
    if not (_like(first, case.expected) and _like(later, case.expected)):
        fail("shape", f"{exercise.slug}: the result must be a tensor with the shape of its input")
    moved = ~torch.isclose(first.double(), later.double(), rtol=1e-4, atol=1e-5)[:, :-1]
    if moved.any():
        last, token = case.tensor(inputs[0]).shape[1] - 1, first_index(moved)[1]
        fail(
            "property",
            f"{exercise.slug}: token {token} depends on the future",
            called_with(case),
            f"Changing only token {last} changed the output of token {token}.",
        )


def order_of_keys_is_irrelevant(submission: Submission, case: Case) -> None:
    """Without a mask, moving keys and values together changes nothing."""
    order = torch.arange(case.tensor("K").shape[1]).roll(1)
    moved = {name: case.tensor(name)[:, order].contiguous() for name in ("K", "V")}
    exercise = EXERCISES["self_attention"]
    first = answer(submission, exercise, case).value
    second = exercise.call(submission, _with(case, moved)).value
    if not (_like(first, case.expected) and _like(second, case.expected)):
        fail("shape", "self_attention: the result must be a tensor with the shape of its input")
    if not torch.allclose(first.double(), second.double(), rtol=1e-4, atol=1e-5):
        fail(
            "property",
            "self_attention: the order of keys matters, though nothing is masked",
            called_with(case),
            "Keys and values were moved together by one place, and the output changed.",
        )


def _like(value: Plain, expected: Tensor) -> TypeGuard[Tensor]:
    return isinstance(value, Tensor) and value.shape == expected.shape and not value.is_complex()


def answer(submission: Submission, exercise: Exercise, case: Case) -> Reply:
    """What a submission makes of a case, without gradients. Asked once: several checks look at the same answer."""
    ask_ahead(submission, exercise, [case])
    _, found = _ANSWERS[submission][id(case)]
    if isinstance(found, CheckFailed):
        raise found
    return found


def ask_ahead(submission: Submission, exercise: Exercise, cases: Sequence[Case]) -> None:
    """Have the answers to several cases at hand."""
    known = _ANSWERS.setdefault(submission, {})
    unknown = [case for case in cases if id(case) not in known]
    asked = [case.kept("alone", lambda case=case: _alone(case)) for case in unknown]  # type: ignore[misc]
    if asked:
        for case, reply in zip(unknown, exercise.ask(submission, asked), strict=True):
            known[id(case)] = case, reply


def _alone(case: Case) -> Case:
    """Without gradients; small inputs come back, to see whether they were written to."""
    return replace(case.forward_only(), give_back=_is_small(case), made={})


# By the case's identity; the case is kept with its answer, so that no other can have the same.
_ANSWERS: WeakKeyDictionary[Submission, dict[int, tuple[Case, Reply | CheckFailed]]] = WeakKeyDictionary()


def _is_small(case: Case) -> bool:
    return case.expected.numel() <= 300


def few(reference: Reference, count: int = 4) -> list[Case]:
    """The largest cases that are still small: enough for a property, and quick for code that loops."""
    small = [case for case in reference.cases if _is_small(case)]
    return sorted(small, key=lambda case: -case.expected.numel())[:count]


def _with(case: Case, other: dict[str, Tensor]) -> Case:
    return Case(case.name, {**case.arguments, **other}, case.expected)


def rows_are_weights(submission: Submission, case: Case) -> None:
    """Every row of the softmax is positive and sums to 1, even for large scores."""
    given = answer(submission, EXERCISES["attn_softmax"], case).value
    weights = needs_tensor(given, "attn_softmax", case.expected.shape)
    if not bool(weights.isfinite().all()):
        fail("non-finite", "attn_softmax: NaN or infinity for large scores", called_with(case))
    sums = weights.sum(-1)
    wrong = ((sums - 1).abs() > 1e-4) | (weights < 0).any(-1)
    if wrong.any():
        index = first_index(wrong)
        fail(
            "property",
            "attn_softmax: a row is not a set of weights",
            called_with(case),
            f"{spoken(index, ('query',))}: {numbers(weights[index])} sums to {float(sums[index]):.4g}, not 1.",
        )


def needs_tensor(value: Plain, name: str, shape: torch.Size | None = None) -> Tensor:
    """The value in float64, if it is a tensor of that shape; else the check fails.

    Properties are about numbers; dtypes are judged with the reference cases.
    """
    if not isinstance(value, Tensor):
        fail("type", f"{name}: expected a torch.Tensor")
    if shape is not None and value.shape != shape:
        fail("shape", f"{name}: shape {tuple(value.shape)}, expected {tuple(shape)}")
    return value.real.double() if value.is_complex() else value.double()


def rotation_keeps_lengths(submission: Submission, case: Case) -> None:
    """Rotating changes no vector's length, and leaves position 0 alone."""
    given = case.tensor("x")
    found = answer(submission, EXERCISES["apply_rotary_emb"], case).value
    rotated = needs_tensor(found, "apply_rotary_emb", given.shape)
    x = given.double()
    if not torch.allclose(rotated[..., 0, :], x[..., 0, :], atol=1e-4):
        fail("property", "apply_rotary_emb: position 0 must stay as it is", called_with(case))
    before, after = x.norm(dim=-1), rotated.norm(dim=-1)
    wrong = (before - after).abs() > 1e-3 * (1 + before)
    if wrong.any():
        index = first_index(wrong)
        fail(
            "property",
            "apply_rotary_emb: a rotation keeps lengths, yours does not",
            called_with(case),
            f"{spoken(index, ('token',))}: length {float(before[index]):.4g} became {float(after[index]):.4g}.",
        )


def rotation_is_relative(submission: Submission, query: Tensor, key: Tensor, cache: Tensor) -> None:
    """The dot product of a rotated query and key depends on how far apart they stand, only."""
    tokens = cache.shape[0]
    rotated = [
        needs_tensor(
            submission.apply_rotary_emb(vector.expand(1, tokens, -1).contiguous(), cache),
            "apply_rotary_emb",
            torch.Size((1, tokens, vector.shape[-1])),
        )[0]
        for vector in (query, key)
    ]
    products = rotated[0] @ rotated[1].T  # (query position, key position)
    for distance in range(tokens):
        along = products.diagonal(distance)
        if not torch.allclose(along, along[0].expand_as(along), atol=1e-3 * float(query.norm() * key.norm())):
            fail(
                "property",
                "apply_rotary_emb: only the distance between two tokens may matter",
                f"At distance {distance}, query · key is {numbers(along)}; these should be equal.",
            )


def first_row_is_unrotated(submission: Submission, dim: int, max_positions: int) -> None:
    """Position 0 has cos 1 and sin 0 for every pair."""
    cache = needs_tensor(
        submission.precompute_rotary_emb(dim, max_positions),
        "precompute_rotary_emb",
        torch.Size((max_positions, dim // 2, 2)),
    )
    unrotated = torch.tensor([1.0, 0.0], dtype=torch.float64).expand(dim // 2, 2)
    if not torch.allclose(cache[0], unrotated, atol=1e-4):
        fail(
            "property",
            "precompute_rotary_emb: position 0 must not rotate",
            f"dim = {dim}, max_positions = {max_positions}: row 0 should be [cos 0, sin 0] = [1, 0] for every pair.",
        )


def evaluation_is_deterministic(submission: Submission, reference: Reference) -> None:
    """In evaluation mode, the same input gives the same output."""
    exercise = EXERCISES[reference.exercise]
    cases = few(reference, 2)
    for case, again in zip(
        cases, exercise.ask(submission, [case.kept("forward", case.forward_only) for case in cases]), strict=True
    ):
        if isinstance(again, CheckFailed):
            raise again
        one, two = answer(submission, exercise, case).value, again.value
        if not (isinstance(one, Tensor) and isinstance(two, Tensor)):
            fail("type", f"{exercise.slug}: the result must be a tensor")
        if not close(one, two, 0.0):  # NaN twice is the same
            fail(
                "property",
                f"{exercise.slug}: two calls in evaluation mode differ",
                called_with(case),
                cause=f"{exercise.slug}.dropout_in_evaluation",
            )


def merge_undoes_split(submission: Submission, batch: int, heads: int, tokens: int, size: int) -> None:
    """Merging what was split gives back the same numbers, exactly."""
    count = batch * tokens * heads * size
    whole = torch.arange(count, dtype=torch.float64).reshape(batch, tokens, heads * size)
    # Split here, by slicing, so that only the student's merging is judged.
    parts = torch.stack(whole.chunk(heads, dim=-1), dim=1)
    merged = needs_tensor(submission.merge_heads(parts), "merge_heads", whole.shape)
    if not torch.equal(merged, whole):
        index = first_index(merged != whole)
        fail(
            "property",
            "merge_heads: merging does not undo splitting",
            f"x = arange({whole.numel()}) shaped {tuple(whole.shape)}, split into {heads} heads",
            difference(merged, whole, index, ("batch", "token", "feature")),
        )
