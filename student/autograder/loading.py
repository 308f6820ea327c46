"""Find and import the files of a submission, each on its own, only when something is asked of it."""

from __future__ import annotations

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
        if failure is not None:
            raise Unloadable(f"{name} could not be loaded") from failure
        if present:
            raise Unloadable(f"{' and '.join(present)} does not define {name}")
        raise Unloadable(f"{' or '.join(wanted) or name} is not in the submission")

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


def forget(root: Path) -> None:
    """Unload the modules of a submission, so that another may use the same names."""
    below = f"{root.resolve()}{os.sep}"
    for name, module in list(sys.modules.items()):
        if (getattr(module, "__file__", None) or "").startswith(below):
            del sys.modules[name]
    sys.path[:] = [entry for entry in sys.path if not f"{entry}{os.sep}".startswith(below)]
