"""What grading one submission costs, here and with Otter: python benchmarks/grading.py

One machine, one run, the same questions: every contender asks the solution all public and hidden checks of
the default course, through the same functions and with the same references, and must give full marks. Before
anything is timed, a submission with two mistakes goes through all of them, and all must fail the same checks.
What could be left out in Otter's or pytest's favour is left out: there, checks run in the process that ran
the submission, without isolation, known mistakes named in a report, or a page.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import json
import os
import platform
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from autograder.checking.courses import PARTS, Course, read_course  # noqa: E402 (the path comes first)
from autograder.checking.places import sides  # noqa: E402
from autograder.files import zipped  # noqa: E402
from autograder.proving.assembling import Sources, lay_out  # noqa: E402
from autograder.proving.mistakes import read_table  # noqa: E402
from autograder.running.threads import ONE_EACH  # noqa: E402

MISTAKES = ("make_causal_mask.no_diagonal", "span_corruption.right_anchored")  # of the submission that must fail
FLAT = 1.2  # the dearest submission may cost this many times the cheapest
PAUSE = 0.25  # seconds between two looks at the memory
ALIKE = {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"} | ONE_EACH

# In Otter's process: our test functions, called with what their arguments name. No engine, no worker.
ASKING = '''\
"""Ask a notebook the questions of the course, in its own process."""

import importlib.util
import inspect
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import autograder
from autograder.judging import references
from autograder.checking.courses import read_course
from autograder.running.perform import Performer
from autograder.judging.submission import Submission

TESTS = Path(autograder.__file__).parents[1] / "tests"
COURSE = read_course("default").of_code


def found(part, name):
    """A file of a part; hidden checks are the public ones, if there are no others."""
    return next(path for side in (part, "public") for path in (TESTS / side).glob(f"*/{name}"))


@cache
def module(part, exercise):
    spec = importlib.util.spec_from_file_location(f"{part}_{exercise}", found(part, f"test_{exercise}.py"))
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


@cache
def reference(part, exercise):
    return references.read(found(part, f"references/{exercise}.safetensors"))


def ask(part, exercise, check, names):
    loader = SimpleNamespace(root=Path.cwd(), find=names.__getitem__)
    offered = {
        "submission": lambda: Submission(Performer(loader)),
        "reference": lambda: reference(part, exercise),
        "tolerance": lambda: COURSE.tolerance(exercise),
        "course": lambda: COURSE,
    }
    function = getattr(module(part, exercise), check)
    function(**{name: offered[name]() for name in inspect.signature(function).parameters})
'''

# One Otter test file per exercise and part, in the exception format.
OTTER_FILE = """\
from otter.test_files import test_case
from asking import ask

OK_FORMAT = False
name = "{part} {exercise}"
points = {points}
all_or_nothing = True
"""
OTTER_CASE = """

@test_case(name="{part} {exercise} {check}", hidden={hidden})
def {check}(env):
    ask("{part}", "{exercise}", "{check}", env)
"""

# Otter's own API: one process for many submissions. Also the way to learn which checks failed.
OTTER_LOOP = """\
import json, resource, sys, time
from otter.api import grade_submission
def clocks():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return time.perf_counter(), sum(one.ru_utime + one.ru_stime for one in used)
notebook, bundle, times = sys.argv[1:]
for _ in range(int(times)):
    started = clocks()
    found = grade_submission(notebook, bundle, quiet=True)
    last = [now - then for now, then in zip(clocks(), started)]
cases = [case for file in found.results.values() for case in file.test_case_results]
told = {case.test_case.name: bool(case.passed) for case in cases}
print("\\n" + json.dumps({"last": last, "score": found.total, "told": told}))
"""

# For pytest: the fixtures that our engine would give to the same test files.
CONFTEST = '''\
"""Fixtures for the checks of the course, against the submission in the folder SUBMISSION."""

import os
from pathlib import Path

import pytest

from autograder.judging import references
from autograder.checking.courses import read_course
from autograder.running.loading import Loader
from autograder.running.perform import Performer
from autograder.judging.submission import Submission


@pytest.fixture(scope="session")
def course():
    return read_course("default").of_code


@pytest.fixture(scope="session")
def submission(course):
    return Submission(Performer(Loader(Path(os.environ["SUBMISSION"]), course.files, course.by_cells)))


@pytest.fixture(scope="module")
def reference(request):
    path = request.path
    return references.read(path.parent / "references" / f"{path.stem.removeprefix('test_')}.safetensors")


@pytest.fixture
def tolerance(request, course):
    return course.tolerance(request.path.stem.removeprefix("test_"))
'''

Told = dict[str, bool]  # "part exercise check" -> passed


@dataclass(frozen=True)
class Cost:
    """Seconds by the clock, and seconds of processor time, which a busy machine changes less."""

    wall: float
    processor: float


@dataclass(frozen=True)
class Question:
    """One check of the course."""

    part: str
    exercise: str
    check: str

    def __str__(self) -> str:
        return f"{self.part} {self.exercise} {self.check}"


def checks_of(part: str, slug: str = "*") -> list[Path]:
    """The test files whose claims are checked with the references of a part."""
    folders = {part: ROOT / "tests" / part for part in PARTS}
    files = [path for folder in folders.values() for path in sorted(folder.glob(f"*/test_{slug}.py"))]
    return [path for path in files if part in sides(path, folders)]


def questions(course: Course) -> list[Question]:
    found = []
    for part, item in itertools.product(PARTS, course.graded):
        for path in checks_of(part, item.slug):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and _told(node, part):
                    found.append(Question(part, item.slug, node.name))
    return found


def _told(node: ast.FunctionDef, part: str) -> bool:
    """Notes are told by the public checks only."""
    return part == "public" or "note" not in map(ast.unparse, node.decorator_list)


class Bench:
    """Everything that is graded, laid out in one folder, and the ways to grade it."""

    def __init__(self, folder: Path, otter: str, jobs: int) -> None:
        self.folder, self.otter, self.jobs = folder, otter, jobs
        self.course = read_course("default").of_code
        self.points = sum(item.points for item in self.course.graded)
        self.questions = questions(self.course)
        sources = Sources(ROOT / "solutions")
        table = {mistake.slug: mistake for mistake in read_table(ROOT / "solutions" / "exercises")}
        self.texts = {"right": sources.solved(), "wrong": sources.mutant(*(table[slug] for slug in MISTAKES))}
        for name, texts in self.texts.items():
            lay_out(folder / name, texts)
            (folder / f"{name}.zip").write_bytes(zipped(texts))
            (folder / f"{name}.ipynb").write_text(json.dumps(notebook(texts)), encoding="utf-8")
        self._lay_out_pytest()
        if otter:
            self._lay_out_otter()
        self.runs = itertools.count()

    def _lay_out_pytest(self) -> None:
        for part in PARTS:
            there = self.folder / "pytest" / part
            left_out = shutil.ignore_patterns("__pycache__", "test_london_*", "test_predictions_*")
            shutil.copytree(ROOT / "tests" / part, there, ignore=left_out)
            for path in checks_of(part):
                if not left_out("", [path.name]):
                    shutil.copy(path, there / path.parent.name)
        (self.folder / "pytest" / "conftest.py").write_text(CONFTEST, encoding="utf-8")

    def _lay_out_otter(self) -> None:
        files = self.folder / "otter-tests"
        files.mkdir()
        for (part, exercise), group in itertools.groupby(self.questions, lambda q: (q.part, q.exercise)):
            points = self.course.items[exercise].points_of(part)
            text = OTTER_FILE.format(part=part, exercise=exercise, points=points)
            for one in group:
                text += OTTER_CASE.format(part=part, exercise=exercise, check=one.check, hidden=part == "hidden")
            (files / f"{part}_{exercise}.py").write_text(text, encoding="utf-8")
        (self.folder / "asking.py").write_text(ASKING, encoding="utf-8")
        command = ["-m", "otter", "generate", "-t", str(files), "-o", "autograder.zip", "--no-config"]
        done = run([self.otter, *command, "--no-requirements", "--no-environment", "asking.py"], self.folder)
        need(done.returncode == 0, "otter generate", done)

    def otter_run(self, name: str = "right") -> Told:
        """Grade once by Otter's command line. Its results tell points, not checks."""
        out = self._out()
        paths = ["-a", str(self.folder / "autograder.zip"), "-o", str(out), str(self.folder / f"{name}.ipynb")]
        done = run([self.otter, "-m", "otter", "run", "--no-logo", *paths], out)
        need(done.returncode == 0, "otter run", done)
        tests = json.loads((out / "results.json").read_text())["tests"]
        score = sum(test.get("score", 0) for test in tests)
        need((score == self.points) == (name == "right"), f"otter run gave {score} of {self.points} points", done)
        return {}

    def otter_loop(self, name: str, times: int) -> tuple[Told, Cost]:
        """Grade several times in one process of Otter's, and tell the last; each starts a kernel of its own."""
        paths = [str(self.folder / f"{name}.ipynb"), str(self.folder / "autograder.zip")]
        done = run([self.otter, "-c", OTTER_LOOP, *paths, str(times)], self._out())
        need(done.returncode == 0, "otter's API", done)
        found = json.loads(done.stdout.splitlines()[-1])
        need((found["score"] == self.points) == (name == "right"), f"otter's API gave {found['score']} points", done)
        return found["told"], Cost(*found["last"])

    def pytest(self, name: str = "right") -> Told:
        """Grade once by pytest in a process of its own."""
        out = self._out()
        options = ["-q", "-c", os.devnull, "--rootdir", ".", "--import-mode=importlib", "-p", "no:cacheprovider"]
        command = [sys.executable, "-m", "pytest", *options, f"--junitxml={out / 'report.xml'}", *PARTS]
        done = run(command, self.folder / "pytest", {"SUBMISSION": str(self.folder / name)})
        need(done.returncode == (name == "wrong"), "pytest", done)
        told = {}
        for case in ElementTree.parse(out / "report.xml").iter("testcase"):
            part, _, module = case.attrib["classname"].split(".")[-3:]
            told[f"{part} {module.removeprefix('test_')} {case.attrib['name']}"] = len(case) == 0
        asked = {str(question) for question in self.questions}
        return {check: right for check, right in told.items() if check in asked}

    def ours(self, paths: Sequence[Path], watch: Watch | None = None) -> list[Told]:
        """Grade by our command line, as grade.sh does."""
        out = self._out()
        command = [sys.executable, "-P", "-m", "autograder", "--root", str(ROOT), "grade", *map(str, paths)]
        done = run([*command, "--out", str(out), "--jobs", str(self.jobs)], out, watch=watch)
        need(done.returncode == 0, "our grader", done)
        found = [json.loads(path.read_text()) for path in sorted(out.glob("*/results.json"))]
        need(len(found) == len(paths), f"our grader wrote {len(found)} results of {len(paths)}", done)
        asked = {str(question) for question in self.questions}  # no predictions: nobody else makes them again
        told = [{check: right for check, right in told_by(one).items() if check in asked} for one in found]
        right = all(answers and all(answers.values()) for answers in told)
        need(right == (paths[0].stem != "wrong"), "our grader did not give what the submissions deserve", done)
        return told

    def copies(self, count: int) -> list[Path]:
        """So many solutions, no two with the same bytes."""
        place = self.folder / f"copies-{count}"
        place.mkdir(exist_ok=True)
        paths = [place / f"student-{number:05}.zip" for number in range(count)]
        for path in paths:
            if not path.exists():
                texts = {name: f"{text}\n# handed in by {path.stem}\n" for name, text in self.texts["right"].items()}
                path.write_bytes(zipped(texts))
        return paths

    def floor(self, count: int) -> Cost:
        """So many forks that run the tests alone, in a warm process without isolation; per submission."""
        command = [sys.executable, __file__, "--floor", str(self.folder / "right"), "--batch", str(count)]
        done = run([*command, "--jobs", str(self.jobs)], self._out())
        need(done.returncode == 0, "the floor", done)
        wall, processor = map(float, done.stdout.split()[-2:])
        return Cost(wall / count, processor / count)

    def prove(self) -> str:
        """All contenders ask the same questions and agree on every answer, right or wrong."""
        for name in self.texts:
            told = {"ours": self.ours([self.folder / f"{name}.zip"])[0], "pytest": self.pytest(name)}
            if self.otter:
                told["otter"] = self.otter_loop(name, 1)[0]
                self.otter_run(name)
            for who, answers in told.items():
                if set(answers) != set(map(str, self.questions)):
                    raise SystemExit(f"{who} asks other questions: {set(answers) ^ set(map(str, self.questions))}")
                if answers != told["ours"]:
                    other = [check for check in answers if answers[check] != told["ours"][check]]
                    raise SystemExit(f"{who} and our grader disagree on the {name} submission: {other}")
        failed = sum(not passed for passed in told["ours"].values())
        return f"{len(self.questions)} checks; all contenders fail the same {failed} on a submission with two mistakes"

    def _out(self) -> Path:
        out = self.folder / f"out-{next(self.runs)}"
        out.mkdir()
        return out


def told_by(results: dict[str, object]) -> Told:
    """Our results.json, check by check."""
    told = {}
    for test in results["tests"]:  # type: ignore[attr-defined]
        more = test["extra_data"]
        for check in more["checks"]:
            told[f"{more['part']} {more['exercise']} {check['name']}"] = check["verdict"] == "passed"
    return told


def notebook(texts: dict[str, str]) -> dict[str, object]:
    """A submission as one notebook: a cell for each file, or for each of its own cells."""
    cells: list[dict[str, object]] = []
    nobody = "# %%\nget_ipython = None  # so that no pictures are drawn, as for our grader\n"
    for text in (nobody, *(text for _, text in sorted(texts.items()))):
        parts = re.split(r"^# %%(.*)\n", text, flags=re.MULTILINE) if "\n# %%" in f"\n{text}" else ["", "", text]
        for kind, source in zip(parts[1::2], parts[2::2], strict=True):
            shared = {"id": f"cell-{len(cells)}", "metadata": {}}
            if "markdown" in kind:
                cells.append({"cell_type": "markdown", "source": re.sub(r"^# ?", "", source, flags=re.M), **shared})
            else:
                code: dict[str, Any] = {"cell_type": "code", "source": source, "outputs": [], "execution_count": None}
                cells.append(code | shared)
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


@dataclass
class Watch:
    """The memory of a process and all of its descendants, looked at again and again while it runs."""

    grader: int = 0  # bytes; the most that the grader itself ever had resident
    largest: int = 0  # the most that any descendant ever had
    together: int = 0  # the most of all at one time; what they share counts once
    processes: int = 0
    over: threading.Event = field(default_factory=threading.Event)

    def __call__(self, root: int) -> None:
        while not self.over.wait(PAUSE):
            family = descendants(root)
            peaks = {one: in_proc(one, "status", "VmHWM") for one in family}
            self.grader = max(self.grader, peaks.pop(root, 0))
            self.largest = max(self.largest, *peaks.values(), 0)
            shares = [in_proc(one, "smaps_rollup", "Pss") or in_proc(one, "status", "VmRSS") for one in family]
            self.together = max(self.together, sum(shares))
            self.processes = max(self.processes, len(family))


def descendants(root: int) -> list[int]:
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:  # gone meanwhile
                continue
    family = [root]
    for one in family:  # grows as it goes
        family += [child for child, parent in parents.items() if parent == one]
    return family


def in_proc(process: int, file: str, key: str) -> int:
    """A number of kilobytes that the kernel tells of a process, in bytes; 0 if it does not."""
    try:
        found = re.search(rf"^{key}:\s+(\d+) kB", Path(f"/proc/{process}/{file}").read_text(), re.MULTILINE)
    except OSError:
        return 0
    return int(found[1]) * 1024 if found else 0


def run(
    command: Sequence[str], cwd: Path, more: dict[str, str] | None = None, watch: Watch | None = None
) -> subprocess.CompletedProcess[str]:
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env=os.environ | ALIKE | (more or {}),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    if watch is not None:
        threading.Thread(target=watch, args=(process.pid,), daemon=True).start()
    said, complained = process.communicate()
    if watch is not None:
        watch.over.set()
    return subprocess.CompletedProcess(command, process.returncode, said, complained)


def need(held: bool, what: str, done: subprocess.CompletedProcess[str]) -> None:
    if not held:
        raise SystemExit(f"{what} (exit code {done.returncode}):\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")


def cost(action: Callable[[], object], count: int = 1) -> Cost:
    """What an action costs that grades `count` submissions, per submission."""
    wall, processor = time.perf_counter(), used_by_children()
    action()
    return Cost((time.perf_counter() - wall) / count, (used_by_children() - processor) / count)


def used_by_children() -> float:
    """Processor seconds of all child processes that have ended, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def at_once(action: Callable[[], object], count: int) -> None:
    """The same several times, side by side."""
    failures: list[BaseException] = []

    def guarded() -> None:
        try:
            action()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def compare(bench: Bench, batch: int, repeat: int) -> None:
    """The table: each contender in turn, again and again, so that a busy minute hurts all alike."""
    jobs, one, many = bench.jobs, bench.folder / "right.zip", bench.copies(batch)
    side_by_side = f"{jobs} at once"
    contenders: dict[str, Callable[[], Cost]] = {}
    if bench.otter:
        contenders |= {
            "otter run": lambda: cost(bench.otter_run),
            f"otter run, {side_by_side}": lambda: cost(lambda: at_once(bench.otter_run, jobs), jobs),
            "otter's API, in one process": lambda: bench.otter_loop("right", 2)[1],
        }
    contenders |= {
        "fresh pytest": lambda: cost(bench.pytest),
        f"fresh pytest, {side_by_side}": lambda: cost(lambda: at_once(bench.pytest, jobs), jobs),
        "ours, one submission, cold": lambda: cost(lambda: bench.ours([one])),
        f"ours, in a batch of {batch}": lambda: cost(lambda: bench.ours(many), batch),
        "floor: fork and the tests alone": lambda: bench.floor(batch),
        "(import torch)": lambda: cost(lambda: run([sys.executable, "-c", "import torch"], bench.folder)),
    }
    costs: dict[str, list[Cost]] = {name: [] for name in contenders}
    for turn in range(repeat):
        for name, contender in contenders.items():
            tell(f"round {turn + 1} of {repeat}: {name}")
            costs[name].append(contender())
    tell("")
    walls = {name: statistics.median(one.wall for one in found) for name, found in costs.items()}
    rivals = [name for name in ("otter run", f"otter run, {side_by_side}") if name in walls]
    head = f"{'seconds per submission':32} {'median':>8} {'least':>8} {'most':>8} {'processor':>10}"
    print(head, *(f"{rival:>21}" for rival in rivals))
    for name, found in costs.items():
        span = [one.wall for one in found]
        processor = statistics.median(one.processor for one in found)
        ratios = (f"{walls[rival] / walls[name]:20.1f}x" for rival in rivals)
        print(f"{name:32} {walls[name]:8.3f} {min(span):8.3f} {max(span):8.3f} {processor:10.3f}", *ratios)


def grow(bench: Bench, sizes: Sequence[int], repeat: int) -> bool:
    """Batches of growing size: what one more submission costs between two sizes, and the memory of each."""
    steps = sorted(sizes)  # the smallest is start-up, and what the others are compared with
    walls: dict[int, list[float]] = {size: [] for size in steps}
    watches: dict[int, Watch] = {}
    for turn in range(repeat):
        for size in steps:
            tell(f"round {turn + 1} of {repeat}: {size} submissions")
            paths, watches[size] = bench.copies(size), Watch()
            walls[size].append(cost(partial(bench.ours, paths, watches[size])).wall)
    tell("")
    medians = {size: statistics.median(found) for size, found in walls.items()}
    mib = 1 << 20
    print(f"{'batch':>6} {'seconds':>8} {'each':>7} {'one more':>9} {'grader':>11} {'largest':>11} {'together':>11}")
    costs: list[float] = []
    for before, size in zip([0, *steps], steps, strict=False):
        one_more = ""
        if before:
            costs.append((medians[size] - medians[before]) / (size - before))
            one_more = f"{costs[-1]:.4f}"
        watch = watches[size]
        memory = (f"{number / mib:7.0f} MiB" for number in (watch.grader, watch.largest, watch.together))
        print(f"{size:6} {medians[size]:8.2f} {medians[size] / size:7.4f} {one_more:>9}", *memory)
    print("each: with start-up; one more: for each submission that the batch above does not have.")
    print("Memory: most resident in the grader, in any one worker, and in all together (shared pages once).")
    spread = max(costs) / min(costs) if costs and min(costs) > 0 else float("inf")
    used = [watches[size].together for size in steps]
    growth = max(used) / min(used) if used and all(used) else float("inf")
    flat = spread <= FLAT and growth <= FLAT
    print(f"cost varies {spread:.2f}-fold, memory {growth:.2f}-fold: {'flat' if flat else 'NOT flat'} (bar {FLAT})")
    return flat


def tell(text: str) -> None:
    """One line on a terminal that is written over."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def measure_floor(root: Path, count: int, jobs: int) -> Cost:
    """Runs in a process of its own: collects, then forks for each submission and runs the tests, no more."""
    os.environ |= ONE_EACH
    import torch

    from autograder.checking.engine import Examiner, collect
    from autograder.grading.batch import Candidate, examine_all
    from autograder.selfcheck.local import sitting

    torch.set_num_threads(1)
    x = torch.ones(1, requires_grad=True)
    torch.autograd.grad(x * x, [x], torch.ones(1))  # imports half of torch on first use; our workers inherit it, too
    course = read_course("default").of_code
    taken: list[Cost] = []

    def job(examiner: Examiner) -> None:
        taken.append(cost(lambda: examine(examiner)))

    def examine(examiner: Examiner) -> None:
        for _, outcomes, *_ in examine_all(examiner, [Candidate(lambda _: sitting(root, course))] * count, jobs):
            if not outcomes or any(outcome.verdict != "passed" for outcome in outcomes):
                raise SystemExit("the solution did not pass")

    collect([ROOT / "tests" / part for part in PARTS], job)
    return taken[0]


def find_otter(python: str) -> tuple[str, str]:
    """The interpreter if it has Otter and a kernel to run notebooks with, and a line that says so or why not."""
    asked = "import ipykernel, otter, torch; print(otter.__version__, torch.__version__)"
    done = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=False)
    if done.returncode:
        why = done.stderr.strip().splitlines()[-1:] or ["?"]
        return "", f"Otter is left out: {why[0]} (pip install 'otter-grader[grading]', or name a --otter PYTHON)"
    otter, torch = done.stdout.split()[-2:]
    return python, f"otter-grader {otter} with torch {torch}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=200, help="submissions in a batch of ours (default: 200)")
    parser.add_argument("--repeat", type=int, default=5, help="how often each is timed (default: 5)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many at once (default: cores)")
    parser.add_argument("--sizes", help="instead: cost and memory in batches of these sizes, like 10,100,1000")
    parser.add_argument("--otter", default=sys.executable, help="a Python that has otter-grader (default: this one)")
    parser.add_argument("--skip-otter", action="store_true", help="do without Otter")
    parser.add_argument("--floor", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.floor:
        floor = measure_floor(options.floor, options.batch, options.jobs)
        print(floor.wall, floor.processor)
        return 0
    otter, about = "", "Otter is left out, as asked"
    if not options.skip_otter and not options.sizes:
        otter, about = find_otter(options.otter)
    print(f"{options.jobs} jobs, Python {platform.python_version()}; {about}", flush=True)
    if (load := os.getloadavg()[0]) > 0.5:
        print(f"NOISY: others keep {load:.1f} processors of {os.cpu_count()} busy; compare processor time", flush=True)
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        bench = Bench(Path(folder).resolve(), otter, options.jobs)
        if options.sizes:
            return 0 if grow(bench, [int(size) for size in options.sizes.split(",")], options.repeat) else 1
        print(bench.prove(), flush=True)
        compare(bench, options.batch, options.repeat)
    return 0


if __name__ == "__main__":
    sys.exit(main())
