"""What a crafted query or key that misses its goal looks like: every rule is a fact about the given numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

PARALLEL = 0.9995  # cosine
CHOSEN = 0.8  # of the weight
FACTORS = tuple(float(f"{1.1**step:.2g}") for step in range(1, 100))  # up to 13000, each as it is said


@dataclass(frozen=True)
class Setting:
    """The given keys and values, and what was crafted: a query, and (perhaps) row 2 of a key."""

    keys: Tensor
    values: Tensor
    query: Tensor
    key: Tensor
    tokens: tuple[int, ...]  # whose values the goal is made of
    reaches: Callable[[Tensor, Tensor], bool]  # would this query, with this key, do?


def of_query(slug: str, setting: Setting) -> Iterator[tuple[str, str]]:
    """Mistakes in a query that fit, the most telling first: slug, and a number to tell ('' if there is none)."""
    query, keys, values = setting.query, setting.keys, setting.values
    wanted = values if query.dim() == 2 else values[list(setting.tokens)].mean(0)
    if _parallel(query, wanted):
        yield f"{slug}.from_values", ""
    if query.dim() == 1 and len(setting.tokens) == 2:
        one, other = (keys[token] for token in setting.tokens)
        if _parallel(query, one - other) or _parallel(query, other - one):
            yield f"{slug}.difference_of_keys", ""
        if _parallel(query, one * other):
            yield f"{slug}.product_of_keys", ""
    if query.dim() == 1 and bool((query == query[0]).all()) and len(setting.tokens) == len(keys):
        yield f"{slug}.equal_numbers", ""
    yield from of_length(slug, setting)
    if setting.reaches(-query, setting.key) or any(setting.reaches(-query * by, setting.key) for by in FACTORS[::5]):
        yield f"{slug}.points_away", ""
    weights = torch.softmax(query @ keys.T, dim=-1)
    if bool((weights.amax(-1) > CHOSEN).all()):
        chosen = weights.argmax(-1)
        if query.dim() == 2:
            yield f"{slug}.other_tokens", ""
        elif int(chosen) not in setting.tokens:
            yield f"{slug}.another_token", ""
        elif len(setting.tokens) > 1:
            yield f"{slug}.one_token_only", ""


def of_length(slug: str, setting: Setting) -> Iterator[tuple[str, str]]:
    """Would the same direction, longer or shorter, have done?"""
    for what, factors in (("too_short", FACTORS), ("too_long", [1 / factor for factor in FACTORS])):
        found = next((by for by in factors if setting.reaches(setting.query * by, setting.key)), None)
        if found is not None:
            said = f"{found:.2g} times" if found > 1 else f"1/{1 / found:.2g}"
            yield f"{slug}.{what}", f"A query in the same direction, {said} as long, would do."


def of_key(slug: str, setting: Setting) -> Iterator[tuple[str, str]]:
    """Mistakes in row 2 of a key, given that the query is good for what it was made for."""
    row, given = setting.key[2], setting.keys[2]
    if _parallel(row, given):
        yield f"{slug}.row_2_unchanged", ""
    if _parallel(row, setting.values[list(setting.tokens)].mean(0)):
        yield f"{slug}.from_values", ""
    score = float(setting.query @ row)
    fair = float((setting.query @ setting.keys[:2].T).mean())
    if score and fair / score > 0 and abs(fair / score - 1) > 0.02:
        by = fair / score
        what, number = ("long", float(f"{1 / by:.3g}")) if by < 1 else ("short", float(f"{by:.3g}"))
        if setting.reaches(setting.query, _with_row(setting.key, row / number if by < 1 else row * number)):
            yield f"{slug}.row_too_{what}", f"Row 2 is {number:g} times too {what}."
    if setting.reaches(setting.query, _with_row(setting.key, -row)):
        yield f"{slug}.points_away", ""


def _with_row(key: Tensor, row: Tensor) -> Tensor:
    changed = key.clone()
    changed[2] = row
    return changed


def _parallel(one: Tensor, other: Tensor) -> bool:
    """Do all rows point the same way?"""
    return bool((torch.cosine_similarity(one, other, dim=-1) > PARALLEL).all())
