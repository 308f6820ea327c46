"""The three situations in which submissions are graded, all of which can be tried on one machine as root.

Root with namespaces (a server), root without them (a Gradescope container), and an ordinary
user (a TA's laptop). Started by an ordinary user, only the last can be tried.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from autograder.isolation import Layers, namespaces, paths, privileges, probe, python_folders
from autograder.isolation.kernel import prctl
from autograder.verify import Line

ORDINARY = 65534  # nobody, everywhere
_RECURSIVE_PRIVATE = 1 << 14 | 1 << 18
_PR_SET_DUMPABLE = 4


@dataclass(frozen=True)
class Situation:
    """One of them; `run` carries a task out in it, in a forked process."""

    name: str
    namespaces: bool
    ordinary: bool

    def run(self, task: Callable[[Layers], list[Line]]) -> list[Line]:
        sys.stdout.flush()
        sys.stderr.flush()
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.close(reader)
                with os.fdopen(writer, "w") as pipe:
                    json.dump([asdict(line) for line in self._carried_out(task)], pipe)
            finally:
                os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as pipe:
            content = pipe.read()
        os.waitpid(child, 0)
        if not content:
            return [Line(self.name, "a result", "the grader itself died", False)]
        return [Line(**(row | {"notes": tuple(row["notes"])})) for row in json.loads(content)]

    def _carried_out(self, task: Callable[[Layers], list[Line]]) -> list[Line]:
        try:
            if self.ordinary and os.getuid() == 0:
                become_ordinary()
            layers = probe(namespaces=self.namespaces)
            if layers.name != self.name:
                return [Line(self.name, "this situation", f"this machine has '{layers.name}' instead", False)]
            return task(layers)
        except BaseException:
            trace = tuple(traceback.format_exc().splitlines()[-3:])
            return [Line(self.name, "a result", "the grader raised", False, trace)]


def situations() -> list[Situation]:
    """Those that can be tried here."""
    ordinary = Situation("ordinary user", namespaces=True, ordinary=True)
    if os.getuid() != 0:
        return [ordinary]
    return [
        Situation("root with namespaces", namespaces=True, ordinary=False),
        Situation("root without namespaces", namespaces=False, ordinary=False),
        ordinary,
    ]


def become_ordinary() -> None:
    """From root, become a user without rights who can read the interpreter, as whoever installed it can.

    It may lie in root's closed home; then, for this process alone, its folders are mounted where they can be reached.
    """
    namespaces.enter(["mount"])
    namespaces.mount(None, "/", None, _RECURSIVE_PRIVATE)
    interpreter = str(Path(sys.executable).resolve().parent)
    closed = paths.out_of_reach([*python_folders(), interpreter], ORDINARY, ORDINARY)
    sources = {folder: os.open(folder, os.O_PATH) for folder in closed}
    for folder, source in sources.items():
        for parent in reversed(Path(folder).parents):
            if not parent.stat().st_mode & 0o001:
                namespaces.mount("tmpfs", str(parent), "tmpfs", 0, "mode=755")
                break
        Path(folder).mkdir(parents=True, exist_ok=True)
        namespaces.mount(f"/proc/self/fd/{source}", folder, None, namespaces.BIND)
        os.close(source)
    privileges.become(ORDINARY, ORDINARY)
    prctl(_PR_SET_DUMPABLE, 1)  # as for a process that was this user's from the start
