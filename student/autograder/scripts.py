"""Run a script of the student's own, as `python src/run.py ...` does, and bring back the file that it wrote."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from autograder.loading import forget
from autograder.stand_ins import Bar, Inert

LONGEST = 50_000  # characters of what it wrote that are brought back
# What shows how training gets on: not needed to predict, and not installed where we grade.
_BAR = {"tqdm": Bar, "trange": lambda *numbers, **_: range(*numbers)}
_SHOWS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "tqdm": {"tqdm": _BAR, "tqdm.auto": _BAR},
    "tensorboard": {"torch.utils.tensorboard": {"SummaryWriter": lambda *_, **__: Inert()}},
}


def lay_out(folder: Path, files: Mapping[str, Path | bytes]) -> int:
    """Copy files into a folder; returns how many bytes that are."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, Path):
            shutil.copyfile(content, path)
        else:
            path.write_bytes(content)
    return sum((folder / name).stat().st_size for name in files)


@contextlib.contextmanager
def folder_of(files: Mapping[str, Path | bytes]) -> Iterator[Path]:
    """A folder for one run in this process; afterwards nothing is left of it, in memory neither."""
    with tempfile.TemporaryDirectory(prefix="script-") as name:
        folder = Path(name).resolve()
        lay_out(folder, files)
        try:
            yield folder
        finally:
            forget(folder)


def run(path: Path, name: str, arguments: Sequence[str]) -> None:
    """Run a file as the main program, under the name that was typed. Leaving by exit(0) is fine."""
    main = ModuleType("__main__")
    main.__dict__.update(__file__=name, __builtins__=__builtins__)
    before = sys.argv, sys.modules["__main__"], sys.path[:], sys.dont_write_bytecode, torch.load
    sys.argv = [name, *arguments]
    sys.path.insert(0, str(path.parent))
    sys.modules["__main__"] = main
    sys.dont_write_bytecode = True
    torch.load = _load
    try:
        with _missing_shows(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # files that stay open, and the like: not what is asked about
            try:
                exec(compile(path.read_bytes(), str(path), "exec"), main.__dict__)
            finally:
                main.__dict__.clear()
    except SystemExit as error:
        if error.code not in (None, 0):
            raise
    finally:
        sys.argv, sys.modules["__main__"], sys.path[:], sys.dont_write_bytecode, torch.load = before


@functools.wraps(torch.load)
def _load(*arguments: Any, _real: Any = torch.load, **options: Any) -> Any:
    """Parameters that were saved on a GPU are loaded on a machine without one."""
    if len(arguments) < 2:
        options.setdefault("map_location", "cpu")
    return _real(*arguments, **options)


@contextlib.contextmanager
def _missing_shows() -> Iterator[None]:
    """Put something in the place of packages that only show progress, where they are missing."""
    put = []
    for package, modules in _SHOWS.items():
        if package not in sys.modules and importlib.util.find_spec(package) is None:
            for name, contents in modules.items():
                module = ModuleType(name)
                # A spec, because torch looks for one when it asks whether a package is there.
                module.__dict__.update(contents, __path__=[], __spec__=ModuleSpec(name, None))
                sys.modules[name] = module
                put.append(name)
    try:
        yield
    finally:
        for name in put:
            sys.modules.pop(name, None)


def written(path: Path) -> str:
    """What a script wrote, or as much of it as could be right."""
    if not path.is_file():
        raise FileNotFoundError(f"it came to its end, but did not write {path.name}, as --outputs_path says")
    with path.open("rb") as file:
        content = file.read(4 * LONGEST)
    return content.decode("utf-8", errors="replace")[:LONGEST].replace(os.linesep, "\n")
