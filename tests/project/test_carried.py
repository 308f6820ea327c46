"""Error carried forward: a share for what is wrong only because of a step below, and for nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autograder.checking.courses import read_course
from autograder.checking.points import rows
from autograder.errors import UserError

STEPS = ["pairwise_similarities", "attn_scaled", "apply_causal_mask", "make_causal_mask", "split_heads"]
WHOLE = ["self_attention", "causal_self_attention"]
ATTENTION = "src/attention.py"


@pytest.fixture
def carrying(course):
    """The course, in which what is built on the steps earns half of its points if only they are wrong."""
    items = {s: replace(item, carried_forward=50) if s in WHOLE else item for s, item in course.items.items()}
    return replace(course, items=items)


def hidden(course, outcomes):
    return {row.item.slug: row for row in rows(course, outcomes) if row.part == "hidden"}


@pytest.mark.parametrize(
    "slug", ["attn_scaled.not_scaled", "split_heads.interleaved", "make_causal_mask.one_ahead", "attn_softmax.twice"]
)
def test_what_is_wrong_only_because_of_a_step_earns_its_share(carrying, course, examine, sources, table, slug):
    outcomes = examine(sources.mutant(table[slug]), None)
    step = slug.split(".")[0]
    found, usual = hidden(carrying, outcomes), hidden(course, outcomes)
    assert (found[step].score, found["self_attention"].carried) == (0, (step,))
    assert (found["self_attention"].score, usual["self_attention"].score) == (4, 0)
    assert found["self_attention"].remark == (
        f"Carried forward: wrong only because of {step}, so that it earns 4 of 8 points."
    )
    assert usual["self_attention"].remark == "" and found["merge_heads"].carried == ()


def test_a_mistake_of_its_own_is_not_carried(carrying, examine, sources, table):
    outcomes = examine(sources.mutant(table["self_attention.forgets_to_scale"]), None)
    assert hidden(carrying, outcomes)["self_attention"].score == 0  # attn_scaled is right


def test_a_step_and_a_mistake_of_its_own_are_not_carried(carrying, examine, sources, table):
    both = sources.mutant(table["attn_scaled.not_scaled"], table["self_attention.always_causal"])
    assert hidden(carrying, examine(both, None))["self_attention"].score == 0


@pytest.mark.parametrize("answer", ["Q * float('nan')", "torch.zeros_like(Q)", "V", "Q", "torch.full_like(Q, 0.5)"])
@pytest.mark.parametrize("slug", ["apply_causal_mask.plus_infinity", "make_causal_mask.only_itself"])
def test_lazy_answers_are_carried_by_no_broken_step(carrying, examine, sources, table, slug, answer):
    """A broken step whose result would be NaN everywhere, or V, does not pay for an answer that is that by itself."""
    lazy = f"\n\ndef self_attention(Q, K, V, n_heads=1, causal=True):\n    return {answer}\n"
    texts = sources.mutant(table[slug])
    outcomes = examine({ATTENTION: texts[ATTENTION] + lazy}, [*STEPS, *WHOLE])
    assert hidden(carrying, outcomes)["self_attention"].score == 0


@pytest.mark.parametrize("answer", ["self.value(x)", "self.value(x).cumsum(1)", "self.value(x) + 0 * self.query(x)"])
@pytest.mark.parametrize("slug", ["make_causal_mask.only_itself", "compute_outputs.nothing_is_mixed"])
def test_a_module_without_attention_is_carried_by_no_broken_step(carrying, examine, sources, table, slug, answer):
    """With a mask of the diagonal alone, attention is only the projected values; those alone are no attention."""
    lazy = f"\n\nCausalSelfAttention.forward = lambda self, x: self.proj({answer})\n"
    outcomes = examine({ATTENTION: sources.mutant(table[slug])[ATTENTION] + lazy}, [*STEPS, *WHOLE, "compute_outputs"])
    assert hidden(carrying, outcomes)["causal_self_attention"].score == 0


def test_the_share_is_a_whole_number_of_per_cent(tmp_path, root):
    text = (root / "autograder/courses/default.toml").read_text()
    path = tmp_path / "c.toml"
    for share, fine in (("50", True), ("101", False), ("-1", False)):
        path.write_text(f"{text}\n[change]\nself_attention = {{ carried_forward = {share} }}\n")
        if fine:
            assert read_course(str(path)).items["self_attention"].carried_forward == 50
        else:
            with pytest.raises(UserError, match="'carried_forward' of 'self_attention' must be a number of per cent"):
                read_course(str(path))
