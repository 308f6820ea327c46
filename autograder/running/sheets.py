"""Run a notebook, or a script exported from one, and keep what it defines, and why it does not define the rest.

Every statement runs on its own, in order: one that fails costs what depends on it and no more. That is kinder than
Jupyter, which leaves out the rest of a cell, because what failed here may have worked there: a package, a plot, a file.
"""

from __future__ import annotations
import __future__

import ast
import copy
import linecache
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from torch import Tensor

from autograder.running import room
from autograder.running.cells import is_notebook, read_cells, read_file
from autograder.running.definitions import Definitions
from autograder.running.editions import Step
from autograder.running.stand_ins import Inert, Missing, is_inert, names, single_imports
from autograder.running.statements import STAGES, Statement, names_set, started, statements

_DEVICE = re.compile(r"(?:[a-z_]+_)?(?:device|dev)(?:_name|_type|_str)?", re.IGNORECASE)
_FEATURES = [getattr(__future__, name) for name in __future__.all_feature_names]


@dataclass(frozen=True)
class LeftOut:
    """A statement that is not to be run again, because it ended a worker."""

    file: str
    number: int  # from 1; 0 is the whole file
    why: str
    and_rest: bool = False  # all that comes after it is not run, either


class Stopped(Exception):
    """In the place of a statement's own exception, if it never came to one."""

    def __init__(self, why: str, *frames: tuple[str, int, str]) -> None:
        super().__init__(why)
        self.frames = frames


class Sheet:
    """One notebook or exported script, run."""

    def __init__(
        self,
        path: Path,
        *,
        root: Path,
        by_cells: bool,
        left_out: Iterable[LeftOut] = (),
        reached: Callable[[int], None] = lambda _: None,
        before: int = 0,
    ) -> None:
        """before: the number of the first statement that is not run, if not all are."""
        self.folder, self.by_cells = path.parent, by_cells
        self.module = ModuleType("__main__")
        self.module.__dict__.update(names())
        if not is_notebook(path.name):
            self.module.__file__ = str(path)
        self.lost: dict[str, BaseException] = {}  # names, and why they are not there
        self.not_run: dict[str, Statement] = {}  # names that only statements set that are not run
        self.steps: list[Step] = []  # that were run
        self._stages: dict[str, list[Any]] = {}
        self._flags = 0
        cells, kind = read_cells(path.name, read_file(path))
        if kind == "notebook":
            for cell in cells:  # so that tracebacks and inspect find the source
                lines = [f"{line}\n" for line in cell.text.split("\n")]
                linecache.cache[f"{self.folder}/{cell.place}"] = (len(cell.text), None, lines, cell.place)
        self.statements = statements(cells, kind, str(self.folder))[: before - 1 if before else None]
        self.started = started([one.node for one in self.statements if one.node is not None])
        self._skip = {one.number: one for one in left_out}
        self._prefix = "" if path.parent == root else f"{path.parent.relative_to(root).as_posix()}/"
        self._run(by_cells, reached)

    def _choose_devices(self, sets: Iterable[str]) -> None:
        """Names of devices that a statement has not set, because it was not run or failed: all there is, is the CPU."""
        for name in sets:
            if _DEVICE.fullmatch(name) and name not in self.module.__dict__:
                self.module.__dict__[name] = "cpu"
                room.asked.add(room.CHOSEN)

    def get(self, name: str, default: Any) -> Any:
        """The value of a name when all has been run, or, if it is one of STAGES, at that stage."""
        found = self.module.__dict__.get(name, default)
        if (found is default or found is None or found is ...) and name in STAGES:
            variable, stage = STAGES[name]
            values = self._stages.get(variable, [])
            return values[stage] if len(values) > stage else found
        return found

    def why_not(self, name: str) -> BaseException | None:
        """Why a name is not there: the exception of the statement that would have set it."""
        return self.lost.get(name) or self.lost.get(STAGES[name][0] if name in STAGES else name)

    def defined(self) -> list[str]:
        return [name for name in self.module.__dict__ if not name.startswith("_")]

    def _run(self, by_cells: bool, reached: Callable[[int], None]) -> None:
        definitions = Definitions()
        before = sys.modules.get("__main__")
        sys.modules["__main__"] = self.module  # where dataclasses and the like look names up
        changed: set[str] = set()
        try:
            for number, one in enumerate(self.statements, 1):
                if by_cells and number > 1 and one.cell != self.statements[number - 2].cell:
                    self._keep(changed)
                    changed = set()
                changed |= one.sets
                self._do(one, number, one.node if by_cells or one.node is None else definitions.of(one.node), reached)
                self._choose_devices(one.sets)
            if by_cells:
                self._keep(changed)
        finally:
            if before is not None:
                sys.modules["__main__"] = before

    def _do(self, one: Statement, number: int, node: ast.stmt | None, reached: Callable[[int], None]) -> None:
        """Run one statement, or note why it is not run."""
        stopped = self._skip.get(number) or next(
            (left for left in self._skip.values() if left.and_rest and number > left.number), None
        )
        if one.error is not None:
            self._lose(one.sets, one.error)
        elif node is None:
            assert one.node is not None
            self.not_run |= dict.fromkeys(one.sets, one)
        elif stopped is not None:
            why = stopped.why if stopped.number == number else f"not run, because code before it {stopped.why}"
            self._lose(one.sets, Stopped(why, (f"{self._prefix}{one.place}", one.line, "")))
        else:
            reached(number)
            try:
                if isinstance(node, ast.Import | ast.ImportFrom):
                    self._import(node, one.place)
                else:
                    self._execute(node if node is one.node else ast.fix_missing_locations(node), one.place)
            except BaseException as error:  # SystemExit, too: in a notebook, exit() ends no grading
                self._lose(one.sets, error)
            else:
                self.steps.append(Step(number, f"{self._prefix}{one.place}", one.line, node))
                for name in one.sets if node is one.node else names_set(node):
                    self.lost.pop(name, None)

    def _lose(self, lost: Iterable[str], error: BaseException) -> None:
        self.lost |= dict.fromkeys(lost, error)

    def _import(self, node: ast.Import | ast.ImportFrom, place: str) -> None:
        for module, bound, single in single_imports(node):
            if is_inert(module):
                if not bound.startswith("*"):
                    self.module.__dict__[bound] = Inert()
                continue
            try:
                self._execute(single, place)
            except ImportError as error:
                if bound == "*":
                    raise
                self.module.__dict__[bound] = Missing(error.name or module, error)

    def _execute(self, node: ast.stmt, place: str) -> None:
        code = compile(ast.Module([node], []), f"{self.folder}/{place}", "exec", self._flags, dont_inherit=True)
        for feature in _FEATURES:  # `from __future__ import annotations` holds for all later cells
            self._flags |= code.co_flags & feature.compiler_flag
        exec(code, self.module.__dict__)

    def _keep(self, changed: set[str]) -> None:
        """At the end of a cell: what the variables are now that another cell will change."""
        for variable in {variable for variable, _ in STAGES.values()} & changed:
            value = self.module.__dict__.get(variable)
            try:
                kept = value.detach().clone() if isinstance(value, Tensor) else copy.deepcopy(value)
            except Exception:  # odd values may refuse; then it is what it is at the end
                kept = value
            self._stages.setdefault(variable, []).append(kept)
