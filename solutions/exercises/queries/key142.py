"""What staff know of key142: its known mistakes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autograder.proving.mistakes import mistake

if TYPE_CHECKING:  # what stands around a body in the solution
    from A2S1 import K, V, query132


# ── Known mistakes ─────────────────────────────────────────────────────────────────────


@mistake()
def key142_not_unit_length():
    """Divide your key by its own length, and let the query do the rest."""
    key142 = K.clone()
    key142[2] = query132


@mistake()
def key142_other_row_changed():
    """Only row 2 of the key may change; copy K and replace that row."""
    key142 = -K
    key142[2] = query132 / query132.norm()


@mistake(region="query132")
def key142_query_too_short():
    """The direction is good, but query132 is too short: with a key of length 1, it must be longer."""
    query132 = 10 * (K[0] + K[1]) / 2


# Keys


@mistake(alone=True)
def key142_row_2_unchanged():
    """Row 2 still points where row 2 of K does; let it point along the query."""
    key142 = K.clone()


@mistake(alone=True)
def key142_from_values():
    """Row 2 points along a value; the query is compared with it as with a key, so let it point along the query."""
    key142 = K.clone()
    key142[2] = V[2] / V[2].norm()


@mistake(alone=True)
def key142_points_away():
    """Row 2 points away from the query: drop the minus sign."""
    key142 = K.clone()
    key142[2] = -query132 / query132.norm()


@mistake(alone=True)
def key142_one_row_only():
    """You give row 2 alone; give the whole key, (4, 3), with row 2 replaced."""
    key142 = query132 / query132.norm()
