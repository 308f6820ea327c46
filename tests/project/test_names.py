"""Wrong programs as beginners write them: what is said of each, and what it costs."""

from __future__ import annotations

import pytest

from autograder.checking.points import rows

FILE = "src/attention.py"


@pytest.fixture
def said(examine, sources):
    """What is said of code that is added to the solution: (causes, sentences) of one exercise, by part."""

    def run(exercise, code, part="public", only=None):
        outcomes = examine({FILE: f"{sources.texts[FILE]}\n\n{code}\n"}, only or [exercise])
        mine = [o for o in outcomes if o.exercise == exercise and o.part == part and o.finding]
        return {o.finding.cause for o in mine} - {""}, {o.says for o in mine} - {""}

    return run


@pytest.mark.parametrize(
    ("exercise", "code", "cause"),
    [
        ("pairwise_similarities", "def pairwise_similarities(q, k):\n    s = q @ k\n    return s", "no_transpose"),
        (
            "pairwise_similarities",
            "def pairwise_similarities(Q, K):\n    return torch.matmul(Q, K.T)",
            "reverses_all_axes",
        ),
        (
            "pairwise_similarities",
            "def pairwise_similarities(Q, K):\n    return (Q.bfloat16() @ K.bfloat16().mT).float()",
            "in_half_precision",
        ),
        (
            "attn_softmax",
            "def attn_softmax(A):\n    e = torch.exp(A - A.amax())\n    return e / torch.sum(e, dim=-1)",
            "without_keepdim",
        ),
        ("make_causal_mask", "def make_causal_mask(n):\n    return torch.triu(torch.ones(n, n))", "upper_triangle"),
        (
            "make_causal_mask",
            "def make_causal_mask(n):\n    return 1 - torch.tril(torch.ones(n, n, dtype=torch.uint8))",
            "inverted",
        ),
        (
            "apply_causal_mask",
            "def apply_causal_mask(mask, A):\n    return A - 1e9 * mask.float()",
            "closes_the_allowed",
        ),
        (
            "apply_causal_mask",
            "def apply_causal_mask(mask, A):\n    return A.masked_fill(mask == 0, -50.0)",
            "not_low_enough",
        ),
        ("split_heads", "def split_heads(x, n):\n    return torch.split(x, x.size(-1) // n, dim=-1)", "as_a_tuple"),
        (
            "precompute_rotary_emb",
            "def precompute_rotary_emb(dim, n):\n"
            "    theta = torch.exp(math.log(1e4) * torch.arange(0, dim, 2, dtype=torch.float64) / dim)\n"
            "    angle = torch.arange(n)[:, None] * theta\n"
            "    return torch.stack((angle.cos(), angle.sin()), -1)",
            "positive_exponent",
        ),
        (
            "precompute_rotary_emb",
            "def precompute_rotary_emb(n, dim):\n"
            "    theta = 1 / 10000 ** (torch.arange(0, dim, 2) / dim)\n"
            "    return torch.view_as_real(torch.polar(torch.ones(1), torch.arange(n)[:, None] * theta))",
            "arguments_swapped",
        ),
    ],
)
def test_the_mistake_is_named_in_both_parts_however_it_is_written(said, exercise, code, cause):
    for part in ("public", "hidden"):
        assert said(exercise, code, part)[0] == {f"{exercise}.{cause}"}


def test_an_exception_in_other_words_is_enough_if_values_agree_elsewhere(said):
    code = "def pairwise_similarities(q, k):\n    return torch.einsum('...ij,...jk->...ik', q, k)"
    assert said("pairwise_similarities", code)[0] == {"pairwise_similarities.no_transpose"}
    other = "def pairwise_similarities(q, k):\n    raise RuntimeError('no')"
    assert said("pairwise_similarities", other) == (set(), set())


SCALE = "def attn_scaled(A, n_embd, n_heads):\n    return "
CACHE = (
    "def precompute_rotary_emb(dim, n):\n    theta = {theta}\n"
    "    angle = torch.arange({start}, n + {start})[:, None] * theta\n"
    "    return torch.stack((angle.cos(), angle.sin()), -1)"
)
COMPOSED = (
    "def self_attention(Q, K, V, n_heads=1, causal=True):\n    q, k, v = split_heads_qkv(Q, K, V, n_heads)\n"
    "    s = q @ k.mT / {scale}\n    if causal:\n        s = apply_causal_mask(make_causal_mask(Q.size(1)), s)\n"
    "    return merge_heads(attn_softmax(s) @ v)"
)
FITS = [
    ("attn_scaled", f"{SCALE}A / math.sqrt(512)", "Your result is A / √512, whatever n_embd and n_heads are; "),
    ("attn_scaled", f"{SCALE}A / 3", "Your result is A / 3, whatever n_embd and n_heads are; "),
    ("attn_scaled", f"{SCALE}-A * n_heads / n_embd", "Your result is -A · n_heads / n_embd; "),
    ("attn_scaled", f"{SCALE}A / (n_embd * A.size(-1) ** 0.5)", "Your result is A / (n_embd · √tokens); "),
    (
        "make_causal_mask",
        "def make_causal_mask(n):\n    return torch.ones(n, n).tril(2)",
        "Each token sees the 2 after it, too",
    ),
    (
        "make_causal_mask",
        "def make_causal_mask(n):\n    return torch.ones(n, n).tril(-2)",
        "Each token sees only what is 2 or more",
    ),
    (
        "make_causal_mask",
        "def make_causal_mask(n):\n    return torch.ones(n, n).triu(2)",
        "Your mask is an upper triangle (diagonal 2)",
    ),
    (
        "make_causal_mask",
        "def make_causal_mask(n):\n    return torch.ones(n, n).tril().triu(-2)",
        "Each token sees the last 3 tokens",
    ),
    (
        "apply_causal_mask",
        "def apply_causal_mask(m, A):\n    return A.masked_fill(m == 0, 7.0)",
        "You put 7 where attending is forbidden",
    ),
    (
        "precompute_rotary_emb",
        CACHE.format(theta="5e5 ** (-torch.arange(0, dim, 2) / dim)", start=0),
        "With i from 0, your θ is 500000^(-2i/dim);",
    ),
    (
        "precompute_rotary_emb",
        CACHE.format(theta="1e4 ** (torch.arange(2, dim + 2, 2) / dim)", start=0),
        "With i from 0, your θ is 10000^(2(i + 1)/dim);",
    ),
    (
        "precompute_rotary_emb",
        CACHE.format(theta="1e4 ** (-torch.arange(0, dim, 2) / dim)", start=2),
        "Your first position is 2; it should be 0.",
    ),
    (
        "attn_softmax",
        "def attn_softmax(A):\n    e = 2 ** (A - A.amax(-1, keepdim=True))\n    return e / e.sum(-1, keepdim=True)",
        "Your weights are the softmax of 0.6931 times the scores, as powers of 2",
    ),
    (
        "precompute_rotary_emb",
        CACHE.format(theta="torch.exp(-torch.arange(0, dim, 2) / dim)", start=0),
        "With i from 0, your θ is 2.71828^(-2i/dim);",
    ),
    (
        "self_attention",
        COMPOSED.format(scale=3),
        "Your scores are divided by 3; with 2 heads of size 5 it should be √5.",
    ),
]


@pytest.mark.parametrize(("exercise", "code", "start"), FITS)
def test_a_number_is_fitted_in_public_checks_and_never_told_in_hidden_ones(said, exercise, code, start):
    causes, sentences = said(exercise, code)
    assert causes == set()
    (only,) = sentences
    assert only.startswith(start)
    assert said(exercise, code, "hidden") == (set(), set())


def test_a_step_that_is_right_is_not_accused_and_the_number_is_told_instead(said):
    code = COMPOSED.format(scale="Q.size(1)")
    causes, (only,) = said("self_attention", code, only=["attn_scaled", "self_attention"])
    assert causes == set()
    assert only.startswith("Your scores are divided by 4, which is the number of tokens here;")


@pytest.mark.parametrize(
    ("exercise", "code"),
    [
        ("attn_softmax", "def attn_softmax(A):\n    return torch.zeros_like(A)"),
        ("attn_scaled", "def attn_scaled(A, n_embd, n_heads):\n    return torch.full_like(A, 0.5)"),
        (
            "attn_scaled",
            "def attn_scaled(A, n_embd, n_heads):\n    return A / math.sqrt(n_embd / n_heads) + 0.1 * A ** 2",
        ),
        (
            "make_causal_mask",
            "def make_causal_mask(n):\n    return torch.ones(n, n).tril() * torch.arange(n).remainder(3).ne(2)",
        ),
        ("precompute_rotary_emb", "def precompute_rotary_emb(dim, n):\n    return torch.zeros(n, dim // 2, 2)"),
        ("precompute_rotary_emb", CACHE.format(theta="1e4 ** (-torch.arange(0, dim, 2) / dim) + 0.01", start=0)),
        (
            "self_attention",
            COMPOSED.format(scale="math.sqrt(q.size(-1)) + q.mT @ k / 10 if False else 1e-9 + q.norm()"),
        ),
    ],
)
def test_nothing_is_said_of_what_fits_nothing(said, exercise, code):
    assert said(exercise, code) == (set(), set())


def test_scores_are_not_blamed_where_rows_are_no_weights(said):
    """Masked after the softmax and scaled there: within a row, the ratios are those of scores without a scale."""
    code = COMPOSED.format(scale=1).replace("attn_softmax(s)", "(attn_softmax(s) / q.size(-1) ** 0.5)")
    assert not any(
        "divided" in sentence for sentence in said("self_attention", code, only=["attn_scaled", "self_attention"])[1]
    )


STUBS = {
    "precompute_rotary_emb": "def precompute_rotary_emb(dim, n):\n    cache = None\n    pass\n    return cache",
    "apply_rotary_emb": "def apply_rotary_emb(x, rope_cache):\n    '''Rotate.'''",
    "attn_scaled": "def attn_scaled(A, n_embd, n_heads):\n    return None",
    "merge_heads": "def merge_heads(y):\n    ...",
    "causal_self_attention": (
        "class CausalSelfAttention(CausalSelfAttention):\n    def forward(self, x):\n        y = None\n        return y"
    ),
}


@pytest.mark.parametrize(("exercise", "code"), STUBS.items())
def test_stubs_of_the_original_are_not_started(examine, sources, exercise, code):
    outcomes = examine({FILE: f"{sources.texts[FILE]}\n\n{code}\n"}, [exercise])
    core = [o for o in outcomes if o.name.endswith("matches_reference")]
    assert {o.finding.kind for o in core} == {"not started"}


def test_none_that_was_computed_is_no_stub(examine, sources):
    code = "def merge_heads(y):\n    y = y.transpose(1, 2).flatten(-2)"
    outcomes = examine({FILE: f"{sources.texts[FILE]}\n\n{code}\n"}, ["merge_heads"])
    assert outcomes[0].finding.headline == "merge_heads: returned None"


def points(course, outcomes, exercise, part="hidden"):
    return next(row.score for row in rows(course, outcomes) if row.item.slug == exercise and row.part == part)


@pytest.mark.parametrize(
    ("exercise", "code", "lost"),
    [
        ("apply_causal_mask", "def apply_causal_mask(mask, A):\n    return A.masked_fill(~mask, -math.inf)", 1),
        ("attn_softmax", "def attn_softmax(A):\n    return torch.softmax(A.float(), -1)", 1),
        ("attn_softmax", "def attn_softmax(A):\n    return torch.softmax(A.half(), -1).float()", 3),
    ],
)
def test_what_is_not_the_core_costs_one_point(examine, sources, course, exercise, code, lost):
    outcomes = examine({FILE: f"{sources.texts[FILE]}\n\n{code}\n"}, [exercise])
    assert points(course, outcomes, exercise) == course.items[exercise].hidden - lost
    assert points(course, outcomes, exercise, "public") == (1 if lost == 1 else 0)


@pytest.mark.parametrize(
    ("parameters", "cause"),
    [
        ("Q, K, V, n_heads=1, causal=False", "default_not_causal"),
        ("Q, K, V, n_heads, causal=True", "no_defaults"),
        ("Q, K, V, heads=1, causal=True", "parameters_renamed"),
        ("Q, K, V, n_heads=1, masked=True", "parameters_renamed"),
        ("Q, K, V, n_heads=2, causal=True", ""),
    ],
)
def test_defaults_and_keywords_are_tried(examine, sources, course, parameters, cause):
    names = [part.split("=")[0].strip() for part in parameters.split(",")]
    code = f"_right = self_attention\n\n\ndef self_attention({parameters}):\n    return _right({', '.join(names)})\n"
    outcomes = examine({FILE: f"{sources.texts[FILE]}\n\n{code}"}, ["self_attention"])
    wrong = [o for o in outcomes if o.verdict != "passed"]
    assert {o.name for o in wrong} == {"test_self_attention_has_defaults_and_keywords"} and len(wrong) == 2
    assert {o.finding.cause for o in wrong} == {f"self_attention.{cause}" if cause else ""}
    assert points(course, outcomes, "self_attention") == course.items["self_attention"].hidden - 1


def test_dropout_in_self_attention_is_named(said):
    code = COMPOSED.format(scale="q.size(-1) ** 0.5").replace(
        "attn_softmax(s)", "torch.dropout(attn_softmax(s), 0.2, True)"
    )
    assert said("self_attention", code)[0] == {"self_attention.dropout_in_evaluation"}
