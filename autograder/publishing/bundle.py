"""Build the zip that an instructor uploads to Gradescope, and prove what is in it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from autograder.checking.courses import PARTS, Course
from autograder.checking.places import slug_of
from autograder.errors import UserError
from autograder.files import write_files, zipped
from autograder.gradescope.container import END, START
from autograder.grading.results_file import fallback, text_of
from autograder.judging.held_out import PLACE, read_answers
from autograder.publishing.leaks import Secrets, leaks
from autograder.publishing.release import read_sources

EXECUTABLE = ("run_autograder", "setup.sh")
FALLBACK, REQUIREMENTS, PIP = "fallback.json", "requirements.txt", "pip.conf"
OURS = "autograder"
# Everything that a run imports: the grader itself and, through the checks, what these need.
_IMPORT_ALL = """
import sys
from pathlib import Path
from autograder.workers import worker  # for the zygote, which is a process of its own
from autograder.gradescope.container import ready
ready(Path.cwd())
print(*sorted(name for name in sys.modules if name.split(".")[0] == "autograder"))
"""


def build(
    plan: Path, root: Path, course: Course, pip_conf: Path | None = None, answers: Path | None = None
) -> dict[str, bytes]:
    """Every file of the bundle, by name. The same files give the same bytes."""
    sources, _ = read_sources(plan, root)
    tree = {target: source.read_bytes() for target, source in sources.items()}
    _refuse_slow(course, tree)
    tree |= {f"{OURS}/courses/{name}": path.read_bytes() for name, path in course.files_read.items()}
    if course.asks:
        answers = answers or root / PLACE
        read_answers(answers)  # refuses, in words, if they are missing or broken
        tree[PLACE] = answers.read_bytes()
    tree[FALLBACK] = text_of(fallback(course))
    tree[REQUIREMENTS] = _pinned(root / REQUIREMENTS, imported(tree))
    if pip_conf is not None:
        if not pip_conf.is_file():
            raise UserError(f"{pip_conf} is not a file; it holds settings of pip for the image")
        tree[PIP] = pip_conf.read_bytes()
    return dict(sorted(tree.items()))


def packed(tree: Mapping[str, bytes]) -> bytes:
    return zipped(tree, EXECUTABLE)


def prove(plan: Path, root: Path, tree: Mapping[str, bytes]) -> list[str]:
    """Everything that is wrong with a bundle; empty if it may go out."""
    _, data = read_sources(plan, root)
    try:
        patterns, bodies = data["secret"]["solutions"], data["secret"]["bodies"]
    except KeyError as error:
        raise UserError(f"{plan}: wrong or missing key {error}") from None
    for pattern in (*patterns, *bodies):
        if not list(root.glob(pattern)):
            raise UserError(f"{plan}: {pattern} matches no file, so nothing of it would be looked for")
    solutions = sorted(path for pattern in patterns for path in root.glob(pattern))
    return leaks(tree, Secrets.read(root, solutions=solutions, bodies=bodies)) or imports(tree)


def imports(tree: Mapping[str, bytes]) -> list[str]:
    """Is every module there that a run imports, and no other? Tried in a Python that has nothing but the bundle."""
    with tempfile.TemporaryDirectory(prefix="bundle-") as folder:
        write_files(Path(folder), tree)
        done = subprocess.run(
            [sys.executable, "-P", "-s", "-B", "-c", f"import sys; sys.path.insert(0, {folder!r})\n{_IMPORT_ALL}"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        return [f"the bundle does not start: {(done.stderr.strip().splitlines() or ['no message'])[-1]}"]
    needed = {_file(name, tree) for name in done.stdout.splitlines()[-1].split()}
    there = {name for name in tree if name.startswith(f"{OURS}/") and name.endswith(".py")}
    return [f"{name} is not needed for grading" for name in sorted(there - needed)]


def _file(module: str, tree: Mapping[str, bytes]) -> str:
    path = module.replace(".", "/")
    return f"{path}.py" if f"{path}.py" in tree else f"{path}/__init__.py"


def imported(tree: Mapping[str, bytes]) -> set[str]:
    """The packages of others that the bundle's modules name in an import."""
    names: set[str] = set()
    for name, content in tree.items():
        for node in ast.walk(ast.parse(content)) if name.endswith(".py") else ():
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module.split(".")[0])
    return names - set(sys.stdlib_module_names) - {OURS}


def _pinned(requirements: Path, names: set[str]) -> bytes:
    """The lines of our own requirements for these packages; each must be pinned there."""
    try:
        lines = requirements.read_text(encoding="utf-8").splitlines()
    except OSError:
        raise UserError(f"{requirements} is missing; it pins what the bundle installs") from None
    pins = {match[1]: line for line in lines if (match := re.match(r"([A-Za-z0-9_.-]+)==\S+$", line))}
    if missing := names - set(pins):
        raise UserError(f"{requirements} does not pin {', '.join(sorted(missing))}, which the bundle's modules import")
    return "".join(f"{pins[name]}\n" for name in sorted(names, key=lambda name: (name != "torch", name))).encode()


def deadlines(course: Course, tree: Mapping[str, bytes]) -> int:
    """Seconds that the checks can take at worst: every exercise has its deadline in each part that runs its code."""
    files = {(Path(name).parts[1], slug_of(Path(name))) for name in tree if name.startswith("tests/")}
    there = [(item, part) for item in course.graded for part in PARTS if (part, item.slug) in files]
    return sum(item.deadline for item, part in there if item.runs(part)) + course.retries


def _refuse_slow(course: Course, tree: Mapping[str, bytes]) -> None:
    minutes = course.gradescope.minutes
    worst, given = deadlines(course, tree), minutes * 60 - START - END
    if worst > given:
        raise UserError(
            f"{course.path}: the deadlines of its exercises add up to {worst} s, but {minutes} minutes on Gradescope "
            f"leave {given} s for them; raise 'minutes' in [gradescope], or lower the deadlines"
        )
