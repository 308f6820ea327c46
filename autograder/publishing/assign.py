"""The one module that knows Otter: `otter assign` makes the student notebooks, their checks and Otter's own zip.

Otter gets a notebook in its format, made from our master, and its output is brought into a form that is the same,
byte for byte, whenever and wherever it is made. Its test files call our checks (`kernel.passes`); none is
written twice. Whether Otter takes the solutions out as we would is proven, not trusted.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from autograder.checking.courses import PARTS, Course, Item
from autograder.errors import UserError
from autograder.files import write_files
from autograder.publishing.masters import Cell
from autograder.publishing.regions import Region
from autograder.selfcheck.notebook import questions

CONFIG = """# ASSIGNMENT CONFIG
init_cell: false
export_cell: false
tests:
    files: true
    ok_format: false
"""
ZIP_CONFIG = """requirements: requirements.txt
python_version: "3.11"
autograder_files:
    - student
generate: true
"""
ANSWER = "otter_answer_cell"  # Otter's tag for a cell that students fill in
_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"file_extension": ".py", "name": "python", "nbconvert_exporter": "python"},  # for exports
}
# What every notebook begins with. It must do with Python alone: in Colab, nothing else may be there yet.
FIRST = """\
# Run this cell first: it finds the checks. There is nothing to change here.
import sys
import zipfile
from pathlib import Path


class NoChecks:
    def check(self, question):
        print("Not checked: upload student.zip and run the first cell again.")


places = []
if "get_ipython" in globals() and get_ipython():  # while this is graded, a notebook does not check itself
    if Path("student.zip").is_file() and not Path("student").is_dir():
        zipfile.ZipFile("student.zip").extractall()
    places = [Path.cwd(), *Path.cwd().parents, Path("student").resolve()]
course = next((place for place in places if (place / "autograder" / "selfcheck" / "notebook.py").is_file()), None)
grader = NoChecks()
if course is None:
    print("To check your answers here, upload student.zip (in Colab: the folder on the left) and run this cell again.")
else:
    sys.path[:0] = [str(course), str(course / "src"), str(Path("src").resolve())]
    try:
        from autograder.selfcheck.notebook import Grader

        grader = Grader(globals())
    except ModuleNotFoundError as missing:
        print(f"To check your answers here, install the package {missing.name} and run this cell again.")
    try:
        import otter

        if (course / "notebooks" / "tests").is_dir():
            grader = Grader(globals(), otter.Notebook(tests_dir=str(course / "notebooks" / "tests")))
    except Exception:
        pass  # the checks are the same without Otter"""
TEST = '''""" # BEGIN TEST CONFIG
points: {points}
hidden: {hidden}
""" # END TEST CONFIG
def test_{slug}_{part}(env):
    import sys
    sys.path.append("student")
    from autograder.selfcheck.notebook import passes
    passes("{slug}", "{part}", env)
'''


@dataclass(frozen=True)
class Assigned:
    """What Otter made of one master."""

    notebook: bytes  # as students get it
    solved: bytes  # the same with every answer filled in
    tests: Mapping[str, bytes]  # the public ones, by file name
    zip: Mapping[str, bytes]  # all files of Otter's zip; empty unless it was asked for


def assign(name: str, cells: Sequence[Cell], course: Course, support: Mapping[str, bytes] | None = None) -> Assigned:
    """Run `otter assign` on a master. With `support` (what the checks need), Otter's zip is made, too."""
    master = _master(cells, course, CONFIG + (ZIP_CONFIG if support else "generate: false\n"))
    return _assigned(name, tuple(cells), master, None if support is None else tuple(sorted(support.items())))


@cache  # by content: a process that releases twice runs Otter once
def _assigned(
    name: str, cells: tuple[Cell, ...], master: bytes, support: tuple[tuple[str, bytes], ...] | None
) -> Assigned:
    with tempfile.TemporaryDirectory(prefix="assign-") as temporary:
        folder = Path(temporary)
        write_files(folder, {f"{name}.ipynb": master, **dict(support or ())})
        _run_otter(folder, f"{name}.ipynb")
        made = folder / "made"
        student = _read(made / "student" / f"{name}.ipynb")
        tests = _tests_of(made / "student" / "tests")
        archive = next((made / "autograder").glob("*.zip"), None)
        files = _unpacked(archive) if archive else {}
    return Assigned(_written(name, student), _written(name, _solved(student, cells)), tests, files)


def _run_otter(folder: Path, master: str) -> None:
    command = [sys.executable, "-m", "otter", "assign", master, "made", "--no-run-tests", "--no-pdfs"]
    try:
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=300)
    except subprocess.TimeoutExpired:
        raise UserError("otter assign did not end within five minutes") from None
    if run.returncode:
        last = (run.stderr.strip().splitlines() or ["it said nothing"])[-1]
        hint = "; run: python -m pip install -r requirements.txt" if "No module named otter" in last else ""
        raise UserError(f"otter assign failed on {master}: {last}{hint}")


def _master(cells: Sequence[Cell], course: Course, config: str) -> bytes:
    """The master in Otter's format."""
    named = {slug: question for question, slug in questions(course).items()}
    otters = [_raw(config), _text(cells[0].solved), _code(FIRST)]  # below the title
    for cell in cells[1:]:
        if not cell.regions:
            otters.append(_code(cell.solved, cell.folded) if cell.kind == "code" else _text(cell.solved))
        elif cell.kind == "markdown":
            otters += _written_question(otters.pop(), cell)
        else:
            otters += _question(cell, named, course)
    return _dumped({"cells": otters, "metadata": _METADATA, "nbformat": 4, "nbformat_minor": 4})


def _question(cell: Cell, named: Mapping[str, str], course: Course) -> list[dict[str, Any]]:
    (region,) = cell.regions
    if region.name not in named:
        raise UserError(f"a notebook asks for '{region.name}', but the course does not grade it")
    return [
        _raw(f"# BEGIN QUESTION\nname: {named[region.name]}"),
        _raw("# BEGIN SOLUTION"),
        _code(_in_otters_marks(cell.text, region)),
        _raw("# END SOLUTION"),
        _raw("# BEGIN TESTS"),
        *(_code(test) for test in _tests(course.items[region.name])),
        _raw("# END TESTS"),
        _raw("# END QUESTION"),
    ]


def _tests(item: Item) -> list[str]:
    """One test for the public checks, one for the hidden ones: each is worth all of its part, or nothing."""
    return [
        TEST.format(slug=item.slug, part=part, points=item.points_of(part), hidden=str(part == "hidden").lower())
        for part in PARTS
        if item.points_of(part)
    ]


def _written_question(question: dict[str, Any], cell: Cell) -> list[dict[str, Any]]:
    """What a person grades: the cell that asks, and the one for the answer."""
    (region,) = cell.regions
    number = "_".join(region.name.removeprefix("written"))
    return [
        _raw(f"# BEGIN QUESTION\nname: q{number}\nmanual: true"),
        question,
        *(_raw("# BEGIN PROMPT"), _text(cell.stub), _raw("# END PROMPT")),
        *(_raw("# BEGIN SOLUTION"), _text(cell.solved), _raw("# END SOLUTION")),
        _raw("# END QUESTION"),
    ]


def _in_otters_marks(text: str, region: Region) -> str:
    """The same region with the marks that Otter knows: the solution, then what stands there instead."""
    i = region.indent
    stub = region.stub or (f'{i}raise NotImplementedError("{region.name} is not started yet")',)
    lines = text.splitlines()
    end = lines.index(f"{i}# END SOLUTION {region.name}")
    marked = [f"{i}# BEGIN SOLUTION NO PROMPT", *region.body, f"{i}# END SOLUTION"]
    marked += [f'{i}""" # BEGIN PROMPT', *stub, f'{i}"""; # END PROMPT']
    return "\n".join([*lines[: region.line - 1], *marked, *lines[end + 1 :]])


def _solved(student: dict[str, Any], cells: Sequence[Cell]) -> dict[str, Any]:
    """The student notebook with every answer in its place. Otter's own would hold the stubs as well."""
    answers = iter([cell for cell in cells if cell.regions])
    filled = []
    for cell in student["cells"]:
        if ANSWER in cell["metadata"].get("tags", ()):
            answer = next(answers)
            if cell["source"] != answer.stub:
                raise UserError(f"otter assign made something else of '{answer.regions[0].name}' than its stub")
            cell = {**cell, "source": answer.solved}
        filled.append(cell)
    if left := next(answers, None):
        raise UserError(f"otter assign lost the cell of '{left.regions[0].name}'")
    return {**student, "cells": filled}


def _read(path: Path) -> dict[str, Any]:
    """A notebook of Otter's, with every cell's source as one text."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    cells = [{**cell, "source": "".join(cell["source"])} for cell in notebook["cells"]]
    return {**notebook, "cells": cells}


def _written(name: str, notebook: Mapping[str, Any]) -> bytes:
    """A notebook whose bytes depend on nothing but what is in it: cells are numbered, not named by chance."""
    cells = [{**cell, "id": f"{name}-{number}"} for number, cell in enumerate(notebook["cells"], start=1)]
    cells = [{**cell, "source": cell["source"].splitlines(keepends=True)} for cell in cells]  # as Jupyter writes it
    return _dumped({"cells": cells, "metadata": _METADATA, "nbformat": 4, "nbformat_minor": 5})


def _tests_of(folder: Path) -> dict[str, bytes]:
    """Otter's test files, without the empty lines that its template leaves at their ends."""
    return {
        path.name: path.read_text(encoding="utf-8").rstrip().encode() + b"\n" for path in sorted(folder.glob("*.py"))
    }


def _unpacked(archive: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(archive) as opened:
        return {name: opened.read(name) for name in sorted(opened.namelist()) if not name.endswith("/")}


def _raw(text: str) -> dict[str, Any]:
    return {"cell_type": "raw", "metadata": {}, "source": text}


def _text(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": text}


def _code(text: str, folded: bool = False) -> dict[str, Any]:
    metadata = {"jupyter": {"source_hidden": True}} if folded else {}
    return {"cell_type": "code", "metadata": metadata, "source": text, "outputs": [], "execution_count": None}


def _dumped(notebook: Mapping[str, Any]) -> bytes:
    return (json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n").encode()
