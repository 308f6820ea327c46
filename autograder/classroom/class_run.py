"""The command `grade`: from what a TA has on disk to results, gradebook and overview of the whole class."""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import hashlib
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from autograder.checking.courses import PARTS, Course, read_course
from autograder.checking.formatting import Memory, Text
from autograder.checking.wording import WIDTH, inert
from autograder.classroom import origins
from autograder.classroom.cluster import on_cluster
from autograder.classroom.gradebook import canvas, gradebook, summary
from autograder.classroom.progress import LINES, Progress, wrapped
from autograder.classroom.roster import read_roster
from autograder.errors import UserError
from autograder.files import write_atomically
from autograder.grading.dens import den
from autograder.grading.grade import Setting, grade, here, require_isolation
from autograder.grading.results_file import text_of
from autograder.grading.summaries import Record, read_result
from autograder.intake.clean_tree import MAX_MEMORY, MAX_SECONDS, MAX_TEXT, Intake, Refused, take_in
from autograder.intake.entries import few
from autograder.intake.people import Entry, Student, duration, moment
from autograder.isolation import probe
from autograder.isolation.forks import Limited, TooMuch
from autograder.judging.held_out import Answers, supplied
from autograder.pages.class_page import overview
from autograder.pages.side_by_side import comparison
from autograder.pages.similarity import READ, Alike, code, similar
from autograder.pages.submission_page import page as submission_page
from autograder.workers.remote import Limits
from autograder.workers.zygote import Zygote

MOST_JOBS = 256  # each needs a user of its own


@dataclass(frozen=True)
class Supplies:
    """What the repository supplies, beside the checks, when it is asked for."""

    answers: Callable[[], Path]  # where the held-out answers are
    examples: Callable[[Path], list[Path]]  # writes the example submissions into a folder


def run(options: argparse.Namespace, supplies: Supplies, zygote: Zygote | None = None) -> int:
    """zygote: one that was started early, if submissions run on this machine."""
    if options.similar and (options.only or options.student):
        raise UserError("--similar compares the whole class; leave --only and --student out")
    if options.given and not options.similar:
        raise UserError("--given says what --similar leaves out; pass both")
    given = [text for path in options.given for text in _given(path)]
    course = read_course(options.course)
    entries = _chosen(options, supplies)
    _prepare(options.out, entries)
    origins.remember(options.out, entries, replace=options.replace)
    folders = tuple(options.root / "tests" / part for part in PARTS)
    layers = probe(namespaces=not options.no_namespaces)
    answers = supplies.answers()
    require_isolation(layers, options.root, *options.paths, options.out, weak_allowed=options.allow_weak_isolation)
    limits = Limits(memory=int(options.memory * (1 << 30)))
    setting = Setting(course, layers, limits, folders, min(max(1, options.jobs), MOST_JOBS), answers=answers)
    if course.asks:
        _complain_without(supplied(answers))
    where = f"Dask ({options.dask})" if options.dask is not None else f"isolation: {layers.name}"
    print(f"{course.title}: {_many(len(entries))}, {where}", flush=True)
    if options.dask is not None:
        examination = on_cluster(options.dask, setting, weak_allowed=options.allow_weak_isolation)
    else:
        examination = here(setting, zygote)
    texts: dict[str, dict[str, str]] | None = {} if options.similar else None
    reading = Limited(_said, seconds=MAX_SECONDS, memory=MAX_MEMORY)
    with Progress(course, len(entries)) as progress, contextlib.closing(reading):
        try:
            records = grade(
                entries,
                setting,
                options.out,
                progress.told,
                regrade=options.regrade,
                examination=examination,
                seen=None if texts is None else partial(_remember, reading, texts),
                page=submission_page,
            )
        except KeyboardInterrupt:
            told = f"{progress.done} of {len(entries)} are done; the same command goes on from there"
            raise KeyboardInterrupt(told) from None
    if options.student:
        _look(options.out, records)
    elif options.only:
        _close(records, progress, options.out)
    else:
        _publish(options.out, course, records)
        if texts is not None:
            print(f"Looking for what is alike in {_many(len(texts))}", flush=True)
            given += _texts(options.root / "student", ("*/*.py", "*/*.ipynb"))
            alike = similar(texts, given)
            _publish(options.out, course, records, _compared(options.out, alike, texts, records), alike.note)
            print(wrapped(f"{_pairs(len(alike.pairs))} alike. {alike.note}".rstrip()))
        _close(records, progress, options.out, "index.html")
    if (options.student or options.only) and (options.out / "index.html").is_file():
        print(wrapped("The gradebook and index.html are about the whole class, and as they were before."))
    return 1 if any(record.trouble for record in records) else 0


def _complain_without(answers: Answers) -> None:
    """Say at once what the results would say of each submission."""
    try:
        answers()
    except UserError as error:
        print(f"note: {error}; all else is graded", file=sys.stderr)


def _chosen(options: argparse.Namespace, supplies: Supplies) -> list[Entry]:
    """The submissions that were asked for."""
    paths = list(dict.fromkeys(options.paths))
    if options.examples:
        paths += supplies.examples(options.out / "examples")
    if not paths:
        raise UserError("nothing to grade; name zips or folders, or pass --examples")
    if missing := [path for path in paths if not path.exists()]:
        raise UserError(f"{missing[0]} does not exist")
    entries = read_roster(paths, options.out)
    if options.due is not None:
        entries = _timed(entries, options.due)
    wanted = options.only if options.student is None else [options.student]
    if wanted:
        entries = [entry for entry in entries if any(_is(entry, pattern) for pattern in wanted)]
        if not entries:
            raise UserError(
                f"no submission matches {', '.join(wanted)}; an id, a name, an e-mail or a pattern like 'a*' does"
            )
    if options.student and len(entries) > 1:
        ids = few([entry.student.id for entry in entries], 5)
        raise UserError(f"{len(entries)} submissions match {options.student} ({ids}); name one of them")
    return entries


def _prepare(out: Path, entries: Sequence[Entry]) -> None:
    """Find out now whether results can be written, and that none lies among what students handed in: a result that is
    there already is believed, if it looks like ours."""
    for entry in entries:
        source, place = entry.source.path.resolve(), (out / entry.student.id).resolve()
        folder = source.is_dir() and not entry.source.members
        if folder and (place.is_relative_to(source) or source.is_relative_to(place)):
            raise UserError(
                f"results in {out}/ would lie among what {entry.student.id} handed in; choose another --out"
            )
    try:
        write_atomically(out / ".writable", b"")
        (out / ".writable").unlink()
    except OSError as error:
        raise UserError(f"{out}/ cannot be written to ({error.strerror}); choose another --out") from None


def _timed(entries: Sequence[Entry], due: datetime) -> list[Entry]:
    """With lateness by the time of submission, where nobody told it who knows of extensions."""
    found = []
    for entry in entries:
        handed_in = moment(entry.student.submitted)
        late = max(0, int((handed_in - due).total_seconds())) if handed_in else 0
        told = entry.lateness_told or handed_in is None
        found.append(entry if told else replace(entry, student=replace(entry.student, seconds_late=late)))
    if unknown := sum(not (entry.student.submitted or entry.lateness_told) for entry in entries):
        print(f"note: --due says nothing of {_many(unknown)} without a time", file=sys.stderr)
    return found


def _is(entry: Entry, pattern: str) -> bool:
    """Any member of a group stands for it."""
    student = entry.student
    known = {student.id, student.name} | {value for person in student.people for value in asdict(person).values()}
    return any(fnmatch.fnmatchcase(value.casefold(), pattern.casefold()) for value in known if value)


def _remember(reading: Limited, texts: dict[str, dict[str, str]], student: Student, intake: Intake) -> None:
    """Keep what a submission says, for as long as the run takes."""
    try:
        texts[student.id] = reading(str(intake.root), intake.files)
    except (TooMuch, RuntimeError) as error:
        texts[student.id] = {}
        print(f"note: {student.id} is not compared with the others: it {error}", file=sys.stderr)


def _said(root: str, files: Sequence[str]) -> dict[str, str]:
    """The text of each file, as far as it may be compared; of notebooks, only the code: no class's pictures.

    Short files come first, as they do where they are compared; of what is too much, the first character is kept.
    """
    paths = {name: Path(root, name) for name in files}
    read = {name: path for name, path in paths.items() if path.stat().st_size <= MAX_TEXT.get(path.suffix, -1)}
    found: dict[str, str] = {}
    for name, path in read.items():
        text = path.read_text(encoding="utf-8", errors="replace")
        found[name] = (code(text) or text[:1000])[: READ + 1]
    left = 2 * READ
    for name in sorted(found, key=lambda name: (len(found[name]), name)):
        found[name] = found[name][: max(1, left)]
        left -= len(found[name])
    return found


def page_name(one: str, other: str) -> str:
    """Of a pair's page. Two ids in a row could be too long for a name, or be another pair's."""
    return f"pair-{hashlib.sha256(f'{one}/{other}'.encode()).hexdigest()[:16]}.html"


def _given(path: Path) -> list[str]:
    """The code of another starter, such as the course's own handout: a folder, a zip, a file."""
    if not path.exists():
        raise UserError(f"--given {path} does not exist")
    with den() as folder:
        into = folder / "given"
        into.mkdir()
        try:
            take_in(path, into)
        except Refused as refused:
            raise UserError(f"--given {path}: {refused}") from None
        texts = _texts(into, ("**/*.py", "**/*.ipynb"))
    if not texts:
        raise UserError(f"--given {path} holds no .py and no .ipynb")
    return texts


def _texts(folder: Path, patterns: Sequence[str]) -> list[str]:
    return [path.read_text(errors="replace") for path in sorted(p for one in patterns for p in folder.glob(one))]


def _compared(
    out: Path, alike: Alike, texts: Mapping[str, Mapping[str, str]], records: Sequence[Record]
) -> list[dict[str, Any]]:
    """Pairs that are alike, each with a page that shows both sides."""
    names = {record.id: record.student.name or record.id for record in records}
    found = []
    for pair in alike.pairs:
        page = f"similar/{page_name(pair.one, pair.other)}"
        text = comparison(pair, texts[pair.one], texts[pair.other], names)
        write_atomically(out / page, text.encode())
        found.append({"one": pair.one, "other": pair.other, "share": round(pair.share, 4), "page": page})
    return found


def _publish(
    out: Path, course: Course, records: Sequence[Record], alike: Sequence[dict[str, Any]] = (), note: str = ""
) -> None:
    """The files about the whole class. `note`: what the comparison left out."""
    content = summary(course, records, alike, note)
    write_atomically(out / "gradebook.csv", gradebook(course, records))
    write_atomically(out / "canvas.csv", canvas(course, records))
    write_atomically(out / "summary.json", text_of(content))
    write_atomically(out / "index.html", overview(content).encode())
    for path in (out / "similar").glob("pair-*.html"):  # of pairs that an earlier run found: nothing leads to them
        if f"similar/{path.name}" not in {one["page"] for one in alike}:
            path.unlink()


def _look(out: Path, records: Sequence[Record]) -> None:
    """Everything about one submission, in the terminal."""
    for record in records:
        content = read_result(out / record.id / "results.json")
        assert content is not None
        student = record.student
        known = (student.name, student.sid, student.email, student.submitted, student.late)
        print(f"\n{record.id} {inert(' '.join(filter(None, known)))}".rstrip())
        if record.trouble:
            print(wrapped(f"could not be graded: {inert(record.trouble)}"))
        if not any(test["extra_data"]["checks"] for test in content["tests"]):
            continue
        extra = content["extra_data"]
        for line in (
            Text()
            .summary(extra["summary"], [f"{one['exercise']}: {one['says']}" for one in extra["advice"]])
            .splitlines()
        ):
            print("\n".join(textwrap.wrap(line, WIDTH, subsequent_indent="  ")))
        for note in record.notes:
            print("\n".join(textwrap.wrap(f"note: {inert(note.text())}", WIDTH, subsequent_indent="  ")))
        if record.refused:
            print(wrapped(f"tried, and refused: {inert(', '.join(record.refused))}"))
        memory = Memory()
        for test in content["tests"]:
            print(f"\n{test['name']}: {test['score']} / {test['max_score']}")
            checks = test["extra_data"]["checks"]
            print(textwrap.indent(Text(WIDTH - 2).checks(checks, "", test["name"], memory), "  "))


def _close(records: Sequence[Record], progress: Progress, out: Path, page: str = "") -> None:
    """What came of it, and where it is. `page`: the one about the whole class, if it was made."""
    bad = [record for record in records if record.trouble]
    kept = sum(record.kept for record in records)
    told = f"{len(records) - len(bad)} graded"
    if kept:
        told += f" ({kept} of them before)"
    where = f"see {out / page}" if page else f"results are in {out}/"
    print(f"{told}, {len(bad)} could not be graded; {duration(round(progress.seconds)) or '0 s'}; {where}")
    if progress.left_out:
        print(wrapped(f"All that was lost is in {out / 'ID' / 'report.html'}, for each ID."))
    if progress.live or progress.total > LINES:  # else it has just been said
        for record in bad[:LINES]:
            name = f" ({inert(record.student.name)})" if record.student.name else ""
            print(wrapped(f"  {record.id}{name}: {inert(record.trouble)}"))
        if len(bad) > LINES:
            print(wrapped(f"  and {len(bad) - LINES} more, in {out / page if page else f'{out}/'}"))


def _pairs(count: int) -> str:
    return "1 pair is" if count == 1 else f"{count or 'no'} pairs are"


def _many(count: int) -> str:
    return f"{count} submission{'s' * (count != 1)}"
