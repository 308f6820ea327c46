"""Run a script of the student's own, as `python src/run.py ...` does, and bring back the file that it wrote."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType

from autograder.running.loading import forget

LONGEST = 50_000  # characters of what it wrote that are brought back


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
    before = sys.argv, sys.modules["__main__"], sys.path[:], sys.dont_write_bytecode
    sys.argv = [name, *arguments]
    sys.path.insert(0, str(path.parent))
    sys.modules["__main__"] = main
    sys.dont_write_bytecode = True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # files that stay open, and the like: not what is asked about
            try:
                exec(compile(path.read_bytes(), str(path), "exec"), main.__dict__)
            finally:
                main.__dict__.clear()
    except SystemExit as error:
        if error.code not in (None, 0):
            raise
    finally:
        sys.argv, sys.modules["__main__"], sys.path[:], sys.dont_write_bytecode = before


def written(path: Path) -> str:
    """What a script wrote, or as much of it as could be right."""
    if not path.is_file():
        raise FileNotFoundError(f"it came to its end, but did not write {path.name}, as --outputs_path says")
    with path.open("rb") as file:
        content = file.read(4 * LONGEST)
    return content.decode("utf-8", errors="replace")[:LONGEST].replace(os.linesep, "\n")
