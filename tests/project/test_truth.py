"""Every statement of every report on every known mistake is true, and the checker would notice if it were not."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch

from benchmarks import feedback, truth


@pytest.fixture(scope="module")
def asked(root):
    return feedback.material(root / "tests")


@pytest.fixture(scope="module")
def given(asked):
    cases = {key: [truth.Case(*one) for one in cases] for key, cases in asked["cases"].items()}
    return truth.Material(cases, asked["text"], asked["block_size"])


@pytest.mark.slow
def test_every_statement_on_every_mistake_is_true(root, sources, table, tmp_path):
    mutants = {slug: sources.mutant(mistake) for slug, mistake in table.items()}
    feedback.lay_out_all(tmp_path / "mutants", mutants, sources)
    found = feedback.measured(root, tmp_path / "mutants", mutants, sources.solved())
    assert found.unknown == [] and found.untrue == []
    assert found.reports == found.with_both == found.both_unnamed == len(table)
    assert found.statements > 15 * len(table)


def saying(exercise, headline, *evidence, part="public", check="matches_reference", claim="it is right"):
    return truth.Saying(exercise, part, check, claim, headline, evidence)


# Of the mutants beside them: what is not so. Sentences that used to be said are among them.
UNTRUE = {
    "split_heads.view_without_transpose": [
        ("split_heads", "split_heads: right shape (1, 2, 2, 2), wrong values",
         "two tokens by hand: x of shape (1, 2, 4), n_heads = 2",
         "Right but for two axes: heads and tokens have changed places."),
        ("split_heads", "split_heads: right shape (2, 3, 5, 4), wrong values",
         "three heads: x = arange(120) shaped (2, 5, 12), n_heads = 3", "Right up to a factor of 2."),
        ("split_heads", "split_heads: right shape (2, 3, 5, 4), wrong values",
         "three heads: x = arange(120) shaped (2, 5, 12), n_heads = 3", "Token 0 is right, the others are not."),
        ("split_heads", "split_heads: right shape (2, 3, 5, 4), wrong values",
         "three heads: x = arange(120) shaped (2, 5, 12), n_heads = 4"),
        ("split_heads", "split_heads: shape (2, 3, 5, 4), expected (2, 3, 5, 4)",
         "three heads: x = arange(120) shaped (2, 5, 12), n_heads = 3", "Right for: three heads."),
    ],
    "self_attention.adds_the_input": [
        ("self_attention", "self_attention: right shape, wrong attention weights",
         "attention map: Q, K, V of shape (1, 4, 10), n_heads = 2, causal = True",
         "Nobody looks ahead, but the weights of query 2 sum to 0.5, not 1."),
        ("self_attention", "self_attention: token 0 depends on the future",
         "checkpoint 2: one head, causal: Q, K, V of shape (2, 5, 12), n_heads = 1, causal = True",
         "Changing only token 4 changed the output of token 0."),
        ("self_attention", "self_attention: an input was written to",
         "checkpoint 2: one head, causal: Q, K, V of shape (2, 5, 12), n_heads = 1, causal = True"),
        ("self_attention", "self_attention: two calls with the same tensors differ: something in it is random"),
        ("self_attention", "self_attention: your code raised RuntimeError inside merge_heads"),
    ],
    "make_causal_mask.no_diagonal": [
        ("self_attention", "self_attention: token 1 depends on the future",
         "checkpoint 3: three heads, causal: Q, K, V of shape (2, 5, 12), n_heads = 3, causal = True"),
    ],
    "query132.too_short": [
        ("query132", "query132: error 0.1855, must be at most 0.05",
         "A query in the same direction, 1.5 times as long, would do."),
        ("key141", "key141: error 0.1284, must be at most 0.05", "Row 2 is 5 times too long."),
    ],
    "apply_causal_mask.booleans_only": [
        ("apply_causal_mask", "apply_causal_mask: does not work for a mask of booleans",
         "by hand: mask of shape (2, 2), A of shape (1, 2, 2)"),
        ("apply_causal_mask", "apply_causal_mask: does not work for a mask of 0.0 and 1.0",
         "by hand: mask of shape (2, 2), A of shape (1, 2, 2)",
         "Right for a mask of booleans and whole numbers 0 and 1."),
        ("apply_causal_mask", "apply_causal_mask: kinds of masks are checked once the values are right"),
    ],
    "self_attention.default_not_causal": [
        ("self_attention", "self_attention(Q, K, V, causal=True): wrong, though right with all five by position",
         "checkpoint 2: one head, causal: Q, K, V of shape (2, 5, 12), n_heads = 1, causal = True"),
        ("self_attention", "self_attention(Q, K, V): refused", "Yours is self_attention(Q, K, V)."),
    ],
    "self_attention.returns_the_weights_too": [
        ("self_attention", "self_attention: returned tuple, expected a torch.Tensor",
         "checkpoint 2: one head, causal: Q, K, V of shape (2, 5, 12), n_heads = 1, causal = True",
         "It holds one thing: is there a comma at the end of the line?"),
        ("self_attention", "self_attention: the result must hold real numbers"),
    ],
    "span_corruption.span_of_half": [
        ("span_corruption", "span_corruption: the span can be empty"),
        ("span_corruption", "span_corruption: this is checked once the form of all examples is right"),
        ("span_corruption", "span_corruption: prefix + span + suffix is not the beginning of the document",
         "one example: Born⁇ in⁇Vienna□□□□□□□□□□□□□□□□□□□□□□□□", "put together again: Born Vienna in",
         "the document:       Born in Vienna, Hedy Lamarr was an inventor …"),
        ("span_corruption", "span_corruption: the kept length never varies", "It is always 35."),
        ("span_corruption", "span_corruption: a document of 20 characters was never cut in 60 examples"),
        ("span_corruption", "span_corruption: spaces at the end of a document are lost"),
        ("span_corruption", "span_corruption: an example has two MASKs, and a third only where its text ends",
         "one example: Love⁇⁇⁇la□□□□□□□□□□□□□□□□□□□□□□□□□□□□□□□□"),
        ("span_corruption", "span_corruption: x is list, expected a torch.Tensor"),
    ],
    "causal_self_attention.forgets_proj": [
        ("causal_self_attention", "CausalSelfAttention: it has no layer called proj; the given __init__ makes it"),
        ("causal_self_attention",
         "CausalSelfAttention: the layer key has no bias; the given __init__ makes nn.Linear layers with bias"),
        ("causal_self_attention", "causal_self_attention: its layers are not those that the given __init__ makes"),
    ],
    "span_corruption.one_mask": [
        ("span_corruption", "span_corruption: an example has two MASKs (or three), yours has 4",
         "one example: Born⁇ in Viennan□□□□□□□□□□"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("slug", UNTRUE)
def test_what_is_untrue_is_found(given, sources, table, slug):
    torch.set_num_threads(1)
    witness = truth.Witness(truth.Code(sources.mutant(table[slug])), truth.Code(sources.solved()), given)
    for exercise, *statements in UNTRUE[slug]:
        one = saying(exercise, *statements)
        about = truth.told(one, witness)
        assert not all(truth.holds(statement, about) for statement in one.statements()), statements


def test_a_hidden_claim_that_holds_after_all_is_found(given, sources, table):
    """What hidden checks used to say of gradients as long as values were wrong."""
    mutant = truth.Code(sources.mutant(table["self_attention.adds_the_input"]))
    one = saying("self_attention", "self_attention: this does not hold", part="hidden", check="lets_gradients_flow")
    about = truth.told(one, truth.Witness(mutant, truth.Code(sources.solved()), given))
    assert not truth.holds(one.headline, about)
    assert truth.holds("self_attention: not checked: the results are not right yet", about)


HIDDEN_OF_SPANS = (
    "form",
    "varies",
    "keeps_every_length",
    "never_empty",
    "shorter_documents",
    "short_documents",
    "keeps_spaces",
)


def test_what_hidden_checks_say_of_spans_is_tried_with_the_mutant(given, sources, table):
    """Of a span that is too long, its share is not right; all else is."""
    mutant = truth.Code(sources.mutant(table["span_corruption.span_of_half"]))
    witness = truth.Witness(mutant, truth.Code(sources.solved()), given)

    def holds(check, words):
        one = saying("span_corruption", f"span_corruption: {words}", part="hidden", check=check)
        return truth.holds(one.headline, truth.told(one, witness))

    assert holds("takes_a_quarter", "this does not hold")
    assert not any(holds(check, "this does not hold") for check in HIDDEN_OF_SPANS)
    for words in (
        "your code raised an exception",
        "the result has the wrong shape",
        "not checked: the results are not right yet",
    ):
        assert not holds("form", words)


def test_a_sentence_that_nobody_knows_is_an_error(given, sources):
    right = truth.Code(sources.solved())
    about = truth.told(saying("self_attention", "x"), truth.Witness(right, right, given))
    with pytest.raises(truth.Unknown, match="no pattern knows: Perhaps it rains"):
        truth.holds("Perhaps it rains.", about)


@pytest.mark.slow
def test_a_report_is_taken_apart(root, sources, table, tmp_path):
    mutants = {"split_heads.interleaved": sources.mutant(table["split_heads.interleaved"])}
    feedback.lay_out_all(tmp_path / "mutants", mutants, sources)
    found = feedback.measured(root, tmp_path / "mutants", mutants, sources.solved())
    assert (found.reports, found.with_both, found.untrue, found.unknown) == (1, 1, [], [])
    (path,) = (tmp_path / "mutants-said").glob("*.json")
    results, unnamed = json.loads(path.read_text())
    assert "every n_heads-th feature" in feedback.fix_first(results)
    assert "wrong values" in feedback.fix_first(unnamed) and "src/attention.py" in feedback.fix_first(unnamed)
    assert "untrue" in feedback.table({"here": replace(found, untrue=[("a", "b", "c 3.5")])})
    assert feedback.kinds([("a", "b", "c 3.5"), ("a", "b", "c 4")]) == [("c N", 2)]
    for bare in ("x: the values differ from the reference.", "x: this does not hold."):
        assert feedback.BARE.fullmatch(bare)
