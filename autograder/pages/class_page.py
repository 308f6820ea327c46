"""The whole class on one page, for those who teach it: where the points went, and whom to look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean, median
from typing import Any

from autograder.pages.drawings import bars
from autograder.pages.markup import (
    Html,
    amount,
    document,
    footer,
    link,
    made_with,
    percent,
    sideways,
    slug,
    tag,
    together,
)
from autograder.pages.similar_pairs import similar_pairs
from autograder.pages.students_table import SCRIPT, students_table

Json = Mapping[str, Any]
BARS = 20  # of the distribution, or so
SHOWN = 10  # mistakes; the rarer ones are folded away


def overview(summary: Json) -> str:
    """The page of a class; see the functions below for what each field is good for."""
    students = summary["students"]
    known = {one["id"]: one for one in students}
    top = tag(
        "header",
        tag("p", f"Class overview, course {summary['course']}", class_="eyebrow"),
        tag("h1", summary["title"]),
        _numbers(students, summary["points"]),
    )
    parts = (
        _distribution(students, summary["points"]),
        _mistakes(summary["mistakes"], known),  # what a lecturer looks for on Monday
        _exercises(summary["exercises"], len(_graded(students))),
        _ungraded(students),
        _noted(summary.get("notes", []), known),
        _refused(summary.get("refused", []), known),
        students_table(students, summary["exercises"], summary["mistakes"]),
        similar_pairs(  # long, and read by few
            summary["similar"], lambda identity: _student(identity, known), summary.get("similar_note", "")
        ),
    )
    made = footer(made_with(summary["versions"], summary["isolation"]))
    title = f"{summary['title']}: {amount(len(students), 'student')}"
    return document(title, top, tag("main", *parts, id="main"), made, script=SCRIPT, kind="class")


def _graded(students: Sequence[Json]) -> list[Json]:
    return [one for one in students if not one["trouble"]]


def _numbers(students: Sequence[Json], points: int) -> Html:
    graded = _graded(students)
    scores = [one["score"] for one in graded]
    people = sum(one.get("people", 1) for one in students)
    facts: list[tuple[str, str, str]] = [("Students", f"{people:,}", "")]
    if people != len(students):  # there are groups
        facts.append(("Submissions", f"{len(students):,}", ""))
    if scores:
        facts.append(("Mean", f"{mean(scores):.1f}", f"of {points}"))
        facts.append(("Median", f"{median(scores):g}", f"of {points}"))
        facts.append(("Full marks", f"{sum(score >= points for score in scores):,}", ""))
    facts.append(("Not graded", f"{len(students) - len(graded):,}", ""))
    tiles = (tag("div", tag("dt", name), tag("dd", tag("b", n), " ", tag("small", of))) for name, n, of in facts)
    return tag("dl", *tiles, class_="tiles")


def _distribution(students: Sequence[Json], points: int) -> Html:
    scores = [one["score"] for one in _graded(students)]
    if not scores:
        return Html()
    step = max(1, round(points / BARS))
    bins = range(0, max(points, *scores) + 1, step)
    counts = [sum(low <= score < low + step for score in scores) for low in bins]
    labels = [str(low) for low in bins]
    told = ", ".join(f"{low} to {low + step - 1}: {n}" for low, n in zip(bins, counts, strict=True) if n)
    x = f"points, {step} to a bar" if step > 1 else "points"
    drawn = bars("How many students have how many points", told, x, labels, counts, [False] * len(counts))
    caption = "Students by points; those whose work could not be graded are left out here and in the mean."
    return tag("section", tag("h2", "Points"), tag("figure", drawn, tag("figcaption", caption)))


def _mistakes(mistakes: Sequence[Json], known: Mapping[str, Json]) -> Html:
    """The mistakes of the class, the most frequent first, as sentences that could be read out in class."""
    if not mistakes:
        return Html()
    ordered = sorted(mistakes, key=lambda one: (-one["count"], str(one["cause"])))
    lines = [_mistake(one, known) for one in ordered]
    return tag("section", tag("h2", "Most frequent mistakes"), *_folded(lines))


def _mistake(one: Json, known: Mapping[str, Json]) -> Html:
    said = tag("p", tag("strong", amount(one["count"], "student")), ": ", one["says"])
    return tag("li", said, _about(one, one["exercise"], known, one["cause"]))


def _about(one: Json, exercise: str, known: Mapping[str, Json], find: str) -> Html:
    """The line below something that several students have in common: where, who, and a way to see only them."""
    spoken = tag("span", f": {find}", class_="spoken")
    button = tag("button", "Show in the table", spoken, type="button", data_find=find, hidden=True, class_="tools")
    names = tag("p", together((_student(i, known) for i in one["students"]), ", "))
    who = tag("details", tag("summary", "Who", spoken), names)
    return tag("div", *([slug(exercise)] if exercise else []), who, button, class_="about")


def _noted(notes: Sequence[Json], known: Mapping[str, Json]) -> Html:
    """What cost nothing and somebody may want to know, the most frequent first."""
    lines = []
    for one in notes:
        said = tag("p", tag("strong", amount(one["count"], "student")), ": ", one["note"])
        lines.append(tag("li", said, _about(one, one["exercise"], known, _words(one))))
    lead = tag("p", "These cost no points.", class_="quiet")
    return tag("section", tag("h2", "Notes"), lead, *_folded(lines)) if lines else Html()


def _words(note: Json) -> str:
    """By which the search finds a note: all but the names that differ."""
    return " ".join(f"{note['exercise']} {note['note'].replace('…', ' ')}".split())


def _folded(lines: Sequence[Html]) -> list[Html]:
    """The first ones, and the others where they can be unfolded."""
    more = lines[SHOWN:]
    folded = [tag("details", tag("summary", f"{len(more)} rarer ones"), tag("ol", *more, class_="rows"))]
    return [tag("ol", *lines[:SHOWN], class_="rows"), *(folded if more else [])]


REFUSED = """What submissions tried and the sandbox refused. It got them nothing and costs nothing here. Libraries do
some of it unasked: a data loader forks, a progress bar or a logger looks for a network. Please read the code before you
conclude anything."""


def _refused(refused: Sequence[Json], known: Mapping[str, Json]) -> Html:
    lines = []
    for one in refused:
        said = tag("p", tag("strong", one["what"]), f": {amount(one['count'], 'student')}")
        lines.append(tag("li", said, _about(one, "", known, f"tried: {one['what']}")))
    lead = tag("p", REFUSED, class_="quiet")
    return tag("section", tag("h2", "Refused"), lead, tag("ul", *lines, class_="rows")) if lines else Html()


def _student(identity: str, known: Mapping[str, Json]) -> Html:
    one = known.get(identity)
    return tag("bdi", identity) if one is None else link(one["report"], tag("bdi", one["name"] or one["id"]))


def _exercises(exercises: Sequence[Json], graded: int) -> Html:
    """How many got each exercise in full; the exercise that nobody got is the one to talk about."""
    sections: dict[str, list[Json]] = {}
    for one in exercises:
        sections.setdefault(one["section"], []).append(one)
    bodies = (
        tag(
            "tbody",
            tag("tr", tag("th", name, scope="rowgroup", colspan=4, class_="group")),
            *(_exercise(one, graded) for one in mine),
        )
        for name, mine in sections.items()
    )
    head = tag(
        "tr",
        tag("th", "Exercise", scope="col"),
        tag("th", "Points", scope="col", class_="n"),
        tag("th", "In full", scope="col", class_="n"),
        tag("th", "Share of the class", scope="col"),
    )
    caption = tag("caption", f"How many of {amount(graded, 'graded student')} have full marks.")
    table = tag("table", caption, tag("thead", head), *bodies, class_="rates")
    return tag("section", tag("h2", "Exercises"), sideways("Exercises", table)) if exercises else Html()


def _exercise(one: Json, graded: int) -> Html:
    share = round(100 * one["full"] / graded) if graded else 0
    tags = [" ", tag("span", "extra credit", class_="tag")] if one["extra_credit"] else []
    bar = tag("span", tag("i", style=f"--share:{share}%"), class_="track", aria_hidden="true")
    return tag(
        "tr",
        tag("th", slug(one["slug"]), *tags, scope="row"),
        tag("td", one["points"], class_="n"),
        tag("td", one["full"], class_="n"),
        tag("td", tag("span", bar, tag("span", percent(share / 100), class_="n"), class_="rate")),
    )


def _ungraded(students: Sequence[Json]) -> Html:
    lines = [
        tag("li", link(one["report"], tag("bdi", one["name"] or one["id"])), ": ", one["trouble"])
        for one in students
        if one["trouble"]
    ]
    return tag("section", tag("h2", "Could not be graded"), tag("ul", *lines)) if lines else Html()
