"""The exercises that have reference tensors: how each is called, and how its result is judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from autograder.compare import Tolerance, compare_form, compare_values, difference, first_index
from autograder.findings import CheckFailed, Finding
from autograder.held_out import Split
from autograder.perform import Reply, Request
from autograder.pictures import maps
from autograder.plain import Config, Plain
from autograder.references import Case
from autograder.submission import Instance, Submission

# All cases at once, because that is quicker; gradients come back if a case has a cotangent.
Ask = Callable[[Submission, Sequence[Case]], list[Reply | CheckFailed]]
Judge = Callable[[Plain, Case, Tolerance], Finding | None]

# Exercises whose name is not the name to look for in a student's file.
DEFINES: Mapping[str, str] = {
    "causal_self_attention": "CausalSelfAttention",
    "span_corruption": "CharCorruptionDataset",
    "char_vocabulary": "CharCorruptionDataset",
    "name_dataset": "NameDataset",
}


# Exercises whose answers are files that a trained model wrote: the variant of the model, as run.py is told, and the
# questions by which the course's threshold is measured.
PREDICTIONS: Mapping[str, tuple[str, Split]] = {
    "predictions_nopretrain": ("vanilla", "dev"),
    "predictions_vanilla": ("vanilla", "dev"),
    "predictions_rope": ("rope", "test"),
}
ASKING = frozenset({"london_baseline", *PREDICTIONS})  # about the questions of a term, which only its data answers


@dataclass(frozen=True)
class Exercise:
    """One exercise. `tolerance` is the course's name for it; `axes` names the result's last axes."""

    slug: str
    axes: tuple[str, ...]
    ask: Ask
    judge: Judge
    tolerance: str = "values"

    def call(self, submission: Submission, case: Case) -> Reply:
        """One case alone."""
        (reply,) = self.ask(submission, [case])
        if isinstance(reply, CheckFailed):
            raise reply
        return reply


def _function(slug: str) -> Ask:
    def ask(submission: Submission, cases: Sequence[Case]) -> list[Reply | CheckFailed]:
        requests = [case.kept("request", partial(_request, slug, case)) for case in cases]
        replies: list[Reply | CheckFailed] = []
        while len(replies) < len(requests):
            replies += submission.ask_all(requests[len(replies) :], slug)
        return replies

    return ask


def _request(slug: str, case: Case) -> Request:
    arguments = tuple(case.arguments.values())
    return Request("call", slug, arguments=arguments, cotangent=case.cotangent, give_back=case.give_back)


def _by_values(slug: str, axes: tuple[str, ...]) -> Judge:
    def judge(actual: Plain, case: Case, tolerance: Tolerance) -> Finding | None:
        return compare_values(slug, actual, case.expected, tolerance, axes)

    return judge


def _rope_cache(actual: Plain, case: Case, tolerance: Tolerance) -> Finding | None:
    """The cache may be float32 or float64, whichever the student likes."""
    if isinstance(actual, Tensor) and actual.dtype == torch.float64:
        actual = actual.float()
    return compare_values("precompute_rotary_emb", actual, case.expected, tolerance, ("position", "pair", "cos/sin"))


def _mask(actual: Plain, case: Case, tolerance: Tolerance) -> Finding | None:
    """Booleans and numbers 0 and 1 of any type are the same answer."""
    form = compare_form("make_causal_mask", actual, case.expected, dtype=False, axes=("query", "key"))
    if form is not None:
        return form
    assert isinstance(actual, Tensor)
    if actual.is_complex():
        return Finding("dtype", "make_causal_mask: complex numbers, expected True/False or 1/0")
    numbers, expected = actual.double(), case.expected.double()
    strange = (numbers != 0) & (numbers != 1)
    if strange.any():
        value = float(numbers[first_index(strange)])
        return Finding(
            "values",
            "make_causal_mask: entries must be True/False or 1/0",
            (f"One of yours is {value:g}.", "1 means 'may attend'; -inf belongs in apply_causal_mask."),
        )
    wrong = numbers != expected
    if not wrong.any():
        return None
    index = first_index(wrong)
    return Finding(
        "values",
        f"make_causal_mask: right shape {tuple(actual.shape)}, wrong pattern",
        (
            difference(numbers, expected, index, ("query", "key")),
            f"Query {index[0]} {'may' if expected[index] else 'may not'} attend to key {index[1]}.",
        ),
        picture=maps("make_causal_mask", numbers, expected, ("query", "key")),
    )


def _masked_scores(actual: Plain, case: Case, tolerance: Tolerance) -> Finding | None:
    """Judged by effect: allowed scores untouched, the others of weight exactly 0 after a softmax."""
    name, axes = "apply_causal_mask", ("query", "key")
    form = compare_form(name, actual, case.expected, axes=axes)
    if form is not None:
        return form
    assert isinstance(actual, Tensor)
    allowed = case.expected.isfinite()
    unlike = allowed & ~torch.isclose(actual, case.expected, rtol=1e-6, atol=1e-6)
    if unlike.any():
        return Finding(
            "values" if actual[first_index(unlike)].isfinite() else "non-finite",
            f"{name}: a score that is allowed was changed",
            (difference(actual, case.expected, first_index(unlike), axes),),
            picture=maps(name, actual, case.expected, axes),
        )
    leaking = ~allowed & (torch.softmax(actual, dim=-1) != 0)
    if leaking.any():
        index = first_index(leaking)
        return Finding(
            "values",
            f"{name}: a forbidden score still gets weight after the softmax",
            (
                difference(actual, case.expected, index, axes),
                f"Key {index[-1]} comes after query {index[-2]}, so its score must become -inf.",
            ),
            picture=maps(name, actual, case.expected, axes),
        )
    return None


def _apply_causal_mask(submission: Submission, cases: Sequence[Case]) -> list[Reply | CheckFailed]:
    """Right with a mask of booleans or with the student's own: both conventions are fine."""
    replies = _function("apply_causal_mask")(submission, cases)
    return [_with_own_mask(submission, case, reply) for case, reply in zip(cases, replies, strict=True)]


def _with_own_mask(submission: Submission, case: Case, reply: Reply | CheckFailed) -> Reply | CheckFailed:
    """The answer with the student's own mask, if only that one is right."""
    if isinstance(reply, CheckFailed):
        if reply.finding.kind != "exception":
            return reply
    elif _masked_scores(reply.value, case, Tolerance()) is None:
        return reply
    try:
        scores = case.tensor("A")
        own = submission.make_causal_mask(scores.shape[-1])
        with_own = submission.call("apply_causal_mask", own, scores)
        if _masked_scores(with_own.value, case, Tolerance()) is None:
            return with_own
    except CheckFailed:
        pass  # whatever went wrong here, the answer to the boolean mask stands
    return reply


WEIGHTS = tuple(f"{layer}.{part}" for layer in ("key", "query", "value", "proj") for part in ("weight", "bias"))


def _causal_self_attention(submission: Submission, cases: Sequence[Case]) -> list[Reply | CheckFailed]:
    replies: list[Reply | CheckFailed] = []
    while len(replies) < len(cases):  # more than once only if a process dies, and its modules with it
        rest = cases[len(replies) :]
        wanted = {_known_as(case): case.kept("module", partial(_module, case)) for case in rest}
        modules = submission.create_all("CausalSelfAttention", wanted)
        requests = []
        for case in rest:
            module = modules[_known_as(case)]
            if isinstance(module, CheckFailed):
                break
            requests.append(case.kept(f"forward {module.handle.number}", partial(_forward, module, case)))
        answered = submission.ask_all(requests, "CausalSelfAttention.forward") if requests else []
        replies += answered
        if len(answered) == len(requests) < len(rest):
            failed = modules[_known_as(rest[len(requests)])]
            assert isinstance(failed, CheckFailed)
            replies.append(failed)
    return replies


def _known_as(case: Case) -> str:
    """The same for cases with the same weights: those of a reference, and those made of one by changing x."""
    return f"CausalSelfAttention for {case.name} {id(case.arguments['key.weight'])}"


def _forward(module: Instance, case: Case) -> Request:
    return module.request("forward", case.tensor("x"), cotangent=case.cotangent, give_back=case.give_back)


def _module(case: Case) -> Request:
    settings: dict[str, int | float | bool] = {"attn_pdrop": 0.1, "resid_pdrop": 0.1}
    settings |= {name: case.number(name) for name in ("n_embd", "n_head", "block_size")}
    settings["rope"] = bool(case.number("rope"))
    state = {name: case.tensor(name) for name in WEIGHTS}
    return Request("create", "CausalSelfAttention", arguments=(Config(settings),), state=state)


TOKENS = ("batch", "token", "feature")
MAP = "attention map"  # the case in which token t of each head has the value one-hot(t), so that outputs are weights


def attention_map(case: Case, output: Tensor) -> Tensor:
    """The weights, (batch, heads, queries, keys), that the output of a MAP case shows."""
    heads = case.number("n_heads" if "n_heads" in case.arguments else "n_head")
    batch, tokens, _ = output.shape
    return output.reshape(batch, tokens, heads, -1).transpose(1, 2)[..., :tokens]


def _step(slug: str, *axes: str, judge: Judge | None = None, tolerance: str = "values") -> Exercise:
    return Exercise(slug, axes, _function(slug), judge or _by_values(slug, axes), tolerance)


EXERCISES: Mapping[str, Exercise] = {
    exercise.slug: exercise
    for exercise in (
        _step("pairwise_similarities", "query", "key"),
        _step("attn_scaled", "query", "key"),
        _step("attn_softmax", "query", "key"),
        _step("compute_outputs", "query", "feature"),
        _step("make_causal_mask", "query", "key", judge=_mask),
        Exercise("apply_causal_mask", ("query", "key"), _apply_causal_mask, _masked_scores),
        _step("split_heads", "batch", "head", "token", "feature"),
        _step("merge_heads", *TOKENS),
        _step("self_attention", *TOKENS),
        _step("precompute_rotary_emb", "position", "pair", "cos/sin", judge=_rope_cache, tolerance="rope"),
        _step("apply_rotary_emb", "token", "feature", tolerance="rope"),
        Exercise(
            "causal_self_attention",
            TOKENS,
            _causal_self_attention,
            _by_values("CausalSelfAttention", TOKENS),
            "rope",
        ),
    )
}
