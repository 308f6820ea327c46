"""Make the student release from the solutions, and prove that it is what it should be."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.checking.courses import OF_PARTS, USUAL, Course, available, read_course
from autograder.checking.places import REFERENCES, slug_of
from autograder.errors import UserError
from autograder.files import write_atomically, write_files, zipped
from autograder.publishing import masters, regions
from autograder.publishing.assign import FIRST, Assigned, assign
from autograder.publishing.leaks import Secrets, leaks, notebook_code
from autograder.publishing.masters import Cell
from autograder.publishing.parallel import imports, parallels
from autograder.publishing.passages import selected

TEXT = (".py", ".md", ".toml", ".txt")
CODE = (".py", ".ipynb")  # what is handed in whatever the course asks for
IGNORED = {"__pycache__", ".DS_Store"}
_HANDED_IN = re.compile(r"^([ ]*)# FILES OF THE COURSE\n", re.MULTILINE)  # a line that stands for a list of them


@dataclass(frozen=True)
class Plan:
    """The allow-list: target name in the student tree -> source file, and what must stay secret."""

    course: Course
    parts: frozenset[str]  # all that there are
    sources: Mapping[str, Path]
    masters: Mapping[str, Path]  # of the notebooks, which are made, not copied
    modules: Mapping[str, Path]  # by name: where masters include definitions from
    secrets: Secrets

    def text(self, path: Path) -> str:
        """What a file says to this course, solutions and all."""
        return selected(path.read_text(encoding="utf-8"), str(path), self.course.parts, self.parts)


def read_plan(path: Path, root: Path, course: Course | None = None, secrets: Secrets | None = None) -> Plan:
    """Read release.toml for a course; patterns that match nothing are an error, so that nothing is lost silently.

    `secrets` are those of another plan, which are the same: all solutions, also those of parts that this course does
    not use. It may not give those away either.
    """
    folder = root / "autograder" / "courses"
    course = course or read_course(USUAL, folder)
    parts = frozenset([*available(folder / OF_PARTS), *course.parts])
    try:
        sources, data = read_sources(path, root, course, parts)
        notebooks = data["notebooks"]
        masters = {
            f"{notebooks['to']}/{master.stem}.ipynb": master
            for entry in notebooks["masters"]
            if _wanted(path, entry, course, parts)
            for master in _found(path, root, entry["file"])
        }
        modules = {module.stem: module for module in _found(path, root, notebooks["modules"])}
        secret = {key: list(data["secret"][key]) for key in ("solutions", "checks", "references", "answers")}
    except (KeyError, TypeError) as error:
        raise UserError(f"{path}: wrong or missing key {error}") from None
    solutions = [found for pattern in secret.pop("solutions") for found in _found(path, root, pattern)]
    secrets = secrets or Secrets.read(root, solutions=solutions, **secret)
    sources |= {f"autograder/courses/{name}": file for name, file in course.files_read.items()}
    return Plan(course, parts, sources, masters, modules, secrets)


def read_sources(
    path: Path, root: Path, course: Course | None = None, parts: Collection[str] = ()
) -> tuple[dict[str, Path], dict[str, Any]]:
    """The allow-list of a .toml file, target name -> source file, and all that the file says.

    With a course: only what is for its parts, and {exercise} in a pattern stands for each of its exercises.
    """
    sources: dict[str, Path] = {}
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        for entry in data["copy"]:
            if course is not None and not _wanted(path, entry, course, parts):
                continue
            for pattern in _for_each_exercise(entry["files"], course):
                for source in _found(path, root, f"{entry['from']}/{pattern}"):
                    name = source.relative_to(root / entry["from"])
                    if name.as_posix() not in entry.get("except", ()):
                        sources[(Path(entry["to"]) / name).as_posix()] = source
    except FileNotFoundError:
        raise UserError(f"{path} is missing; it lists what is copied") from None
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path}: {error}") from None
    except (KeyError, TypeError) as error:
        raise UserError(f"{path}: wrong or missing key {error}") from None
    return sources, data


def _wanted(path: Path, entry: Mapping[str, Any], course: Course, parts: Collection[str]) -> bool:
    """Is an entry for this course: for all, or for a part that it uses?"""
    named = entry.get("part", [])
    names = [named] if isinstance(named, str) else named
    if strange := [name for name in names if name not in parts]:
        raise UserError(f"{path}: 'part' names '{strange[0]}'; the parts are {', '.join(sorted(parts))}")
    return not names or any(name in course.parts for name in names)


def _for_each_exercise(patterns: Sequence[str], course: Course | None) -> Iterator[str]:
    for pattern in patterns:
        if course is None or "{exercise}" not in pattern:
            yield pattern
        else:
            yield from (pattern.replace("{exercise}", item.slug) for item in course.graded)


def _found(path: Path, root: Path, pattern: str) -> list[Path]:
    found = sorted(root.glob(pattern))
    if not found:
        raise UserError(f"{path}: {pattern} matches no file")
    return found


def build(plan: Plan) -> dict[str, bytes]:
    """Every file of the student tree, by name, in order."""
    tree: dict[str, bytes] = {}
    for target, source in sorted(plan.sources.items()):
        tree[target] = _shipped(plan, target, source).encode() if target.endswith(TEXT) else source.read_bytes()
    for target, made in assigned(plan).items():
        tree[target] = made.notebook
        tree |= {f"{Path(target).parent.as_posix()}/tests/{name}": test for name, test in made.tests.items()}
    return dict(sorted(tree.items()))


def _shipped(plan: Plan, target: str, source: Path) -> str:
    """A text as students of the course get it. Our own modules hold no passages, only talk of their markers."""
    text = source.read_text(encoding="utf-8") if target.startswith("autograder/") else plan.text(source)
    text = regions.stubbed(text, str(source)) if regions.regions(text, str(source)) else text
    return _HANDED_IN.sub(lambda found: _handed_in(plan.course, found[1]), text)


def _handed_in(course: Course, indent: str) -> str:
    """What the course asks for beside code and notebooks: file, and the section of the handout that says how."""
    files = {file: item.handout for item in course.graded for file in item.files if not file.endswith(CODE)}
    return "".join(f'{indent}"{file}": "{handout}",\n' for file, handout in files.items())


def solved(plan: Plan) -> dict[str, bytes]:
    """The files of the student tree that students change, with every answer in its place."""
    texts = {
        target: (plan.text(source), str(source)) for target, source in plan.sources.items() if target[:4] == "src/"
    }
    files = {target: regions.replaced(text, path, {}).encode() for target, (text, path) in texts.items()}
    return files | {target: made.solved for target, made in assigned(plan).items()}


def assigned(plan: Plan, support: Callable[[list[Cell]], Mapping[str, bytes]] | None = None) -> dict[str, Assigned]:
    """Every notebook with its checks; with `support`, also what Otter grades it by."""

    def run(target: str) -> Assigned:
        cells = masters.cells(_expanded(plan, target), str(plan.masters[target]))
        return assign(Path(target).stem, cells, plan.course, support(cells) if support else None)

    with ThreadPoolExecutor() as pool:  # Otter takes seconds for each
        return dict(zip(plan.masters, pool.map(run, plan.masters), strict=True))


def _expanded(plan: Plan, target: str) -> str:
    modules = {name: plan.text(path) for name, path in plan.modules.items()}
    master = plan.masters[target]
    return masters.expanded(plan.text(master), str(master), modules)


def otter_zips(plan: Plan, tree: Mapping[str, bytes], hidden: Path) -> dict[str, bytes]:
    """Otter's own autograder of each notebook, by file name. It holds hidden checks: it is for staff."""

    def support(cells: list[Cell]) -> dict[str, bytes]:
        """The student's grader and checks, and the hidden checks, of the exercises of these cells."""
        wanted = {region.name for cell in cells for region in cell.regions}
        files = {name: content for name, content in tree.items() if name.startswith("autograder/")}
        checks = {name: content for name, content in tree.items() if name.startswith("tests/public/")}
        for path in [*hidden.glob("*/test_*.py"), *hidden.glob(f"*/{REFERENCES}/*")]:
            checks[f"tests/hidden/{path.relative_to(hidden).as_posix()}"] = path.read_bytes()
        files |= {name: content for name, content in checks.items() if slug_of(Path(name)) in wanted}
        below = {f"student/{name}": content for name, content in files.items()}
        return below | {"requirements.txt": tree["requirements.txt"]}

    made = assigned(plan, support)
    return {f"otter-{Path(target).stem}.zip": zipped(one.zip) for target, one in made.items()}


def prove(plan: Plan, tree: Mapping[str, bytes]) -> list[str]:
    """Everything that is wrong with a release; empty if it may go out."""
    wrong = []
    for target, source in plan.sources.items():
        if target.endswith(".py"):
            ours = source.read_text(encoding="utf-8") if target.startswith("autograder/") else plan.text(source)
            wrong += parallels(target, ours, tree[target].decode())
    for target in plan.masters:
        solution, stub = _expanded(plan, target), notebook_code(tree[target]).replace(FIRST, "", 1)
        wrong += parallels(target, solution, stub)
        expected = [cell.stub for cell in masters.cells(solution, target) if cell.kind == "code"]
        wrong += [f"{target}: a cell is missing or changed: {cell[:60]!r}" for cell in expected if cell not in stub]
    wrong += leaks(tree, plan.secrets)
    return wrong or imports(tree)


def differences(folder: Path, tree: Mapping[str, bytes]) -> list[str]:
    """How a student tree on disk differs from the release."""
    wrong = []
    for name, content in tree.items():
        path = folder / name
        if not path.is_file():
            wrong.append(f"{path} is missing")
        elif path.read_bytes() != content:
            wrong.append(f"{path}{_first_difference(path.read_bytes(), content)} differs from what the solutions give")
    wrong += [f"{folder / name} was not made by release" for name in strangers(folder, tree)]
    return wrong


def _first_difference(one: bytes, other: bytes) -> str:
    if b"\0" in one or b"\0" in other:
        return ""
    pairs = enumerate(zip(one.splitlines(), other.splitlines(), strict=False), start=1)
    line = next((number for number, (a, b) in pairs if a != b), None)
    return f":{line}" if line else ""


def strangers(folder: Path, tree: Mapping[str, bytes]) -> list[str]:
    """Files on disk that the release would not make."""
    present = [path for path in sorted(folder.rglob("*")) if path.is_file() or path.is_symlink()]
    names = [path.relative_to(folder) for path in present]
    return [name.as_posix() for name in names if name.as_posix() not in tree and not IGNORED & set(name.parts)]


def write(folder: Path, tree: Mapping[str, bytes], *, prune: bool) -> list[str]:
    """Bring a student tree up to date. Files that release did not make are never lost silently."""
    extra = strangers(folder, tree)
    if extra and not prune:
        raise UserError(
            f"{folder / extra[0]} was not made by release"
            f"{f' (and {len(extra) - 1} more)' if len(extra) > 1 else ''}; move it away, or delete it with --prune"
        )
    changed = write_files(folder, tree)
    for name in extra:
        (folder / name).unlink()
        changed.append(name)
    return changed


def write_zip(path: Path, tree: Mapping[str, bytes]) -> None:
    write_atomically(path, zipped({f"{path.stem}/{name}": content for name, content in tree.items()}))
