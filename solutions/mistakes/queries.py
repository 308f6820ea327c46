"""Known mistakes in crafting queries and keys: the near misses."""

from A2S1 import K, query132

from autograder.mistakes import mistake


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
