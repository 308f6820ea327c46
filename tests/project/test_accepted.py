"""Unusual, but right, in more than one region at once; the gate runs the variants of a single one."""

from __future__ import annotations

import pytest

STEPS = ("make_causal_mask", "apply_causal_mask", "self_attention", "causal_self_attention")


def failures(outcomes):
    return [(o.name, o.part, o.finding.headline if o.finding else o.trouble) for o in outcomes if o.verdict != "passed"]


def test_masks_that_only_fit_the_students_own_are_fine(examine, sources):
    """1 - mask raises for booleans; with the student's own mask of numbers it is right."""
    file = "src/attention.py"
    text = sources.texts[file].replace(
        "torch.ones(n_tok, n_tok, dtype=torch.bool).tril()", "torch.ones(n_tok, n_tok).tril()"
    )
    text = text.replace("A.masked_fill(mask == 0, -math.inf)", "A + (1 - mask) * -1e9")
    wrong = {name for name, _, _ in failures(examine({file: text}, STEPS))}
    assert wrong == {"test_apply_causal_mask_takes_every_kind_of_mask"}  # worth a point; the core is right


def test_a_cache_may_be_float64_if_x_keeps_its_dtype(examine, sources):
    """apply_rotary_emb is given caches as one's own precompute_rotary_emb makes them, and answers in x's dtype."""
    file, only = "src/attention.py", ["precompute_rotary_emb", "apply_rotary_emb", "causal_self_attention"]
    text = sources.texts[file].replace("dim=-1)  # (max_positions, dim/2, 2)", "dim=-1).double()")
    text = text.replace("rope_cache[: x.size(-2)].to(x.dtype).unbind(-1)", "rope_cache[: x.size(-2)].unbind(-1)")
    right = text.replace("return rotated.flatten(-2)", "return rotated.flatten(-2).type_as(x)")
    assert text != sources.texts[file] and failures(examine({file: right}, only)) == []
    wrong = failures(examine({file: text}, only))
    assert ("test_apply_rotary_emb_matches_reference", "public") in {(name, part) for name, part, _ in wrong}
    assert any("dtype float64, expected float32" in headline for _, _, headline in wrong)
    alone = failures(examine({file: right}, ["apply_rotary_emb"]))  # the dtype is asked for, if it was not seen
    assert alone == []


def test_a_cache_that_cannot_be_made_costs_only_itself(examine, sources):
    file = "src/attention.py"
    text = sources.texts[file] + "\n\ndef precompute_rotary_emb(dim, max_positions):\n    raise ValueError\n"
    assert {name for name, _, _ in failures(examine({file: text}, ["apply_rotary_emb"]))} == set()


def test_rotations_may_be_kept_as_a_complex_buffer(examine, sources):
    file = "src/attention.py"
    text = sources.texts[file].replace(
        'self.register_buffer("rope_cache", cache, persistent=False)',
        'self.register_buffer("turns", torch.view_as_complex(cache))',
    )
    text = text.replace(
        "q, k = apply_rotary_emb(q, self.rope_cache), apply_rotary_emb(k, self.rope_cache)",
        "q, k = (apply_rotary_emb(part, torch.view_as_real(self.turns)) for part in (q, k))",
    )
    assert "self.turns" in text and failures(examine({file: text}, ["causal_self_attention"])) == []


def test_two_steps_may_share_another_convention(examine, sources):
    """A mask that marks the forbidden, applied accordingly: right in value, so composed functions keep all."""
    file = "src/attention.py"
    text = sources.texts[file]
    text = text.replace("torch.ones(n_tok, n_tok, dtype=torch.bool).tril()", "torch.ones(n_tok, n_tok).triu(1)")
    text = text.replace("A.masked_fill(mask == 0, -math.inf)", "A.masked_fill(mask != 0, -math.inf)")
    wrong = {name.split("_matches")[0] for name, _, _ in failures(examine({file: text}, STEPS))}
    # The core of apply_causal_mask is right with the student's own mask.
    assert wrong == {"test_make_causal_mask", "test_apply_causal_mask_takes_every_kind_of_mask"}


@pytest.mark.parametrize(("length", "slack"), [(20, 1.0), (60, 1.009)])
def test_one_query_may_serve_several_lengths(examine, sources, length, slack):
    file = "notebooks/A2S1.py"
    code = f"query132 = {length} * (K[0] + K[1]) / 2\nkey142[2] = query132 / query132.norm() * {slack}"
    only = [slug for slug in sources.home if slug.startswith(("query", "key"))]
    assert failures(examine({file: sources.texts[file] + "\n" + code + "\n"}, only)) == []


@pytest.mark.parametrize(
    ("code", "slug", "headline"),
    [
        ("query121 = K", "query121", "query121: shape (4, 3), expected (3,)"),
        ("query121 = 'k0'", "query121", "query121: is str, expected three numbers"),
        ("query122 = [[1, 2], [3]]", "query122", "query122: is list, expected a 4 x 3 matrix"),
        ("query121 = K[0] * float('nan')", "query121", "query121: holds NaN or infinity"),
        ("query121 = None", "query121", "query121: not started yet (it is None)"),
        ("query121 = ...", "query121", "query121: not started yet (it is ...)"),
        ("del query121", "query121", "query121: A2S1.py does not define query121"),
        ("query132 = 2 * (K[0] + K[1]) / 2", "query132", "query132: error 0.0926, must be at most 0.05"),
        ("key141[3] += 1", "key141", "key141: row 3 of the key was changed"),
        ("key142[2] *= 2", "key142", "key142: row 2 has length 2.0000, must be 1"),
    ],
)
def test_query_messages(examine, sources, code, slug, headline):
    file = "notebooks/A2S1.py"
    assert failures(examine({file: sources.texts[file] + "\n" + code + "\n"}, [slug]))[0][2] == headline
