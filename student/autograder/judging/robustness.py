"""Claims that go beyond right values: dtype and layout, kinds of masks, and ways of calling."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from autograder.judging.checks import called_with, fail, few, is_right, judged, told
from autograder.judging.compare import Tolerance
from autograder.judging.exercises import EXERCISES
from autograder.judging.findings import CheckFailed, Finding
from autograder.judging.references import Case, Reference, close
from autograder.judging.submission import Submission
from autograder.running.perform import Request
from autograder.running.plain import Plain


def keeps_dtype_and_layout(submission: Submission, reference: Reference, tolerance: Tolerance) -> None:
    """float64 stays float64, and tensors that are not contiguous are taken, too."""
    _after_values(submission, reference, tolerance, "dtype and layout")
    outputs, findings = judged(submission, reference, reference.unusual, tolerance)
    if any(findings):
        usual, right = judged(submission, reference, reference.usual, tolerance)
        raise told(submission, reference, [*outputs, *usual], [*findings, *right])


def _after_values(submission: Submission, reference: Reference, tolerance: Tolerance, what: str) -> None:
    if not is_right(submission, reference, tolerance):
        fail("waiting", f"{reference.exercise}: {what} are checked once the values are right")


KINDS = {"booleans": torch.bool, "0.0 and 1.0": torch.float32, "whole numbers 0 and 1": torch.int64}


def every_kind_of_mask(submission: Submission, reference: Reference, tolerance: Tolerance) -> None:
    """A mask of booleans works, and so does one of 0s and 1s."""
    _after_values(submission, reference, tolerance, "kinds of masks")
    (case,) = few(reference, 1)
    slug = reference.exercise
    replies = submission.ask_all(case.kept("kinds of masks", partial(_with_each_kind, slug, case)), slug)
    wrong: dict[str, Finding] = {}
    for kind, reply in zip(KINDS, replies, strict=False):
        failed = isinstance(reply, CheckFailed)
        finding = reply.finding if failed else EXERCISES[slug].judge(reply.value, case, tolerance)  # type: ignore[union-attr]
        if finding is not None:
            wrong[kind] = finding
    if not wrong:
        return
    kind, finding = next(iter(wrong.items()))
    right = [other for other in KINDS if other not in wrong]
    fail(
        finding.kind,
        f"{slug}: does not work for a mask of {kind}",
        called_with(case),
        *finding.evidence,
        f"Right for a mask of {' and '.join(right) if right else 'your own make_causal_mask'}.",
        cause=f"{slug}.booleans_only" if right == ["booleans"] else "",
    )


def _with_each_kind(slug: str, case: Case) -> list[Request]:
    masks = [case.tensor("mask").to(dtype) for dtype in KINDS.values()]
    return [Request("call", slug, arguments=(mask, case.tensor("A"))) for mask in masks]


DEFAULTS = {"n_heads": 1, "causal": True}


def defaults_and_keywords(submission: Submission, reference: Reference, tolerance: Tolerance) -> None:
    """What is not given is n_heads = 1 and causal = True, and both may be given by name."""
    _after_values(submission, reference, tolerance, "defaults and keywords")
    slug = reference.exercise
    by_need = {frozenset(_not_default(case)): case for case in reversed(reference.usual)}  # one of each kind
    calls: list[tuple[Case, dict[str, Plain]]] = []
    for needed in sorted(by_need, key=lambda names: (len(names), sorted(names))):  # first without any
        case = by_need[needed]
        calls.append((case, _not_default(case)))
    case = calls[-1][0]
    calls.append((case, {name: case.arguments[name] for name in reversed(DEFAULTS)}))  # both, in another order
    requests = [
        case.kept(f"with {[*options]}", partial(Request, "call", slug, arguments=_tensors(case), options=options))
        for case, options in calls
    ]
    for (case, options), reply in zip(calls, submission.ask_all(requests, slug), strict=False):
        said = f"{slug}({', '.join(('Q', 'K', 'V', *(f'{name}={value}' for name, value in options.items())))})"
        if isinstance(reply, CheckFailed):
            if reply.finding.kind != "arguments":
                raise reply
            cause = f"{slug}.{'parameters_renamed' if options else 'no_defaults'}"
            fail("arguments", f"{said}: refused", *reply.finding.evidence, cause=cause)
        finding = EXERCISES[slug].judge(reply.value, case, tolerance)
        if finding is not None:
            cause = (
                "" if "causal" in options or not _is_not_causal(submission, case, reply.value) else "default_not_causal"
            )
            fail(
                finding.kind,
                f"{said}: wrong, though right with all five by position",
                called_with(case),
                *finding.evidence,
                cause=f"{slug}.{cause}" if cause else "",
            )


def _not_default(case: Case) -> dict[str, Plain]:
    return {name: case.arguments[name] for name, usual in DEFAULTS.items() if case.arguments[name] != usual}


def _tensors(case: Case) -> tuple[Tensor, ...]:
    return tuple(value for value in case.arguments.values() if isinstance(value, Tensor))


def _is_not_causal(submission: Submission, case: Case, value: Plain) -> bool:
    """Is it what the same code gives without a mask?"""
    unmasked = submission.call("self_attention", *_tensors(case), case.number("n_heads"), False).value
    return isinstance(unmasked, Tensor) and isinstance(value, Tensor) and close(unmasked, value, 1e-5)
