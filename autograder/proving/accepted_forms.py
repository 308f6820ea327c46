"""The forms in which right answers are accepted: a wrong one must be recognised in each of them, too."""

from __future__ import annotations

from collections.abc import Mapping

from autograder.judging.queries import GOALS

_MASK = """

_made_before = make_causal_mask


def make_causal_mask(n_tok):
    mask = _made_before(n_tok)
    binary = isinstance(mask, torch.Tensor) and bool(((mask == 0) | (mask == 1)).all())
    return mask.to(torch.{dtype}) if binary else mask
"""
_CACHE = """

_made_before = precompute_rotary_emb


def precompute_rotary_emb(dim, max_positions):
    cache = _made_before(dim, max_positions)
    return cache.to(torch.float64) if isinstance(cache, Tensor) and cache.is_floating_point() else cache
"""
_ANSWER = "\nif isinstance({slug}, torch.Tensor):\n    {slug} = {slug}{form}\n"

# Exercise -> form -> what to write below a submission, so that its answer has that form.
FORMS: Mapping[str, Mapping[str, str]] = {
    "make_causal_mask": {dtype: _MASK.format(dtype=dtype) for dtype in ("float32", "int64", "uint8")},
    "precompute_rotary_emb": {"float64": _CACHE},
    **{
        slug: {
            form: _ANSWER.format(slug=slug, form=code.format(slug=slug))
            for form, code in {
                "a list": ".tolist()",
                "an array": ".numpy()",
                "float64": ".double()",
                **({"a row": "[None] if {slug}.dim() == 1 else {slug}"} if goal.shape == (3,) else {}),
            }.items()
        }
        for slug, goal in GOALS.items()
    },
}
