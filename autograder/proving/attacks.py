"""The attack suite: hostile submissions, each graded among honest ones, in every situation there is.

Attacks that can tell that they got through raise an exception that says BREACH in a public check.
An attack is a Python file whose docstring starts with the rows of THREATS that it tries:
"THREATS 1, 2: ...". It is appended to the stub of src/attention.py, so whatever it earns it has
stolen. One in notebooks/ makes whole files instead: its FILES are handed in beside the stubs. So does one in
predictions/, which starts from what an honest student has, in _honest.py there, and may earn what is HONEST of it.
What it writes, prints or raises should hold the word LEAK, and files that it makes should be
called attack-was-here, so that success is seen.

An attack that fails of its own mistake shows nothing. So its docstring also has a line "Reached: REGEX". It must match
a text of the attack's result, and can do so only if the attack got as far as it meant to: the message of an exception
that it raises after the attempt, or the limit that it should run into. "Reached (ordinary user): REGEX" is for one
situation only.
"""

from __future__ import annotations

import ast
import json
import os
import re
import runpy
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from autograder.checking.courses import Course
from autograder.classroom.roster import read_roster
from autograder.errors import UserError
from autograder.files import write_atomically, zipped
from autograder.grading.grade import Setting, grade
from autograder.isolation import Layers
from autograder.judging.exercises import ASKING
from autograder.pages.submission_page import page
from autograder.proving.assembling import Sources
from autograder.proving.gate import Line
from autograder.publishing import regions
from autograder.workers.remote import Limits

Files = Mapping[str, str | bytes]
TRAINED = "predictions/_honest.py"
DEADLINE = 2  # seconds that an attacked exercise may take; attacks that hang are many
ATTACKED, NOTEBOOK = "src/attention.py", "A2S1.ipynb"
MARK = "attack-was-here"
PLACES = ("/tmp", "/var/tmp", "/dev/shm", "/run", "/root", "/home", "/etc")
REACHED = re.compile(r"^Reached(?: \(([a-z ]+)\))?: (\S.*)$", re.MULTILINE)
# What a hidden check may tell only if a public one of the same submission has: a place, a kind of exception, a signal.
TELLING = re.compile(r"\bline \d+|\b[A-Z]\w*(?:Error|Exception|Warning|Group|Exit|Interrupt|Iteration)\b|\bSIG[A-Z]+")
NUMBER = re.compile(r"-?\d+\.\d{3,}|\d+e[-+]\d+")  # a value of a tensor, not a handout section


@dataclass(frozen=True)
class Attack:
    """One hostile submission."""

    name: str
    threats: tuple[int, ...]
    says: str
    source: str
    reached: Mapping[str, str]  # by the name of a situation ("" for all others): what its result says then
    files: Mapping[str, str | bytes] = field(default_factory=dict)  # handed in beside the stubs
    honest: frozenset[str] = frozenset()  # the rows that what is honest in it may earn


@dataclass(frozen=True)
class Trained:
    """A student who has trained a model: what is handed in, and the answers of that term."""

    files: Mapping[str, bytes]
    answers: bytes


def read_attacks(folder: Path) -> list[Attack]:
    """Every attack below a folder, by name."""
    found = []
    names = read_trained(folder)[1] if (folder / TRAINED).is_file() else {}
    for path in sorted([*folder.glob("*.py"), *folder.glob("notebooks/*.py"), *folder.glob("predictions/[!_]*.py")]):
        source = path.read_text(encoding="utf-8")
        says = ast.get_docstring(ast.parse(source)) or ""
        rows = re.match(r"THREATS ([\d, ]+): (.+)", says)
        if rows is None:
            raise UserError(f"{path}: the docstring must start with 'THREATS 1, 2: what it tries'")
        threats = tuple(int(number) for number in rows[1].split(","))
        reached = {where: _pattern(path, text) for where, text in REACHED.findall(says)}
        if not reached:
            raise UserError(f"{path}: the docstring must say how far it gets: 'Reached: a regular expression'")
        if path.parent == folder:
            found.append(Attack(path.stem, threats, rows[2], source, reached))
        else:
            made = runpy.run_path(str(path), init_globals=names)
            honest = frozenset(made.get("HONEST", ()))
            found.append(Attack(path.stem, threats, rows[2], "", reached, made["FILES"], honest))
    if not found:
        raise UserError(f"{folder} holds no attacks")
    return found


def _pattern(path: Path, text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise UserError(f"{path}: '{text}' is not a regular expression: {error}") from None
    return text


def read_trained(folder: Path) -> tuple[Trained, dict[str, Any]]:
    """The honest student, and all names that attacks may use."""
    names = runpy.run_path(str(folder / TRAINED))
    return Trained(names["HANDS_IN"](), names["ANSWERS"]), {
        name: value for name, value in names.items() if not name.startswith("_")
    }


def quick(course: Course) -> Course:
    """The course with short deadlines for what is attacked; honest neighbours keep their time for the rest."""
    items = {
        slug: replace(item, deadline=DEADLINE) if {ATTACKED, NOTEBOOK} & set(item.files) else item
        for slug, item in course.items.items()
    }
    return replace(course, items=items)


def hold(
    attacks: Sequence[Attack],
    trained: Trained,
    sources: Sources,
    course: Course,
    folders: tuple[Path, ...],
    jobs: int,
    told: Callable[[str], None],
    layers: Layers,
) -> list[Line]:
    """Grade all attacks with honest neighbours, and judge what each achieved."""
    blank = {name: regions.stubbed(text, name) for name, text in sources.texts.items()}
    unloadable = {**blank, ATTACKED: f"{blank[ATTACKED]}\n\nimport no_such_module\n"}
    honest: dict[str, Files] = {
        **{"neighbour": sources.solved(), "blank": blank, "unloadable": unloadable},
        "trained": {**blank, **trained.files},
    }
    with tempfile.TemporaryDirectory(prefix="attacks-") as folder:
        place = Path(folder).resolve()
        place.chmod(0o711)
        answers = place / "answers.json"
        write_atomically(answers, trained.answers)
        answers.chmod(0o600)
        setting = Setting(quick(course), layers, Limits(memory=1 << 30), folders, jobs, answers=answers)
        den = place / "den"  # a place of our own for what workers write, to see what is left of it
        den.mkdir(mode=0o711)
        tempfile.tempdir = str(den)

        def run(submissions: Mapping[str, Files], label: str) -> dict[str, Any]:
            paths = []
            for name, files in submissions.items():
                paths.append(place / label / f"{name}.zip")
                write_atomically(paths[-1], zipped(files))
            out = place / label / "out"
            roster = read_roster(paths)
            records = grade(roster, setting, out, lambda one: told(f"{layers.name}: {one.id}"), page=page)
            return {one.id: json.loads((out / one.id / "results.json").read_text(encoding="utf-8")) for one in records}

        before = run(honest, "before")
        expected = {name: _stable(content) for name, content in before.items()}
        submissions: dict[str, Files] = {}
        for number, attack in enumerate(attacks):
            submissions[attack.name] = {**blank, ATTACKED: blank[ATTACKED] + "\n\n" + attack.source, **attack.files}
            if number % 20 == 0:  # honest ones among them, which must not notice
                submissions[f"neighbour{number}"] = honest["neighbour"]
        graded = run(submissions, "among")
        left = [path.name for path in den.iterdir()]
        idle = [expected["blank"], expected["unloadable"]]
        lines = [_judged(attack, graded.get(attack.name), idle, layers) for attack in attacks]
        lines.append(Line(f"{layers.name}: left behind", "nothing", ", ".join(left) or "nothing", not left))
        lines.append(_earns_all(before["trained"], course, layers))
        for name, content in graded.items():
            if name.startswith("neighbour"):
                same = _stable(content) == expected["neighbour"]
                found = "as without attacks" if same else "changed"
                lines.append(Line(f"{layers.name}: {name}", "as without attacks", found, same))
    return lines


def _judged(attack: Attack, content: dict[str, Any] | None, idle: Sequence[dict[str, Any]], layers: Layers) -> Line:
    """idle: the results of submissions that try nothing."""
    what = f"{layers.name}: {attack.name}"
    if content is None:
        return Line(what, "a result", "no result", False)
    wrong = []
    earned = {test["name"]: test["score"] for test in content["tests"] if test["score"]}
    if stolen := {name: points for name, points in earned.items() if name not in attack.honest}:
        wrong.append(f"earned {sum(stolen.values())} points: {', '.join(stolen)}")
    if [test["name"] for test in content["tests"]] != [test["name"] for test in idle[0]["tests"]]:
        wrong.append("not every check was reported")
    ours = [test["name"] for test in content["tests"] if test["extra_data"]["verdict"] == "could not check"]
    if ours:
        wrong.append(f"could not be checked: {', '.join(ours[:3])}")
    for test in content["tests"]:
        if test["extra_data"]["part"] == "hidden" and ("LEAK" in test["output"] or NUMBER.search(test["output"])):
            wrong.append(f"{test['name']} shows what is hidden: {test['output'][:80]!r}")
    if untold := sorted({*TELLING.findall(_said(content, "hidden"))} - {*TELLING.findall(_said(content, "public"))}):
        wrong.append(f"hidden checks tell what no public one has told: {', '.join(untold[:3])}")
    if "BREACH" in json.dumps(content):  # what an attack says when it has seen that it got through
        wrong.append("got through: " + re.findall(r"BREACH[^\"\\]{0,60}", json.dumps(content))[0])
    wrong += [f"wrote {path}" for path in traces()]
    pattern = attack.reached.get(layers.name) or attack.reached.get("")
    if pattern is None or not re.search(pattern, _texts(content)):
        wrong.append(f"did not get as far as it meant to: no {pattern!r} in its result")
    elif any(re.search(pattern, _texts(other)) for other in idle):
        wrong.append(f"{pattern!r} is in the result of a submission that tries nothing, too")
    return Line(what, "nothing gained", "; ".join(wrong) or f"nothing gained ({attack.says})", not wrong)


def _said(content: dict[str, Any], part: str) -> str:
    """What the checks of a part say. Places of what is not started are left out: public checks do not say them, though
    they have met them."""
    tests = [test["extra_data"] for test in content["tests"] if test["extra_data"]["part"] == part]
    checks = [check for test in tests for check in test["checks"] if check["kind"] != "not started"]
    return _texts([check["message"] for check in checks])


def _texts(content: Any) -> str:
    """All texts of a result, one in a line."""
    if isinstance(content, Mapping):
        content = list(content.values())
    if isinstance(content, list):
        return "\n".join(filter(None, map(_texts, content)))
    return content if isinstance(content, str) else ""


def _earns_all(content: dict[str, Any], course: Course, layers: Layers) -> Line:
    """What attacks try to steal can be had by honest work: without this, nothing would be shown."""
    wanted = sum(item.points for item in course.graded if item.slug in ASKING)
    earned = sum(test["score"] for test in content["tests"])
    return Line(f"{layers.name}: honest predictions", f"{wanted} points", f"{earned} points", earned == wanted)


def traces() -> list[Path]:
    """Files that an attack left where it should not be able to write."""
    found = []
    for place in map(Path, PLACES):
        for folder in (place, *_inside(place)):
            found += [path for path in _inside(folder) if MARK in path.name and os.access(path, os.F_OK)]
    return found


def _inside(folder: Path) -> list[Path]:
    """What is in a folder; nothing if it is none, is closed to us, or has gone meanwhile: others work here, too."""
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _stable(content: dict[str, Any]) -> dict[str, Any]:
    """A result without its time, and without the name of who handed it in."""
    extra = {key: value for key, value in content["extra_data"].items() if key != "student"}
    return content | {"execution_time": 0, "extra_data": extra}
