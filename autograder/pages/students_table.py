"""Every student of a class in one table, and the script that sorts it, searches it, and keeps it light."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autograder.intake.people import moment
from autograder.pages.markup import FOLDER, Html, link, sideways, slug, tag

Json = Mapping[str, Any]
UNKNOWN = "–"  # sorted behind everything else
WORDS = {"name": "Name", "id": "Submission", "sid": "Student ID", "email": "Email"}
TIMES = {"Late": "late", "Submitted": "submitted"}
KINDS = {  # of students whom one looks for
    **{"late": "Late", "ungraded": "Not graded", "zero": "0 points"},
    **{"noted": "With notes", "refused": "Tried what is refused"},
}
NOTES = 3  # in a row of the table; the report has all of them


def students_table(students: Sequence[Json], exercises: Sequence[Json], mistakes: Sequence[Json]) -> Html:
    """Every student: name, points, what to fix, and what else is known. Columns without a value are left out."""
    causes: dict[str, list[str]] = {}
    for mistake in mistakes:
        for identity in mistake["students"]:
            causes.setdefault(identity, []).append(str(mistake["cause"]))
    first, *others = [key for key in WORDS if key == "id" or any(one[key] for one in students)]
    times = [name for name, key in TIMES.items() if any(one[key] for one in students)]
    heads = [_head(WORDS[first], find=True), _head("Points", kind="n")]
    heads += [_head(key, find=key == "Late") for key in times]
    heads += [_head(slug(one["slug"]), f" / {one['points']}", kind="exercise") for one in exercises]
    aside = [name for name, told in ASIDE.items() if any(told(one) for one in students)]
    heads += [_head("Fix first", find=True), *(_head(name, find=True) for name in aside)]
    heads += [_head(WORDS[key], find=True) for key in others]
    rows = (_row(one, [first, *others], times, exercises, aside, causes.get(one["id"], [])) for one in students)
    told = "Points of every student. A heading sorts by its column; once more, and it turns round."
    caption = tag("caption", tag("span", told))
    table = tag("table", caption, tag("thead", tag("tr", *heads)), tag("tbody", *rows), id="students")
    end = tag("div", id="end", hidden=True)  # where it comes into view, more rows are added
    shown = sideways("Students", table, end, tall=True)
    return tag("section", tag("h2", "Students"), _search(), _filters(students), _rest(), shown)


def _search() -> Html:
    return tag(
        "p",
        tag("label", "Find by name, ID, email, mistake or note", for_="find"),
        tag("input", id="find", type="search", autocomplete="off", spellcheck="false"),
        tag("output", "", id="found", for_="find"),
        class_="tools",
        hidden=True,  # the script shows it: without one it would do nothing
    )


def _filters(students: Sequence[Json]) -> Html:
    kinds = [kind for one in students for kind in _kinds(one)]
    only = [
        tag("button", f"{name} ({kinds.count(kind):,})", type="button", aria_pressed="false", data_only=kind)
        for kind, name in KINDS.items()
        if kind in kinds
    ]
    return tag("div", *only, class_="tools", role="group", aria_label="Show only", hidden=True) if only else Html()


def _rest() -> Html:
    told = tag("span", "More rows appear as you scroll.", class_="quiet")
    return tag("p", told, tag("button", type="button"), class_="tools", id="rest", hidden=True)


def _kinds(one: Json) -> list[str]:
    applies = {
        "late": bool(one["late"]),
        "ungraded": bool(one["trouble"]),
        "zero": not one["trouble"] and not one["score"],
        "noted": bool(one.get("notes")),
        "refused": bool(one.get("refused")),
    }
    return [kind for kind in KINDS if applies[kind]]


def _time(key: str, one: Json) -> Html:
    when = moment(one["submitted"])  # zones differ: within a class, too, when the clocks change
    to_sort_by = _seconds_late(one) if key == "Late" else when.timestamp() if when else None
    return tag("td", one[TIMES[key]], data_sort=to_sort_by)


def _seconds_late(one: Json) -> int | None:
    """To sort by. Late by an unknown time comes before what is known; who is on time is sorted as empty."""
    seconds = one["seconds_late"]
    return 0 if seconds is None else seconds or None


def _head(*content: object, find: bool = False, kind: str | None = None) -> Html:
    button = tag("button", *content, type="button", disabled=True)
    return tag("th", button, scope="col", aria_sort="none", data_find=find, class_=kind)


def _all_notes(one: Json) -> list[str]:
    return [": ".join(filter(None, (note["exercise"], note["note"]))) for note in one.get("notes", [])]


def _notes(one: Json) -> str:
    notes = _all_notes(one)
    more = [f"and {len(notes) - NOTES} more, in the report"] if len(notes) > NOTES else []
    return "; ".join([*notes[:NOTES], *more])


def _refused(one: Json) -> str:
    return f"tried: {', '.join(one['refused'])}" if one.get("refused") else ""


ASIDE = {"Notes": _notes, "Refused": _refused}  # columns that are there if anybody has something in them


def _row(
    one: Json,
    words: Sequence[str],
    times: Sequence[str],
    exercises: Sequence[Json],
    aside: Sequence[str],
    causes: Sequence[str],
) -> Html:
    first, *others = words
    cells = [tag("th", link(one["report"], tag("bdi", one[first] or one["id"])), scope="row")]
    cells.append(tag("td", UNKNOWN if one["trouble"] else one["score"], class_="n"))
    cells += [_time(key, one) for key in times]
    for exercise in exercises:
        # No zeros for what nobody has looked at.
        points = UNKNOWN if one["trouble"] else one["exercises"].get(exercise["slug"], UNKNOWN)
        lost = points != UNKNOWN and points < exercise["points"]
        cells.append(tag("td", points, class_="c lost" if lost else "c"))
    told = f"Could not be graded: {one['trouble']}" if one["trouble"] else one["fix_first"]
    cells += [tag("td", told, class_="told"), *(tag("td", ASIDE[name](one), class_="told") for name in aside)]
    cells += [tag("td", one[key]) for key in others]
    found = " ".join([*causes, *_all_notes(one)[NOTES:]])  # by what does not stand in the row
    return tag("tr", *cells, data_found=found or None, data_is=" ".join(_kinds(one)) or None)


# Laying out a thousand rows takes a browser half a second, whatever the script does: so only the first ones that were
# asked for are in the document. The others are kept here, and found and sorted all the same.
SCRIPT = "\n" + (FOLDER / "students_table.js").read_text(encoding="utf-8")
