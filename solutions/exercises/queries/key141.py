"""What staff know of key141: its known mistakes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autograder.proving.mistakes import mistake

if TYPE_CHECKING:  # what stands around a body in the solution
    from A2S1 import K, V, key141, query132


# ── Known mistakes ─────────────────────────────────────────────────────────────────────


@mistake()
def key141_other_row_changed():
    """Only row 2 of the key may change; copy K and replace that row."""
    key141 = K.clone()
    key141[:3] = (K[0] + K[1]) / 2


# Keys


@mistake(region="key142", alone=True)
def key141_not_copied():
    """Your key141 and key142 are the same in every entry: copy K with clone() before you change a row."""
    key142 = key141
    key142[2] = query132 / query132.norm()


@mistake(alone=True)
def key141_row_2_unchanged():
    """Row 2 still points where row 2 of K does; let it point where keys 0 and 1 do."""
    key141 = K.clone()


@mistake(alone=True)
def key141_from_values():
    """Row 2 points along values; the query is compared with it as with a key, so build it from keys."""
    key141 = K.clone()
    key141[2] = V[:3].mean(0)


@mistake(alone=True)
def key141_row_too_long():
    """Row 2 points the right way, but is too long: token 2 takes more than its share."""
    key141 = K.clone()
    key141[2] = K[0] + K[1]


@mistake(alone=True)
def key141_row_too_short():
    """Row 2 points the right way, but is too short: token 2 gets less than its share."""
    key141 = K.clone()
    key141[2] = (K[0] + K[1]) / 4


@mistake(alone=True)
def key141_points_away():
    """Row 2 points away from the query: drop the minus sign."""
    key141 = K.clone()
    key141[2] = -(K[0] + K[1]) / 2


@mistake(alone=True)
def key141_one_row_only():
    """You give row 2 alone; give the whole key, (4, 3), with row 2 replaced."""
    key141 = (K[0] + K[1]) / 2
