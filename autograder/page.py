"""One submission as a page: made from its results.json alone, and readable anywhere, without a network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autograder.course import PARTS
from autograder.drawings import picture
from autograder.markup import Html, amount, document, footer, made_with, marked, sideways, slug, tag, together
from autograder.people import Student
from autograder.render import noted, told_once
from autograder.report import Message

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
        told = [_first(extra, exercises), _points(exercises), _open(exercises), _absent(exercises), _full(exercises)]
    else:  # the submission could not be opened
        score = "not graded"
        top = tag("p", tag("b", "Not graded"), class_="score")
        told = [_refused(extra["could_not_grade"])]
    who = _who(Student.of(extra["student"]), name)
    header = tag("header", tag("p", extra["title"], class_="eyebrow"), tag("h1", tag("bdi", name)), who, top)
    main = tag("main", *told, _notes(extra["summary"][1:]), id="main")
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

    @property
    def checks(self) -> list[tuple[str, Json]]:
        """Every check, with the part that it belongs to."""
        return [(row["extra_data"]["part"], check) for row in self.rows for check in row["extra_data"]["checks"]]

    @property
    def state(self) -> str:
        """'full', 'open', 'unchecked' or 'absent'; given code that needs what is absent is 'waiting'."""
        verdicts = {row["extra_data"]["verdict"] for row in self.rows}
        if verdicts == {"passed"}:
            return "full"
        if "failed" not in verdicts:
            return "unchecked"
        failed = [check for _, check in self.checks if check["verdict"] != "passed"]
        found = {"not started" if _lacks(check) else check["kind"] for check in failed}
        if found != {"not started"}:
            return "open"
        return "absent" if self.points else "waiting"

    @property
    def look(self) -> str:
        """Where to look: the same for all of its messages."""
        return next((check["message"]["look"] for _, check in self.checks if check["message"]), "")

    def part(self, name: str) -> Json | None:
        return next((row for row in self.rows if row["extra_data"]["part"] == name), None)


def _lacks(check: Json) -> bool:
    """Not in the submission, and nothing in it that looks like it: there is no more to say than that."""
    return check["kind"] == "missing" and not (check["message"] and _facts(check, check["message"]["evidence"]))


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
    *most, last = [*names[: FIRST - 1], f"{len(names) - FIRST + 1} more"] if len(names) > FIRST else names
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
    caption = tag(
        "caption",
        "A part counts in full or not at all. Public checks are those that you can run yourself; hidden ones run here.",
    )
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


RIGHT, WRONG = marked("✓", "right:", "yes"), marked("✗", "not right yet:", "no")
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
    cards = [_card(one) for one in exercises if one.state in ("open", "unchecked")]
    return tag("section", tag("h2", "What to look at"), *cards) if cards else Html()


def _card(one: Exercise) -> Html:
    told = list(_told(one))
    right = _right(one)
    if not told and not right:
        told = [tag("p", "This could not be checked. The fault is ours; please tell the course staff.")]
    points = tag("span", f"{one.score} / {one.points}", class_="n lost") if one.points else Html()
    look = one.look or f"handout {one.about['handout']}"
    head = tag("header", tag("h3", slug(one.slug)), tag("span", look, class_="quiet"), points)
    return tag("article", head, *told, right, class_="card exercise", id=one.anchor)


def _told(one: Exercise) -> Iterator[Html]:
    """The failed checks of an exercise: each thing is said once; of what adds nothing, only the claim."""
    wrong = [(part, check) for part, check in one.checks if check["verdict"] != "passed"]
    known: set[str] = set()  # claims, facts and named mistakes
    again: list[Html] = []
    for (part, check), (_, said) in zip(wrong, told_once([check for _, check in wrong]), strict=True):
        facts = [fact for fact in _facts(check, said.evidence) if fact not in known] if said else []
        happened = said.headline.partition(": ")[2] if said else ""
        if said is None or (said.says in known if said.says else not facts and {check["claim"], happened} & known):
            again.append(tag("li", _verdict(check), check["claim"], " ", _part(part)))
            continue
        known |= {check["claim"], said.says, happened, *facts}
        yield _check(part, check, said, facts)
    if again:
        yield tag("div", tag("h4", "Also not right yet"), tag("ul", *again, class_="brief"), class_="check")


def _facts(check: Json, evidence: Sequence[str]) -> list[str]:
    """The evidence, without the claim: that is the heading."""
    return [fact for fact in evidence if fact != f"Asked for: {check['claim']}."]


def _part(part: str) -> Html:
    return tag("span", part, class_="tag")


def _check(part: str, check: Json, said: Message, facts: Sequence[str]) -> Html:
    content = [tag("h4", _verdict(check), " ", check["claim"], " ", _part(part)), tag("p", said.headline)]
    if said.says:
        content.append(tag("p", tag("strong", said.says), class_="says"))
    if facts:
        content.append(tag("pre", *(tag("span", fact) for fact in facts)))
    if check["picture"]:
        content.append(picture(check["picture"]))
    return tag("div", *content, class_="check")


def _right(one: Exercise) -> Html:
    """What is right, one line per claim; with its part, if the other part does not think so."""
    passed: dict[str, dict[str, bool]] = {}
    notes = {check["claim"]: noted(check) for _, check in one.checks}
    for part, check in one.checks:
        of = passed.setdefault(check["claim"], {})
        of[part] = of.get(part, True) and check["verdict"] == "passed"
    lines = []
    for claim, of in passed.items():
        parts = [part for part, right in of.items() if right]
        if parts:
            named = [" ", *(_part(part) for part in parts)] if len(parts) < len(of) else []
            lines.append(tag("li", RIGHT, claim, notes[claim], *named))
    if not lines:
        return Html()
    heading = [] if one.state == "full" else [tag("h4", "What is right")]
    return tag("div", *heading, tag("ul", *lines, class_="brief"), class_="check" if heading else None)


def _absent(exercises: Sequence[Exercise]) -> Html:
    """Exercises without an attempt: what is asked for, and where, is all that there is to say."""
    lines = []
    for one in exercises:
        if one.state != "absent":
            continue
        claims = list(dict.fromkeys(check["claim"] for _, check in one.checks))
        name = slug(one.slug)
        told = tag("p", name, " ", tag("span", amount(one.points, "point"), class_="quiet"))
        missing = next((check["message"]["headline"] for _, check in one.checks if check["kind"] == "missing"), None)
        look = f"{missing.partition(': ')[2]} {one.look}" if missing else one.look
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
            lines.append(tag("li", told, _right(one), id=one.anchor))
    if not lines:
        return Html()
    summary = tag("summary", f"{amount(len(lines), 'exercise')}, and what was checked")
    return tag("section", tag("h2", "All right"), tag("details", summary, tag("ul", *lines, class_="rows")))


def _notes(lines: Sequence[str]) -> Html:
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
