"""The exercises that have reference tensors: how each is called, and how its result is judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from autograder.judging.compare import Tolerance, compare_form, compare_values, difference, first_index
from autograder.judging.diagnosis import Seen, as_it_is
from autograder.judging.findings import CheckFailed, Finding
from autograder.judging.held_out import Split
from autograder.judging.pictures import maps
from autograder.judging.references import Case
from autograder.judging.submission import Instance, Submission
from autograder.running.perform import Reply, Request
from autograder.running.plain import Config, Plain

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

STEPS = (
    *("pairwise_similarities", "attn_scaled", "attn_softmax", "compute_outputs"),
    *("make_causal_mask", "apply_causal_mask", "split_heads", "merge_heads"),
)
# Exercises that call others: what is wrong with those shows in these.
COMPOSED: Mapping[str, tuple[str, ...]] = {
    "self_attention": STEPS,
    "causal_self_attention": (*STEPS, "precompute_rotary_emb", "apply_rotary_emb"),
}
# What an exercise is built on: with a mistake there, it is wrong, too.
BUILT_ON: Mapping[str, tuple[str, ...]] = {"key141": ("query132",), "key142": ("query132",), **COMPOSED}
# What else an exercise may be built on. This orders advice and nothing else.
COMES_AFTER: Mapping[str, tuple[str, ...]] = {
    **BUILT_ON,
    "apply_causal_mask": ("make_causal_mask",),
    "split_heads_qkv": ("split_heads",),
    "name_dataset": ("char_vocabulary",),
    "span_corruption": ("char_vocabulary",),
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
    seen_as: Seen = as_it_is  # before it is compared with what known mistakes give

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
    if isinstance(actual, Tensor):
        actual = _in_float32(actual)
    form = compare_form("precompute_rotary_emb", actual, case.expected, axes=("position", "pair", "cos/sin"))
    if form is not None and form.kind == "dtype":
        return replace(form, evidence=("The cache may be float32 or float64.",))
    return compare_values("precompute_rotary_emb", actual, case.expected, tolerance, ("position", "pair", "cos/sin"))


def _in_float32(cache: Tensor) -> Tensor:
    return cache.float() if cache.dtype == torch.float64 else cache


def _by_truth(mask: Tensor) -> Tensor:
    """A mask of 0s and 1s as one of booleans; anything else as it is."""
    if mask.is_complex() or not bool(((mask == 0) | (mask == 1)).all()):
        return mask
    return mask.bool()


def _by_effect(scores: Tensor) -> Tensor:
    """What is far below every score is closed, whether by -inf or by -1e9; far above, likewise."""
    if not scores.is_floating_point():
        return scores
    closed = torch.where(scores < -HUGE, -torch.inf, scores)
    return torch.where(closed > HUGE, torch.inf, closed)


HUGE = 1e8  # the scores that are asked about are below 1e6


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
    odd = ~allowed & (actual.isnan() | (actual == torch.inf))
    if odd.any():
        index = first_index(odd)
        return Finding(
            "non-finite",
            f"{name}: a forbidden score became {'NaN' if actual[index].isnan() else '+inf'}",
            (difference(actual, case.expected, index, axes),),
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


# Of each submission, the dtype of the caches that its own precompute_rotary_emb makes.
_CACHES: WeakKeyDictionary[Submission, torch.dtype] = WeakKeyDictionary()


def cache_like_own(submission: Submission, cache: Tensor) -> Tensor:
    """A cache as the student's own code would make it: in float32, or in float64 if it makes such ones."""
    if submission not in _CACHES:  # its own checks have not been made
        _precompute_rotary_emb(submission, [Case("own", {"dim": 4, "max_positions": 2}, torch.empty(0))])
    return cache.to(_CACHES[submission])


def _precompute_rotary_emb(submission: Submission, cases: Sequence[Case]) -> list[Reply | CheckFailed]:
    """Looks at the dtype, too: if making a cache fails or never ends, that must cost no other exercise its time."""
    replies = _function("precompute_rotary_emb")(submission, cases)
    made = [reply.value for reply in replies if isinstance(reply, Reply)]
    double = any(isinstance(cache, Tensor) and cache.dtype == torch.float64 for cache in made)
    _CACHES[submission] = torch.float64 if double else torch.float32
    return replies


def _apply_rotary_emb(submission: Submission, cases: Sequence[Case]) -> list[Reply | CheckFailed]:
    given = [_with_cache(case, cache_like_own(submission, case.tensor("rope_cache"))) for case in cases]
    return _function("apply_rotary_emb")(submission, given)


def _with_cache(case: Case, cache: Tensor) -> Case:
    if cache.dtype == case.tensor("rope_cache").dtype:
        return case
    return case.kept("in float64", lambda: replace(case, arguments=case.arguments | {"rope_cache": cache}, made={}))


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


def beside_the_map(case: Case, output: Tensor) -> Tensor:
    """What else the output of a MAP case holds: features in which no token has a value, so that none has weight."""
    heads = case.number("n_heads" if "n_heads" in case.arguments else "n_head")
    batch, tokens, _ = output.shape
    return output.reshape(batch, tokens, heads, -1)[..., tokens:]


def _step(
    slug: str, *axes: str, judge: Judge | None = None, tolerance: str = "values", seen_as: Seen = as_it_is
) -> Exercise:
    return Exercise(slug, axes, _function(slug), judge or _by_values(slug, axes), tolerance, seen_as)


EXERCISES: Mapping[str, Exercise] = {
    exercise.slug: exercise
    for exercise in (
        _step("pairwise_similarities", "query", "key"),
        _step("attn_scaled", "query", "key"),
        _step("attn_softmax", "query", "key"),
        _step("compute_outputs", "query", "feature"),
        _step("make_causal_mask", "query", "key", judge=_mask, seen_as=_by_truth),
        Exercise("apply_causal_mask", ("query", "key"), _apply_causal_mask, _masked_scores, seen_as=_by_effect),
        _step("split_heads", "batch", "head", "token", "feature"),
        _step("merge_heads", *TOKENS),
        _step("self_attention", *TOKENS),
        Exercise(
            "precompute_rotary_emb",
            ("position", "pair", "cos/sin"),
            _precompute_rotary_emb,
            _rope_cache,
            "rope",
            _in_float32,
        ),
        Exercise(
            "apply_rotary_emb",
            ("token", "feature"),
            _apply_rotary_emb,
            _by_values("apply_rotary_emb", ("token", "feature")),
            "rope",
        ),
        Exercise(
            "causal_self_attention",
            TOKENS,
            _causal_self_attention,
            _by_values("CausalSelfAttention", TOKENS),
            "rope",
        ),
    )
}
