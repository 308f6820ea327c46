"""Who handed in what: one path may be one submission, or those of a whole class."""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import BinaryIO

import yaml

from autograder.errors import UserError
from autograder.intake import entries, zips
from autograder.intake.clean_tree import ARCHIVES, METADATA
from autograder.intake.entries import MIB, Refused, Source, decoded, left_behind, measured, quoted
from autograder.intake.folders import folder_at, holding, listed, member_entries, opened
from autograder.intake.naming import forms
from autograder.intake.people import Entry, Person, Student, moment, stamp
from autograder.isolation.forks import TooMuch, run_limited

__all__ = ["Entry", "Source", "Student", "read_roster"]

SUBMISSION = "submission_"  # how folders of an export begin
MAX_METADATA = 50 * MIB
MAX_SECONDS, MAX_MEMORY = 120, 1024 * MIB  # to read who is in a class
NOT_IN_YAML = re.compile("[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
MAX_NESTING = 200  # of YAML: libyaml takes time that grows with the square of it
MAX_SUBMITTERS = 50
MAX_TEXT = 200  # of a name
MAX_IN_FOLDER = 100_000
MAX_ID, MAX_ID_BYTES = 80, 200  # a folder's name: 255 bytes at most, with room for what others add

# What lies at the top of a submission: the files that the courses ask for, in lower case.
OWN_FOLDERS = ("src", "notebooks")
OWN_FILES = re.compile(
    r"a2s\d\.(py|ipynb)|(attention|dataset|run|london_baseline)\.py|london_baseline_accuracy\.txt|.+\.(predictions|params)"
)
# As Canvas names downloads: lastfirst_LATE_user_file_name, without the name if grading is anonymous.
CANVAS = re.compile(
    r"(?:(?P<who>.+?)_(?P<late>LATE_)?(?P<user>\d{3,})|(?P<late_anon>LATE_)?(?P<anon>anon_[A-Za-z0-9]+))"
    r"_(?P<file>\d{3,})_(?P<own>.+)",
    re.DOTALL,
)
CANVAS_TEXT = re.compile(r".+_(text|link)\.html")  # what was typed in, or an address: nothing to grade
AGAIN = re.compile(r"(?<=.)-\d+(?=\.[^.]+$|$)")  # of the second upload of a name, and later ones
RESULTS = {"results.json", "report.html"}  # in each student's folder; beside these folders:
CLASS_FILES = ("index.html", "gradebook.csv", "canvas.csv", "summary.json", "similar", "examples")
WHOLE_CLASS = "is a whole class, not one submission; grade it by itself, with no other path"


def read_roster(paths: Sequence[Path], out: Path | None = None) -> list[Entry]:
    """All submissions in these paths; `out` is where results go, and no submission. The rules, in this order:

    A file named as Canvas does is its student's; what one student has in one folder is one submission.
    A zip or folder with `submission_metadata.yml` beside folders `submission_...` is a Gradescope export, and a zip in
    which all files are named as Canvas does is a Canvas download. A student could make such a thing to pose as others,
    so it is taken only if it is the one path given, and refused as a submission otherwise.
    A zip with several zips in it and nothing else is a class, too, if it is the one path given: each of them is one
    submission. Otherwise it is one student's, and the intake opens them. Any other zip is one submission.
    A folder with something at its top that submissions have there (OWN_FOLDERS, OWN_FILES) is one submission; if it
    holds one folder and nothing else, that decides. Any other, if it is the one path given, is a folder of submissions:
    each zip, folder, .py and .ipynb in it is one, unless there are none: then the folder is. Of several folders, as in
    `class/*`, each is one submission: its student must not choose by what is in it who is graded, and as whom.
    Whatever is hidden or left behind by computers, and folders with our own results, count for nothing.
    """
    found: list[Entry] = []
    loose: dict[Path, dict[str, str]] = {}
    for path in paths:
        if CANVAS.fullmatch(path.name) and path.is_file():
            loose.setdefault(path.parent, {})[path.name] = path.name
        elif path.is_dir() and not path.is_symlink():
            found += _in_folder(path, out and out.resolve(), alone=len(paths) == 1)
        elif len(paths) == 1:
            found += _with_limits(path, partial(_in_file, path, path, alone=True))
        else:
            found += _in_file(path, path, alone=False)
    for folder, files in loose.items():
        found += _canvas(folder, folder, files)
    return _with_safe_ids(found)


def _with_limits(path: Path, read: Callable[[], list[Entry]]) -> list[Entry]:
    """What is read of a whole class, be it by somebody who poses as one."""
    try:
        found = run_limited(
            lambda: [entry.plain() for entry in read()],
            seconds=MAX_SECONDS,
            memory=MAX_MEMORY,
            raises=[UserError],
        )
    except TooMuch as error:
        raise UserError(f"{quoted(path.name)} {error} to read; is it what you meant?") from None
    return [Entry.of(entry) for entry in found]


def _one(path: Path, named: Path, refusal: str = "") -> Entry:
    """named: the path that we were given; this one, or a folder above it."""
    name = path.stem if path.suffix in (".zip", ".py", ".ipynb") else path.name
    return Entry(Student(name), Source(path, named, refusal=refusal))


def _whole_class(path: Path, named: Path) -> Entry:
    return _one(path, named, f"{quoted(path.name)} {WHOLE_CLASS}")


def _with_safe_ids(found: Iterable[Entry]) -> list[Entry]:
    """Folder names for ids: made harmless, with a number if one is taken, be it in other letters."""
    taken: set[str] = set(CLASS_FILES)
    safe = []
    for entry in found:
        base = "".join(c if c.isalnum() or c in "-_." else "_" for c in entry.student.id).strip(".") or "submission"
        name, number = _cut(base, ""), 2
        while name.casefold() in taken:
            name, number = _cut(base, f"-{number}"), number + 1
        taken.add(name.casefold())
        safe.append(replace(entry, student=replace(entry.student, id=name)))
    return safe


def _cut(base: str, ending: str) -> str:
    kept = base[: MAX_ID - len(ending)].encode()[: MAX_ID_BYTES - len(ending)]
    return kept.decode(errors="ignore") + ending


# Levels: what is directly in a folder, or in a folder of a zip


@dataclass(frozen=True)
class _Level:
    files: dict[str, str]  # by name; the value is what the folder or zip calls it
    folders: list[str]

    @property
    def is_export(self) -> bool:
        alone = not self.folders and len(self.files) == 1  # an export of which the submissions are gone
        return METADATA in self.files and (alone or any(name.startswith(SUBMISSION) for name in self.folders))

    @property
    def is_canvas(self) -> bool:
        named = [name for name in self.files if CANVAS.fullmatch(name)]
        others = [name for name in self.files if not CANVAS.fullmatch(name) and not CANVAS_TEXT.fullmatch(name)]
        return bool(named) and not others and not self.folders

    @property
    def is_class(self) -> bool:
        """Several zips and nothing else."""
        return len(self.files) > 1 and not self.folders and all(_is_zip(name) for name in self.files)

    @property
    def is_submission(self) -> bool:
        return any(name.casefold() in OWN_FOLDERS for name in self.folders) or bool(self.own_files)

    @property
    def own_files(self) -> list[str]:
        """What only a submission has at its top, be it a copy. Several copies of one file may be several students'.
        Canvas puts a student's name before it."""
        names = [name for name in self.files if not CANVAS.fullmatch(name)]
        exact = [name for name in names if OWN_FILES.fullmatch(name.casefold())]
        plain = {name: found[-1] for name in names if name not in exact and (found := forms(name))}
        counted = Counter(plain.values())
        return exact + [name for name, form in plain.items() if counted[form] == 1 and _is_own(form)]

    @property
    def others(self) -> list[str]:
        """What looks like submissions of their own."""
        return [name for name in self.files if CANVAS.fullmatch(name) or _is_zip(name)]

    @property
    def only_folder(self) -> str:
        return self.folders[0] if len(self.folders) == 1 and not self.files else ""


def _is_zip(name: str) -> bool:
    return Path(name).suffix.casefold() == ".zip"


def _is_own(form: str) -> bool:
    return bool(OWN_FILES.fullmatch(form)) and form.endswith((".py", ".ipynb"))


def _level_of_folder(folder: Path, named: Path, out: Path | None = None) -> _Level:
    """Links count as files: the intake refuses them, with a sentence."""
    files, folders = {}, []
    with folder_at(folder, named) as descriptor:
        found = listed(descriptor, "", MAX_IN_FOLDER)
    if len(found) > MAX_IN_FOLDER:
        raise UserError(f"{quoted(folder.name)} has more than {MAX_IN_FOLDER:,} files; give the folder of submissions")
    for called, name, seen in found:
        if left_behind(name) is None and not stat.S_ISDIR(seen.st_mode):
            files[called] = called
        elif left_behind(name) is None and (called.startswith(SUBMISSION) or not _holds_results(folder / called, out)):
            folders.append(called)
    return _Level(files, folders)


def _level_of_zip(catalogue: zips.Catalogue, top: str) -> _Level:
    files: dict[str, str] = {}
    folders: dict[str, None] = {}
    for record in catalogue.records:
        path, rest = zips.divided(record.name, 2 if top else 1)
        above, _, name = path.rpartition("/")
        if above != top or not name or left_behind(path) is not None:
            continue
        if rest or record.is_folder:
            folders[name] = None
        else:
            files[name] = record.name
    return _Level(files, sorted(folders))


def _holds_results(folder: Path, out: Path | None) -> bool:
    """Whether we wrote it, all of it: whoever has anything else in a folder is not to be forgotten."""
    try:
        inside = _visible(folder)
        results = [path for path in inside if path.name not in CLASS_FILES]
        if folder.resolve() == out:  # of a run that was interrupted, there may be less
            return all(_results_in(path) <= RESULTS for path in results)
        return {path.name for path in inside} == RESULTS or (
            bool(results) and all(_results_in(path) == RESULTS for path in results)
        )
    except OSError:
        return False  # the intake will say why


def _results_in(folder: Path) -> set[str]:
    """The names in a folder, or its own if it is none."""
    return {path.name for path in _visible(folder)} if folder.is_dir() and not folder.is_symlink() else {folder.name}


def _visible(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if not path.name.startswith(".")]


# Folders


def _in_folder(path: Path, out: Path | None, *, alone: bool) -> list[Entry]:
    if not alone:
        return [_submission_folder(path, path)]
    inside = path
    try:
        level = _level_of_folder(inside, path, out)
        while level.only_folder and len(inside.parts) < len(path.parts) + 3:
            inside /= level.only_folder
            level = _level_of_folder(inside, path, out)
        if level.is_export:
            return _with_limits(inside, partial(_export_folder, inside, path, level))
    except Refused as refused:
        return [_one(path, path, str(refused))]
    if level.own_files and level.others:
        raise UserError(
            f"{quoted(path.name)} may be one submission ({quoted(level.own_files[0])}) or several "
            f"({quoted(level.others[0])}); take one of them out, or name the submissions themselves"
        )
    return ([] if level.is_submission else _each(inside, path, level)) or [_one(path, path)]


def _each(folder: Path, named: Path, level: _Level) -> list[Entry]:
    """A folder of submissions. Archives of other kinds are among them, so that somebody hears that they are refused."""
    files = [name for name in level.files if not CANVAS.fullmatch(name)]
    files = [name for name in files if Path(name).suffix.casefold() in (".py", ".ipynb", *ARCHIVES)]
    found = []
    for name in sorted(files + level.folders):
        path = folder / name
        found += _in_file(path, named, alone=False) if name in level.files else [_submission_folder(path, named)]
    return found + _canvas(folder, named, level.files)


def _submission_folder(path: Path, named: Path) -> Entry:
    try:
        return _whole_class(path, named) if _level_of_folder(path, named).is_export else _one(path, named)
    except Refused:
        return _one(path, named)  # which will be refused again, by the intake


def _export_folder(folder: Path, named: Path, level: _Level) -> list[Entry]:
    try:
        with folder_at(folder, named) as descriptor:
            people = _metadata(member_entries(descriptor, [(METADATA, METADATA)])[0])
    except Refused as refused:
        raise _unusable(folder, str(refused)) from None
    return _export(Source(folder, named), {name: Source(folder / name, named) for name in level.folders}, people)


# Zips


@contextmanager
def _catalogue(path: Path, named: Path, *, alone: bool) -> Iterator[tuple[BinaryIO, zips.Catalogue]]:
    """Only a path that is the one given may hold a class, and more than a submission may."""
    name = decoded(os.fsencode(path.name))
    with holding(path, named) as (folder, called):
        seen = os.stat(called, dir_fd=folder, follow_symlinks=False)
        with opened(folder, called, name, seen) as file:
            yield file, zips.catalogue(file, name) if alone else zips.small_catalogue(file, name)


def _in_file(path: Path, named: Path, *, alone: bool) -> list[Entry]:
    """One submission, unless it is a zip with a class in it. What cannot be read, the intake will refuse."""
    if path.suffix.casefold() != ".zip":
        return [_one(path, named)]
    try:
        with _catalogue(path, named, alone=alone) as (file, catalogue):
            top = _level_of_zip(catalogue, "").only_folder
            level = _level_of_zip(catalogue, top)
            if alone and level.is_class:
                return [_inner(path, name, inside) for name, inside in sorted(level.files.items())]
            if not (level.is_export or level.is_canvas):
                return [_one(path, named)]
            if not alone:
                return [_whole_class(path, named)]
            return _canvas(path, path, level.files) if level.is_canvas else _export_zip(path, file, top, level)
    except (Refused, OSError, ValueError):
        return [_one(path, named)]


def _inner(path: Path, name: str, inside: str) -> Entry:
    """A zip in a zip, as a submission of its own."""
    return Entry(Student(Path(name).stem), Source(path, members=((inside, name),)))


def _export_zip(path: Path, file: BinaryIO, top: str, level: _Level) -> list[Entry]:
    try:
        found = zips.zip_member_entries(file, path.name, [(level.files[METADATA], METADATA)])
        people = _metadata(found[0])
    except Refused as refused:
        raise _unusable(path, str(refused)) from None
    folders = {name: Source(path, folder=f"{top}/{name}" if top else name) for name in level.folders}
    return _export(Source(path), folders, people)


# Canvas


def _canvas(path: Path, named: Path, files: Mapping[str, str]) -> list[Entry]:
    """The submissions among the files of a folder or zip. Of two files with one name, the later upload counts."""
    groups: dict[tuple[str, str], dict[str, re.Match[str]]] = {}
    late: set[tuple[str, str]] = set()
    matches = [match for match in map(CANVAS.fullmatch, files) if match]
    for match in sorted(matches, key=lambda match: (len(match["file"]), match["file"])):
        key = (match["who"] or "", match["user"] or match["anon"])
        groups.setdefault(key, {})[AGAIN.sub("", match["own"])] = match
        if match["late"] or match["late_anon"]:
            late.add(key)
    found = []
    for (who, user), own in sorted(groups.items()):
        people = (Person(_line(who), canvas=user),) if who else ()
        seconds_late = None if (who, user) in late else 0
        student = Student("_".join(filter(None, (who, user))), people, seconds_late=seconds_late)
        members = tuple((files[match.string], name) for name, match in sorted(own.items()))
        found.append(Entry(student, Source(path, named, members=members)))
    return found


# Gradescope


def _export(whole: Source, folders: Mapping[str, Source], people: Mapping[str, Mapping[str, object]]) -> list[Entry]:
    """Each folder, with or without people; and those who should have one, so that nobody is forgotten."""
    found = [
        Entry(_student(name, people.get(name, {})), source, any(key in people.get(name, {}) for key in LATE_KEYS))
        for name, source in sorted(folders.items())
    ]
    for name in sorted(people.keys() - folders.keys()):
        why = f"{METADATA} lists {quoted(name)}, but the export has no such folder; download this submission by itself"
        found.append(Entry(_student(name, people[name]), replace(whole, refusal=why)))
    return found


def _student(folder: str, record: Mapping[str, object]) -> Student:
    listed_as = record.get("submitters")
    submitters = [_keyed(one) for one in (listed_as if isinstance(listed_as, list) else [listed_as])[:MAX_SUBMITTERS]]
    people = (Person(*(_line(one.get(key)) for key in ("name", "sid", "email"))) for one in submitters)
    known = tuple(person for person in people if person != Person())
    return Student(folder, known, stamp(moment(_line(record.get("created_at")))), _seconds_late(record))


LATE_KEYS = ("lateness_in_seconds", "lateness_seconds", "seconds_late", "late_seconds", "lateness", "late", "is_late")


def _seconds_late(record: Mapping[str, object]) -> int | None:
    """Exports hold the time of submission but not always the lateness, and nobody says how it is spelt."""
    for key in LATE_KEYS:
        text = _line(record.get(key)).casefold()
        if text in ("true", "yes", "late"):
            return None
        if match := re.fullmatch(r"([0-9]{1,9})(\.[0-9]*)?", text):
            return int(match[1])
        if match := re.fullmatch(r"([0-9]{1,6}):([0-9]{2}):([0-9]{2})", text):
            return int(match[1]) * 3600 + int(match[2]) * 60 + int(match[3])
    return 0


def _line(value: object) -> str:
    """A name on one line, without anything invisible."""
    text = value if isinstance(value, str) else ""
    return " ".join("".join(c if c.isprintable() else " " for c in text[:MAX_TEXT]).split())


# Metadata


def _unusable(path: Path, why: str) -> UserError:
    return UserError(
        f"{quoted(path.name)}: {why.partition(';')[0]}; "
        f"download the export again, or unpack it and delete {METADATA} to grade it without names"
    )


def _metadata(entry: entries.Entry) -> dict[str, dict[str, object]]:
    """What is known of each folder; Refused if that cannot be read."""
    if entry.size > MAX_METADATA:
        raise Refused(f"{METADATA} has more than {MAX_METADATA // MIB} MiB")
    text = b"".join(measured(entry.pieces(), entry.size, METADATA)).decode("utf-8-sig", errors="replace")
    text = NOT_IN_YAML.sub("\ufffd", text)
    try:
        found = _plain(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise Refused(f"{METADATA} is not valid YAML" + (f" (line {mark.line + 1})" if mark else "")) from None
    if not isinstance(found, dict):
        raise Refused(f"{METADATA} does not list submissions")
    return {name: _keyed(record) for name, record in found.items() if isinstance(name, str)}


def _keyed(value: object) -> dict[str, object]:
    """A mapping by plain keys: Ruby writes ':name'."""
    pairs = value.items() if isinstance(value, dict) else ()
    return {key.lstrip(":").casefold(): content for key, content in pairs if isinstance(key, str)}


def _plain(text: str) -> object:
    """YAML as dicts, lists and strings, whatever its tags say; no number, so that 007 stays 007.

    Made from what the safe loader's parser reports, not by its constructor. That would need all of a file in memory
    that is mostly old test results, stop at Ruby's own tags, and multiply what is merged by '<<'. Here an alias is
    the very thing that it names, so aliases of aliases cost nothing.
    """
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    anchors: dict[str, object] = {}
    open_ones: list[tuple[str | None, list[object]]] = [(None, [])]
    for event in yaml.parse(text, Loader=loader):
        value: object
        anchor = getattr(event, "anchor", None)
        if isinstance(event, yaml.CollectionStartEvent):
            if len(open_ones) > MAX_NESTING:
                raise yaml.YAMLError
            open_ones.append((anchor, []))
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, items = open_ones.pop()
            value = _collected(items, isinstance(event, yaml.MappingEndEvent))
            if len(open_ones) == 3 and open_ones[-1][1][-1:] not in ([":submitters"], ["submitters"]):
                value = None  # results and history, which can be long
        elif isinstance(event, yaml.ScalarEvent):
            null = not event.style and event.value in ("~", "null")
            value = "" if null else event.value[: 10 * MAX_TEXT]
        elif isinstance(event, yaml.AliasEvent):
            value, anchor = anchors.get(anchor or ""), None
        else:
            continue
        if anchor:
            anchors[anchor] = value
        open_ones[-1][1].append(value)
    return next(iter(open_ones[0][1]), None)


def _collected(items: list[object], mapping: bool) -> object:
    if not mapping:
        return items
    return {key: value for key, value in zip(items[::2], items[1::2], strict=True) if isinstance(key, str)}
