"""The submissions of a class that are alike, as a part of its page: where to look, and no word about anybody."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from autograder.pages.markup import Html, link, percent, tag, together
from autograder.pages.similarity import MOST_PAIRS

Json = Mapping[str, Any]
SHOWN = 20  # pairs; the others are folded away
GROUPS, MEMBERS = 10, 8  # most that are shown: groups, and members of one before the others are folded away

HINT = """How much two submissions are alike is a hint and proves nothing. It was tried on made-up classes only, never
on one of real students. Short exercises have few right forms, so that honest solutions can be 75 to 90 % alike; the
handout, a lecture or a tutor can have the same effect. Please look at both before you conclude anything."""


def similar_pairs(pairs: Sequence[Json], named: Callable[[str], Html], note: str = "") -> Html:
    """The section about them. `named`: from an id to what the page calls it; `note`: what was left out."""
    left_out = [tag("p", note)] if note else []
    if not pairs:
        return tag("section", tag("h2", "Similar pairs"), tag("p", "There are none."), *left_out) if note else Html()
    limit = [f" Only the {MOST_PAIRS} pairs that are most alike are listed."] if len(pairs) >= MOST_PAIRS else []
    ordered = sorted(pairs, key=lambda one: (-one["share"], str(one["one"]), str(one["other"])))
    lines = [_pair(one, named) for one in ordered]
    more = lines[SHOWN:]
    folded = [tag("details", tag("summary", f"{len(more)} more"), tag("ul", *more))] if more else []
    told = tag("p", HINT, *limit)
    listed = (_groups(pairs, named), tag("ul", *lines[:SHOWN]), *folded)
    return tag("section", tag("h2", "Similar pairs"), told, *left_out, *listed)


def _pair(one: Json, named: Callable[[str], Html]) -> Html:
    page = [", ", link(one["page"], "side by side")] if one["page"] else []
    return tag("li", named(one["one"]), " and ", named(one["other"]), f": {percent(one['share'])} alike", *page)


def _groups(pairs: Sequence[Json], named: Callable[[str], Html]) -> Html:
    """Many pairs can be few groups; that is told first."""
    edges = {(one["one"], one["other"]) for one in pairs}
    found = [group for group in connected(edges) if len(group) > 2]
    lines = [_group(group, edges, named) for group in found[:GROUPS]]
    if len(found) > GROUPS:
        lines.append(
            tag("li", f"{len(found) - GROUPS} more groups of at most {len(found[GROUPS])}, in the list of pairs.")
        )
    return tag("ul", *lines, class_="rows") if lines else Html()


def _group(group: Sequence[str], edges: set[tuple[str, str]], named: Callable[[str], Html]) -> Html:
    size, within = len(group), set(group)
    all_of_them = 2 * sum(one in within for one, _ in edges) == size * (size - 1)
    how = "are alike with one another" if all_of_them else "are each alike with at least one other of them"
    names = [named(identity) for identity in group]
    told = tag("p", tag("strong", f"{size} submissions"), f" {how}: ", together(names[:MEMBERS], ", "))
    more = names[MEMBERS:]
    folded = [tag("details", tag("summary", f"and {len(more)} more"), tag("p", together(more, ", ")))] if more else []
    return tag("li", told, *folded)


def connected(pairs: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Groups that the pairs connect, directly or through others; the largest first."""
    leader: dict[str, str] = {}

    def lead(one: str) -> str:
        while leader.setdefault(one, one) != one:
            leader[one] = leader[leader[one]]  # halves the way for whoever comes next
            one = leader[one]
        return one

    for one, other in pairs:
        leader[lead(one)] = lead(other)
    groups: dict[str, list[str]] = {}
    for one in sorted(leader):
        groups.setdefault(lead(one), []).append(one)
    return sorted(groups.values(), key=lambda group: (-len(group), group))
