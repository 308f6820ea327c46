"""Wrong programs of which something untrue used to be said, each with what is said of it now."""

from __future__ import annotations

import re

import pytest
import torch

from autograder.checking import engine
from autograder.checking.advice import advice
from autograder.checking.courses import read_course
from autograder.checking.engine import Outcome, Sitting, collect
from autograder.checking.points import rows
from autograder.checking.wording import message
from autograder.judging.diagnosis import Raised, explain
from autograder.judging.findings import Finding
from autograder.judging.references import Case, Reference
from autograder.judging.submission import Submission
from autograder.running.frames import function_at, is_own
from autograder.running.loading import Loader
from autograder.running.perform import Performer

ATTENTION = "src/attention.py"


@pytest.fixture
def graded(examine, sources):
    """Grade the solution with some of its text replaced, by exercise."""

    def run(only, *changes):
        text = sources.texts[ATTENTION]
        for before, after in changes:
            assert text.count(before) == 1, before
            text = text.replace(before, after)
        return examine({ATTENTION: text}, only)

    return run


def said(outcomes, part="public"):
    """All that is said of failures, in words."""
    found = [message(o, "2.1", (ATTENTION,)) for o in outcomes if o.finding and o.part == part]
    return "\n".join("\n".join((one.headline, *one.evidence)) for one in found if one)


def told(outcomes):
    return [one.text() for one in advice(rows(read_course("default"), outcomes))]


# Two calls that differ

MERGED = "return merge_heads(compute_outputs(attn_softmax(A), v))  # (batch, tokens, n_embd)"


@pytest.mark.parametrize(
    "wrong",
    [
        "return torch.nn.functional.dropout(merge_heads(compute_outputs(attn_softmax(A), v)), 0.5)",
        "return nn.Linear(n_embd, n_embd, dtype=Q.dtype)(merge_heads(compute_outputs(attn_softmax(A), v)))",
        "return merge_heads(compute_outputs(attn_softmax(A), v)) + torch.empty_like(Q).uniform_()",
    ],
)
def test_what_is_random_is_called_random_and_nothing_else(graded, wrong):
    outcomes = graded(["self_attention"], (MERGED, wrong))
    for part in ("public", "hidden"):
        kinds = {o.name: o.finding.kind for o in outcomes if o.finding and o.part == part}
        assert kinds.pop("test_self_attention_lets_gradients_flow", "random") == "random"
        for claim in ("keeps_dtype_and_layout", "has_defaults_and_keywords"):
            assert kinds.pop(f"test_self_attention_{claim}") == "waiting"
        assert set(kinds.values()) == {"random"} and len(kinds) >= 2, kinds
        words = said(outcomes, part)
        assert "two calls with the same tensors differ: something in it is random" in words
        assert "future" not in words.replace("later tokens", "") and "order of keys" not in words
    assert "two calls with the same tensors differ" in told(outcomes)[0].lower()


def test_dropout_is_named_and_other_randomness_is_not(graded, examine, sources, table):
    dropout = examine(sources.mutant(table["causal_self_attention.dropout_in_evaluation"]), ["causal_self_attention"])
    assert any("is dropout on" in o.says for o in dropout)
    projected = "return self.resid_drop(self.proj(y))"
    anew = "return nn.Linear(n_embd, n_embd, dtype=x.dtype)(y)"
    outcomes = graded(["causal_self_attention"], (projected, anew))
    assert {o.finding.kind for o in outcomes if o.finding} == {"random", "waiting"}
    assert not any(o.says for o in outcomes)


def test_right_submissions_are_called_no_more_than_before(sources, tmp_path, monkeypatch, root):
    """Evidence costs only those of whom there is something to say."""
    from autograder.judging import checks
    from autograder.proving.assembling import lay_out

    lay_out(tmp_path, sources.solved())
    asked = []
    for name in ("must_be_repeatable", "must_be_right_first", "must_be_finite"):
        before = getattr(checks, name)
        monkeypatch.setattr(checks, name, lambda *all, before=before, name=name: (asked.append(name), before(*all)))
    course = read_course("default").of_code
    performer = Performer(Loader(tmp_path, course.files))
    sitting = Sitting(course, Submission(performer))
    only = ["self_attention", "causal_self_attention", "attn_softmax"]
    collect([root / "tests/public"], lambda examiner: examiner.examine(sitting, only))
    assert asked == []


# NaN


def test_nan_does_not_depend_on_the_future_or_on_an_order(graded):
    outcomes = graded(["self_attention"], (MERGED, f"{MERGED.split('  #')[0]} * float('nan')"))
    words = said(outcomes)
    assert "depends on the future" not in words and "order of keys" not in words
    assert "not checked: the result holds NaN or infinity" in words
    assert "self_attention: NaN at batch 0, token 0, feature 0" in words and "attention weights" not in words


def test_nan_keeps_no_length_and_no_distance(graded):
    outcomes = graded(["apply_rotary_emb"], ("return rotated.flatten(-2)", "return rotated.flatten(-2) * math.nan"))
    public = {o.name: o.finding for o in outcomes if o.part == "public"}
    for claim in ("keeps_lengths", "is_relative"):
        finding = public[f"test_apply_rotary_emb_{claim}"]
        assert finding.kind == "waiting" and "NaN" in finding.headline


def test_nan_where_it_is_forbidden_gets_no_weight(graded):
    right = "return A.masked_fill(mask == 0, -math.inf)"
    words = said(graded(["apply_causal_mask"], (right, right.replace("-math.inf", "math.nan"))))
    assert "apply_causal_mask: a forbidden score became NaN" in words and "gets weight" not in words


# Properties of what is not right yet


def test_hidden_properties_wait_until_the_values_are_right(graded):
    outcomes = graded(["self_attention"], ("    if causal:\n        A = apply", "    if False:\n        A = apply"))
    hidden = {o.name.removeprefix("test_self_attention_"): o for o in outcomes if o.part == "hidden" and o.finding}
    assert {name: o.finding.kind for name, o in hidden.items()} == {
        "matches_reference": "values",
        "cannot_see_the_future": "waiting",
        "lets_gradients_flow": "waiting",
        "keeps_dtype_and_layout": "waiting",
        "has_defaults_and_keywords": "waiting",
    }
    assert "this does not hold" not in said(outcomes, "hidden")
    assert said(outcomes, "hidden").count("not checked: the results are not right yet") == 4
    assert "token 0 depends on the future" in said(outcomes)  # the public check shows what it saw


def test_a_gradient_that_is_rightly_zero_is_no_missing_one(graded):
    """With one token the weights are 1, whatever the keys are: no gradient reaches them, and none should."""
    outcomes = graded(["self_attention"])
    assert {o.verdict for o in outcomes} == {"passed"}


# Attention maps and axes


def test_an_output_that_can_be_no_weights_is_not_read_as_weights(graded):
    outcomes = graded(["self_attention"], (MERGED, f"{MERGED.split('  #')[0]} * 2 - 0.7"))
    words = said(outcomes)
    assert "right shape (2, 5, 12), wrong values" in words
    assert not re.search("attention weights|sum to|attends|looks ahead", words)
    assert all(o.finding.picture.caption != "attention map" for o in outcomes if o.finding and o.finding.picture)


def test_heads_of_another_size_are_not_read_as_weights(examine, sources, table):
    """The outputs are weights, but of other heads than they seem to be: their sums say nothing."""
    texts = sources.mutant(table["split_heads.head_size_for_heads"])
    words = said(examine(texts, ["self_attention", "causal_self_attention"]))
    assert "wrong values" in words and "weights" not in words


@pytest.mark.parametrize(
    ("slug", "untrue"),
    [
        ("split_heads.view_without_transpose", "have changed places"),
        ("split_heads.interleaved", "have changed places"),
        ("attn_softmax.over_queries", "have changed places"),
        ("merge_heads.first_head_only", "places too late"),
    ],
)
def test_no_story_is_told_that_only_one_small_example_tells(examine, sources, table, slug, untrue):
    outcomes = examine(sources.mutant(table[slug]), [table[slug].exercise])
    assert "wrong values" in said(outcomes) and untrue not in said(outcomes)


def test_a_story_that_every_example_tells_is_told(examine, sources, table):
    outcomes = examine(sources.mutant(table["pairwise_similarities.keys_by_queries"]), ["pairwise_similarities"])
    assert "queries and keys have changed places" in said(outcomes)


# The grader's own loading of weights

LAYERS = {
    "no bias": (
        ("self.key = nn.Linear(config.n_embd, config.n_embd)", "self.key = nn.Linear(*2 * [config.n_embd], False)"),
        "CausalSelfAttention: the layer key has no bias; the given __init__ makes nn.Linear layers with bias",
    ),
    "renamed": (
        ("self.proj = nn.Linear(config.n_embd, config.n_embd)", "self.out = nn.Linear(config.n_embd, config.n_embd)"),
        "CausalSelfAttention: it has no layer called proj; the given __init__ makes it",
    ),
    "another shape": (
        ("self.query = nn.Linear(config.n_embd, config.n_embd)", "self.query = nn.Linear(config.n_embd, 7)"),
        "CausalSelfAttention: the weight of the layer query has shape (7, 12), expected (12, 12)",
    ),
    "no layer": (
        ("self.value = nn.Linear(config.n_embd, config.n_embd)", "self.value = nn.Identity()"),
        "CausalSelfAttention: the layer value has no weight; the given __init__ makes nn.Linear layers",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
def test_layers_that_take_no_weights_are_named(graded, name):
    change, expected = LAYERS[name]
    outcomes = graded(["causal_self_attention"], change)
    words = said(outcomes)
    assert expected in words and "Error" not in words and "perform.py" not in words
    assert {o.finding.kind for o in outcomes if o.finding} == {"layers"}
    assert "its layers are not those that the given __init__ makes" in said(outcomes, "hidden")
    assert expected.partition(": ")[2] in told(outcomes)[0]


# What to fix first


def test_an_exception_in_the_lines_of_another_exercise_is_that_ones(graded):
    """self_attention fails in split_heads: that is what to fix."""
    right = "return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)  # (batch, heads, tokens, head size)"
    only = ["split_heads", "self_attention"]
    outcomes = graded(only, (right, "return x.unflatten(-1, (n_heads, 99)).transpose(1, 2)"))
    (first,) = told(outcomes)
    assert first.startswith("split_heads: your code raised RuntimeError: unflatten")
    assert re.search(r"→ src/attention\.py line \d+\. \(self_attention fails with it\.\)", first)
    assert "self_attention: your code raised RuntimeError inside split_heads" in said(outcomes)


def test_a_step_that_is_right_is_not_blamed_for_what_it_is_given(graded):
    call = "q, k, v = split_heads_qkv(Q, K, V, n_heads)  # each (batch, heads, tokens, head size)"
    outcomes = graded(["split_heads", "self_attention"], (call, call.replace("n_heads)", "n_heads + 4)")))
    (first,) = told(outcomes)
    assert first.startswith("self_attention: your code raised RuntimeError inside split_heads, whose own checks pass")


def test_what_may_only_follow_is_said_so(graded):
    """No known mistake explains either, so nobody knows whether the step would help."""
    scaled = ("return A / math.sqrt(n_embd / n_heads)", "return A / 3")
    (only,) = told(graded(["attn_scaled", "self_attention"], scaled))
    assert only.startswith("attn_scaled: Your result is A / 3, whatever n_embd and n_heads are; ")
    assert only.endswith("→ src/attention.py. It may be why self_attention fails.") and "with it" not in only


def test_without_a_name_it_says_what_was_seen_and_where(graded):
    right = "return y.transpose(1, 2).flatten(-2)"
    (only,) = told(graded(["merge_heads"], (right, right + ".tanh()")))
    assert (
        only.startswith("merge_heads: right shape (1, 2, 4), wrong values; batch 0, token 1: yours")
        and "→ src/attention.py" in only
    )
    (only,) = told(graded(["merge_heads"], (right, "return y.transpose(1, 2).nothing")))
    assert "your code raised AttributeError: 'Tensor' object has no attribute 'nothing'" in only
    assert re.search(r"→ src/attention\.py line \d+\.$", only)


def test_a_hidden_failure_is_told_by_its_claim(graded):
    right = "return y.transpose(1, 2).flatten(-2)"
    (only,) = told(
        graded(["merge_heads"], (right, right + " if y.size(2) < 30 else y.transpose(1, 2).flatten(-2) + 1"))
    )
    assert only == (
        "merge_heads: the public checks pass; a hidden check of 'the heads stand side by side again' fails: "
        "the values differ from the reference → src/attention.py."
    )


def test_a_missing_package_is_named_with_its_file(graded):
    (only,) = told(graded(None, ("import math\n", "import math\nimport einops_of_mine\n")))
    assert only.startswith(
        "pairwise_similarities: src/attention.py could not be loaded: "
        "it imports `einops_of_mine`, which is not installed where we grade → src/attention.py line 10."
    )


def test_hidden_exceptions_are_told_only_if_a_public_one_was_the_same(graded):
    right = "return y.transpose(1, 2).flatten(-2)"
    here = graded(["merge_heads"], (right, f"if y.size(2) > 30:\n        raise KeyError\n    {right}"))
    assert said(here) == "" and "KeyError" not in said(here, "hidden") and "line" not in said(here, "hidden")
    assert "your code raised an exception" in said(here, "hidden") and "KeyError" not in told(here)[0]
    both = graded(["merge_heads"], (right, "raise KeyError"))
    assert re.search(r"KeyError, src/attention\.py line \d+", said(both, "hidden"))


# Whose frames


def test_frames_are_of_the_students_own_files(tmp_path):
    import autograder

    root = tmp_path / "student"
    assert is_own(str(root / "src/attention.py"), root)
    for name in (
        ".venv/lib/python3.11/site-packages/torch/nn/modules/linear.py",
        "venv/x.py",
        "env/site-packages/a.py",
    ):
        assert not is_own(str(root / name), root)
    grader = autograder.__path__[0]
    assert not is_own(f"{grader}/perform.py", tmp_path.__class__(grader).parent)  # the student tree holds the grader
    assert not is_own(torch.__file__, root)


def test_the_grader_below_the_root_is_not_the_students_code(tmp_path, monkeypatch):
    """As in the student's own check: the tree that is checked holds the grader's package, too."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src/attention.py").write_text("def merge_heads(y):\n    return y.nothing\n")
    monkeypatch.setattr("autograder.running.frames.GRADER", (f"{tmp_path}/autograder/",))
    helper = tmp_path / "autograder/running/perform.py"
    helper.parent.mkdir(parents=True)
    helper.write_text("def called(function, *all):\n    return function(*all)\n")
    space = {}
    exec(compile(helper.read_text(), str(helper), "exec"), space)
    monkeypatch.setattr(
        "autograder.running.perform._called", lambda function, all, options: space["called"](function, *all)
    )
    from autograder.running.perform import Request, Trouble

    performer = Performer(Loader(tmp_path, {"merge_heads": ("src/attention.py",)}))
    trouble = performer.perform(Request("call", "merge_heads", arguments=(torch.ones(1),)))
    assert isinstance(trouble, Trouble) and [frame[0] for frame in trouble.frames] == ["src/attention.py"]


def test_the_function_around_a_line(tmp_path):
    (tmp_path / "a.py").write_text(
        "import torch\n\n@torch.no_grad()\ndef f(x):\n    return x\n\nclass C:\n    def g(self):\n        pass\n"
    )
    assert [function_at(tmp_path, "a.py", line) for line in (1, 3, 5, 6, 9)] == ["", "f", "f", "", "C"]
    (tmp_path / "b.py").write_text("def f(:\n")
    assert function_at(tmp_path, "b.py", 1) == function_at(tmp_path, "missing.py", 1) == ""


# A name must be sure


def named(outcomes, exercise):
    return {o.finding.cause for o in outcomes if o.finding and o.exercise == exercise} - {""}


ROPE = ["precompute_rotary_emb", "apply_rotary_emb", "causal_self_attention"]


def test_sizes_that_do_not_fit_are_no_evidence_of_one_mistake(graded):
    """Of a cache for n_embd, an exception has the words that it has for every other reason."""
    swapped = ("angles.cos(), angles.sin()), dim=-1)", "angles.T.cos(), angles.T.sin()), dim=-1)")
    outcomes = graded(ROPE, swapped)
    assert named(outcomes, "precompute_rotary_emb") == {"precompute_rotary_emb.pairs_before_positions"}
    assert named(outcomes, "causal_self_attention") <= {"precompute_rotary_emb.pairs_before_positions"}
    alone = graded(["causal_self_attention"], swapped)
    assert not any("n_embd" in outcome.says for outcome in alone)
    other = ("q, k = apply_rotary_emb(q, self", "q, k = apply_rotary_emb(q.transpose(1, 2), self")
    assert named(graded(ROPE, other), "causal_self_attention") == set()
    width = ("precompute_rotary_emb(config.n_embd // config.n_head", "precompute_rotary_emb(config.n_embd")
    assert named(graded(ROPE, width), "causal_self_attention") == {"causal_self_attention.cache_for_the_whole_width"}


def test_a_mistake_of_a_step_is_named_as_that_steps(graded):
    """In the whole it may look like a mistake of the whole; the step's own checks know better."""
    change = "return A / math.sqrt(n_embd / n_heads)", "return A / (n_embd / n_heads)"
    outcomes = graded(["attn_scaled", "self_attention"], change)
    assert named(outcomes, "self_attention") == {"attn_scaled.without_root"}


def test_a_tuple_is_named_by_what_is_in_it(graded):
    line = "return torch.ones(n_tok, n_tok, dtype=torch.bool).tril()"
    assert named(graded(["make_causal_mask"], (line, "return torch.ons(n_tok)")), "make_causal_mask") == set()
    assert named(graded(["make_causal_mask"], (line, "return n_tokens")), "make_causal_mask") == set()
    outcomes = graded(["precompute_rotary_emb"], ("angles.sin()), dim=-1)", "angles.sin()), dim=-1),"))
    assert named(outcomes, "precompute_rotary_emb") == set()
    assert "It holds one thing: is there a comma at the end of the line?" in said(outcomes)


def test_an_exception_of_torch_is_not_an_exercise_that_was_not_started(graded):
    outcomes = graded(["attn_softmax"], ("return torch.softmax(A, dim=-1)", "return torch.softmax(A > 0, dim=-1)"))
    assert {o.finding.kind for o in outcomes if o.finding} == {"exception", "waiting"}
    assert "not implemented for 'Bool'" in said(outcomes) and "not started" not in said(outcomes)


def test_a_sum_that_is_not_1_does_not_look_like_it(graded):
    outcomes = graded(["attn_softmax"], ("return torch.softmax(A, dim=-1)", "return torch.softmax(A, dim=-1) * 1.0003"))
    assert "sums to 1.0003, not 1." in said(outcomes)


def test_results_that_are_no_tensors_are_of_the_wrong_type(graded):
    outcomes = graded(["self_attention"], ("return merge_heads(compute_outputs(attn_softmax(A), v))", "return [Q]"))
    kinds = {o.name.removeprefix("test_self_attention_"): o.finding.kind for o in outcomes if o.finding}
    assert kinds["cannot_see_the_future"] == kinds["without_mask_ignores_order"] == "type"


WORDS = "RuntimeError: The size of tensor a ({}) must match the size of tensor b ({}) at non-singleton dimension {}"


@pytest.mark.parametrize(
    ("seen", "cause"),
    [
        (Raised(WORDS.format(2, 6, 3)), "f.too_wide"),
        (Raised(WORDS.format(6, 2, 1)), "f.too_wide"),  # written the other way round
        (Raised(WORDS.format(2, 5, 3)), ""),  # other sizes: another reason
        (Raised("RuntimeError: shape '[5]' is invalid for input of size 6"), ""),
        (Raised("NameError: name 'np' is not defined"), ""),
        ((torch.ones(1), torch.ones(1)), "f.two_tensors"),
        ((torch.ones(1),), ""),
        ((1, 2), ""),
        ([torch.ones(1), torch.ones(1)], ""),
    ],
)
def test_what_never_came_is_explained_by_its_sizes(seen, cause):
    raises = {"f.too_wide": WORDS.format(2, 6, 3), "f.two_tensors": "returned tuple of 2 tensors"}
    case = Case("one", {}, torch.ones(1), raises=raises)
    reference = Reference("f", "public", (case,), dict.fromkeys(raises, "so"))
    assert explain(reference, [(case, seen)], [False]) == (cause, ())


def failed(exercise, cause, **more):
    finding = Finding("exception", f"{exercise}: x", cause=cause, **more)
    return Outcome(exercise, "public", "test", "claim", "failed", finding)


@pytest.mark.parametrize(
    ("more", "before", "cause"),
    [
        ({}, [], "self_attention.own"),
        ({"unsure": True}, [], "self_attention.own"),
        ({"unsure": True}, [failed("query121", "query121.x")], "self_attention.own"),
        ({"unsure": True}, [failed("merge_heads", "")], ""),  # it may be why nothing came
        ({"unsure": False}, [failed("merge_heads", "")], "self_attention.own"),
        ({"unsure": True, "inside": "merge_heads"}, [], ""),  # nobody has looked at the step that raised it
        ({"unsure": True, "also": ("merge_heads.x",)}, [failed("merge_heads", "merge_heads.x")], "merge_heads.x"),
        ({"also": ("merge_heads.x",)}, [failed("merge_heads", "merge_heads.x")], "merge_heads.x"),
        ({"also": ("merge_heads.x",)}, [failed("merge_heads", "merge_heads.y")], "self_attention.own"),
    ],
)
def test_an_own_mistake_is_named_if_nothing_below_explains_it(more, before, cause):
    outcome = failed("self_attention", "self_attention.own", **more)
    assert engine._blamed(outcome.finding, outcome, before).cause == cause
