"""Two submissions side by side, for a person who decides: what is alike is marked, and nobody is accused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autograder.pages.markup import Html, amount, document, link, percent, tag
from autograder.pages.similarity import Pair, Place, cut, seen

AROUND = 2  # lines shown before and after
PLACES, LINES, WIDTH = 100, 200, 400  # most that are shown: places, lines of a place, characters of a line

SAID = """These two submissions have much in common that was not given. There can be good reasons, such as shared notes,
a common source, or short exercises, which have few right forms. Look at both before you conclude anything."""
COUNTED = """Layout, comments, docstrings, type hints, the order of functions and the names of variables do not count.
Neither does code that was given, or that a third of the class has. Marked lines have a bar at their side."""


def comparison(
    pair: Pair, one_texts: Mapping[str, str], other_texts: Mapping[str, str], names: Mapping[str, str]
) -> str:
    """The page of a pair. `names`: from id to what the page calls it, if that is not the id itself."""
    one, other = (names.get(identity) or identity for identity in (pair.one, pair.other))
    lines = [{file: text.split("\n") for file, text in seen(texts).items()} for texts in (one_texts, other_texts)]
    top = tag(
        "header",
        tag("p", "Side by side", class_="eyebrow"),
        tag("h1", tag("bdi", one), " and ", tag("bdi", other)),
        tag("p", tag("b", percent(pair.share)), " of the shorter one's own code", class_="score"),
        _ways(pair, one, other),
    )
    told = tag("div", tag("p", SAID, class_="lead"), tag("p", COUNTED, class_="quiet"), class_="first")
    notes = [f"{name}, {note}" for name, texts in ((one, one_texts), (other, other_texts)) for note in cut(texts)]
    if len(pair.places) > PLACES:
        notes.append(f"Only the first {PLACES} of {len(pair.places):,} places are shown; the others are in the files.")
    places = (_place(number, place, (one, other), lines) for number, place in enumerate(pair.places[:PLACES], start=1))
    heading = tag("h2", amount(len(pair.places), "place"))
    limits = [tag("ul", *(tag("li", note) for note in notes))] if notes else []
    main = tag("main", told, *limits, tag("section", heading, *places), id="main")
    style = tag("style", Html(CSS))
    return document(f"{one} and {other}, side by side", style, top, main, kind="class")


def _ways(pair: Pair, one: str, other: str) -> Html:
    """To the class, and to both reports: this page lies in a folder beside theirs."""
    reports = (
        tag("li", link(f"{identity}/report.html", "Report of ", tag("bdi", name), up=1))
        for identity, name in ((pair.one, one), (pair.other, other))
    )
    return tag("nav", tag("ul", tag("li", link("index.html", "The whole class", up=1)), *reports), aria_label="Pages")


def _place(number: int, place: Place, names: tuple[str, str], lines: Sequence[Mapping[str, Sequence[str]]]) -> Html:
    sides = (
        _side(names[0], place.one_file, place.one_lines, lines[0].get(place.one_file, [])),
        _side(names[1], place.other_file, place.other_lines, lines[1].get(place.other_file, [])),
    )
    return tag("article", tag("h3", f"Place {number}"), tag("div", *sides, class_="sides"), class_="card")


def _side(name: str, file: str, alike: tuple[int, int], lines: Sequence[str]) -> Html:
    first, last = alike
    shown = range(max(1, first - AROUND), min(len(lines), last + AROUND, first + LINES - 1) + 1)
    rows = [_line(number, lines[number - 1], first <= number <= last) for number in shown]
    if last >= first + LINES:
        rows.append(tag("span", f"and {amount(last - first - LINES + 1, 'more line')}, in {file}", class_="rest"))
    where = f"line {first}" if first == last else f"lines {first} to {last}"
    caption = tag("figcaption", tag("bdi", name), ": ", tag("code", file), f", {where}")
    return tag("figure", caption, tag("pre", *rows))


def _line(number: int, text: str, alike: bool) -> Html:
    alike = alike and text.strip()[:1] not in ("", "#")  # what does not count is not marked
    text = text[:WIDTH].expandtabs(4) + (" …" if len(text) > WIDTH else "")
    return tag(
        "span", tag("i", number), tag("mark", text) if alike else tag("b", text), class_="alike" if alike else None
    )


CSS = """
nav ul{list-style:none;padding:0;margin:.75rem 0 1.5rem;display:flex;flex-wrap:wrap;gap:.2rem 1.5rem}
nav li{min-width:0;overflow-wrap:anywhere}
.sides{display:grid;grid-template-columns:1fr 1fr;gap:1rem}
.sides figure{margin:0;min-width:0}
.sides figcaption{overflow-wrap:anywhere;margin-bottom:.35rem}
.sides pre{margin:0;padding:.4rem 0}
.sides pre span{padding:0 .6rem 0 4.4rem;text-indent:0;
 position:relative;min-height:1.5em;border-left:.25rem solid transparent}
.sides pre i{position:absolute;
 left:0;width:3.6rem;text-align:right;font-style:normal;color:var(--quiet);user-select:none}
.sides mark{background:none;color:inherit}
.sides pre b{font-weight:400;color:var(--quiet)}
.sides .alike{background:var(--q1);border-left-color:var(--accent)}
.sides .alike i{color:inherit}
.sides .rest{color:var(--quiet)}
.card h3{margin-bottom:.5rem}
@media (max-width:52rem){
 .sides{grid-template-columns:1fr}
 .sides pre span{padding-left:3.2rem}
 .sides pre i{width:2.4rem}
}
"""
