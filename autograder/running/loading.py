"""Find and load the files of a submission, each on its own, only when something is asked of it."""

from __future__ import annotations

import ast
import contextlib
import difflib
import importlib.util
import os
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

from autograder.running.cells import Unreadable, said_place
from autograder.running.editions import Edition, editions
from autograder.running.sheets import LeftOut, Sheet, Stopped
from autograder.running.statements import WRITTEN, Unparsable, started

DEPTH = 3  # folders below the submission's root in which an expected file is looked for
_NOTHING = object()


class Unloadable(Exception):
    """A name that the submission does not provide. Its cause, if any, is why a file, or a statement, failed."""


@dataclass(frozen=True)
class Found:
    """A value, and the file of the submission that it was taken from."""

    value: Any
    file: str


class Loader:
    """The files of one submission. `files` says which may hold a name, best first.

    One that the course names with its folder, as in src/attention.py, is a module and runs whole. The others are
    notebooks, or scripts exported from them: those `by_cells` run whole, too, and of the rest only definitions do.
    """

    def __init__(
        self,
        root: Path,
        files: Mapping[str, Sequence[str]],
        by_cells: Collection[str] = (),
        left_out: Sequence[LeftOut] = (),
        reached: Callable[[str, int], None] = lambda _, __: None,
    ) -> None:
        self.root = root.resolve()
        self.files, self.by_cells, self.left_out, self.reached = files, by_cells, left_out, reached
        self.loaded: dict[tuple[Path, int], _Module | Sheet | BaseException] = {}  # by file and edition
        self.cut: tuple[Path, int] | None = None  # the file of which an edition is in use, see `use`
        self.places: dict[str, Path | None] = {}
        self.found: dict[tuple[str, tuple[Path, int] | None], Found] = {}
        self.failed: dict[str, str] = {}  # names, and the files in which something went wrong with them

    def find(self, name: str) -> Any:
        """The first definition of `name` among the files that may hold it."""
        key = (name, self.cut)
        if key not in self.found:
            self.found[key] = self._find(name)
        return self.found[key].value

    def file_of(self, name: str) -> str:
        """Where a name was found, or would have been if that had not failed."""
        found = self.found.get((name, self.cut)) or self.found.get((name, None))
        return found.file if found else self.failed.get(name, "")

    def editions(self, name: str) -> list[Edition]:
        """Those of the notebook or script in which a name was found. Of a module, what others import counts; of what
        is run cell by cell, the values at the end."""
        source = self.loaded.get((self.root / self.file_of(name), 0))
        return editions(name, source.steps) if isinstance(source, Sheet) and not source.by_cells else []

    def use(self, name: str, before: int) -> None:
        """From now on, take everything from another edition of the file in which a name is found; 0 is all of it."""
        self.cut = None
        if before:
            with contextlib.suppress(Unloadable):
                self.find(name)
            self.cut = (self.root / self.file_of(name), before)

    def files_like(self, name: str) -> dict[str | int, str]:
        """Where each name is found that may be in the same files; loads what must be loaded for that."""
        told: dict[str | int, str] = {}
        for other, files in self.files.items():
            if files == self.files.get(name):
                with contextlib.suppress(Unloadable):
                    self.find(other)
                told[other] = self.file_of(other)
        return told

    def _find(self, name: str) -> Found:
        """A stub that was handed out is no definition, if a later file has a better one: whoever works in the notebook
        hands in the untouched src/attention.py, too. An attempt that fails says more than a stub."""
        wanted = self.files.get(name, ())
        best: tuple[int, Found] | None = None
        why: list[tuple[Unloadable, str]] = []
        present: list[str] = []
        defined: list[str] = []
        handed_in = [(one, path) for one in wanted if (path := self.locate(one)) is not None]
        for candidate, path in handed_in:
            present.append(candidate)
            file = path.relative_to(self.root).as_posix()
            source = self._load(path, candidate)
            if isinstance(source, BaseException):
                why.append((_because(name, source), file))
                continue
            value = source.get(name, _NOTHING)
            if value is not _NOTHING:
                if len(handed_in) == 1:  # whatever it is, there is nothing better
                    return Found(value, file)
                started = 0 if value is None or value is ... else source.started.get(name, WRITTEN)
                if best is None or started > best[0]:
                    best = started, Found(value, file)
                if started == WRITTEN:
                    break
                continue
            if isinstance(source, Sheet) and (cause := source.why_not(name)) is not None:
                why.append((_because(name, cause), file))
            elif isinstance(source, Sheet) and name in source.not_run:
                told = f"{candidate} does not define {name} in a way that can be used\n{_not_run(source, name)}"
                why.append((Unloadable(told), file))
            defined += source.defined()
        if best is not None and (best[0] or not why):
            return best[1]
        if why:
            trouble, self.failed[name] = why[0]
            raise trouble
        if present:
            near = _nearest(name, defined)
            hint = f"\nIt defines {near}: is that the one? Rename it." if near else ""
            raise Unloadable(f"{' and '.join(present)} {_do(present)} not define {name}{hint}")
        near = _nearest(Path(wanted[0]).name if wanted else name, self._names())
        told = "Move it." if wanted and near == Path(wanted[0]).name else "Rename it."
        hint = f"\nThere is {near}: is that the one? {told}" if near else ""
        raise Unloadable(f"{' or '.join(wanted) or name} is not in the submission{hint}")

    def lacks(self, name: str) -> str:
        """Why a name that a function uses is not there, if its file says so."""
        for source in self.loaded.values():
            if isinstance(source, Sheet) and name not in source.module.__dict__:
                if name in source.lost:
                    error = source.lost[name]
                    return f"The code that sets {name} raised {type(error).__name__}."
                if name in source.not_run:
                    return _not_run(source, name)
        return ""

    def _names(self) -> list[str]:
        """The files of the submission, without their folders."""
        return [
            path.name for depth in range(DEPTH + 1) for path in self.root.glob("*/" * depth + "*") if path.is_file()
        ]

    def locate(self, name: str) -> Path | None:
        """An expected file at its place, or else in the shallowest folder that has it."""
        if name not in self.places:
            self.places[name] = located(self.root, name)
        return self.places[name]

    def _load(self, path: Path, candidate: str) -> _Module | Sheet | BaseException:
        before = self.cut[1] if self.cut and self.cut[0] == path else 0
        if (path, before) not in self.loaded:
            try:
                self.loaded[path, before] = self._run(path, candidate, before)
            except BaseException as error:
                self.loaded[path, before] = error
            self.reached("", 0)
        return self.loaded[path, before]

    def _run(self, path: Path, candidate: str, before: int) -> _Module | Sheet:
        left_out = [one for one in self.left_out if one.file == candidate]
        if any(one.number == 0 for one in left_out):
            raise Stopped(f"{candidate} was not loaded: it {left_out[0].why}")
        self.reached(candidate, 0)
        if "/" in candidate:
            return _Module(path)
        self._reach(path.parent)
        try:
            return Sheet(
                path,
                root=self.root,
                by_cells=candidate in self.by_cells,
                left_out=left_out,
                reached=lambda number: self.reached(candidate, number),
                before=before,
            )
        except Unreadable as error:
            raise ImportError(str(error)) from None

    def _reach(self, folder: Path) -> None:
        """Let a notebook import what is beside it, and what is in src/, as it does with a line that is not run here."""
        for entry in (folder.parent / "src", folder / "src", folder):
            if entry.is_dir() and entry.is_relative_to(self.root) and str(entry) not in sys.path:
                sys.path.insert(0, str(entry))


def located(root: Path, name: str) -> Path | None:
    """An expected file below a folder: at its place, or else in the shallowest folder that has it."""
    folders = [str(root)]
    for _ in range(DEPTH + 1):
        for folder in folders:
            if (path := Path(folder, name)).is_file():
                return path
        folders = sorted(inner for folder in folders for inner in _folders_in(folder))
    return None


def _folders_in(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.path for entry in entries if entry.is_dir()]
    except OSError:  # not ours to look into
        return []


class _Module:
    """A file of src/, imported as any module is."""

    def __init__(self, path: Path) -> None:
        if str(path.parent) not in sys.path:
            sys.path.insert(0, str(path.parent))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        self.module = importlib.util.module_from_spec(spec)
        run: Callable[[ModuleType], None] = spec.loader.exec_module
        shadowed = sys.modules.get(path.stem)
        sys.modules[path.stem] = self.module
        written, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        try:
            run(self.module)
        except BaseException:
            if shadowed is None:
                del sys.modules[path.stem]
            else:
                sys.modules[path.stem] = shadowed
            raise
        finally:
            sys.dont_write_bytecode = written
        self.path = path

    @cached_property
    def started(self) -> dict[str, int]:
        try:
            return started(ast.parse(self.path.read_bytes()).body)
        except Unparsable:  # it ran, so that it is there; how it is written does not matter
            return {}

    def get(self, name: str, default: Any) -> Any:
        return getattr(self.module, name, default)

    def defined(self) -> list[str]:
        return [name for name in vars(self.module) if not name.startswith("_")]


def _because(name: str, cause: BaseException) -> Unloadable:
    told = Unloadable(f"{name} could not be loaded")
    told.__cause__ = cause
    return told


def _not_run(sheet: Sheet, name: str) -> str:
    one = sheet.not_run[name]
    return (
        f"{said_place(one.place, one.line)} sets {name}, but is not run: of this file, only imports, functions, "
        "classes and simple assignments are."
    )


def _nearest(wanted: str, names: Sequence[str]) -> str:
    """The name that looks most like the wanted one, if any does."""
    found = difflib.get_close_matches(wanted.casefold(), [name.casefold() for name in names], 1, 0.82)
    return next((name for name in names if found and name.casefold() == found[0]), "")


def _do(present: Sequence[str]) -> str:
    return "does" if len(present) == 1 else "do"


def forget(root: Path) -> None:
    """Unload the modules of a submission, so that another may use the same names."""
    below = f"{root.resolve()}{os.sep}"
    for name, module in list(sys.modules.items()):
        if (getattr(module, "__file__", None) or "").startswith(below):
            del sys.modules[name]
    sys.path[:] = [entry for entry in sys.path if not f"{entry}{os.sep}".startswith(below)]
