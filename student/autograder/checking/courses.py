"""Course files: which exercises count, for how much, and where they may be found."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

from autograder.checking.claims import NOTE, Worth, changed
from autograder.errors import UserError
from autograder.judging.compare import Tolerance
from autograder.judging.exercises import ASKING, DEFINES, EXERCISES, PREDICTIONS
from autograder.running.room import KERNELS

FOLDER = Path(__file__).parents[1] / "courses"
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


class _Reader:
    """Reads one file; every complaint names the file, the line and the key."""

    KEYS = ("title", "output", "totals", "tolerance", "threshold", "gradescope", "section")
    PLATFORM_KEYS = ("minutes", "daily_limit", "visibility", "leaderboard")
    SECTION_KEYS = ("title", "files", "run", "deadline", "visibility", "exercises")
    ITEM_KEYS = (
        *("slug", "handout", "by", "public", "hidden", "points", "given", "extra_credit"),
        *("files", "deadline", "visibility", "threshold", "notes", "further", "carried_forward", "forbid"),
    )

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.text = path.read_text(encoding="utf-8")
            self.data = tomllib.loads(self.text)
        except UnicodeDecodeError as error:
            raise UserError(f"{path}: not UTF-8 text ({error.reason})") from None
        except tomllib.TOMLDecodeError as error:
            raise UserError(f"{path}: {error}") from None

    def read(self) -> Course:
        self._known(self.data, self.KEYS, "")
        platform = self._platform()
        items: dict[str, Item] = {}
        for section in self._get(self.data, "section", list, ""):
            for item in self._section(section):
                if item.slug in items:
                    raise self._wrong("slug", f"'{item.slug}' is listed twice", item.slug)
                items[item.slug] = item
        totals = self._get(self.data, "totals", dict, "")
        course = Course(
            name=self.path.stem,
            path=self.path,
            title=self._get(self.data, "title", str, ""),
            items=items,
            tolerances=self._tolerances(),
            thresholds=self._numbers("threshold", {"query_error": 0.05}),
            required=self._get(totals, "required", int, ""),
            extra_credit=self._get(totals, "extra_credit", int, ""),
            output=self._choice(self.data, "output", get_args(Output), "md", ""),
            gradescope=platform,
        )
        for slug in platform.leaderboard:
            if slug not in items:
                raise self._wrong("leaderboard", f"names '{slug}', which is no exercise of this course")
        for item in course.graded:
            if item.run == "definitions" and (both := set(course.by_cells) & set(item.files)):
                what = f"is 'cells' for {min(both)} elsewhere, and 'definitions' here; it must be the same"
                raise self._wrong("run", what, item.section)
        for key, extra in (("required", False), ("extra_credit", True)):
            total = sum(item.points for item in items.values() if item.extra_credit is extra)
            if total != totals[key]:
                raise self._wrong(key, f"is {totals[key]}, but the exercises add up to {total}")
        return course

    def _section(self, section: dict[str, Any]) -> list[Item]:
        title = self._get(section, "title", str, "")
        self._known(section, self.SECTION_KEYS, "")
        return [self._item(entry, section, title) for entry in self._get(section, "exercises", list, title)]

    def _item(self, entry: dict[str, Any], section: dict[str, Any], title: str) -> Item:
        if not isinstance(entry, dict):
            raise self._wrong("exercises", 'must be a list of tables like { slug = "...", public = 1 }', title)
        slug: str = self._get(entry, "slug", str, title)
        self._known(entry, self.ITEM_KEYS, slug)
        by: By = self._choice(entry, "by", get_args(By), "grader", slug)
        given: bool = self._get(entry, "given", bool, slug, False)
        public: int = self._get(entry, "public", int, slug, 0)
        hidden: int = self._get(entry, "hidden", int, slug, 0)
        for key in ("public", "hidden", "points"):
            if entry.get(key, 0) < 0:
                raise self._wrong(key, "must not be negative", slug)
        if by == "grader" and "points" in entry:
            raise self._wrong("points", "is for what a person grades; give 'public' and 'hidden' instead", slug)
        if by != "grader" and (public or hidden or given):
            raise self._wrong("by", "what the grader does not grade has 'points' only", slug)
        if given and (public or hidden):
            raise self._wrong("given", "given code carries no points", slug)
        files = entry.get("files", section.get("files", []))
        if not isinstance(files, list) or not all(isinstance(file, str) for file in files):
            raise self._wrong("files", "must be a list of file names", slug)
        if by == "grader" and not files:
            raise self._wrong("files", "is missing: where may students put it?", slug)
        usual = {key: value for key, value in self.data.get("gradescope", {}).items() if key == "visibility"}
        merged = usual | {key: section[key] for key in ("deadline", "visibility") if key in section} | entry
        deadline: int = self._get(merged, "deadline", int, slug, 20)
        if deadline <= 0:
            raise self._wrong("deadline", "must be a positive number of seconds", slug)
        threshold = self._get(entry, "threshold", float, slug) if "threshold" in entry else None
        if threshold is not None and not 0 < threshold < 1:
            raise self._wrong("threshold", "must lie between 0 and 1", slug)
        if by == "grader" and slug in PREDICTIONS:
            for ending in (PARAMS, DEV_LINES, TEST_LINES):
                if sum(file.endswith(ending) for file in files) != 1:
                    raise self._wrong("files", f"must name one file that ends in {ending}", slug)
        return Item(
            slug=slug,
            section=title,
            handout=self._get(entry, "handout", str, slug),
            by=by,
            public=public,
            hidden=hidden,
            points=self._get(entry, "points", int, slug, public + hidden),
            given=given,
            extra_credit=self._get(entry, "extra_credit", bool, slug, False),
            files=tuple(files),
            deadline=deadline,
            visibility=self._choice(merged, "visibility", get_args(Visibility), "visible", slug),
            threshold=threshold,
            run=self._choice(section, "run", get_args(Run), "definitions", title),
            carried_forward=self._per_cent(entry, slug),
            claims=self._claims(entry, slug),
            forbid=self._forbidden(entry, slug),
        )

    def _forbidden(self, entry: dict[str, Any], slug: str) -> tuple[str, ...]:
        names = self._get(entry, "forbid", list, slug, [])
        if names and slug not in EXERCISES:
            raise self._wrong("forbid", "is for exercises that are called with tensors", slug)
        for name in names:
            if name not in KERNELS:
                raise self._wrong("forbid", f"names {name!r}; what can be forbidden is {', '.join(KERNELS)}", slug)
        return tuple(names)

    def _per_cent(self, entry: dict[str, Any], slug: str) -> int:
        share: int = self._get(entry, "carried_forward", int, slug, 0)
        if not 0 <= share <= 100:
            raise self._wrong("carried_forward", "must be a number of per cent, from 0 to 100", slug)
        return share

    def _claims(self, entry: dict[str, Any], slug: str) -> dict[str, Worth]:
        """Claims that are notes in this course, and further ones with points of this course's choice."""
        notes = self._get(entry, "notes", list, slug, [])
        if not all(isinstance(name, str) for name in notes):
            raise self._wrong("notes", "must be a list of claims", slug)
        found = dict.fromkeys(notes, NOTE)
        for name, points in self._get(entry, "further", dict, slug, {}).items():
            if name in found:
                raise self._wrong("further", f"names '{name}', which is in 'notes', too", slug)
            if not isinstance(points, dict):
                raise self._wrong("further", f"must say which points: {name} = {{ hidden = 1 }}", slug)
            self._known(points, PARTS, slug)
            numbers = {part: self._get(points, part, int, slug, 0) for part in PARTS}
            if min(numbers.values()) < 0:
                raise self._wrong("further", f"gives '{name}' negative points", slug)
            found[name] = Worth("further", **numbers)
        return found

    def _platform(self) -> Platform:
        given = self._get(self.data, "gradescope", dict, "", {})
        self._known(given, self.PLATFORM_KEYS, "")
        minutes: int = self._get(given, "minutes", int, "", Platform.minutes)
        if not 1 <= minutes <= MAX_MINUTES:
            raise self._wrong("minutes", f"must lie between 1 and {MAX_MINUTES}, which is all that Gradescope offers")
        daily_limit = self._get(given, "daily_limit", int, "", None)
        if daily_limit is not None and daily_limit < 1:
            raise self._wrong("daily_limit", "must be at least 1; without a limit, leave it out")
        return Platform(minutes, daily_limit, tuple(self._get(given, "leaderboard", list, "", [])))

    def _tolerances(self) -> dict[str, Tolerance]:
        numbers = self._numbers("tolerance", {"values": 1e-5, "rope": 1e-4})
        return {"values": Tolerance(relative=numbers["values"]), "rope": Tolerance(0.0, absolute=numbers["rope"])}

    def _numbers(self, table: str, known: dict[str, float]) -> dict[str, float]:
        given = self._get(self.data, table, dict, "", {})
        self._known(given, tuple(known), "")
        numbers = {key: self._get(given, key, float, "", usual) for key, usual in known.items()}
        for key, value in numbers.items():
            if not 0 < value < 1:
                raise self._wrong(key, "must lie between 0 and 1")
        return numbers

    def _get(self, table: dict[str, Any], key: str, kind: type, near: str, *usual: Any) -> Any:
        if key not in table:
            if usual:
                return usual[0]
            raise self._wrong(key, "is missing", near)
        value = table[key]
        if type(value) is not kind:
            names = {str: "text", int: "a whole number", float: "a decimal number", bool: "true or false"}
            raise self._wrong(key, f"must be {names.get(kind, 'a ' + kind.__name__)}, is {value!r}", near)
        return value

    def _choice(self, table: dict[str, Any], key: str, choices: tuple[str, ...], usual: str, near: str) -> Any:
        value = self._get(table, key, str, near, usual)
        if value not in choices:
            raise self._wrong(key, f"is '{value}', must be one of {', '.join(choices)}", near)
        return value

    def _known(self, table: dict[str, Any], known: tuple[str, ...], near: str) -> None:
        for key in table:
            if key not in known:
                raise self._wrong(key, f"is not known here; known are {', '.join(known)}", near)

    def _wrong(self, key: str, what: str, near: str = "") -> UserError:
        """TOML parsers forget lines, so look for the key again: behind its neighbour, or anywhere."""
        lines = self.text.splitlines()
        named = re.compile(rf"(?<![\w-])\[*{re.escape(key)}\b\s*[=\]]")
        around = [n for n, line in enumerate(lines, 1) if near and f'"{near}"' in line]
        exact = [n for n in around if named.search(lines[n - 1])]
        anywhere = [n for n, line in enumerate(lines, 1) if named.search(line)]
        after = [n for n in anywhere if around and n >= around[-1]]
        line = next(iter([*exact[-1:], *(around[-1:] if key == "slug" or near else []), *after, *anywhere]), 1)
        about = f" of '{near}'" if near and key != "slug" else ""
        return UserError(f"{self.path}:{line}: '{key}'{about} {what}")
