"""Find and import the files of a submission, each on its own, only when something is asked of it."""

from __future__ import annotations

import difflib
import importlib.util
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

DEPTH = 3  # folders below the submission's root in which an expected file is looked for


class Unloadable(Exception):
    """A name that the submission does not provide. Its cause, if any, is why a file failed."""


class Loader:
    """The modules of one submission. `files` says which files may hold a name, best first."""

    def __init__(self, root: Path, files: Mapping[str, Sequence[str]]) -> None:
        self.root = root.resolve()
        self.files = files
        self.modules: dict[Path, ModuleType | BaseException] = {}
        self.places: dict[str, Path | None] = {}

    def find(self, name: str) -> Any:
        """The first definition of `name` among the files that may hold it."""
        wanted = self.files.get(name, ())
        failure: BaseException | None = None
        present: list[str] = []
        defined: list[str] = []
        for candidate in wanted:
            path = self.locate(candidate)
            if path is None:
                continue
            present.append(candidate)
            module = self._module(path)
            if isinstance(module, BaseException):
                failure = failure or module
            elif hasattr(module, name):
                return getattr(module, name)
            else:
                defined += [other for other in vars(module) if not other.startswith("_")]
        if failure is not None:
            raise Unloadable(f"{name} could not be loaded") from failure
        if present:
            near = _nearest(name, defined)
            hint = f"\nIt defines {near}: is that the one? Rename it." if near else ""
            raise Unloadable(f"{' and '.join(present)} {_do(present)} not define {name}{hint}")
        near = _nearest(Path(wanted[0]).name if wanted else name, self._names())
        hint = f"\nThere is {near}: is that the one? Rename it." if near else ""
        raise Unloadable(f"{' or '.join(wanted) or name} is not in the submission{hint}")

    def _names(self) -> list[str]:
        """The files of the submission, without their folders."""
        return [
            path.name for depth in range(DEPTH + 1) for path in self.root.glob("*/" * depth + "*") if path.is_file()
        ]

    def locate(self, name: str) -> Path | None:
        """An expected file at its place, or else in the shallowest folder that has it."""
        if name not in self.places:
            self.places[name] = self._search(name)
        return self.places[name]

    def _search(self, name: str) -> Path | None:
        for depth in range(DEPTH + 1):
            for path in sorted(self.root.glob("*/" * depth + name)):
                if path.is_file():
                    return path
        return None

    def _module(self, path: Path) -> ModuleType | BaseException:
        if path not in self.modules:
            try:
                self.modules[path] = self._import(path)
            except BaseException as error:
                self.modules[path] = error
        return self.modules[path]

    def _import(self, path: Path) -> ModuleType:
        if path.suffix != ".py":
            raise ImportError(f"{path.name} is a notebook; export it as {path.stem}.py and hand that in")
        if str(path.parent) not in sys.path:
            sys.path.insert(0, str(path.parent))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        run: Callable[[ModuleType], None] = spec.loader.exec_module
        shadowed = sys.modules.get(path.stem)
        sys.modules[path.stem] = module
        written, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        try:
            run(module)
        except BaseException:
            if shadowed is None:
                del sys.modules[path.stem]
            else:
                sys.modules[path.stem] = shadowed
            raise
        finally:
            sys.dont_write_bytecode = written
        return module


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
