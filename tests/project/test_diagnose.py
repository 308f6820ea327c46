"""Two mistakes at once, and what to fix first."""

from __future__ import annotations

import pytest

from autograder.checking.advice import advice
from autograder.checking.points import rows
from autograder.judging.fingerprints import alike, fingerprint

ATTENTION = "src/attention.py"


def causes(outcomes, exercise):
    return {o.finding.cause for o in outcomes if o.finding and o.exercise == exercise} - {""}


@pytest.mark.parametrize(
    ("one", "other", "exercise"),
    [
        ("self_attention.adds_the_input", "attn_scaled.multiplied", "self_attention"),
        ("self_attention.forgets_to_scale", "make_causal_mask.one_ahead", "self_attention"),
        ("self_attention.scales_by_width", "self_attention.adds_the_input", "self_attention"),
        ("causal_self_attention.does_not_scale", "precompute_rotary_emb.wrong_base", "causal_self_attention"),
        ("precompute_rotary_emb.exponent_without_2", "precompute_rotary_emb.sin_before_cos", "precompute_rotary_emb"),
        ("causal_self_attention.forgets_the_mask", "causal_self_attention.rotates_values_too", "causal_self_attention"),
    ],
)
def test_two_mistakes_at_once_are_both_named(examine, sources, table, one, other, exercise):
    texts = sources.mutant(table[one], table[other])
    outcomes = examine({ATTENTION: texts[ATTENTION]}, [exercise])
    named = causes([o for o in outcomes if o.part == "public"], exercise)
    assert {frozenset(cause.split(" + ")) for cause in named} == {frozenset((one, other))}
    failed = next(o for o in outcomes if o.finding and o.finding.cause)
    assert failed.says.startswith("Two mistakes at once. ")


def test_a_pair_is_named_only_if_nothing_else_looks_like_it(root):
    from autograder.judging.references import read

    reference = read(root / "tests/public/attention/references/self_attention.safetensors")
    assert len(reference.pairs) > 300
    for number in range(0, len(reference.pairs), 7):
        assert int(alike(reference.prints, reference.prints[number]).sum()) == 1


def test_a_step_whose_own_checks_pass_is_never_accused(examine, sources):
    """Wrong numbers in a call look, from outside, as if the step were wrong; its own checks know better."""
    text = sources.texts[ATTENTION]
    right = "A = attn_scaled(pairwise_similarities(q, k), n_embd, n_heads)"
    wrong = text.replace(right, right.replace("n_embd, n_heads", "n_embd * n_heads, 1"))
    assert wrong != text
    together = examine({ATTENTION: wrong}, ["attn_scaled", "self_attention"])
    assert causes(together, "self_attention") == set()
    alone = examine({ATTENTION: wrong}, ["self_attention"])
    (says,) = {o.says for o in alone if o.finding and o.finding.cause}
    assert says.startswith("It looks as if, in attn_scaled: You divide by √(n_embd · n_heads);")


def test_fingerprints_tell_values_places_and_odd_numbers_apart():
    import torch

    one = torch.randn(2, 3, 4)
    prints = torch.stack(
        [
            fingerprint(tensor)
            for tensor in (
                one,
                one.flip(0),
                one.mT.contiguous(),
                one * 1.001,
                one.double(),
                one.masked_fill(one == one.max(), torch.nan),
                one.masked_fill(one == one.max(), torch.inf),
            )
        ]
    )[:, None]
    for number, single in enumerate(prints):
        assert alike(prints, single).nonzero().flatten().tolist() == [number]
    assert alike(prints, fingerprint(one * (1 + 1e-7))[None])[0]


def told(course, outcomes):
    return [one.text() for one in advice(rows(course, outcomes))]


def test_a_low_mistake_is_told_once_with_what_hangs_on_it(examine, sources, table, course):
    outcomes = examine({ATTENTION: sources.mutant(table["attn_scaled.not_scaled"])[ATTENTION]})
    (only,) = told(course, outcomes)
    assert only.startswith("attn_scaled: Your output is the input: nothing is scaled → src/attention.py. ")
    assert only.endswith("(self_attention and causal_self_attention fail with it.)")


def test_two_low_mistakes_are_both_roots(examine, sources, table, course):
    pair = (table["attn_scaled.without_root"], table["split_heads.interleaved"])
    outcomes = examine({ATTENTION: sources.mutant(*pair)[ATTENTION]})
    assert [text.split(":")[0] for text in told(course, outcomes)] == ["attn_scaled", "split_heads"]


def test_a_mistake_of_its_own_is_not_blamed_on_a_step(examine, sources, table, course):
    pair = (table["attn_scaled.scaled_in_float32"], table["self_attention.adds_the_input"])
    outcomes = examine({ATTENTION: sources.mutant(*pair)[ATTENTION]}, ["attn_scaled", "self_attention"])
    assert [text.split(":")[0] for text in told(course, outcomes)] == ["attn_scaled", "self_attention"]


def test_a_file_that_cannot_be_loaded_is_told_once(examine, course):
    outcomes = examine({ATTENTION: "def f(:\n"})
    (only,) = told(course, outcomes)
    what = "src/attention.py could not be loaded: SyntaxError: invalid syntax → src/attention.py line 1."
    assert only.startswith(f"pairwise_similarities: {what}")  # no given function is named
    assert only.endswith("and 10 more fail with it.)")


def test_what_is_missing_comes_last_and_what_is_not_started_is_no_mistake(examine, sources, course):
    text = sources.texts[ATTENTION].replace("def merge_heads", "def merge_head").replace("merge_heads(", "merge_head(")
    text = text.replace("return A @ V", "return V @ A")
    assert "not found in your submission" in told(course, examine({ATTENTION: text}))[-1]
    started = "\n\ndef split_heads(x, n_heads):\n    raise NotImplementedError\n"
    outcomes = examine({ATTENTION: sources.texts[ATTENTION] + started}, ["split_heads"])
    assert told(course, outcomes) == []
