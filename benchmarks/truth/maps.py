"""Attention maps: what becomes of the output if values change says what the weights are."""

from __future__ import annotations

import re

import torch

from benchmarks.truth.said import Told, claims, is_number

WORDS = (
    r"rows sum to 1|nobody looks ahead|columns sum to 1, (?:not rows|rows do not)"
    r"|the weights of query \d+ sum to [\d.e-]+, not 1"
    r"|query \d+ attends to key \d+, which comes later"
)


@claims(rf"(?i:{WORDS})(?:(?:, but|,| and) (?:{WORDS}))*\.")
def _weights(about: Told, match: re.Match[str]) -> bool:
    return all(_one_of_weights(about, words.group(0).lower()) for words in re.finditer(WORDS, match[0], re.IGNORECASE))


def _one_of_weights(about: Told, words: str) -> bool:
    """By what happens if values change, not by what the output looks like."""
    witness, case = about.witness, about.about
    tokens = case.arguments["V" if "V" in case.arguments else "x"].shape[1]
    sums = witness.answer_to(about.exercise, case, None)
    if words == "rows sum to 1":
        return bool((sums - 1).abs().max() <= 1e-3)
    by_token = torch.stack([witness.answer_to(about.exercise, case, token) for token in range(tokens)])  # (keys, …)
    looks = by_token.abs().amax((1, 3)) > 1e-6  # (keys, queries)
    if words == "nobody looks ahead":
        return not bool(looks.tril(-1).any())
    if "columns" in words:
        return bool((by_token.sum(2) - 1).abs().max() <= 1e-3) and not bool((sums - 1).abs().max() <= 1e-3)
    numbers = re.findall(r"-?\d[\d.e-]*", words)
    if "attends" in words:
        query, key = int(numbers[0]), int(numbers[1])
        return key > query and bool(looks[key, query])
    return float(numbers[1]) != 1 and any(
        is_number(numbers[1], value) for value in sums[:, int(numbers[0])].flatten().tolist()
    )
