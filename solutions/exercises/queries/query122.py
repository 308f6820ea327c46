"""What staff know of query122: its known mistakes and right but unusual variants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autograder.proving.mistakes import mistake, variant

if TYPE_CHECKING:  # what stands around a body in the solution
    from A2S1 import K, V


# ── Known mistakes ─────────────────────────────────────────────────────────────────────


@mistake()
def query122_too_short():
    """The directions are good, but the queries are too short: the softmax stays too even."""
    query122 = K.clone()


# Directions


@mistake(alone=True)
def query122_from_values():
    """Your queries point along the values; they are compared with keys, so build them from the keys."""
    query122 = 100 * V


@mistake(alone=True)
def query122_points_away():
    """Your queries point away from the keys: drop the minus sign."""
    query122 = -100 * K


@mistake(alone=True)
def query122_other_tokens():
    """Each row of yours chooses a token, but not its own: row i is for token i."""
    query122 = 100 * K.flip(0)


@mistake(alone=True)
def query122_one_row_only():
    """One query cannot find four values; give a matrix with a row for each token."""
    query122 = 10 * K[0]


# ── Right but unusual ──────────────────────────────────────────────────────────────────


@variant()
def enormous():
    """As long as the original's own answer."""
    query122 = 1e6 * K
