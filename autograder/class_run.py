"""The command `grade`: from what a TA has on disk to results, gradebook and overview of the whole class."""

from __future__ import annotations

import argparse
import fnmatch
import os
import shutil
import sys
import textwrap
import time
from collections.abc import Mapping, Sequence, Set
from functools import partial
from pathlib import Path
from typing import Any

from autograder.cluster import on_cluster
from autograder.comparison import comparison
from autograder.course import PARTS, Course, read_course
from autograder.errors import UserError
from autograder.examples import write_examples
from autograder.files import write_atomically
from autograder.grade import Setting, grade, here, require_isolation
from autograder.gradebook import gradebook, summary
from autograder.gradescope import text_of
from autograder.held_out import Answers, supplied
from autograder.intake import Intake
from autograder.isolation import probe
from autograder.overview import overview
from autograder.people import Entry, Student
from autograder.records import Record, read_result
from autograder.remote import Limits
from autograder.render import Text
from autograder.report import WIDTH, inert
from autograder.roster import read_roster
from autograder.similar import code, similar
from autograder.terms import answers_file
from autograder.zygote import Zygote


def run(options: argparse.Namespace, zygote: Zygote | None = None) -> int:
    """zygote: one that was started early, if submissions run on this machine."""
    course = read_course(options.course)
    entries = _chosen(options)
    folders = tuple(options.root / "tests" / part for part in PARTS)
    layers = probe(namespaces=not options.no_namespaces)
    answers = answers_file(options.root / "data")
    require_isolation(layers, folders[1], answers, weak_allowed=options.allow_weak_isolation)
    limits = Limits(memory=int(options.memory * (1 << 30)))
    setting = Setting(course, layers, limits, folders, max(1, options.jobs), answers=answers)
    if course.asks:
        _complain_without(supplied(answers))
    where = f"Dask ({options.dask})" if options.dask else f"isolation: {layers.name}"
    print(f"{course.title}: {_many(len(entries))}, {where}", flush=True)
    if options.dask:
        examination = on_cluster(options.dask, setting, weak_allowed=options.allow_weak_isolation)
    else:
        examination = here(setting, zygote)
    texts: dict[str, dict[str, str]] | None = {} if options.similar else None
    with Progress(course, len(entries)) as progress:
        records = grade(
            entries,
            setting,
            options.out,
            progress.told,
            regrade=options.regrade,
            examination=examination,
            seen=None if texts is None else partial(_remember, texts),
        )
    if options.student:
        _look(options.out, records)
        return 1 if any(record.trouble for record in records) else 0
    if not options.only:
        alike = [] if texts is None else _compare(options.out, options.root / "student", texts, records)
        _publish(options.out, course, records, alike)
    return _close(records, options.out, progress)


def _complain_without(answers: Answers) -> None:
    """Say at once what the results would say of each submission."""
    try:
        answers()
    except UserError as error:
        print(f"note: {error}; all else is graded", file=sys.stderr)


def _chosen(options: argparse.Namespace) -> list[Entry]:
    """The submissions that were asked for."""
    paths = list(options.paths)
    if options.examples:
        paths += write_examples(options.root / "solutions", options.out / "examples")
    if not paths:
        raise UserError("nothing to grade; name zips or folders, or pass --examples")
    if missing := [path for path in paths if not path.exists()]:
        raise UserError(f"{missing[0]} does not exist")
    entries = read_roster(paths)
    wanted = [options.student] if options.student else options.only
    if wanted:
        entries = [entry for entry in entries if any(_is(entry, pattern) for pattern in wanted)]
        if not entries:
            raise UserError(
                f"no submission matches {', '.join(wanted)}; an id, a name, an e-mail or a pattern like 'a*' does"
            )
    if options.student and len(entries) > 1:
        ids = ", ".join(entry.student.id for entry in entries[:5])
        raise UserError(f"{len(entries)} submissions match {options.student} ({ids}); name one of them")
    return entries


def _is(entry: Entry, pattern: str) -> bool:
    student = entry.student
    known = (student.id, student.name, student.sid, student.email)
    return any(fnmatch.fnmatchcase(value.casefold(), pattern.casefold()) for value in known if value)


def _remember(texts: dict[str, dict[str, str]], student: Student, intake: Intake) -> None:
    """Keep what a submission says, for as long as the run takes; of notebooks, only the code: no class's pictures."""
    names = [name for name in intake.files if name.endswith((".py", ".ipynb"))]
    contents = {name: (intake.root / name).read_text(errors="replace") for name in names}
    texts[student.id] = {name: code(text) or text[:1000] for name, text in contents.items()}


def _compare(
    out: Path, given: Path, texts: Mapping[str, Mapping[str, str]], records: Sequence[Record]
) -> list[dict[str, Any]]:
    """Pairs that are alike, each with a page that shows both sides."""
    stubs = [path.read_text(encoding="utf-8") for path in sorted([*given.glob("*/*.py"), *given.glob("*/*.ipynb")])]
    names = {record.id: record.student.name or record.id for record in records}
    found = []
    for pair in similar(texts, stubs):
        page = f"similar/{pair.one}--{pair.other}.html"
        text = comparison(pair, texts[pair.one], texts[pair.other], names)
        write_atomically(out / page, text.encode())
        found.append({"one": pair.one, "other": pair.other, "share": round(pair.share, 4), "page": page})
    _forget_but(out / "similar", {Path(str(one["page"])).name for one in found})
    return found


def _forget_but(folder: Path, current: Set[str]) -> None:
    """Remove the pages of pairs that an earlier run found and this one did not: nothing leads to them any more."""
    for path in folder.glob("?*--?*.html"):
        if path.name not in current and path.is_file():
            path.unlink()


def _publish(out: Path, course: Course, records: Sequence[Record], alike: Sequence[dict[str, Any]]) -> None:
    """The files about the whole class."""
    content = summary(course, records, alike)
    write_atomically(out / "gradebook.csv", gradebook(course, records))
    write_atomically(out / "summary.json", text_of(content))
    write_atomically(out / "index.html", overview(content).encode())


def _look(out: Path, records: Sequence[Record]) -> None:
    """Everything about one submission, in the terminal."""
    for record in records:
        content = read_result(out / record.id / "results.json")
        assert content is not None
        people = " ".join(part for part in (record.student.name, record.student.email, record.student.late) if part)
        print(f"\n{record.id} {inert(people)}".rstrip())
        extra = content["extra_data"]
        for line in (
            Text()
            .summary(extra["summary"], [f"{one['exercise']}: {one['says']}" for one in extra["advice"]])
            .splitlines()
        ):
            print("\n".join(textwrap.wrap(line, WIDTH, subsequent_indent="  ")))
        for test in content["tests"]:
            print(f"\n{test['name']}: {test['score']} / {test['max_score']}")
            print(textwrap.indent(Text(WIDTH - 2).checks(test["extra_data"]["checks"]), "  "))


def _close(records: Sequence[Record], out: Path, progress: Progress) -> int:
    bad = [record for record in records if record.trouble]
    kept = sum(record.kept for record in records)
    told = f"{len(records) - len(bad)} graded"
    if kept:
        told += f" ({kept} of them before)"
    told += f", {len(bad)} could not be graded; {progress.seconds:.0f} s; results are in {out}/"
    print(told)
    for record in bad[:20] if progress.live else []:
        print(f"  {record.id}: {inert(record.trouble)}")
    if len(bad) > 20 and progress.live:
        print(f"  and {len(bad) - 20} more; {out / 'index.html'} lists them all")
    return 1 if bad else 0


def _many(count: int) -> str:
    return f"{count} submission{'s' * (count != 1)}"


class Progress:
    """On a terminal, one line with a bar, a rate and the time left; elsewhere, a line for each submission."""

    def __init__(self, course: Course, total: int) -> None:
        self.points = sum(item.points for item in course.graded if not item.extra_credit)
        self.total, self.done, self.fresh = total, 0, 0
        self.live = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
        self.started = time.monotonic()

    def __enter__(self) -> Progress:
        return self

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started

    def told(self, record: Record) -> None:
        self.done += 1
        self.fresh += not record.kept
        if not self.live or self.total <= 20:
            print(f"{self._clear()}{self._line(record)}", flush=True)
        if self.live:
            print(f"{self._clear()}{self._bar()}", end="", flush=True)

    def _clear(self) -> str:
        return "\r\033[K" if self.live else ""

    def _line(self, record: Record) -> str:
        more = f" and {len(record.lost) - 2} more" if len(record.lost) > 2 else ""
        note = inert(record.trouble) or (f"lost {', '.join(record.lost[:2])}{more}" if record.lost else "")
        return f"  {record.id:18} {record.score:4} / {self.points}  {note}{' (kept)' if record.kept else ''}".rstrip()

    def _bar(self) -> str:
        width = max(10, min(30, shutil.get_terminal_size((80, 24)).columns - 45))
        full = width * self.done // max(1, self.total)
        rate = self.fresh / max(self.seconds, 1e-3)
        left = f"{(self.total - self.done) / rate:.0f} s left" if rate and self.done < self.total else ""
        return f"{'█' * full}{'░' * (width - full)} {self.done} of {self.total}  {rate:.1f} a second  {left}"

    def __exit__(self, *_: object) -> None:
        if self.live:
            print(self._clear(), end="", flush=True)
