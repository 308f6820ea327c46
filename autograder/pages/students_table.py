"""Every student of a class in one table, and the script that sorts it, searches it, and keeps it light."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autograder.intake.people import moment
from autograder.pages.markup import Html, link, sideways, slug, tag

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
SCRIPT = """
"use strict";
const page = document.documentElement.classList;
page.add("scripted");  // until the rows are taken out, the style sheet keeps all but the first from being laid out

addEventListener("DOMContentLoaded", () => {
  const STEP = 100;
  const table = document.getElementById("students");
  const box = table.parentElement;
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const heads = Array.from(table.tHead.rows[0].cells);
  const input = document.getElementById("find");
  const found = document.getElementById("found");
  const end = document.getElementById("end");
  const rest = document.getElementById("rest");
  const filters = Array.from(document.querySelectorAll("button[data-only]"));

  // Letters that Unicode does not take apart into a plain one and a mark.
  const LETTERS = {æ: "ae", œ: "oe", ø: "o", ß: "ss", þ: "th", ð: "d", đ: "d", ł: "l", ħ: "h", ŧ: "t", ı: "i", ŋ: "n"};
  const letters = new RegExp(`[${Object.keys(LETTERS).join("")}]`, "g");
  const plain = text =>
    text.normalize("NFKD").replace(/\\p{M}/gu, "").toLowerCase().replace(letters, letter => LETTERS[letter]);

  function once(make) {
    const made = new Map();
    return key => {
      if (!made.has(key)) made.set(key, make(key));
      return made.get(key);
    };
  }
  const keys = once(column => rows.map(row => {
    const cell = row.cells[column];
    if ("sort" in cell.dataset) return Number(cell.dataset.sort);
    const text = cell.textContent.trim();
    return text === "–" ? "" : text;
  }));
  const words = once(() => {
    const searched = heads.flatMap((head, column) => "find" in head.dataset ? [column] : []);
    return rows.map(row =>
      plain([...searched.map(column => row.cells[column].textContent), row.dataset.found || ""].join(" ")));
  });

  const {compare} = new Intl.Collator("en", {numeric: true, sensitivity: "base"});
  function before(a, b) {
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    return typeof a === "number" ? a - b : compare(a, b);
  }

  const order = rows.map((_, i) => i);
  let fits = () => true;
  let listed = rows;  // those that fit, in order
  let everything = false;

  function add(count) {
    body.append(...listed.slice(body.rows.length, body.rows.length + count));
    rest.hidden = end.hidden = body.rows.length === listed.length;
    rest.querySelector("button").textContent = `Show all ${listed.length.toLocaleString("en")}`;
    table.setAttribute("aria-rowcount", listed.length + 1);
  }

  function list() {
    listed = order.filter(fits).map(i => rows[i]);
    body.replaceChildren();
    add(everything ? Infinity : STEP);
    box.scrollTop = 0;
  }

  function sortBy(column) {
    const head = heads[column];
    const turn = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    for (const other of heads) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", turn > 0 ? "ascending" : "descending");
    const key = keys(column);
    order.sort((i, j) => (key[i] === "") - (key[j] === "") || turn * before(key[i], key[j]));
    list();
  }

  const isPressed = filter => filter.getAttribute("aria-pressed") === "true";

  function find() {
    const wanted = plain(input.value).split(/\\s+/).filter(Boolean);
    const only = filters.filter(isPressed).map(filter => filter.dataset.only);
    const kinds = i => (rows[i].dataset.is || "").split(" ");
    fits = i => only.every(kind => kinds(i).includes(kind)) && wanted.every(word => words()[i].includes(word));
    list();
    found.textContent = wanted.length || only.length ? `${listed.length} of ${rows.length}` : "";
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
  for (const filter of filters) {
    filter.addEventListener("click", () => {
      filter.setAttribute("aria-pressed", !isPressed(filter));
      find();
    });
  }
  for (const button of document.querySelectorAll("button[data-find]")) {
    button.addEventListener("click", () => {
      for (const filter of filters) filter.setAttribute("aria-pressed", false);
      input.value = button.dataset.find;
      find();
      input.focus();
      input.scrollIntoView({block: "start"});
    });
  }

  // Scrolled far to the side, the end is still the end. Watched anew, it is told again if it is still in view.
  const watch = new IntersectionObserver(seen => {
    if (!seen.some(one => one.isIntersecting)) return;
    add(STEP);
    watch.unobserve(end);
    watch.observe(end);
  }, {root: box, rootMargin: "1000px 100000px"});
  watch.observe(end);
  rest.querySelector("button").addEventListener("click", () => {
    everything = true;
    add(Infinity);
    box.focus({preventScroll: true});  // the button is gone
  });
  let printed = 0;
  addEventListener("beforeprint", () => { printed = body.rows.length; add(Infinity); });
  addEventListener("afterprint", () => {
    body.replaceChildren(...listed.slice(0, printed));
    add(0);
  });

  for (const tool of document.querySelectorAll(".tools")) tool.hidden = false;
  find();
});
addEventListener("DOMContentLoaded", () => page.remove("scripted"));  // whatever happened: no row is lost
"""
