"""Course files: which exercises count, for how much, and where they may be found.

A part's file says what is the same in every course. A course uses parts, says what is different, and adds what people
grade. (Elsewhere, 'part' also means one half of an exercise's checks: the public or the hidden ones, PARTS.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

from autograder.checking.claims import NOTE, Worth, changed
from autograder.checking.tables import Table, TomlFile
from autograder.errors import UserError
from autograder.judging.compare import Tolerance
from autograder.judging.exercises import ASKING, DEFINES, EXERCISES, PREDICTIONS
from autograder.running.room import KERNELS

FOLDER = Path(__file__).parents[1] / "courses"
OF_PARTS = "parts"  # the folder beside the course files that holds the parts' files
USUAL = "default"  # the course where nobody names one
Visibility = Literal["visible", "hidden", "after_due_date", "after_published"]
By = Literal["grader", "person", "coming"]
Output = Literal["md", "text"]
MAX_MINUTES = 40  # that Gradescope gives a run
Run = Literal["definitions", "cells"]  # how much of a notebook, or of a script exported from one, is run
PARTS = ("public", "hidden")  # of an exercise's checks, in the order in which they are run
PARAMS, DEV_LINES, TEST_LINES = ".params", ".dev.predictions", ".test.predictions"  # how files of predictions end


@dataclass(frozen=True)
class Item:
    """One exercise of a course. Only those graded by the grader are counted as autograded."""

    slug: str
    section: str
    handout: str
    by: By
    public: int
    hidden: int
    points: int
    given: bool
    extra_credit: bool
    files: tuple[str, ...]
    deadline: int
    visibility: Visibility  # of the hidden checks; public ones are always visible
    threshold: float | None
    run: Run = "definitions"
    carried_forward: int = 0  # per cent of the points that it earns if it is wrong only because a step below it is
    claims: Mapping[str, Worth] = field(default_factory=dict)  # those that count otherwise than declared
    forbid: tuple[str, ...] = ()  # kernels of the library that must not do its work
    part: str = ""  # of the assignment; none if it is the course's alone
    said_in: Mapping[str, Path] = field(default_factory=dict, compare=False, repr=False)  # key -> the file that says it

    def points_of(self, part: str) -> int:
        return self.public if part == "public" else self.hidden

    def worth(self, claim: str, usual: Worth) -> Worth:
        """What a claim counts as in this course."""
        return changed(claim, usual, self.claims)

    def runs(self, part: str) -> bool:
        """Do checks of this part run student code? Of files that were made before, the public ones only read them."""
        return self.slug not in ASKING or (self.slug in PREDICTIONS and part == "hidden")

    def file(self, ending: str) -> str:
        """The one of its files that ends like this."""
        return next(file for file in self.files if file.endswith(ending))


@dataclass(frozen=True)
class Platform:
    """The course on Gradescope."""

    minutes: int = 10  # after which a run is ended with nothing; the same must be chosen in the assignment's settings
    daily_limit: int | None = None  # submissions that are graded within 24 hours
    leaderboard: tuple[str, ...] = ()  # exercises whose measure all students see


@dataclass(frozen=True)
class Course:
    """A course file, checked."""

    name: str
    path: Path
    title: str
    items: Mapping[str, Item]
    tolerances: Mapping[str, Tolerance]
    thresholds: Mapping[str, float]
    required: int
    extra_credit: int
    output: Output = "md"  # how Gradescope is told to show messages
    gradescope: Platform = Platform()
    parts: Mapping[str, Path] = field(default_factory=dict)  # that it uses, in its order: name -> file

    @property
    def files_read(self) -> dict[str, Path]:
        """All that it takes to read it elsewhere, by name relative to its folder."""
        return {self.path.name: self.path} | {f"{OF_PARTS}/{name}.toml": path for name, path in self.parts.items()}

    def file_of(self, item: Item, *keys: str) -> Path:
        """The file that says the first of these keys that any file says of an exercise."""
        return next((item.said_in[key] for key in keys if key in item.said_in), self.path)

    @property
    def graded(self) -> list[Item]:
        """What the grader grades, in the order of the file."""
        return [item for item in self.items.values() if item.by == "grader"]

    @property
    def asks(self) -> bool:
        """Does it grade anything for which the held-out answers are needed?"""
        return any(item.slug in ASKING for item in self.graded)

    @property
    def of_code(self) -> Course:
        """The same without what takes a trained model: what can be graded of code alone."""
        return replace(self, items={slug: item for slug, item in self.items.items() if slug not in ASKING})

    @cached_property
    def files(self) -> dict[str, tuple[str, ...]]:
        """Which files may hold each name that is looked for in a submission."""
        return {DEFINES.get(item.slug, item.slug): item.files for item in self.graded}

    @cached_property
    def by_cells(self) -> tuple[str, ...]:
        """The notebooks that are run whole, cell by cell."""
        return tuple(dict.fromkeys(file for item in self.graded if item.run == "cells" for file in item.files))

    @property
    def longest(self) -> int:
        """The longest deadline, in seconds."""
        return max((item.deadline for item in self.graded), default=0)

    @property
    def retries(self) -> int:
        """Seconds that a submission has beyond its deadlines, to load a notebook again without what ended a worker."""
        return 2 * max((item.deadline for item in self.graded if item.slug not in ASKING), default=0)

    def tolerance(self, slug: str) -> Tolerance:
        return self.tolerances[EXERCISES[slug].tolerance] if slug in EXERCISES else Tolerance()


def available(folder: Path = FOLDER) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.toml"))


def read_course(name: str, folder: Path = FOLDER) -> Course:
    """Read a course by name, or from a path that ends in .toml."""
    path = Path(name) if name.endswith(".toml") else folder / f"{name}.toml"
    if not path.is_file():
        raise UserError(f"no course '{name}'; there are {', '.join(available(folder))}, or give a .toml file")
    return _Reader(path).read()


def only_course(folder: Path) -> Course:
    """The course of a folder that must hold no other."""
    names = available(folder)
    if len(names) != 1:
        raise UserError(f"{folder} must hold one course file, and holds {len(names)}")
    return read_course(names[0], folder)


def course_of_this_tree() -> Course:
    """The only one that is here, as in what students get; the usual one in the repository, which has several."""
    return read_course(USUAL) if USUAL in available() else only_course(FOLDER)


class _Part:
    """The file of a part, and what it says of each of its exercises."""

    def __init__(self, name: str, path: Path) -> None:
        self.name, self.file = name, TomlFile(path)
        top = Table("", (self.file, self.file.data))
        top.known("section")
        self.sections = [_section(self.file, values) for values in top.get("section", list)]
        self.entries: dict[str, tuple[Table, Table]] = {}  # slug -> what is said of it, and of its section
        for section in self.sections:
            for entry in _entries(self.file, section):
                if entry.near in self.entries:
                    raise self.file.wrong("slug", f"'{entry.near}' is listed twice", entry.near)
                self.entries[entry.near] = (entry, section)
        if not self.entries:
            raise self.file.wrong("section", "must list the exercises of the part")


def _section(file: TomlFile, values: dict[str, Any], *more: str) -> Table:
    """A section of a file; its name is its title, or the part that it uses."""
    nameless = Table("", (file, values))
    nameless.known(*_Reader.SECTION_KEYS, *more)
    name: str = nameless.get("use" if "use" in values and "title" not in values else "title", str)
    return Table(name, (file, values))


def _entries(file: TomlFile, section: Table) -> Iterator[Table]:
    """Its exercises, each with known keys only."""
    for values in section.get("exercises", list):
        if not isinstance(values, dict):
            raise section.wrong("exercises", 'must be a list of tables like { slug = "...", public = 1 }')
        slug: str = Table(section.near, (file, values)).get("slug", str)
        entry = Table(slug, (file, values))
        entry.known(*_Reader.ITEM_KEYS)
        yield entry


class _Reader:
    """Reads a course with the parts that it uses; every complaint names the file, the line and the key."""

    KEYS = ("title", "use", "output", "totals", "tolerance", "threshold", "gradescope", "change", "section")
    PLATFORM_KEYS = ("minutes", "daily_limit", "visibility", "leaderboard")
    SECTION_KEYS = ("title", "files", "run", "deadline", "visibility", "exercises")
    ITEM_KEYS = (
        *("slug", "handout", "by", "public", "hidden", "points", "given", "extra_credit"),
        *("files", "deadline", "visibility", "threshold", "notes", "further", "carried_forward", "forbid"),
    )

    def __init__(self, path: Path) -> None:
        self.file = TomlFile(path)
        self.top = Table("", (self.file, self.file.data))
        self.parts: dict[str, _Part] = {}
        self.changes = self._changes()

    def read(self) -> Course:
        self.top.known(*self.KEYS)
        platform = self._platform()
        items: dict[str, Item] = {}
        for item in self._items():
            if item.slug in items:
                raise self.file.wrong("slug", f"'{item.slug}' is listed twice", item.slug)
            items[item.slug] = item
        for slug in self.changes:
            raise self.file.wrong("change", f"names '{slug}', which is no exercise of a part that is used whole")
        totals = Table("", (self.file, self.top.get("totals", dict)))
        course = Course(
            name=self.file.path.stem,
            path=self.file.path,
            title=self.top.get("title", str),
            items=items,
            tolerances=self._tolerances(),
            thresholds=self._numbers("threshold", {"query_error": 0.05}),
            required=totals.get("required", int),
            extra_credit=totals.get("extra_credit", int),
            output=self.top.choice("output", get_args(Output), "md"),
            gradescope=platform,
            parts={name: part.file.path for name, part in self.parts.items()},
        )
        self._agrees(course)
        return course

    def _agrees(self, course: Course) -> None:
        """With itself: names, ways to run, totals."""
        for slug in course.gradescope.leaderboard:
            if slug not in course.items:
                raise self.file.wrong("leaderboard", f"names '{slug}', which is no exercise of this course")
        for item in course.graded:
            if item.run == "definitions" and (both := set(course.by_cells) & set(item.files)):
                what = f"is 'cells' for {min(both)} elsewhere, and 'definitions' here; it must be the same"
                raise self.file.wrong("run", what, item.section)
        for key, extra in (("required", False), ("extra_credit", True)):
            total = sum(item.points for item in course.items.values() if item.extra_credit is extra)
            said = course.extra_credit if extra else course.required
            if total != said:
                raise self.file.wrong(key, f"is {said}, but the exercises add up to {total}")

    def _items(self) -> Iterator[Item]:
        """In the order of the file: parts that are used whole, then the sections."""
        whole = self.top.texts("use", "parts")
        for name in whole:
            if name in self.parts:
                raise self.top.wrong("use", f"names '{name}' twice")
            yield from self._whole(self._part(name, self.top), {})
        for values in self.top.get("section", list, *([[]] if whole else [])):
            section = _section(self.file, values, "use")
            if "use" not in section:
                for entry in _entries(self.file, section):
                    yield self._item(entry, section, section.near)
                continue
            part = self._part(section.get("use", str), section)
            yield from self._chosen(part, section) if "exercises" in section else self._whole(part, values)

    def _whole(self, part: _Part, values: dict[str, Any]) -> Iterator[Item]:
        """All exercises of a part, with the course's changes; `values` are those of the course's section."""
        for slug, (entry, section) in part.entries.items():
            entry = Table(slug, (self.file, self.changes.pop(slug, {})), *entry.layers)
            merged = Table(section.near, (self.file, values), *section.layers)
            yield self._item(entry, merged, merged.get("title", str), part.name)

    def _chosen(self, part: _Part, ours: Table) -> Iterator[Item]:
        """These exercises of a part, in this order; what the course adds between them, people grade."""
        first = part.sections[0]
        title = ours.get("title", str, first.near)
        for said in _entries(self.file, ours):
            if said.near not in part.entries and said.get("by", str, "grader") == "grader":
                what = f"'{said.near}' is no exercise of the part '{part.name}', which has {', '.join(part.entries)}"
                raise said.wrong("slug", f'{what}; what a person grades says by = "person"')
            entry, section = part.entries.get(said.near, (Table(said.near), first))
            merged = Table(title, *ours.layers, *section.layers)
            yield self._item(Table(said.near, *said.layers, *entry.layers), merged, title, part.name)

    def _part(self, name: str, asked: Table) -> _Part:
        if name not in self.parts:
            folders = [self.file.path.parent / OF_PARTS, FOLDER / OF_PARTS]  # a course elsewhere may use ours
            paths = [path for folder in folders if (path := folder / f"{name}.toml").is_file()]
            if not paths:
                there = sorted({part for folder in folders for part in available(folder)})
                raise asked.wrong("use", f"names '{name}', but the parts are {', '.join(there)}")
            self.parts[name] = _Part(name, paths[0])
        return self.parts[name]

    def _changes(self) -> dict[str, dict[str, Any]]:
        """By exercise: what is different in this course, where its part is used whole."""
        found: dict[str, dict[str, Any]] = dict(self.top.get("change", dict, {}))
        for slug, values in found.items():
            if not isinstance(values, dict):
                raise self.file.wrong("change", f"must say what changes: {slug} = {{ hidden = 2 }}", slug)
            Table(slug, (self.file, values)).known(*self.ITEM_KEYS[1:])
        return found

    def _item(self, entry: Table, section: Table, title: str, part: str = "") -> Item:
        slug = entry.near
        platform = self.top.get("gradescope", dict, {})
        usual = {key: value for key, value in platform.items() if key == "visibility"}
        # What a section says holds for those of its exercises that say nothing themselves. The home stays last.
        merged = Table(slug, *entry.layers, *section.layers, (self.file, usual), (entry.layers[-1][0], {}))
        by: By = entry.choice("by", get_args(By), "grader")
        given: bool = entry.get("given", bool, False)
        public: int = entry.get("public", int, 0)
        hidden: int = entry.get("hidden", int, 0)
        points: int = entry.get("points", int, public + hidden)
        for key, number in (("public", public), ("hidden", hidden), ("points", points)):
            if number < 0:
                raise entry.wrong(key, "must not be negative")
        if by == "grader" and "points" in entry:
            raise entry.wrong("points", "is for what a person grades; give 'public' and 'hidden' instead")
        if by != "grader" and (public or hidden or given):
            raise entry.wrong("by", "what the grader does not grade has 'points' only")
        if given and (public or hidden):
            raise entry.wrong("given", "given code carries no points")
        deadline: int = merged.get("deadline", int, 20)
        if deadline <= 0:
            raise merged.wrong("deadline", "must be a positive number of seconds")
        threshold = entry.get("threshold", float, None)
        if threshold is not None and not 0 < threshold < 1:
            raise entry.wrong("threshold", "must lie between 0 and 1")
        return Item(
            slug=slug,
            section=title,
            handout=entry.get("handout", str),
            by=by,
            public=public,
            hidden=hidden,
            points=points,
            given=given,
            extra_credit=entry.get("extra_credit", bool, False),
            files=self._files(merged, by),
            deadline=deadline,
            visibility=merged.choice("visibility", get_args(Visibility), "visible"),
            threshold=threshold,
            run=section.choice("run", get_args(Run), "definitions"),
            carried_forward=self._per_cent(entry),
            claims=self._claims(entry),
            forbid=self._forbidden(entry),
            part=part,
            said_in=entry.paths(),
        )

    def _files(self, merged: Table, by: By) -> tuple[str, ...]:
        files = merged.texts("files", "file names")
        if by == "grader" and not files:
            raise merged.wrong("files", "is missing: where may students put it?")
        if by == "grader" and merged.near in PREDICTIONS:
            for ending in (PARAMS, DEV_LINES, TEST_LINES):
                if sum(file.endswith(ending) for file in files) != 1:
                    raise merged.wrong("files", f"must name one file that ends in {ending}")
        return tuple(files)

    def _forbidden(self, entry: Table) -> tuple[str, ...]:
        names = entry.get("forbid", list, [])
        if names and entry.near not in EXERCISES:
            raise entry.wrong("forbid", "is for exercises that are called with tensors")
        for name in names:
            if name not in KERNELS:
                raise entry.wrong("forbid", f"names {name!r}; what can be forbidden is {', '.join(KERNELS)}")
        return tuple(names)

    def _per_cent(self, entry: Table) -> int:
        share: int = entry.get("carried_forward", int, 0)
        if not 0 <= share <= 100:
            raise entry.wrong("carried_forward", "must be a number of per cent, from 0 to 100")
        return share

    def _claims(self, entry: Table) -> dict[str, Worth]:
        """Claims that are notes in this course, and further ones with points of this course's choice."""
        found = dict.fromkeys(entry.texts("notes", "claims"), NOTE)
        for name, values in entry.get("further", dict, {}).items():
            if name in found:
                raise entry.wrong("further", f"names '{name}', which is in 'notes', too")
            if not isinstance(values, dict):
                raise entry.wrong("further", f"must say which points: {name} = {{ hidden = 1 }}")
            points = Table(entry.near, (entry.file("further"), values))
            points.known(*PARTS)
            numbers = {part: points.get(part, int, 0) for part in PARTS}
            if min(numbers.values()) < 0:
                raise entry.wrong("further", f"gives '{name}' negative points")
            found[name] = Worth("further", **numbers)
        return found

    def _platform(self) -> Platform:
        given = Table("", (self.file, self.top.get("gradescope", dict, {})))
        given.known(*self.PLATFORM_KEYS)
        minutes: int = given.get("minutes", int, Platform.minutes)
        if not 1 <= minutes <= MAX_MINUTES:
            raise given.wrong("minutes", f"must lie between 1 and {MAX_MINUTES}, which is all that Gradescope offers")
        daily_limit = given.get("daily_limit", int, None)
        if daily_limit is not None and daily_limit < 1:
            raise given.wrong("daily_limit", "must be at least 1; without a limit, leave it out")
        return Platform(minutes, daily_limit, tuple(given.get("leaderboard", list, [])))

    def _tolerances(self) -> dict[str, Tolerance]:
        numbers = self._numbers("tolerance", {"values": 1e-5, "rope": 1e-4})
        return {"values": Tolerance(relative=numbers["values"]), "rope": Tolerance(0.0, absolute=numbers["rope"])}

    def _numbers(self, table: str, known: dict[str, float]) -> dict[str, float]:
        given = Table("", (self.file, self.top.get(table, dict, {})))
        given.known(*known)
        numbers = {key: given.get(key, float, usual) for key, usual in known.items()}
        for key, value in numbers.items():
            if not 0 < value < 1:
                raise given.wrong(key, "must lie between 0 and 1")
        return numbers
