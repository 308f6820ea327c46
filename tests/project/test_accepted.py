"""What the contracts call acceptable is accepted: unusual, but right."""

from __future__ import annotations

import pytest

from autograder import regions

STEPS = ("make_causal_mask", "apply_causal_mask", "self_attention", "causal_self_attention")

# exercise -> replacements of its solution region, each of which must keep full marks
RIGHT = {
    "pairwise_similarities": [
        'return torch.einsum("...id,...jd->...ij", Q, K)',
        "return (Q.unsqueeze(-2) * K.unsqueeze(-3)).sum(-1)",
    ],
    "attn_scaled": ["return A * (n_embd // n_heads) ** -0.5", "A /= math.sqrt(n_embd // n_heads)\nreturn A"],
    "attn_softmax": ["e = (A - A.amax(-1, keepdim=True)).exp()\nreturn e / e.sum(-1, keepdim=True)"],
    "compute_outputs": ['return torch.einsum("...ij,...jd->...id", A, V)'],
    "make_causal_mask": [
        "return torch.tril(torch.ones(n_tok, n_tok))",
        "return torch.ones(n_tok, n_tok, dtype=torch.int64).tril()",
        "return torch.arange(n_tok)[:, None] >= torch.arange(n_tok)",
    ],
    "apply_causal_mask": [
        'return torch.where(mask.bool(), A, float("-inf"))',
        "return A.masked_fill(mask == 0, -1e9)",
        "return A.masked_fill(~mask.bool(), torch.finfo(A.dtype).min)",
        "return A.masked_fill_(mask == 0, -1e10)",
    ],
    "split_heads": [
        "B, T, C = x.shape\nreturn x.reshape(B, T, n_heads, C // n_heads).permute(0, 2, 1, 3).contiguous()",
        "return torch.stack(x.chunk(n_heads, -1), 1)",
    ],
    "merge_heads": ["return torch.cat(list(y.unbind(1)), -1)"],
    "self_attention": [
        "out = torch.zeros_like(Q)\n"
        "size = Q.size(-1) // n_heads\n"
        "for h in range(n_heads):\n"
        "    cut = slice(h * size, (h + 1) * size)\n"
        "    q, k, v = Q[..., cut], K[..., cut], V[..., cut]\n"
        "    for i in range(Q.size(1)):\n"
        "        n = i + 1 if causal else Q.size(1)\n"
        "        w = torch.softmax((q[:, i : i + 1] @ k[:, :n].mT) / math.sqrt(size), -1)\n"
        "        out[:, i, cut] = (w @ v[:, :n])[:, 0]\n"
        "return out",
        "q, k, v = split_heads_qkv(Q, K, V, n_heads)\n"
        "return merge_heads(torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal))",
    ],
    "precompute_rotary_emb": [
        "t = torch.arange(max_positions, dtype=torch.float64)\n"
        "f = torch.exp(torch.arange(0, dim, 2, dtype=torch.float64) * (-math.log(10000.0) / dim))\n"
        "a = torch.outer(t, f)\nreturn torch.stack((torch.cos(a), torch.sin(a)), -1)",
    ],
    "apply_rotary_emb": [
        "T = x.size(-2)\n"
        "z = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2).contiguous())\n"
        "c = torch.view_as_complex(rope_cache[:T].to(x.dtype).contiguous())\n"
        "return torch.view_as_real(z * c).flatten(-2)",
    ],
    "span_corruption": [
        "import numpy as np\n"
        "doc = self.data[idx]\n"
        "limit = min(int(self.block_size * 7 / 8), max(len(doc), 4))\n"
        "text = doc[: np.random.randint(4, limit + 1)]\n"
        "n = len(text)\n"
        "k = int(np.random.randint(1, max(2, n // 2))) if n else 0\n"
        "k = min(k, n)\n"
        "s = int(np.random.randint(0, n - k + 1))\n"
        "out = text[:s] + MASK_CHAR + text[s + k :] + MASK_CHAR + text[s : s + k] + MASK_CHAR\n"
        "out = out[: self.block_size + 1] + PAD_CHAR * (self.block_size + 1 - len(out))\n"
        "ids = [self.stoi[c] for c in out]\n"
        "return torch.tensor(ids[:-1], dtype=torch.long), torch.tensor(ids[1:], dtype=torch.long)",
    ],
}
VARIANTS = [(slug, code) for slug, codes in RIGHT.items() for code in codes]


def failures(outcomes):
    return [(o.name, o.part, o.finding.headline if o.finding else o.trouble) for o in outcomes if o.verdict != "passed"]


@pytest.mark.parametrize(("slug", "code"), VARIANTS, ids=[f"{slug}-{n}" for n, (slug, _) in enumerate(VARIANTS)])
def test_right_but_unusual_keeps_full_marks(examine, sources, slug, code):
    file = sources.home[slug]
    text = regions.replaced(sources.texts[file], file, slug, lambda _: code.splitlines())
    only = [slug] if slug == "span_corruption" else [s for s in sources.home if s not in ("span_corruption",)]
    assert failures(examine({file: text}, only)) == []


def test_masks_that_only_fit_the_students_own_are_fine(examine, sources):
    """1 - mask raises for booleans; with the student's own mask of numbers it is right."""
    file = "src/attention.py"
    text = sources.texts[file].replace(
        "torch.ones(n_tok, n_tok, dtype=torch.bool).tril()", "torch.ones(n_tok, n_tok).tril()"
    )
    text = text.replace("A.masked_fill(mask == 0, -math.inf)", "A + (1 - mask) * -1e9")
    assert failures(examine({file: text}, STEPS)) == []


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


def test_loops_over_single_numbers_are_legal(examine, sources):
    file = "src/attention.py"
    loops = (
        "out = torch.zeros(*Q.shape[:-1], K.shape[-2], dtype=Q.dtype)\n"
        "rows = [()]\n"
        "for size in Q.shape[:-2]:\n    rows = [(*r, i) for r in rows for i in range(size)]\n"
        "for r in rows:\n    for i in range(Q.shape[-2]):\n        for j in range(K.shape[-2]):\n"
        "            out[(*r, i, j)] = sum(Q[(*r, i, d)] * K[(*r, j, d)] for d in range(Q.shape[-1]))\n"
        "return out"
    )
    text = regions.replaced(sources.texts[file], file, "pairwise_similarities", lambda _: loops.splitlines())
    outcomes = examine({file: text}, ["pairwise_similarities", "self_attention"])
    assert failures(outcomes) == []


def test_two_steps_may_share_another_convention(examine, sources):
    """A mask that marks the forbidden, applied accordingly: right in value, so composed functions keep all."""
    file = "src/attention.py"
    text = sources.texts[file]
    text = text.replace("torch.ones(n_tok, n_tok, dtype=torch.bool).tril()", "torch.ones(n_tok, n_tok).triu(1)")
    text = text.replace("A.masked_fill(mask == 0, -math.inf)", "A.masked_fill(mask != 0, -math.inf)")
    wrong = {name.split("_matches")[0] for name, _, _ in failures(examine({file: text}, STEPS))}
    assert wrong == {"test_make_causal_mask"}  # apply_causal_mask is right with the student's own mask


@pytest.mark.parametrize(
    "code",
    [
        "query121 = (10 * K[0]).tolist()",
        "query121 = (10 * K[0]).numpy()",
        "query121 = (10 * K[0]).double().unsqueeze(0)",
        "query121 = torch.nn.Parameter(10 * K[0])",
        "query121 = [10 * value for value in K[0]]",
        "query131 = K.mean(0)",
        "query131 = [0, 0, 0]",
        "query132 = 20 * (K[0] + K[1]) / 2\nkey142[2] = query132 / query132.norm()",
        "query132 = 60 * (K[0] + K[1]) / 2\nkey142[2] = query132 / query132.norm() * 1.009",
    ],
)
def test_queries_of_every_form(examine, sources, code):
    file = "notebooks/A2S1.py"
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
        ("del query121", "query121", "query121: A2S1.py does not define query121"),
        ("query132 = 2 * (K[0] + K[1]) / 2", "query132", "query132: error 0.0926, must be at most 0.05"),
        ("key141[3] += 1", "key141", "key141: row 3 of the key was changed"),
        ("key142[2] *= 2", "key142", "key142: row 2 has length 2.0000, must be 1"),
    ],
)
def test_query_messages(examine, sources, code, slug, headline):
    file = "notebooks/A2S1.py"
    assert failures(examine({file: sources.texts[file] + "\n" + code + "\n"}, [slug]))[0][2] == headline
