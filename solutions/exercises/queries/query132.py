"""What staff know of query132: its known mistakes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autograder.proving.mistakes import mistake

if TYPE_CHECKING:  # what stands around a body in the solution
    from A2S1 import K, V


# ── Known mistakes ─────────────────────────────────────────────────────────────────────


@mistake()
def query132_too_short():
    """The direction is good, but the query is too short: tokens 2 and 3 still get weight."""
    query132 = 2 * (K[0] + K[1]) / 2


@mistake(spares=("key142",))
def query132_too_long():
    """The direction is good, but the query is too long: a small difference between two keys decides."""
    query132 = 1000 * (K[0] + K[1]) / 2


# Directions


@mistake(alone=True)
def query132_from_values():
    """Your query points along values; it is compared with keys, so build it from keys 0 and 1."""
    query132 = 40 * (V[0] + V[1]) / 2


@mistake(spares=("key142",), alone=True)
def query132_difference_of_keys():
    """Your query is the difference of two keys, so it is near one and far from the other; add them."""
    query132 = 40 * (K[0] - K[1])


@mistake(alone=True)
def query132_product_of_keys():
    """Your query is the product of two keys, which lies near neither; add them."""
    query132 = 40 * K[0] * K[1]


@mistake(spares=("key142",), alone=True)
def query132_points_away():
    """Your query points away from keys 0 and 1: drop the minus sign."""
    query132 = -40 * (K[0] + K[1]) / 2


@mistake(alone=True)
def query132_one_token_only():
    """Your query chooses one token alone; tokens 0 and 1 must share the weight."""
    query132 = 40 * K[0]


@mistake(alone=True)
def query132_another_token():
    """Your query chooses another token; tokens 0 and 1 must share the weight."""
    query132 = 40 * K[3]
