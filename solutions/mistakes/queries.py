"""Known mistakes in crafting queries and keys: the near misses."""

import torch
from A2S1 import K, V, key141, query132

from autograder.proving.mistakes import mistake


@mistake("query121")
def query121_too_short():
    """The direction is good, but the query is too short: the softmax stays too even."""
    query121 = K[0]


@mistake("query122")
def query122_too_short():
    """The directions are good, but the queries are too short: the softmax stays too even."""
    query122 = K.clone()


@mistake("query131")
def query131_too_long():
    """The direction is good, but the query is too long: the largest score takes too much weight."""
    query131 = 100 * K.mean(0)


@mistake("query132", also_breaks=("key141", "key142"))
def query132_too_short():
    """The direction is good, but the query is too short: tokens 2 and 3 still get weight."""
    query132 = 2 * (K[0] + K[1]) / 2


@mistake("query132", also_breaks=("key141",))
def query132_too_long():
    """The direction is good, but the query is too long: a small difference between two keys decides."""
    query132 = 1000 * (K[0] + K[1]) / 2


@mistake("key141")
def key141_other_row_changed():
    """Only row 2 of the key may change; copy K and replace that row."""
    key141 = K.clone()
    key141[:3] = (K[0] + K[1]) / 2


@mistake("key142")
def key142_not_unit_length():
    """Divide your key by its own length, and let the query do the rest."""
    key142 = K.clone()
    key142[2] = query132


@mistake("key142")
def key142_other_row_changed():
    """Only row 2 of the key may change; copy K and replace that row."""
    key142 = -K
    key142[2] = query132 / query132.norm()


@mistake("key142", region="query132")
def key142_query_too_short():
    """The direction is good, but query132 is too short: with a key of length 1, it must be longer."""
    query132 = 10 * (K[0] + K[1]) / 2


# ── Directions ─────────────────────────────────────────────────────────────────────────


@mistake("query121", alone=True)
def query121_from_values():
    """Your query points along a value; it is compared with keys, so build it from a key."""
    query121 = 10 * V[0]


@mistake("query121", alone=True)
def query121_points_away():
    """Your query points away from key 0: drop the minus sign."""
    query121 = -10 * K[0]


@mistake("query121", alone=True)
def query121_another_token():
    """Your query chooses another token; the goal is the value of token 0."""
    query121 = 10 * K[1]


@mistake("query121", alone=True)
def query121_a_matrix():
    """You give four queries; one is asked for."""
    query121 = 10 * K


@mistake("query122", alone=True)
def query122_from_values():
    """Your queries point along the values; they are compared with keys, so build them from the keys."""
    query122 = 100 * V


@mistake("query122", alone=True)
def query122_points_away():
    """Your queries point away from the keys: drop the minus sign."""
    query122 = -100 * K


@mistake("query122", alone=True)
def query122_other_tokens():
    """Each row of yours chooses a token, but not its own: row i is for token i."""
    query122 = 100 * K.flip(0)


@mistake("query122", alone=True)
def query122_one_row_only():
    """One query cannot find four values; give a matrix with a row for each token."""
    query122 = 10 * K[0]


@mistake("query131", alone=True)
def query131_from_values():
    """Your query points along the mean of the values; it is compared with keys. When are all scores equal?"""
    query131 = V.mean(0)


@mistake("query131", alone=True)
def query131_equal_numbers():
    """Equal numbers in the query do not make equal weights; what must be equal is q · k for every key."""
    query131 = torch.ones(3) * 5


@mistake("query131", alone=True)
def query131_a_matrix():
    """You give four queries; one is asked for."""
    query131 = torch.zeros(4, 3)


@mistake("query132", also_breaks=("key141", "key142"), alone=True)
def query132_from_values():
    """Your query points along values; it is compared with keys, so build it from keys 0 and 1."""
    query132 = 40 * (V[0] + V[1]) / 2


@mistake("query132", also_breaks=("key141",), alone=True)
def query132_difference_of_keys():
    """Your query is the difference of two keys, so it is near one and far from the other; add them."""
    query132 = 40 * (K[0] - K[1])


@mistake("query132", also_breaks=("key141", "key142"), alone=True)
def query132_product_of_keys():
    """Your query is the product of two keys, which lies near neither; add them."""
    query132 = 40 * K[0] * K[1]


@mistake("query132", also_breaks=("key141",), alone=True)
def query132_points_away():
    """Your query points away from keys 0 and 1: drop the minus sign."""
    query132 = -40 * (K[0] + K[1]) / 2


@mistake("query132", also_breaks=("key141", "key142"), alone=True)
def query132_one_token_only():
    """Your query chooses one token alone; tokens 0 and 1 must share the weight."""
    query132 = 40 * K[0]


@mistake("query132", also_breaks=("key141", "key142"), alone=True)
def query132_another_token():
    """Your query chooses another token; tokens 0 and 1 must share the weight."""
    query132 = 40 * K[3]


# ── Keys ───────────────────────────────────────────────────────────────────────────────


@mistake("key141", region="key142", alone=True)
def key141_not_copied():
    """Your key141 and key142 are the same in every entry: copy K with clone() before you change a row."""
    key142 = key141
    key142[2] = query132 / query132.norm()


@mistake("key141", alone=True)
def key141_row_2_unchanged():
    """Row 2 still points where row 2 of K does; let it point where keys 0 and 1 do."""
    key141 = K.clone()


@mistake("key141", alone=True)
def key141_from_values():
    """Row 2 points along values; the query is compared with it as with a key, so build it from keys."""
    key141 = K.clone()
    key141[2] = V[:3].mean(0)


@mistake("key141", alone=True)
def key141_row_too_long():
    """Row 2 points the right way, but is too long: token 2 takes more than its share."""
    key141 = K.clone()
    key141[2] = K[0] + K[1]


@mistake("key141", alone=True)
def key141_row_too_short():
    """Row 2 points the right way, but is too short: token 2 gets less than its share."""
    key141 = K.clone()
    key141[2] = (K[0] + K[1]) / 4


@mistake("key141", alone=True)
def key141_points_away():
    """Row 2 points away from the query: drop the minus sign."""
    key141 = K.clone()
    key141[2] = -(K[0] + K[1]) / 2


@mistake("key141", alone=True)
def key141_one_row_only():
    """You give row 2 alone; give the whole key, (4, 3), with row 2 replaced."""
    key141 = (K[0] + K[1]) / 2


@mistake("key142", alone=True)
def key142_row_2_unchanged():
    """Row 2 still points where row 2 of K does; let it point along the query."""
    key142 = K.clone()


@mistake("key142", alone=True)
def key142_from_values():
    """Row 2 points along a value; the query is compared with it as with a key, so let it point along the query."""
    key142 = K.clone()
    key142[2] = V[2] / V[2].norm()


@mistake("key142", alone=True)
def key142_points_away():
    """Row 2 points away from the query: drop the minus sign."""
    key142 = K.clone()
    key142[2] = -query132 / query132.norm()


@mistake("key142", alone=True)
def key142_one_row_only():
    """You give row 2 alone; give the whole key, (4, 3), with row 2 replaced."""
    key142 = query132 / query132.norm()
