"""The files that a course names, found in a submission whatever they are called there, and put under their names.

An exact name comes first, then the same name as computers and people change it, then a notebook or script by what it
defines. Nothing is run. Of several, the one with the most work in it is used; a file as it was handed out gives way to
any that has work in it. The report says what was read as what, and what was not used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from autograder.intake.entries import Entry, few, left_behind, measured, quoted
from autograder.intake.naming import forms, same
from autograder.intake.surveys import NONE, Budget, Survey, surveyed
from autograder.running.cells import is_notebook
from autograder.running.statements import STAGES

DEPTH = 3  # folders in which the loader looks
ENOUGH = 3  # exercises of a section that make a file its own
CODE = (".py", ".ipynb")
LARGEST = 16 << 20  # bytes of a file that is looked into for what it defines
MOST_READ = 48 << 20  # bytes of all of them together
MOST_MARKS = 1_000_000  # quotes and brackets of all notebooks, which take the time that it takes to read them
MOST_FILES = 60
MOST_FOLDERS = 5  # that are given another name
SHOWN = 3  # names in a line
# Modules that students are given, ours and those of the original courses: no work of their own, whatever they define.
GIVEN = (
    *("check.py", "checkpoints.py", "collect_submission.py", "curves.py", "decoding.py", "logs.py", "model.py"),
    *("london_baseline.py", "look_back.py", "muon.py", "recipes.py", "run.py", "trainer.py", "utils.py"),
)
GIVEN_FOLDERS = ("autograder", "tests")


@dataclass(frozen=True)
class Section:
    """Exercises that may be in the same files."""

    files: tuple[str, ...]  # best first
    exercises: Mapping[str, int]  # names to look for, and how many exercises each of them stands for
    given: frozenset[str] = frozenset()  # those of them that nobody has to write

    def count(self, names: Callable[[str], bool]) -> int:
        return sum(number for name, number in self.exercises.items() if names(name))

    @property
    def enough(self) -> int:
        return min(ENOUGH, sum(self.exercises.values()))

    @property
    def code(self) -> tuple[str, ...]:
        """Those of its files that hold code."""
        return tuple(file for file in self.files if file.endswith(CODE))


@dataclass
class Found:
    """A submission in which expected files have their names."""

    entries: list[Entry]
    notes: list[str] = field(default_factory=list)
    ignored: dict[str, str] = field(default_factory=dict)  # files that gave way to others, and why
    unsure: dict[str, str] = field(default_factory=dict)  # names that may be in files which nobody recognises, and why


def find(entries: Sequence[Entry], sections: Sequence[Section], usable: Callable[[str], bool]) -> Found:
    """Give expected files their names. `usable` says whether a file of a name would be kept at all."""
    search = _Search(entries, sections, usable)
    for slot in dict.fromkeys(file for section in sections for file in section.files):
        search.by_name(slot)
    for section in sorted(sections, key=lambda section: len(section.files)):  # the fewer, the less choice there is
        if section.code:
            search.by_content(section)
    for section in sections:
        if section.code:
            search.doubt(section)
    return search.found


class _Search:
    def __init__(self, entries: Sequence[Entry], sections: Sequence[Section], usable: Callable[[str], bool]) -> None:
        self.sections = sections
        self.slots = {file for section in sections for file in section.files}
        self.found = Found(*_with_folders(entries, self.slots))
        self.wanted = {name for section in sections for name in section.exercises}
        self.usable = usable
        self.chosen: dict[str, str] = {}  # by slot, the file that has its name
        self.contents: dict[str, bytes | None] = {}
        self.surveys: dict[str, Survey] = {}
        self.called: dict[str, str] = {}  # what a file was called when it was handed in, if otherwise
        self.room, self.marks, self.budget = MOST_READ, MOST_MARKS, Budget()
        self.forms: dict[str, tuple[str, ...]] = {}
        self._list()

    def _list(self) -> None:
        """The files that count, the shallowest first, as the loader looks for them."""
        visible = [
            one.name
            for one in self.found.entries
            if not one.folder and left_behind(one.name) is None and self.usable(one.name)
        ]
        self.names = sorted(visible, key=lambda name: (name.count("/"), name))
        self.code = [name for name in self.names if _is_code(name) and name.count("/") <= DEPTH + 1]  # src/ is one more
        endings = {(slot, f"/{slot}") for slot in self.slots}
        self.exact = {
            name: slot
            for name in self.names
            for slot, ending in endings
            if f"/{name}".endswith(ending) and name.count("/") - slot.count("/") <= DEPTH
        }
        self.by_entry = {one.name: one for one in self.found.entries if not one.folder}

    # By name

    def by_name(self, slot: str) -> None:
        """Find the file for a slot among those that are called like it."""
        meant = self._forms(slot)[0]
        exact = [name for name in self.names if self.exact.get(name) == slot]
        alike = [
            name
            for name in self.names
            if name not in self.exact and name.count("/") <= DEPTH + slot.count("/") and meant in self._forms(name)
        ]
        if not exact and not alike:
            return
        best = (exact or alike)[0]
        if len(exact) + len(alike) > 1 and slot.endswith(CODE):
            work = {name: self._work(name, slot) for name in (*exact, *alike)}
            worked = next((name for name in exact if work[name]), "")
            best = worked or min(alike, key=lambda name: -work[name], default=best)
            best = best if work[best] else (exact or alike)[0]
        before = exact[: exact.index(best)] if best in exact else exact  # which the loader would find first
        self._drop(before, best)
        unused = [name for name in (*exact, *alike) if name not in (best, *before)]
        self.chosen[slot] = best if best in exact else self._renamed(best, slot)
        if unused and slot.endswith(CODE):
            self.found.notes.append(f"{slot}: {quoted(best)} was used, not {few([*map(quoted, unused)], SHOWN)}")

    def _forms(self, name: str) -> tuple[str, ...]:
        if name not in self.forms:
            self.forms[name] = forms(name.rpartition("/")[2])
        return self.forms[name]

    def _work(self, name: str, slot: str) -> int:
        """How many of the exercises that a slot may hold have been written in a file."""
        names = {one for section in self.sections if slot in section.files for one in section.exercises}
        given = {one for section in self.sections for one in section.given}
        return len(self._survey(name).written & (names - given)) or self._leans(name, names)

    def _leans(self, name: str, names: Collection[str]) -> bool:
        """Does a file set none of these names, be it as stubs, but import other files of the submission that may?"""
        survey = self._survey(name)
        others = {PurePosixPath(other).stem for other in self.code if other != name}
        return not survey.names & set(names) and bool(survey.imports & others)

    def _renamed(self, name: str, slot: str, *, copy: bool = False) -> str:
        """Let a file have the name of a slot, where it lies; a module, in the folder it belongs in, if there is one."""
        path, wanted = PurePosixPath(name), PurePosixPath(slot)
        new = path.with_name(wanted.name)
        if len(wanted.parts) > 1 and path.parent.name != wanted.parts[0]:
            folders = sorted(
                (one.count("/"), one.rpartition("/")[0])
                for one in self.names
                if PurePosixPath(one).parent.name == wanted.parts[0]
            )
            if folders:
                new = PurePosixPath(folders[0][1]) / wanted.name
        target = new.as_posix()
        if target == name:  # a module without its folder, which `placing` sees to
            return name
        self._drop([other for other in self.by_entry if other != name and other.casefold() == target.casefold()], name)
        moved = replace(self.by_entry[name], name=target)
        if copy:
            self.found.entries.append(moved)
        else:
            self.found.entries = [moved if one.name == name else one for one in self.found.entries]
        self.called[target] = self.called.get(name, name)
        if name in self.contents:
            self.contents[target] = self.contents[name]
        if name in self.surveys:
            self.surveys[target] = self.surveys[name]
        self._list()
        if not copy:
            self.found.notes.append(f"read {quoted(name)} as {slot}")
        return target

    def _drop(self, names: Sequence[str], best: str) -> None:
        """Files as they were handed out, in the way of one with work in it."""
        for name in names:
            self.found.entries = [one for one in self.found.entries if one.name != name]
            self.found.ignored[name] = f"{quoted(best)} has more of your work in it and was read instead"
        if names:
            self._list()

    # By content

    def by_content(self, section: Section) -> None:
        """Find the file of a section by what it defines, unless there is one with work in it."""
        present = [self.chosen[slot] for slot in section.code if slot in self.chosen]
        rivals = [
            name
            for name in self.code
            if name not in present
            and self._mentions(name, section)
            and section.count(self._survey(name).names.__contains__) >= section.enough
            and self._slot_for(name, section)
        ]
        if not rivals or any(self._written(name, section) or self._leans(name, section.exercises) for name in present):
            return
        best = min(rivals, key=lambda name: (-self._written(name, section), name in self.chosen.values()))
        if present and not self._written(best, section):
            return
        slot = self._slot_for(best, section)
        copy = best in self.chosen.values()
        if (there := self.chosen.get(slot)) is not None:
            if self._work(there, slot):  # for another section; a person can put them together
                return
            self._drop([there], best)
        count = section.count(self._survey(best).names.__contains__)
        self.chosen[slot] = self._renamed(best, slot, copy=copy)
        told = f"it defines {count} of the {sum(section.exercises.values())} exercises"
        if copy:
            self.found.notes.append(f"read {quoted(self.called.get(best, best))} as {slot}, too: {told}")
        elif self.chosen[slot] != best:
            self.found.notes[-1] += f": {told}"
        others = [name for name in rivals if name != best and name not in self.chosen.values()]
        if others:
            self.found.notes.append(f"{slot}: {quoted(best)} was used, not {few([*map(quoted, others)], SHOWN)}")

    def _written(self, name: str, section: Section) -> int:
        survey = self._survey(name)
        return section.count(lambda one: one in survey.written and one not in section.given)

    def _slot_for(self, name: str, section: Section) -> str:
        """The name that a file would get: a script, where it can, one of which only definitions are run."""
        fitting = [slot for slot in section.code if PurePosixPath(slot).suffix == PurePosixPath(name).suffix.casefold()]
        return min(fitting, key=lambda slot: (slot in self.chosen, slot.count("/")), default="")

    def _mentions(self, name: str, section: Section) -> bool:
        """Far cheaper than a survey: do enough of the names occur at all?"""
        content = self._content(name)
        return content is not None and section.count(lambda one: _mentioned(one, content)) >= section.enough

    def _survey(self, name: str) -> Survey:
        if name not in self.surveys:
            content = self._content(name)
            marks = sum(map(content.count, (b'"', b"[", b"{"))) if content and is_notebook(name) else 0
            if marks > self.marks:
                content = self.contents[name] = None
            else:
                self.marks -= marks
            self.surveys[name] = NONE if content is None else surveyed(name, content, self.wanted, self.budget)
        return self.surveys[name]

    def _content(self, name: str) -> bytes | None:
        """What is in a file, within limits for one and for all."""
        if name not in self.contents:
            entry = self.by_entry[name]
            fits = entry.size <= min(LARGEST, self.room) and len(self.contents) < MOST_FILES
            self.contents[name] = b"".join(measured(entry.pieces(), entry.size, entry.name)) if fits else None
            self.room -= entry.size if fits else 0
        return self.contents[name]

    # What nobody recognises

    def doubt(self, section: Section) -> None:
        """If a section has no file, but there are notebooks or scripts that nobody knows, a person must look."""
        if any(slot in self.chosen for slot in section.code):
            return
        unknown = [name for name in self.code if self._is_unknown(name)]
        if unknown:
            files = " or ".join(section.code)
            why = (
                f"{files} is not in the submission, but {few([*map(quoted, unknown)], SHOWN)} "
                f"{'is' if len(unknown) == 1 else 'are'}: a person must look whether the work is there"
            )
            self.found.unsure |= dict.fromkeys(section.exercises, why)

    def _is_unknown(self, name: str) -> bool:
        path = PurePosixPath(name)
        if name in self.chosen.values() or self._is_another_section(path.name):
            return False
        if path.suffix.casefold() == ".py" and self._is_helper(path):
            return False
        names = self._survey(name).names
        return bool(names) or self._content(name) is None  # too much to be looked into: who knows

    def _is_helper(self, path: PurePosixPath) -> bool:
        """Does a module belong to what was found, or to what was given?"""
        if path.name.casefold() in GIVEN or any(part.casefold() in GIVEN_FOLDERS for part in path.parts[:-1]):
            return True
        beside = {PurePosixPath(name).parent for slot, name in self.chosen.items() if "/" in slot}
        if beside & set(path.parents) - {PurePosixPath()}:
            return True
        code = [name for name in self.chosen.values() if _is_code(name)]
        imported = {module for name in code for module in self._survey(name).imports}
        return path.stem in imported or bool(set(path.parts[:-1]) & imported)

    def _is_another_section(self, name: str) -> bool:
        """Is it named like an expected file with another number, as the A2S3 of a course that has A2S1 is?"""
        for slot in self.slots:
            numbered = re.fullmatch(r"(.*[a-z])\d+", PurePosixPath(slot).stem.casefold())
            if numbered and any(re.fullmatch(re.escape(numbered[1]) + r"\d+\.\w+", one) for one in self._forms(name)):
                return True
        return False


def _mentioned(name: str, content: bytes) -> bool:
    return name.encode() in content or (name in STAGES and STAGES[name][0].encode() in content)


def _is_code(name: str) -> bool:
    return PurePosixPath(name).suffix.casefold() in CODE


def _with_folders(entries: Sequence[Entry], slots: set[str]) -> tuple[list[Entry], list[str]]:
    """With folders under their expected names: 'SRC' and 'src (1)' are src, if there is no other beside them."""
    found = list(entries)
    notes: list[str] = []
    for folder in sorted({slot.split("/")[0] for slot in slots if "/" in slot}):
        there = {PurePosixPath(*parts[: at + 1]) for parts in _parts(found) for at in range(len(parts) - 1)}
        taken = {path.as_posix().casefold() for path in there}
        for path in sorted(there):
            new = path.with_name(folder)
            free = path.name.casefold() == folder or new.as_posix().casefold() not in taken
            if path.name != folder and same(path.name, folder) and free and len(notes) < MOST_FOLDERS:
                found = [replace(one, name=_moved(one.name, path, new)) for one in found]
                taken.add(new.as_posix().casefold())
                notes.append(f"read the folder {quoted(path.as_posix())} as {folder}/")
    return found, notes


def _parts(entries: Sequence[Entry]) -> list[tuple[str, ...]]:
    return [PurePosixPath(one.name).parts for one in entries if not one.folder and left_behind(one.name) is None]


def _moved(name: str, path: PurePosixPath, new: PurePosixPath) -> str:
    old = path.as_posix()
    return new.as_posix() + name.removeprefix(old) if name == old or name.startswith(f"{old}/") else name
