"""One submission as a page: made from its results.json alone, and readable anywhere, without a network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from autograder.checking.courses import PARTS
from autograder.checking.formatting import (
    Check,
    Memory,
    Told,
    Worths,
    facts,
    is_note,
    noted,
    revived,
    sorted_out,
    told_once,
)
from autograder.intake.people import Student
from autograder.judging.findings import MISSING, SPOKEN
from autograder.pages.drawings import picture
from autograder.pages.markup import Html, amount, document, footer, made_with, marked, sideways, slug, tag, together

Json = Mapping[str, Any]
FIRST = 4  # pieces of advice at the top, and names in one of them; the rest is said at the exercises
GIVEN = {
    **{"full": "given", "open": "given; fails"},
    **{"waiting": "given; needs other parts", "unchecked": "given; not checked"},
}
HASH = 12  # digits of a hash that are enough to compare by eye


def page(result: Json, name: str) -> str:
    """The whole page of one submission."""
    extra = result["extra_data"]
    exercises = grouped(result["tests"])
    most = sum(one.points for one in exercises if not one.extra_credit)
    if any(one.checks for one in exercises):
        score = f"{result['score']} / {most}"
        top = _score(result["score"], most, exercises)
        told = [_first(extra, exercises), _points(exercises), _open(exercises), _absent(exercises)]
        told += [_notes(extra.get("notes", []), exercises), _full(exercises)]
    else:  # the submission could not be opened
        score = "not graded"
        top = tag("p", tag("b", "Not graded"), class_="score")
        told = [_refused(extra["could_not_grade"])]
    who = _who(Student.of(extra["student"]), name)
    header = tag("header", tag("p", extra["title"], class_="eyebrow"), tag("h1", tag("bdi", name)), who, top)
    main = tag("main", *told, _files(extra["summary"][1:]), id="main")
    return document(f"{name}: {score}, {extra['title']}", header, main, footer(_origin(extra)))


def _who(student: Student, heading: str) -> Html:
    """One line about who handed this in, and when; what the heading says already is not said again."""
    sids = [person.sid for person in student.people if person.sid]
    facts = {
        "Submission ": [student.id] if student.id != heading else [],
        "Student IDs " if len(sids) > 1 else "Student ID ": sids,
        "": [person.email for person in student.people if person.email],
        "submitted ": [student.submitted] if student.submitted else [],
    }
    told = [together((name, together(map(_isolated, values), ", "))) for name, values in facts.items() if values]
    told += [_isolated(student.late)] if student.late else []
    return tag("p", together(told, " · "), class_="quiet who") if told else Html()


def _isolated(text: str) -> Html:
    return tag("bdi", text)


@dataclass(frozen=True)
class Exercise:
    """The rows of one exercise, public and hidden."""

    slug: str
    anchor: str
    rows: tuple[Json, ...]

    @property
    def about(self) -> Json:
        data: Json = self.rows[0]["extra_data"]
        return data

    @property
    def extra_credit(self) -> bool:
        return bool(self.about["extra_credit"])

    @property
    def score(self) -> int:
        return sum(row["score"] for row in self.rows)

    @property
    def points(self) -> int:
        return sum(row["max_score"] for row in self.rows)

    @cached_property
    def checks(self) -> list[tuple[str, Json]]:
        """Every check, with the part that it belongs to."""
        return [(row["extra_data"]["part"], check) for row in self.rows for check in row["extra_data"]["checks"]]

    @cached_property
    def state(self) -> str:
        """'full', 'open', 'unchecked' or 'absent'; given code that needs what is absent is 'waiting'."""
        verdicts = {row["extra_data"]["verdict"] for row in self.rows}
        if verdicts == {"passed"}:
            return "full"
        if "failed" not in verdicts:
            return "unchecked"
        failed = [check for _, check in self.checks if check["verdict"] != "passed" and not is_note(check)]
        found = {"not started" if _lacks(check) else check["kind"] for check in failed}
        if found != {"not started"}:
            return "open"
        return "absent" if self.points else "waiting"

    @property
    def look(self) -> str:
        """Where to look: the same for all of its messages."""
        return next((check["message"]["look"] for _, check in self.checks if check["message"]), "")

    @property
    def earns(self) -> bool:
        """Whether it has points, or needs none: only then is it worth knowing which notes do not hold."""
        return self.state == "full" or self.score > 0

    @property
    def shares(self) -> bool:
        """Whether its claims earn points one by one."""
        return any(check.get("worth") for _, check in self.checks)

    def part(self, name: str) -> Json | None:
        return next((row for row in self.rows if row["extra_data"]["part"] == name), None)


def _lacks(check: Json) -> bool:
    """Not in the submission, and nothing in it that looks like it: there is no more to say than that."""
    said = revived(check["message"])
    return check["kind"] == "missing" and not (said and facts(check, said))


def grouped(tests: Sequence[Json]) -> list[Exercise]:
    rows: dict[str, list[Json]] = {}
    for test in tests:
        rows.setdefault(test["extra_data"]["exercise"], []).append(test)
    return [Exercise(name, f"exercise-{i}", tuple(mine)) for i, (name, mine) in enumerate(rows.items(), 1)]


def _score(score: int, most: int, exercises: Sequence[Exercise]) -> Html:
    more = sum(one.points for one in exercises if one.extra_credit)
    full = sum(one.state == "full" and one.points > 0 for one in exercises)
    graded = sum(one.points > 0 for one in exercises)
    told = f"points; {full} of {amount(graded, 'exercise')} with full marks"
    told += f"; up to {more} of extra credit on top" if more else ""
    share = round(100 * min(1, score / most)) if most else 0
    bar = tag("span", tag("i", style=f"--share:{share}%"), class_="track", aria_hidden="true")
    return together((tag("p", tag("b", f"{score} / {most}"), tag("span", told, class_="quiet"), class_="score"), bar))


def _refused(trouble: str) -> Html:
    lead = tag("p", tag("strong", trouble or "No check was run."), class_="lead")
    then = tag("p", "Nothing was checked, so there are no points yet. Hand in again, or ask the course staff.")
    return _callout("This could not be graded", lead, then, kind="first trouble")


def _first(extra: Json, exercises: Sequence[Exercise]) -> Html:
    """What to do first: the answer to the question with which a student opens this page."""
    trouble = extra["could_not_grade"]
    sorry = "Not everything could be checked", tag("p", trouble, ". Your points are not final.")
    ours = _callout(*sorry, kind="first trouble") if trouble else Html()
    return together((ours, _advice(extra["advice"], exercises)))


def _advice(advice: Sequence[Json], exercises: Sequence[Exercise]) -> Html:
    anchors = {one.slug: one.anchor for one in exercises if one.state != "waiting"}
    if advice:
        lead, *others = advice[:FIRST]
        then = [tag("li", _advised(one, anchors, strong=False)) for one in others]
        rest = [tag("p", "The rest is told below, exercise by exercise.", class_="quiet")] if advice[FIRST:] else []
        later = [tag("p", "Then:"), tag("ol", *then), *rest] if then else []
        return _callout("Fix first", _advised(lead, anchors, strong=True), *later)
    if all(one.state == "full" for one in exercises):
        return _callout("Nothing to fix", tag("p", "Everything that was checked is right. Well done!", class_="lead"))
    begin = next((one for one in exercises if one.state == "absent"), None)
    if begin is None:
        return Html()
    told = (tag("strong", "Begin with ", _to(begin.slug, anchors)), f" (handout {begin.about['handout']}).")
    right = [tag("p", "What you have handed in so far is right.")] if any(one.score for one in exercises) else []
    return _callout("Next step", *right, tag("p", *told, class_="lead"))


def _callout(title: str, *content: object, kind: str = "first") -> Html:
    return tag("section", tag("h2", title), *content, class_=kind)


def _to(name: str, anchors: Mapping[str, str]) -> Html:
    return tag("a", slug(name), class_="to", href=f"#{anchors[name]}") if name in anchors else slug(name)


def _advised(one: Json, anchors: Mapping[str, str], strong: bool) -> Html:
    says = tag("strong", one["says"]) if strong else one["says"]
    told = tag("p", _to(one["exercise"], anchors), ": ", says, class_="lead" if strong else None)
    if not one["waiting"]:
        return told
    names = [_to(name, anchors) for name in one["waiting"]]
    *most, last = [*names[: FIRST - 1], f"{len(names) - FIRST + 1} more (below)"] if len(names) > FIRST else names
    others = (together(most, ", "), " and ", last, " fail") if most else (last, " fails")
    return together((told, tag("p", *others, " with it: fix this, then look again.", class_="quiet")))


def _points(exercises: Sequence[Exercise]) -> Html:
    """Points of the public and hidden parts, by section."""
    sections: dict[str, list[Exercise]] = {}
    for one in exercises:
        sections.setdefault(one.about["section"], []).append(one)
    head = tag(
        "tr",
        tag("th", "Exercise", scope="col"),
        *(tag("th", n, scope="col", class_="n") for n in ("Public", "Hidden", "Both")),
    )
    bodies = [
        tag(
            "tbody",
            tag("tr", tag("th", section, scope="rowgroup", colspan=4, class_="group")),
            *(_row(one) for one in mine),
        )
        for section, mine in sections.items()
    ]
    sums = [(sum(r["score"] for r in rows), sum(r["max_score"] for r in rows)) for rows in _by_part(exercises)]
    cells = (tag("td", f"{score} / {points}", class_="n") for score, points in (*sums, _added(sums)))
    everything = "All, with extra credit" if any(one.extra_credit for one in exercises) else "All"
    foot = tag("tfoot", tag("tr", tag("th", everything, scope="row"), *cells))
    how = "What is wrong in a part costs all of its points"
    how += ", or the points of that claim where the claim has its own." if any(one.shares for one in exercises) else "."
    caption = tag("caption", how, " Public checks are those that you can run yourself; hidden ones run here.")
    table = tag("table", caption, tag("thead", head), *bodies, foot)
    return tag("section", tag("h2", "Points"), sideways("Points", table), *_withheld(exercises))


def _by_part(exercises: Sequence[Exercise]) -> list[list[Json]]:
    return [[row for one in exercises if (row := one.part(part))] for part in PARTS]


def _added(sums: Sequence[tuple[int, int]]) -> tuple[int, int]:
    return sum(score for score, _ in sums), sum(points for _, points in sums)


def _row(one: Exercise) -> Html:
    shown = slug(one.slug) if one.state == "waiting" else tag("a", slug(one.slug), class_="to", href=f"#{one.anchor}")
    tags = [" ", tag("span", "extra credit", class_="tag")] if one.extra_credit else []
    name = tag("th", _sign(one), shown, *tags, scope="row", class_="signed")
    if not one.points:
        return tag("tr", name, tag("td", GIVEN[one.state], colspan=3, class_="n quiet"))
    cells = [_cell(part["score"], part["max_score"]) if (part := one.part(p)) else tag("td") for p in PARTS]
    return tag("tr", name, *cells, _cell(one.score, one.points))


def _cell(score: int, points: int) -> Html:
    return tag("td", f"{score} / {points}", class_="n lost" if score < points else "n")


RIGHT, WRONG, ASIDE = marked("✓", "right:", "yes"), marked("✗", "not right yet:", "no"), marked("–", "note:", "none")
UNCHECKED, ABSENT = marked("?", "not checked:", "none"), marked("○", "not there yet:", "none")


def _sign(one: Exercise) -> Html:
    return {"full": RIGHT, "open": WRONG, "unchecked": UNCHECKED}.get(one.state, ABSENT)


def _verdict(check: Json) -> Html:
    return WRONG if check["verdict"] == "failed" else UNCHECKED


def _withheld(exercises: Sequence[Exercise]) -> list[Html]:
    """Gradescope keeps some rows from students; whoever passes this page on should know that it does not."""
    if all(row.get("visibility", "visible") == "visible" for one in exercises for row in one.rows):
        return []
    told = "For course staff: this page shows results that Gradescope does not show to students yet."
    return [tag("p", tag("strong", told))]


def _open(exercises: Sequence[Exercise]) -> Html:
    memory, anchors = Memory(), {one.slug: one.anchor for one in exercises}
    cards = [_card(one, memory, anchors) for one in exercises if one.state in ("open", "unchecked")]
    return tag("section", tag("h2", "What to look at"), *cards) if cards else Html()


def _card(one: Exercise, memory: Memory, anchors: Mapping[str, str]) -> Html:
    worths = {part: Worths() for part in PARTS}
    remarks = dict.fromkeys(row["extra_data"].get("carried", "") for row in one.rows)
    told = [*(tag("p", remark) for remark in remarks if remark), *_told(one, worths, memory, anchors)]
    right = _right(one, worths)
    if not told and not right:
        told = [tag("p", "This could not be checked. The fault is ours; please tell the course staff.")]
    points = tag("span", f"{one.score} / {one.points}", class_="n lost") if one.points else Html()
    look = one.look or f"handout {one.about['handout']}"
    head = tag("header", tag("h3", slug(one.slug)), tag("span", look, class_="quiet"), points)
    return tag("article", head, *told, right, class_="card exercise", id=one.anchor)


def _told(one: Exercise, worths: Mapping[str, Worths], memory: Memory, anchors: Mapping[str, str]) -> Iterator[Html]:
    """The failed checks of an exercise, those of one reason together. Public ones come first: they tell more."""
    parts = {id(check): part for part, check in one.checks}
    _, failed, notes = sorted_out([check for _, check in one.checks])
    for told in told_once(failed, one.slug, memory):
        yield _reason(told, parts, worths, anchors)
    if notes and not one.earns:  # they may only follow from the rest
        claims = dict.fromkeys(check["claim"] for check in notes)
        lines = (tag("li", ASIDE, claim) for claim in claims)
        yield tag(
            "div", tag("h4", "Also not so, but worth no points"), tag("ul", *lines, class_="brief"), class_="check"
        )


def _reason(told: Told, parts: Mapping[int, str], worths: Mapping[str, Worths], anchors: Mapping[str, str]) -> Html:
    """One reason: the claims that fail for it, and what there is to say."""
    claims: dict[tuple[str, str], list[Check]] = {}
    for check in told.checks:
        claims.setdefault((check["claim"], check["verdict"]), []).append(check)
    content = [
        tag("h4", _verdict(those[0]), " ", claim, *_tags([(parts[id(check)], check) for check in those], worths))
        for (claim, _), those in claims.items()
    ]
    said, first = told.said, told.checks[0]
    if said and told.before:
        happened = said.headline.partition(": ")[2] or said.headline
        why = tag("strong", said.says) if said.says else f"{happened[:1].upper()}{happened[1:]}."
        content.append(tag("p", why, " Told at ", _to(told.before, anchors), "; look here again when that is right."))
    elif said:
        content.append(tag("p", said.headline))
        content += [tag("p", tag("strong", said.says), class_="says")] if said.says else []
        evidence = facts(first, said)
        content += [tag("pre", *(tag("span", fact) for fact in evidence))] if evidence else []
    if first["picture"] and not told.before:
        content.append(picture(first["picture"]))
    return tag("div", *content, class_="check")


def _tags(those: Sequence[tuple[str, Json]], worths: Mapping[str, Worths]) -> list[object]:
    """Of one claim in the parts of which something is said: which parts, and what it was worth there."""
    found: list[object] = []
    of = {part: worths[part].of(check) for part, check in those}
    if len(of) == len(PARTS) and of["public"].endswith(LATER):  # told by the hidden part
        of["public"] = ""
    for part, worth in of.items():
        found += [" ", tag("span", part + worth, class_="tag")]
    return found


LATER = "with the hidden checks"  # where a further claim has its points in the other part


def _right(one: Exercise, worths: Mapping[str, Worths]) -> Html:
    """What is right, one line per claim; with its parts, if they differ, or if it has points of its own."""
    claims: dict[str, list[tuple[str, Json]]] = {}
    for part, check in one.checks:
        claims.setdefault(check["claim"], []).append((part, check))
    lines = []
    for claim, those in claims.items():
        right = [part for part in dict.fromkeys(part for part, _ in those) if _all_right(part, those)]
        if right:
            passed = [(part, check) for part, check in those if part in right]
            differ = len(right) < len({part for part, _ in those}) or any(check.get("worth") for _, check in passed)
            lines.append(tag("li", RIGHT, claim, noted(those[-1][1]), *(_tags(passed, worths) if differ else [])))
    if not lines:
        return Html()
    heading = [] if one.state == "full" else [tag("h4", "What is right")]
    return tag("div", *heading, tag("ul", *lines, class_="brief"), class_="check" if heading else None)


def _all_right(part: str, those: Sequence[tuple[str, Json]]) -> bool:
    return all(check["verdict"] == "passed" for other, check in those if other == part)


def _absent(exercises: Sequence[Exercise]) -> Html:
    """Exercises without an attempt: what is asked for, and where, is all that there is to say."""
    lines = []
    for one in exercises:
        if one.state != "absent":
            continue
        claims = list(dict.fromkeys(check["claim"] for _, check in one.checks if not is_note(check)))
        name = slug(one.slug)
        told = tag("p", name, " ", tag("span", amount(one.points, "point"), class_="quiet"))
        said = [check["message"] for _, check in one.checks if check["message"]]
        missing = next((check["message"]["headline"] for _, check in one.checks if check["kind"] == "missing"), None)
        look = f"{missing.partition(': ')[2]} {one.look}" if missing else one.look
        if files := [fact for fact in (said[0]["evidence"] if said else []) if fact.startswith(MISSING)]:
            look = f"{'; '.join(files)} {one.look}"
        lines.append(tag("li", told, tag("p", "; ".join(claims)), tag("p", look, class_="quiet"), id=one.anchor))
    if not lines:
        return Html()
    return tag("section", tag("h2", "Not there yet"), tag("ul", *lines, class_="rows"))


def _full(exercises: Sequence[Exercise]) -> Html:
    """What is right stays folded: nobody has to read it."""
    lines = []
    for one in exercises:
        if one.state == "full":
            points = f"{one.score} / {one.points}" if one.points else "given"
            name = slug(one.slug)
            taken = f", {one.about['file']}" if one.about.get("file") else ""
            told = tag("p", name, " ", tag("span", points + taken, class_="quiet"))
            lines.append(tag("li", told, _right(one, {part: Worths() for part in PARTS}), id=one.anchor))
    if not lines:
        return Html()
    summary = tag("summary", f"{amount(len(lines), 'exercise')}, and what was checked")
    return tag("section", tag("h2", "All right"), tag("details", summary, tag("ul", *lines, class_="rows")))


def _notes(told: Sequence[Json], exercises: Sequence[Exercise]) -> Html:
    """What is good to know and cost nothing: what the grader noticed, and claims that are notes and do not hold."""
    anchors = {one.slug: one.anchor for one in exercises if one.state != "waiting"}
    lines: dict[Html, None] = {}
    for one in told:
        named = [_to(one["exercise"], anchors), ": "] if one["exercise"] else []
        lines[tag("li", ASIDE, *named, one["note"])] = None
    for exercise in exercises:
        if exercise.earns:
            for group in told_once(sorted_out([check for _, check in exercise.checks])[2], exercise.slug):
                lines[_aside(exercise, group, anchors)] = None
    if not lines:
        return Html()
    lead = tag("p", "These cost no points.", class_="quiet")
    return tag("section", tag("h2", "Notes"), lead, tag("ul", *lines, class_="brief"))


def _aside(exercise: Exercise, told: Told, anchors: Mapping[str, str]) -> Html:
    first, said = told.checks[0], told.said
    claims = "; ".join(dict.fromkeys(check["claim"] for check in told.checks))
    how = "this does not hold" if first["verdict"] == "failed" else "this could not be checked"
    content: list[object] = [ASIDE, _to(exercise.slug, anchors), f": {how}: {claims}."]
    if said and first["verdict"] == "failed":
        content += [" ", said.says] if said.says else []
        evidence = facts(first, said)
        if evidence or said.headline.partition(": ")[2] not in SPOKEN.values():  # else it says what stands here already
            content.append(tag("pre", *(tag("span", fact) for fact in (said.headline, *evidence))))
    return tag("li", *content)


def _files(lines: Sequence[str]) -> Html:
    if not lines:
        return Html()
    return tag("section", tag("h2", "About the files"), tag("ul", *(tag("li", line) for line in lines)))


def _origin(extra: Json) -> list[tuple[str, object]]:
    hashes = [tag("code", f"{name} {digest[:HASH]}") for name, digest in sorted(extra["hashes"].items())]
    return [
        *made_with(extra["versions"], extra["isolation"]),
        ("Layers", ", ".join(_layers(extra["layers"]))),
        ("Course", extra["course"]),
        ("Hashes", together(hashes, ", ")),
    ]


def _layers(layers: Json) -> list[str]:
    """The active layers: a list says which ones, a number which version."""
    told = []
    for name, value in sorted(layers.items()):
        if value:
            more = ", ".join(value) if isinstance(value, list | tuple) else "" if value is True else f"version {value}"
            told.append(name.replace("_", " ") + (f" ({more})" if more else ""))
    return told
