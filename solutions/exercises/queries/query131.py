"""What staff know of query131: its known mistakes and right but unusual variants."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from autograder.proving.mistakes import mistake, variant

if TYPE_CHECKING:  # what stands around a body in the solution
    from A2S1 import K, V


# ── Known mistakes ─────────────────────────────────────────────────────────────────────


@mistake()
def query131_too_long():
    """The direction is good, but the query is too long: the largest score takes too much weight."""
    query131 = 100 * K.mean(0)


# Directions


@mistake(alone=True)
def query131_from_values():
    """Your query points along the mean of the values; it is compared with keys. When are all scores equal?"""
    query131 = V.mean(0)


@mistake(alone=True)
def query131_equal_numbers():
    """Equal numbers in the query do not make equal weights; what must be equal is q · k for every key."""
    query131 = torch.ones(3) * 5


@mistake(alone=True)
def query131_a_matrix():
    """You give four queries; one is asked for."""
    query131 = torch.zeros(4, 3)


# ── Right but unusual ──────────────────────────────────────────────────────────────────


@variant()
def mean_of_keys():
    """Not exact, but close enough."""
    query131 = K.mean(0)


@variant()
def zeros():
    """Zeros weigh everything alike."""
    query131 = [0, 0, 0]
