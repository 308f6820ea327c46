"""The gate: prove that a release is right before anyone sees it.

Solutions get full marks, stubs and lazy answers get nothing, every known mistake loses points
exactly where it should and is named, and what is generated is up to date.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from autograder.checking.courses import PARTS, Course
from autograder.checking.engine import Examiner, Outcome, collect
from autograder.checking.points import lost, rows, score
from autograder.grading.batch import Candidate as Waiting
from autograder.grading.batch import examine_all
from autograder.judging.held_out import Answers
from autograder.proving import lazy
from autograder.proving.accepted_forms import FORMS
from autograder.proving.assembling import Sources, lay_out
from autograder.proving.mistakes import Mistake
from autograder.publishing import regions
from autograder.running.loading import forget
from autograder.selfcheck.local import sitting

ORIGINALS = ("cs224n",)  # courses whose real submissions must be graded as the original would


@dataclass(frozen=True)
class Line:
    """One line of the gate's table."""

    what: str
    expected: str
    found: str
    held: bool
    notes: tuple[str, ...] = ()


class Confusion:
    """Which name each mistake was given in its own exercise, by public and by hidden checks."""

    def __init__(self, table: Sequence[Mistake]) -> None:
        self.table = table
        self.names: dict[tuple[str, str], set[str]] = {}  # (mistake, part) -> the names it was given

    def saw(self, mistake: Mistake, outcomes: Sequence[Outcome]) -> None:
        for outcome in outcomes:
            if outcome.finding and outcome.finding.cause and outcome.exercise == mistake.exercise:
                self.names.setdefault((mistake.slug, outcome.part), set()).add(outcome.finding.cause)

    def wrong(self) -> list[str]:
        """Every mistake that was called by another's name, or by none."""
        found = []
        for mistake in self.table:
            given = {name for part in PARTS for name in self.names.get((mistake.slug, part), ())}
            if given != {mistake.slug}:
                found.append(f"{mistake.slug} was named {_names(given)}")
        return found

    def line(self) -> Line:
        wrong = self.wrong()
        return Line("confusion table is clean", "no confusion", f"{len(wrong)} confused", not wrong, tuple(wrong))

    def text(self) -> str:
        """One line per exercise: how many of its mistakes were named right, by which part, and how many were not."""
        lines = [
            f"{'exercise':24} {'mistakes':>8} {'named by public':>16} {'by hidden':>10} {'as another':>11} {'not':>4}"
        ]
        for exercise in dict.fromkeys(mistake.exercise for mistake in self.table):
            mine = [mistake.slug for mistake in self.table if mistake.exercise == exercise]
            right = [sum(slug in self.names.get((slug, part), ()) for slug in mine) for part in PARTS]
            other = sum(any(self.names.get((slug, part), {slug}) != {slug} for part in PARTS) for slug in mine)
            none = sum(not any(self.names.get((slug, part)) for part in PARTS) for slug in mine)
            lines.append(f"{exercise:24} {len(mine):8} {right[0]:16} {right[1]:10} {other:11} {none:4}")
        return "\n".join(lines)


@dataclass
class Candidate:
    """A submission that the gate examines, and what must come of it."""

    what: str
    course: Course
    files: Mapping[str, str | bytes]
    judge: Callable[[list[Outcome]], Line]
    only: list[str] | None = None
    carried: list[Outcome] = field(default_factory=list)


def verify(
    sources: Sources,
    table: Sequence[Mistake],
    variants: Sequence[Mistake],
    courses: Sequence[Course],
    folders: Sequence[Path],
    answers: Answers,
    jobs: int,
    told: Callable[[str], None],
) -> tuple[list[Line], Confusion]:
    """Examine all candidates; returns the table, and which mistakes were taken for which."""
    default = next(course for course in courses if course.name == "default")
    # Predictions are judged with the solutions; nobody trains every mutant.
    of_code = {course.name: course.of_code for course in courses}
    lines: list[Line] = []
    confusion = Confusion(table)

    def run(examiner: Examiner) -> None:
        for course in courses:
            lines.extend(_coverage(examiner, course))
        solved = {name: _warm_up(examiner, sources.solved(), course) for name, course in sorted(of_code.items())}
        candidates = [_solution(sources, course) for course in courses]
        candidates += [_stubs(sources, course) for course in courses]
        candidates += [_lazy(sources, default, kind) for kind in lazy.ANSWERS]
        candidates += [
            _variant(sources, of_code[name], variant, solved[name])
            for variant in variants
            for name in _where_right(variant, of_code)
        ]
        candidates += [_mutant(sources, of_code["default"], mistake, solved["default"], confusion) for mistake in table]
        candidates += [
            _in_form(sources, of_code["default"], mistake, form)
            for mistake in table
            for form in FORMS.get(mistake.exercise, ())
        ]
        lines.extend(_examined(examiner, candidates, answers, jobs, told))

    collect(folders, run)
    return [*lines, confusion.line()], confusion


def _examined(
    examiner: Examiner, candidates: Sequence[Candidate], answers: Answers, jobs: int, told: Callable[[str], None]
) -> list[Line]:
    lines: dict[int, Line] = {}
    with tempfile.TemporaryDirectory(prefix="gate-") as folder:

        def seated(number: int, candidate: Candidate) -> Waiting:
            place = Path(folder) / str(number)
            lay_out(place, candidate.files)
            return Waiting(lambda _: sitting(place, candidate.course, answers), candidate.only)

        waiting = (seated(number, candidate) for number, candidate in enumerate(candidates))
        for index, outcomes, _ in examine_all(examiner, waiting, jobs):
            candidate = candidates[index]
            lines[index] = candidate.judge([*outcomes, *candidate.carried])
            told(f"{len(lines)} of {len(candidates)}: {candidate.what}")
    return [lines[index] for index in sorted(lines)]


def _warm_up(examiner: Examiner, texts: dict[str, str], course: Course) -> list[Outcome]:
    """Examine the solution in this process, so that what torch sets up on first use is inherited."""
    with tempfile.TemporaryDirectory(prefix="gate-") as folder:
        lay_out(Path(folder), texts)
        try:
            return examiner.examine(sitting(Path(folder), course))
        finally:
            forget(Path(folder))


def _coverage(examiner: Examiner, course: Course) -> list[Line]:
    """Every exercise that the grader grades has test files; every test file belongs to an exercise."""
    missing = [item.slug for item in course.graded if item.slug not in examiner.exercises()]
    return [Line(f"{course.name}: exercises without checks", "none", ", ".join(missing) or "none", not missing)]


def _solution(sources: Sources, course: Course) -> Candidate:
    total = sum(item.points for item in course.graded)

    def judge(outcomes: list[Outcome]) -> Line:
        earned = score(course, outcomes)
        bad = [outcome for outcome in outcomes if outcome.verdict != "passed"]
        return Line(
            f"{course.name}: solutions", f"{total} points", f"{earned} points", earned == total and not bad, _why(bad)
        )

    return Candidate(f"{course.name}: solutions", course, sources.whole(), judge)


def _stubs(sources: Sources, course: Course) -> Candidate:
    def judge(outcomes: list[Outcome]) -> Line:
        earned = score(course, outcomes)
        kinds = {outcome.finding.kind for outcome in outcomes if outcome.finding}
        broken = [o for o in outcomes if o.verdict == "could not check"]
        found = f"{earned} points, {' and '.join(sorted(kinds))}"
        held = earned == 0 and kinds == {"not started"} and not broken
        return Line(f"{course.name}: stubs", "0 points, not started", found, held, _why(broken))

    texts = {name: regions.stubbed(text, name) for name, text in sources.texts.items()}
    return Candidate(f"{course.name}: stubs", course, texts, judge)


def _lazy(sources: Sources, course: Course, kind: str) -> Candidate:
    right = lazy.RIGHT.get(kind, frozenset())

    def judge(outcomes: list[Outcome]) -> Line:
        earning = {row.item.slug for row in rows(course, outcomes) if row.score}
        broken = [o for o in outcomes if o.verdict == "could not check"]
        return Line(f"lazy: {kind}", _names(right), _names(earning), earning == right and not broken, _why(broken))

    return Candidate(f"lazy: {kind}", course, lazy.submission(sources.texts, kind), judge)


def _where_right(variant: Mistake, courses: Mapping[str, Course]) -> list[str]:
    """The courses in which a variant must have full marks: ours, and those that ask for what the original does; or
    those that it names, if it is right only there."""
    named = [name for name in variant.courses if name in courses]
    if "default" not in named:
        return named
    return [*named, *(name for name in ORIGINALS if name in courses and variant.exercise in courses[name].items)]


def _variant(sources: Sources, course: Course, variant: Mistake, solved: list[Outcome]) -> Candidate:
    """Right but unusual: full marks, and no word of blame."""
    texts = sources.mutant(variant)
    touched = _touched(course, sources.texts, texts)

    def judge(outcomes: list[Outcome]) -> Line:
        losing = lost(course, outcomes)
        bad = [outcome for outcome in outcomes if outcome.verdict != "passed" and outcome.counts != "note"]
        found = f"loses {_names(losing)}" if losing else "full marks"
        return Line(what, "full marks", found, not losing and not bad, _why(bad))

    what = f"right: {variant.slug}" + (f" in {course.name}" if course.name != "default" else "")
    carried = [outcome for outcome in solved if outcome.exercise not in touched]
    return Candidate(what, course, texts, judge, touched, carried)


def _mutant(
    sources: Sources, course: Course, mistake: Mistake, solved: list[Outcome], confusion: Confusion
) -> Candidate:
    texts = sources.mutant(mistake)
    touched = _touched(course, sources.texts, texts)

    def judge(outcomes: list[Outcome]) -> Line:
        confusion.saw(mistake, outcomes)
        losing = lost(course, outcomes)
        broken = [outcome for outcome in outcomes if outcome.verdict == "could not check"]
        own = {o.finding.cause for o in outcomes if o.finding and o.exercise == mistake.exercise} - {""}
        wrong = [o.finding for o in outcomes if o.finding and mistake.slug not in (o.finding.cause, *o.finding.also)]
        elsewhere = {finding.cause for finding in wrong} - {""}
        named = own == {mistake.slug} and not elsewhere  # no other name, in no exercise
        found = _names(losing) if named else f"{_names(losing)}; named {_names(own | elsewhere)}"
        off = _shares(course, mistake, outcomes)
        if losing == mistake.breaks and named and not off:
            others = len(losing) - 1
            which = f"{', '.join(sorted(mistake.loses))} of " if mistake.loses else ""
            found = f"loses {which}{mistake.exercise}" + (f" and {others} built on it" if others else "") + ", named"
        held = losing == mistake.breaks and named and not broken and not off
        return Line(mistake.slug, _names(mistake.breaks), f"{found}; {off}" if off else found, held, _why(broken))

    carried = [outcome for outcome in solved if outcome.exercise not in touched]
    return Candidate(mistake.slug, course, texts, judge, touched, carried)


def _shares(course: Course, mistake: Mistake, outcomes: Sequence[Outcome]) -> str:
    """What is wrong with the points that a mistake leaves its own exercise, or "".

    Most mistakes cost the core, and with it all that the part is worth (the hidden one, if it is worth anything). Those
    that break further claims only cost the points of just these.
    """
    mine = [row for row in rows(course, outcomes) if row.item.slug == mistake.exercise and row.points]
    row = next((row for row in mine if row.part == "hidden"), mine[0])
    failing = [outcome for outcome in row.outcomes if outcome.verdict != "passed" and outcome.counts != "note"]
    claims = {outcome.name.removeprefix(f"test_{mistake.exercise}_") for outcome in failing}
    left = row.points - sum(outcome.worth for outcome in failing) if mistake.loses else 0
    if mistake.loses and claims != mistake.loses:
        return f"breaks {_names(claims)}, not {_names(mistake.loses)}"
    return "" if row.score == left else f"keeps {row.score} of {row.points} {row.part} points, not {left}"


def _in_form(sources: Sources, course: Course, mistake: Mistake, form: str) -> Candidate:
    """The same mistake in another form in which a right answer is accepted: it must be named all the same."""
    home = sources.home[mistake.region]
    texts = sources.mutant(mistake)
    texts[home] += FORMS[mistake.exercise][form]
    what = f"{mistake.slug} as {form}"

    def judge(outcomes: list[Outcome]) -> Line:
        own = {o.finding.cause for o in outcomes if o.finding and o.exercise == mistake.exercise} - {""}
        broken = [outcome for outcome in outcomes if outcome.verdict == "could not check"]
        held = own == {mistake.slug} and not broken
        return Line(what, mistake.slug, "named" if held else f"named {_names(own)}", held, _why(broken))

    return Candidate(what, course, texts, judge, [mistake.exercise])


def _touched(course: Course, before: dict[str, str], after: dict[str, str]) -> list[str]:
    """The exercises whose files, or modules that these import, are not the solution's byte for byte.

    The others would run the very code that the solution ran, so its outcomes are carried over.
    """
    changed = {Path(name).stem for name in after if before.get(name) != after[name]}
    for _ in after:  # modules may import one another; follow them until nothing is added
        changed |= {
            Path(name).stem
            for name, text in after.items()
            if any(re.search(rf"^\s*(from|import) {stem}\b", text, re.MULTILINE) for stem in changed)
        }
    return [item.slug for item in course.graded if any(Path(file).stem in changed for file in item.files)]


def _names(slugs: frozenset[str] | set[str]) -> str:
    return ", ".join(sorted(slugs)) or "nothing"


def _why(outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    return tuple(f"{o.name}: {o.finding.headline if o.finding else o.trouble.splitlines()[-1]}" for o in outcomes[:3])


def table_text(lines: Sequence[Line], width: int) -> str:
    """The table: what was tried, what should lose (or earn), what did."""
    first = max(len(line.what) for line in lines)
    text = []
    for line in lines:
        mark = "ok  " if line.held else "OFF "
        found = line.found if line.held else f"expected {line.expected}; found {line.found}"
        room = max(20, width - first - 7)
        text.append(
            f"{mark} {line.what:{first}}  {found if len(found) <= room or not line.held else found[: room - 1] + '…'}"
        )
        text.extend(f"       {note}" for note in line.notes)
    held = sum(line.held for line in lines)
    text.append(f"{held} of {len(lines)} held")
    return "\n".join(text)
