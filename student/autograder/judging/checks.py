"""What the test files call: one function per kind of check, used by public and hidden tests alike."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NoReturn, TypeGuard
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from autograder.judging.compare import Tolerance, compare_values, difference, first_index, numbers, spoken, worst_index
from autograder.judging.diagnosis import Raised, explain
from autograder.judging.evidence import can_be_weights, distinct_sizes, of_weights, story
from autograder.judging.exercises import EXERCISES, MAP, TOKENS, Exercise, attention_map, beside_the_map, cache_like_own
from autograder.judging.findings import CheckFailed, Finding, Kind
from autograder.judging.fitting import Fit, fitted
from autograder.judging.pictures import Picture, maps
from autograder.judging.references import Case, Reference, close
from autograder.judging.submission import Submission
from autograder.running.perform import Reply, Request
from autograder.running.plain import Plain


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
    """Every usual case gives the reference's output; if not, the first failure is told, and its cause."""
    both = [*reference.usual, *reference.unusual]  # all of them are judged; of few, the inputs are looked at
    ask_ahead(submission, EXERCISES[reference.exercise], both, give_back=few(reference))
    outputs, findings = judged(submission, reference, reference.usual, tolerance)
    _note_writing(submission, EXERCISES[reference.exercise], reference)
    _RIGHT.setdefault(submission, {})[id(reference)] = not any(findings)
    if any(findings):
        raise told(submission, reference, outputs, findings)


def is_right(submission: Submission, reference: Reference, tolerance: Tolerance) -> bool:
    """Do all usual cases give the reference's output? What is said of more than values waits for that."""
    known = _RIGHT.setdefault(submission, {})
    if id(reference) not in known:
        known[id(reference)] = not any(judged(submission, reference, reference.usual, tolerance)[1])
    return known[id(reference)]


# By the reference's identity, which lives as long as the checks do.
_RIGHT: WeakKeyDictionary[Submission, dict[int, bool]] = WeakKeyDictionary()


Outputs = list[tuple[Case, Plain | Raised]]
Findings = list[Finding | None]


def judged(
    submission: Submission, reference: Reference, cases: Sequence[Case], tolerance: Tolerance
) -> tuple[Outputs, Findings]:
    """What a submission makes of cases, and what is wrong with each."""
    exercise = EXERCISES[reference.exercise]
    outputs: Outputs = []
    findings: Findings = []
    ask_ahead(submission, exercise, cases)
    for case in cases:
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
    return outputs, findings


def told(submission: Submission, reference: Reference, outputs: Outputs, findings: Findings) -> CheckFailed:
    """The first thing that is wrong, and the cause that explains all of it."""
    exercise = EXERCISES[reference.exercise]
    wrong = [
        (case, output, finding)
        for (case, output), finding in zip(outputs, findings, strict=True)
        if finding is not None
    ]
    must_be_repeatable(submission, exercise, reference)
    cause, also = explain(reference, outputs, [finding is None for finding in findings], exercise.seen_as)
    # A step below may turn out to be right, by its own checks; then what was fitted is all that can be said.
    fit = None if f"{exercise.slug}." in cause else _fit(exercise, outputs)
    if fit is not None and not cause and f"{exercise.slug}.{fit.known}" in reference.causes:
        cause, fit = f"{exercise.slug}.{fit.known}", None
    case, finding = _most_telling(submission, exercise, wrong)
    evidence = (called_with(case), *finding.evidence)
    if len(wrong) < len(findings):
        right = ", ".join(case.name for (case, _), found in zip(outputs, findings, strict=True) if not found)
        evidence = (*evidence, f"Right for: {right}.")
    # A number that was fitted could carry a hidden input out; that of a public check cannot.
    said = fit.says if fit is not None and reference.part == "public" else ""
    telling = bool(cause or also) and _is_telling(submission, exercise, reference, outputs)
    unsure = any(not isinstance(output, Tensor) for _, output in outputs)
    explained = replace(finding, evidence=evidence, cause=cause, also=also, fitted=said)
    return CheckFailed(replace(explained, unsure=unsure, telling=telling))


def _is_telling(submission: Submission, exercise: Exercise, reference: Reference, outputs: Outputs) -> bool:
    """Could only code that does the work give these? Finite numbers that vary, and that every input has a part in:
    NaN everywhere, or the values as they are, may equal what a broken step would give."""
    cases = [case for case in few(reference) if case.gradients][:1]
    if not cases or not all(_vary(output) for case, output in outputs if case.expected.numel() > 1):
        return False
    (reply,) = exercise.ask(submission, cases)
    if isinstance(reply, CheckFailed):
        return False
    found = {name: _gradient(reply, cases[0], name) for name in cases[0].gradients}
    return all(_moves(gradient, cases[0].gradients[name]) for name, gradient in found.items())


def _moves(gradient: Tensor | None, expected: Tensor) -> bool:
    """Is it a gradient that is not nearly nothing?"""
    if gradient is None or gradient.shape != expected.shape or not gradient.is_floating_point():
        return False
    return float(gradient.abs().max()) > 0.01 * float(expected.abs().max())


def _vary(output: Plain | Raised) -> bool:
    """Is it a tensor of finite numbers that are not all the same?"""
    if not isinstance(output, Tensor) or output.is_complex() or not output.numel():
        return False
    return bool(output.isfinite().all()) and bool((output != output.flatten()[0]).any())


def _fit(exercise: Exercise, outputs: Outputs) -> Fit | None:
    tensors = [(case, output) for case, output in outputs if isinstance(output, Tensor)]
    if len(tensors) < len(outputs):
        return None
    shown = [
        (case, attention_map(case, output), attention_map(case, case.expected))
        for case, output in tensors
        if case.name.startswith(MAP) and _like(output, case.expected)
    ]
    try:
        return fitted(exercise.slug, tensors, shown)
    except (ArithmeticError, ValueError, RuntimeError):  # numbers beyond all bounds fit nothing
        return None


def _note_writing(submission: Submission, exercise: Exercise, reference: Reference) -> None:
    """A small step may write into its arguments; it is told. Of the others, that is a claim of its own."""
    if f"{exercise.slug}.writes_into_input" in reference.causes:
        return
    written = {name for case in few(reference) for name in _written(submission, exercise, case)}
    if written:
        names = " and ".join(sorted(written))
        submission.seen(f"writes into its argument {names}; the caller's tensor changes")


def _written(submission: Submission, exercise: Exercise, case: Case) -> list[str]:
    """The arguments that are not what they were, of those that came back."""
    try:
        after = answer(submission, exercise, case).arguments
    except CheckFailed:
        return []
    given = [(name, value) for name, value in case.arguments.items() if "." not in name]
    return [
        name
        for (name, before), now in zip(given, after, strict=False)
        if isinstance(before, Tensor) and not (isinstance(now, Tensor) and torch.equal(before, now))
    ]


def _most_telling(
    submission: Submission, exercise: Exercise, wrong: Sequence[tuple[Case, Plain | Raised, Finding]]
) -> tuple[Case, Finding]:
    """Which of the failures to tell: weights that can be read, else the first whose axes have sizes of their own."""
    for case, output, finding in wrong:
        if case.name == MAP and isinstance(output, Tensor) and finding.kind == "values":
            read = _read_map(submission, exercise, case, output, finding)
            if read is not None:
                return case, read
    plain = [(case, finding) for case, _, finding in wrong if case.name != MAP] or [(wrong[0][0], wrong[0][2])]
    clear = [one for one in plain if distinct_sizes(one[0].expected.shape, exercise.axes)] or plain
    case, finding = clear[0]
    others = [other for _, other in clear if other.kind == finding.kind]
    stories = {word for word in finding.evidence if (kind := story(word)) and any(not _tells(kind, o) for o in others)}
    if stories:  # true of this case by chance, as it is not true of another
        finding = replace(finding, evidence=tuple(word for word in finding.evidence if word not in stories))
    return case, finding


def _tells(kind: str, finding: Finding) -> bool:
    return any(story(word) == kind for word in finding.evidence)


def _read_map(
    submission: Submission, exercise: Exercise, case: Case, output: Tensor, finding: Finding
) -> Finding | None:
    """Tell the weights instead of what was mixed with them, if the output can be weights: this case shows them."""
    mine, wanted = attention_map(case, output), attention_map(case, case.expected)
    if not can_be_weights(mine, beside_the_map(case, output)) or not _adds_up(submission, exercise, case, output):
        return None
    axes = ("query", "key")
    words = of_weights(mine, causal=True)
    evidence = (
        difference(mine, wanted, worst_index(mine, wanted), axes),
        *([words] if words else finding.evidence[1:]),
    )
    headline = f"{finding.headline.split(':')[0]}: right shape, wrong attention weights"
    return replace(finding, headline=headline, evidence=evidence, picture=maps("attention map", mine, wanted, axes))


def _adds_up(submission: Submission, exercise: Exercise, case: Case, output: Tensor) -> bool:
    """With 1 added to all values, does each output grow by the sum of its weights? If not, what looks like weights is
    something else."""
    name = "V" if "V" in case.arguments else "value.bias"
    other = _with(replace(case, name=f"{case.name}, other values"), {name: case.tensor(name) + 1})
    try:
        more = exercise.call(submission, other).value
    except CheckFailed:
        return False
    if not _like(more, case.expected):
        return False
    heads = attention_map(case, output)
    sums = heads.double().sum(-1).transpose(1, 2)[..., None]  # (batch, queries, heads, 1)
    grown = (more.double() - output.double()).reshape(*sums.shape[:-1], -1)
    return bool(((grown - sums).abs() <= 1e-3).all())


def must_be_repeatable(submission: Submission, exercise: Exercise, cases: Reference | Case) -> None:
    """Before anything else is said of wrong results: do two calls with the same tensors give the same?

    What depends on chance looks as if it depended on whatever was changed between two calls.
    """
    known = _RANDOM.setdefault(submission, {})
    if exercise.slug not in known:
        case = cases if isinstance(cases, Case) else next(iter(few(cases, 1)), cases.cases[0])
        known[exercise.slug] = _randomness(submission, exercise, case)
    finding = known[exercise.slug]
    if finding is not None:
        raise CheckFailed(finding)


_RANDOM: WeakKeyDictionary[Submission, dict[str, Finding | None]] = WeakKeyDictionary()


def _randomness(submission: Submission, exercise: Exercise, case: Case) -> Finding | None:
    try:
        one = answer(submission, exercise, case).value
        two = exercise.call(submission, case.kept("forward", case.forward_only)).value
    except CheckFailed:
        return None
    if not (isinstance(one, Tensor) and isinstance(two, Tensor)) or close(one, two, 0.0):  # NaN twice is the same
        return None
    return differing(exercise, case)


def differing(exercise: Exercise, case: Case, cause: str = "") -> Finding:
    """What is said of two calls that differ."""
    headline = f"{exercise.slug}: two calls with the same tensors differ: something in it is random"
    why = "Dropout that is on, weights made inside the call and an unfilled torch.empty do that."
    return Finding("random", headline, (called_with(case), why), cause)


def must_be_right_first(submission: Submission, exercise: Exercise, case: Case) -> None:
    """Of a hidden check, before it says that a property does not hold: with wrong values, that is no news."""
    if submission.part == "hidden":
        found = exercise.judge(answer(submission, exercise, case).value, case, Tolerance(1e-4, 1e-4))
        if found is not None:
            fail("waiting", f"{exercise.slug}: not checked: the results are not right yet")


def must_be_finite(slug: str, case: Case, *results: Tensor) -> None:
    """NaN is the same as nothing, so that nothing follows from what it does."""
    if not all(bool(result.isfinite().all()) for result in results):
        fail("waiting", f"{slug}: not checked: the result holds NaN or infinity", called_with(case))


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
            if isinstance(before, Tensor) and not (isinstance(after, Tensor) and _equal(before, after)):
                fail(
                    "property",
                    f"{exercise.slug}: an input was written to",
                    called_with(case),
                    cause=f"{exercise.slug}.writes_into_input",
                )


def _equal(before: Tensor, after: Tensor) -> bool:
    """In value: a cache is given in the dtype that the submission likes."""
    return before.shape == after.shape and torch.equal(before.double(), after.double())


def gradients_flow(submission: Submission, reference: Reference, tolerance: Tolerance) -> None:
    """Gradients reach every input (and every weight) and are the reference's: in two public cases, in four hidden."""
    exercise = EXERCISES[reference.exercise]
    cases = few(reference, 2 if reference.part == "public" else 4)
    for case, reply in zip(cases, exercise.ask(submission, cases), strict=True):
        if isinstance(reply, CheckFailed):
            raise reply
        if exercise.judge(reply.value, case, tolerance) is not None:
            must_be_repeatable(submission, exercise, case)
            fail("waiting", f"{exercise.slug}: gradients are not checked yet: the values are not right")
        found = {name: _gradient(reply, case, name) for name in case.gradients}
        for name, gradient in found.items():  # all of them, before any value: a cut path bends the others, too
            if case.gradients[name].any() and (gradient is None or not gradient.any()):
                fail(
                    "property",
                    f"{exercise.slug}: no gradient reaches {name}",
                    called_with(case),
                    cause=f"{exercise.slug}.detached",
                    also=tuple(slug for slug in reference.causes if slug.endswith(".detached")),
                )
        for name, expected in case.gradients.items():
            gradient = found[name] if found[name] is not None else torch.zeros_like(expected)
            axes = ("row", "column") if "." in name else TOKENS if expected.dim() == 3 else exercise.axes
            finding = compare_values(f"gradient of {name}", gradient, expected, Tolerance(1e-3), axes)
            if finding is not None:
                must_be_repeatable(submission, exercise, case)
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
        _earlier_tokens_stay(submission, exercise, case, inputs, first, later.value)


def _changed(case: Case, inputs: tuple[str, ...]) -> Case:
    return _with(case, {name: _other_end(case.tensor(name)) for name in inputs})


def _other_end(value: Tensor) -> Tensor:
    changed = value.clone()
    changed[:, -1] += 3.0
    return changed


def _earlier_tokens_stay(
    submission: Submission, exercise: Exercise, case: Case, inputs: tuple[str, ...], first: Plain, later: Plain
) -> None:
    if not (_like(first, case.expected) and _like(later, case.expected)):
        _must_have_the_form(exercise.slug, first, later)
    moved = ~torch.isclose(first.double(), later.double(), rtol=1e-4, atol=1e-5)[:, :-1]  # NaN is never close
    if moved.any():
        must_be_repeatable(submission, exercise, case)
        must_be_right_first(submission, exercise, case)
        must_be_finite(exercise.slug, case, first, later)
        last, token = case.tensor(inputs[0]).shape[1] - 1, first_index(moved)[1]
        fail(
            "property",
            f"{exercise.slug}: token {token} depends on the future",
            called_with(case),
            f"Changing only token {last} changed the output of token {token}.",
        )


def order_of_keys_is_irrelevant(submission: Submission, case: Case) -> None:
    """Without a mask, moving keys and values together changes nothing."""
    exercise = EXERCISES["self_attention"]
    first = answer(submission, exercise, case).value
    second = exercise.call(submission, case.kept("keys moved", partial(_keys_moved, case))).value
    if not (_like(first, case.expected) and _like(second, case.expected)):
        _must_have_the_form("self_attention", first, second)
    if not torch.allclose(first.double(), second.double(), rtol=1e-4, atol=1e-5):
        must_be_repeatable(submission, exercise, case)
        must_be_right_first(submission, exercise, case)
        must_be_finite(exercise.slug, case, first, second)
        fail(
            "property",
            "self_attention: the order of keys matters, though nothing is masked",
            called_with(case),
            "Keys and values were moved together by one place, and the output changed.",
        )


def _keys_moved(case: Case) -> Case:
    order = torch.arange(case.tensor("K").shape[1]).roll(1)
    return _with(case, {name: case.tensor(name)[:, order].contiguous() for name in ("K", "V")})


def _must_have_the_form(slug: str, *results: Plain) -> NoReturn:
    if not all(isinstance(result, Tensor) for result in results):
        fail("type", f"{slug}: the result must be a tensor")
    if any(isinstance(result, Tensor) and result.is_complex() for result in results):
        fail("dtype", f"{slug}: the result must hold real numbers")
    fail("shape", f"{slug}: the result must be a tensor with the shape of its input")


def _like(value: Plain, expected: Tensor) -> TypeGuard[Tensor]:
    return isinstance(value, Tensor) and value.shape == expected.shape and not value.is_complex()


def answer(submission: Submission, exercise: Exercise, case: Case) -> Reply:
    """What a submission makes of a case, without gradients. Asked once: several checks look at the same answer."""
    ask_ahead(submission, exercise, [case])
    _, found = submission._answers[id(case)]
    if isinstance(found, CheckFailed):
        raise found
    return found


def ask_ahead(
    submission: Submission, exercise: Exercise, cases: Sequence[Case], give_back: Sequence[Case] | None = None
) -> None:
    """Have the answers to several cases at hand; of those in `give_back`, or of all small ones, the inputs, too."""
    known = submission._answers
    unknown = [case for case in cases if id(case) not in known]
    wanted = {id(case) for case in (unknown if give_back is None else give_back) if _is_small(case)}
    asked = [_alone(case, id(case) in wanted) for case in unknown]
    if asked:
        for case, reply in zip(unknown, exercise.ask(submission, asked), strict=True):
            known[id(case)] = case, reply  # the case is kept, too, so that no other can have the same identity


def _alone(case: Case, give_back: bool) -> Case:
    """Without gradients. Inputs that come back show whether they were written to."""
    name = "inputs back" if give_back else "forward"
    return case.kept(name, lambda: replace(case.forward_only(), give_back=give_back, made={}))


def _is_small(case: Case) -> bool:
    return case.expected.numel() <= 300


def few(reference: Reference, count: int = 4) -> list[Case]:
    """The largest cases that are still small: enough for a property, and quick for code that loops."""
    small = [case for case in reference.usual if _is_small(case)]
    return sorted(small, key=lambda case: -case.expected.numel())[:count]


def _with(case: Case, other: dict[str, Tensor]) -> Case:
    return Case(case.name, {**case.arguments, **other}, case.expected)


def rows_are_weights(submission: Submission, case: Case) -> None:
    """Every row of the softmax is positive and sums to 1, even for large scores."""
    given = answer(submission, EXERCISES["attn_softmax"], case).value
    weights = needs_tensor(given, "attn_softmax", case.expected.shape)
    if not bool(weights.isfinite().all()):
        fail("non-finite", "attn_softmax: the result holds NaN or infinity", called_with(case))
    sums = weights.sum(-1)
    wrong = ((sums - 1).abs() > 1e-4) | (weights < 0).any(-1)
    if wrong.any():
        index = first_index(wrong)
        row, total = numbers(weights[index]), float(sums[index])
        why = f"sums to {total:.6g}, not 1" if abs(total - 1) > 1e-4 else "holds a negative number"
        fail(
            "property",
            "attn_softmax: a row is not a set of weights",
            called_with(case),
            f"{spoken(index, ('query',))}: {row} {why}.",
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
    must_be_finite("apply_rotary_emb", case, rotated)
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
    tokens, like_own = cache.shape[0], cache_like_own(submission, cache)
    form = torch.Size((1, 1, tokens, query.shape[-1]))
    calls = [
        Request("call", "apply_rotary_emb", arguments=(vector.expand(form).contiguous(), like_own))
        for vector in (query, key)
    ]
    rotated = []
    for reply in submission.ask_all(calls, "apply_rotary_emb"):
        if isinstance(reply, CheckFailed):
            raise reply
        rotated.append(needs_tensor(reply.value, "apply_rotary_emb", form)[0, 0])
    if not all(bool(vectors.isfinite().all()) for vectors in rotated):
        fail("waiting", "apply_rotary_emb: not checked: the result holds NaN or infinity")
    products = rotated[0] @ rotated[1].T  # (query position, key position)
    for distance in range(tokens):
        along = products.diagonal(distance)
        if not torch.allclose(along, along[0].expand_as(along), atol=1e-3 * float(query.norm() * key.norm())):
            fail(
                "property",
                "apply_rotary_emb: only the distance between two tokens may matter",
                f"At distance {distance}, query · key is {numbers(along)}; these should be equal.",
            )


def first_row_is_unrotated(submission: Submission, case: Case) -> None:
    """Position 0 has cos 1 and sin 0 for every pair, in sizes beyond those of a case."""
    dim, max_positions = case.number("dim") + 2, case.number("max_positions") + 2
    cache = needs_tensor(
        submission.precompute_rotary_emb(dim, max_positions),
        "precompute_rotary_emb",
        torch.Size((max_positions, dim // 2, 2)),
    )
    if not bool(cache[0].isfinite().all()):
        fail("non-finite", "precompute_rotary_emb: position 0 holds NaN or infinity")
    unrotated = torch.tensor([1.0, 0.0], dtype=torch.float64).expand(dim // 2, 2)
    if not torch.allclose(cache[0], unrotated, atol=1e-4):
        fail(
            "property",
            "precompute_rotary_emb: position 0 must not rotate",
            f"dim = {dim}, max_positions = {max_positions}: row 0 should be [cos 0, sin 0] = [1, 0] for every pair.",
        )


def evaluation_is_deterministic(submission: Submission, reference: Reference) -> None:
    """The same input gives the same output (of a module, in evaluation mode)."""
    exercise = EXERCISES[reference.exercise]
    cases = few(reference, 1)
    for case, again in zip(
        cases, exercise.ask(submission, [case.kept("forward", case.forward_only) for case in cases]), strict=True
    ):
        if isinstance(again, CheckFailed):
            raise again
        one, two = answer(submission, exercise, case).value, again.value
        if not (isinstance(one, Tensor) and isinstance(two, Tensor)):
            fail("type", f"{exercise.slug}: the result must be a tensor")
        if not close(one, two, 0.0):  # NaN twice is the same
            dropped = _drops_weights(submission, exercise, reference)
            raise CheckFailed(differing(exercise, case, f"{exercise.slug}.dropout_in_evaluation" if dropped else ""))


def _drops_weights(submission: Submission, exercise: Exercise, reference: Reference) -> bool:
    """Is it dropout? Of weights that can be read, it makes some 0, others in each call, and leaves the rest alike."""
    maps = [case for case in reference.cases if case.name == MAP]
    asked = [case.kept("forward", case.forward_only) for case in maps for _ in range(4)]
    found = [reply.value for reply in exercise.ask(submission, asked) if isinstance(reply, Reply)]
    outputs = [value for value in found if _like(value, maps[0].expected)]
    for one, two in itertools.pairwise(outputs):
        both = (one != 0) & (two != 0)
        if not both.any() or not torch.allclose(one[both], two[both], rtol=1e-4, atol=1e-6):
            return False
    return any(bool(((one == 0) != (two == 0)).any()) for one, two in itertools.pairwise(outputs))


def merge_undoes_split(submission: Submission, case: Case) -> None:
    """Merging what was split gives back the same numbers, exactly; in the sizes of a case."""
    batch, heads, tokens, size = case.tensor("y").shape
    count = batch * tokens * heads * size
    whole = torch.arange(count, dtype=torch.float32).reshape(batch, tokens, heads * size)
    # Split here, by slicing, so that only the student's merging is judged.
    parts = torch.stack(whole.chunk(heads, dim=-1), dim=1)
    merged, whole = needs_tensor(submission.merge_heads(parts), "merge_heads", whole.shape), whole.double()
    if not torch.equal(merged, whole):
        index = first_index(merged != whole)
        fail(
            "property",
            "merge_heads: merging does not undo splitting",
            f"x = arange({whole.numel()}) shaped {tuple(whole.shape)}, split into {heads} heads",
            difference(merged, whole, index, ("batch", "token", "feature")),
        )
