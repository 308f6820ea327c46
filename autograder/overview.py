"""The whole class on one page, for those who teach it: where the points went, and whom to look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean, median
from typing import Any

from autograder.drawings import bars
from autograder.markup import Html, amount, document, footer, link, made_with, sideways, slug, tag, together
from autograder.similar import MOST_PAIRS

Json = Mapping[str, Any]
BARS = 20  # of the distribution, or so
SHOWN = 10  # mistakes; the rarer ones are folded away
UNKNOWN = "–"  # sorted behind everything else


def overview(summary: Json) -> str:
    """The page of a class; see `_row` and its neighbours for what each field is good for."""
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
        _similar(summary["similar"], known),
        _table(students, summary["exercises"], summary["mistakes"]),
    )
    made = footer(made_with(summary["versions"], summary["isolation"]))
    title = f"{summary['title']}: {amount(len(students), 'student')}"
    return document(title, top, tag("main", *parts, id="main"), made, script=SCRIPT, kind="class")


def _graded(students: Sequence[Json]) -> list[Json]:
    return [one for one in students if not one["trouble"]]


def _numbers(students: Sequence[Json], points: int) -> Html:
    graded = _graded(students)
    scores = [one["score"] for one in graded]
    facts: list[tuple[str, str, str]] = [("Students", f"{len(students):,}", "")]
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
    figure = tag("figure", sideways("Distribution of points", drawn), tag("figcaption", caption))
    return tag("section", tag("h2", "Points"), figure)


def _mistakes(mistakes: Sequence[Json], known: Mapping[str, Json]) -> Html:
    """The mistakes of the class, the most frequent first, as sentences that could be read out in class."""
    if not mistakes:
        return Html()
    ordered = sorted(mistakes, key=lambda one: (-one["count"], str(one["cause"])))
    lines = [_mistake(one, known) for one in ordered]
    more = lines[SHOWN:]
    folded = (
        [tag("details", tag("summary", f"{len(more)} rarer ones"), tag("ol", *more, class_="rows"))] if more else []
    )
    return tag("section", tag("h2", "Most frequent mistakes"), tag("ol", *lines[:SHOWN], class_="rows"), *folded)


def _mistake(one: Json, known: Mapping[str, Json]) -> Html:
    spoken = tag("span", f": {one['cause']}", class_="spoken")
    button = tag(
        "button", "Show in the table", spoken, type="button", data_find=one["cause"], hidden=True, class_="tools"
    )
    who = tag(
        "details",
        tag("summary", "Who", spoken),
        tag("p", together((_student(i, known) for i in one["students"]), ", ")),
    )
    said = tag("p", tag("strong", amount(one["count"], "student")), ": ", one["says"])
    return tag("li", said, tag("div", slug(one["exercise"]), who, button, class_="about"))


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
        tag("td", tag("span", bar, tag("span", f"{share} %", class_="n"), class_="rate")),
    )


def _ungraded(students: Sequence[Json]) -> Html:
    lines = [
        tag("li", link(one["report"], tag("bdi", one["name"] or one["id"])), ": ", one["trouble"])
        for one in students
        if one["trouble"]
    ]
    return tag("section", tag("h2", "Could not be graded"), tag("ul", *lines)) if lines else Html()


def _similar(pairs: Sequence[Json], known: Mapping[str, Json]) -> Html:
    if not pairs:
        return Html()
    told = "These submissions are alike; look at both before you conclude anything. Code is also alike for innocent "
    told += "reasons: a short exercise, the handout, a lecture, a tutor."
    if len(pairs) >= MOST_PAIRS:
        told += f" Only the {MOST_PAIRS} most alike are listed."
    lines = [
        tag(
            "li",
            _student(one["one"], known),
            " and ",
            _student(one["other"], known),
            f": {one['share']:.0%} alike",
            *([", ", link(one["page"], "side by side")] if one["page"] else []),
        )
        for one in sorted(pairs, key=lambda one: (-one["share"], str(one["one"]), str(one["other"])))
    ]
    return tag("section", tag("h2", "Similar pairs"), tag("p", told), tag("ul", *lines))


WORDS = {"name": "Name", "id": "Submission", "sid": "Student ID", "email": "Email"}


def _table(students: Sequence[Json], exercises: Sequence[Json], mistakes: Sequence[Json]) -> Html:
    """Every student: name, points, what to fix, and what else is known. Columns without a value are left out."""
    causes: dict[str, list[str]] = {}
    for mistake in mistakes:
        for identity in mistake["students"]:
            causes.setdefault(identity, []).append(str(mistake["cause"]))
    first, *others = [key for key in WORDS if key == "id" or any(one[key] for one in students)]
    late = any(one["late"] for one in students)
    heads = [_head(WORDS[first], find=True), _head("Points", kind="n"), *([_head("Late")] if late else [])]
    heads += [_head(slug(one["slug"]), f" / {one['points']}", kind="exercise") for one in exercises]
    heads += [_head("Fix first", find=True), *(_head(WORDS[key], find=True) for key in others)]
    rows = (_row(one, [first, *others], late, exercises, causes.get(one["id"], [])) for one in students)
    told = "Points of every student. A heading sorts by its column; once more, and it turns round."
    caption = tag("caption", tag("span", told))
    table = tag("table", caption, tag("thead", tag("tr", *heads)), tag("tbody", *rows), id="students")
    search = tag(
        "p",
        tag("label", "Find by name, ID, email or mistake", for_="find"),
        tag("input", id="find", type="search", autocomplete="off", spellcheck="false"),
        tag("output", "", id="found", for_="find"),
        class_="tools",
        hidden=True,  # the script shows it: without one it would do nothing
    )
    return tag("section", tag("h2", "Students"), search, sideways("Students", table, tall=True))


def _head(*content: object, find: bool = False, kind: str | None = None) -> Html:
    button = tag("button", *content, type="button", disabled=True)
    return tag("th", button, scope="col", aria_sort="none", data_find=find, class_=kind)


def _row(one: Json, words: Sequence[str], late: bool, exercises: Sequence[Json], causes: Sequence[str]) -> Html:
    first, *others = words
    cells = [tag("th", link(one["report"], tag("bdi", one[first] or one["id"])), scope="row")]
    cells.append(tag("td", UNKNOWN if one["trouble"] else one["score"], class_="n"))
    cells += [tag("td", one["late"])] if late else []
    for exercise in exercises:
        points = one["exercises"].get(exercise["slug"], UNKNOWN)
        lost = points != UNKNOWN and points < exercise["points"]
        cells.append(tag("td", points, class_="c lost" if lost else "c"))
    told = f"Could not be graded: {one['trouble']}" if one["trouble"] else one["fix_first"]
    cells += [tag("td", told, class_="told"), *(tag("td", one[key]) for key in others)]
    return tag("tr", *cells, data_causes=" ".join(causes) or None)


SCRIPT = """
"use strict";
const table = document.getElementById("students");
const body = table.tBodies[0];
const rows = Array.from(body.rows);
const heads = Array.from(table.tHead.rows[0].cells);
const input = document.getElementById("find");
const found = document.getElementById("found");
const {compare} = new Intl.Collator("en", {numeric: true, sensitivity: "base"});
const plain = text => text.normalize("NFD").replace(/\\p{M}/gu, "").toLowerCase();

function sortBy(column) {
  const head = heads[column];
  const turn = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
  for (const other of heads) other.setAttribute("aria-sort", "none");
  head.setAttribute("aria-sort", turn > 0 ? "ascending" : "descending");
  const keyed = Array.from(body.rows, row => [row.cells[column].textContent.trim(), row]);
  const empty = key => key === "" || key === "–";
  keyed.sort(([a], [b]) => empty(a) - empty(b) || turn * compare(a, b));
  body.replaceChildren(...keyed.map(([, row]) => row));
}

const searched = heads.flatMap((head, column) => "find" in head.dataset ? [column] : []);
const words = rows.map(row =>
  plain([...searched.map(column => row.cells[column].textContent), row.dataset.causes || ""].join(" ")));

function find() {
  const wanted = plain(input.value).split(/\\s+/).filter(Boolean);
  let count = 0;
  rows.forEach((row, i) => {
    row.hidden = !wanted.every(word => words[i].includes(word));
    count += !row.hidden;
  });
  found.textContent = wanted.length ? `${count} of ${rows.length}` : "";
}

heads.forEach((head, column) => {
  const button = head.querySelector("button");
  button.disabled = false;
  button.addEventListener("click", () => sortBy(column));
});
input.addEventListener("input", find);
input.addEventListener("keydown", event => {
  if (event.key === "Escape") { input.value = ""; find(); }
});
for (const button of document.querySelectorAll("button[data-find]")) {
  button.addEventListener("click", () => {
    input.value = button.dataset.find;
    find();
    input.focus();
    input.scrollIntoView({block: "start"});
  });
}
for (const tool of document.querySelectorAll(".tools")) tool.hidden = false;
find();
"""
