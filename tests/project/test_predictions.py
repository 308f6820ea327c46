"""Predictions: what is right, what is said of what is not, and that only what was learnt earns points."""

from __future__ import annotations

import hashlib
import json
import runpy
import subprocess
import sys
import tempfile
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from autograder import held_out, predictions, reproduction
from autograder.__main__ import main
from autograder.attacks import read_trained
from autograder.course import read_course
from autograder.errors import UserError
from autograder.exercises import ASKING
from autograder.files import zipped
from autograder.findings import CheckFailed
from autograder.grade import Setting, grade
from autograder.held_out import HeldOut, Question
from autograder.isolation import probe
from autograder.loading import Loader
from autograder.perform import Performer
from autograder.remote import Limits
from autograder.roster import read_roster
from autograder.server import ANSWERS, Server, packed
from autograder.submission import Submission

linux = pytest.mark.skipif(sys.platform != "linux", reason="isolation needs Linux")
HONEST = Path(__file__).parent / "attacks/predictions/_honest.py"
WORLD = {"term": "t", "dev": [["Where?", "Bad Ems"]], "test": [["Who?", "Köln"]], "vocabulary": "\n ?"}


@pytest.fixture(scope="module")
def student():
    """Names of the small honest student; HANDS_IN makes a submission."""
    return read_trained(HONEST.parents[1])[1]


# The answers


def written(folder: Path, content: object) -> Path:
    path = folder / "answers.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_answers_are_read(tmp_path):
    found = held_out.read_answers(written(tmp_path, WORLD))
    assert found.of("dev") == (Question("Where?", "Bad Ems"),) and found.of("test")[0].place == "Köln"
    assert found.vocabulary == "\n ?"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "is not JSON"),
        ([], "has no 'vocabulary'"),
        (WORLD | {"vocabulary": ""}, "has no 'vocabulary'"),
        (WORLD | {"dev": []}, "has no questions in 'dev'"),
        (WORLD | {"test": [["Who?", "Köln"], ["Who?"]]}, "'test' entry 2 is not a pair"),
        (WORLD | {"test": [["Who?", "a\tb"]]}, "'test' entry 1 is not a pair"),
    ],
)
def test_broken_answers_are_one_line(tmp_path, content, words):
    with pytest.raises(UserError, match=words) as error:
        held_out.read_answers(written(tmp_path, content))
    assert "python -m autograder data --term NAME" in str(error.value) and "\n" not in str(error.value)
    assert str(tmp_path) not in str(error.value)  # students may come to see it


def test_samples_are_the_same_for_all_and_nobody_can_foresee_them(tmp_path):
    one, other = (held_out.read_answers(written(tmp_path, WORLD | {"term": term})) for term in "ab")
    assert one.sample("x", 500, 40) == one.sample("x", 500, 40) == sorted(set(one.sample("x", 500, 40)))
    assert (
        len(
            {tuple(found) for found in (one.sample("x", 500, 40), one.sample("y", 500, 40), other.sample("x", 500, 40))}
        )
        == 3
    )
    assert one.sample("x", 5, 40) == [0, 1, 2, 3, 4]


def test_students_have_the_dev_answers_and_the_test_questions(tmp_path):
    with pytest.raises(UserError, match=r"data/birth_dev\.tsv is missing"):
        held_out.of_students(tmp_path)()
    (tmp_path / "birth_dev.tsv").write_text("Where?\tRome\n")
    (tmp_path / "birth_test_inputs.tsv").write_text("Who?\n")
    assert held_out.of_students(tmp_path)() == HeldOut((Question("Where?", "Rome"),), (Question("Who?", None),))
    (tmp_path / "birth_dev.tsv").write_text("Where?\n")
    with pytest.raises(UserError, match="is not as it was given"):
        held_out.of_students(tmp_path)()


# Scoring


@pytest.mark.parametrize(
    ("line", "right"),
    [
        *(("Köln", True), (" Köln\t", True), ("Ko\u0308ln", True), ("köln", False), ("Koeln", False), ("", False)),
        ("Köln, Germany", False),
    ],
)
def test_case_counts_space_and_encoding_do_not(line, right):
    assert predictions.is_right(line, Question("Who?", "Köln")) is right
    assert predictions.is_right("Bad  Ems", Question("Who?", "Bad Ems"))
    assert not predictions.is_right("None", Question("Who?", None))


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 0), ("a", 1), ("a\n", 1), ("a\r\nb\r\n", 2), ("a\n\n", 2), ("a\n\nb", 3), ("a\u2028b\x0bc", 1)],
)
def test_lines_end_in_newlines_and_nothing_else(text, count):
    assert len(predictions.lines_of(text)) == count


@pytest.fixture
def checked(tmp_path, student):
    """What the public checks of an exercise, run in this process, say of the honest files with changes to them."""
    files = student["HANDS_IN"]()
    answers = held_out.supplied(written(tmp_path, student["WORLD"]))
    course = read_course("cs224n")

    def run(check, slug: str, changes: dict[str, bytes | None] | None = None) -> str:
        root = Path(tempfile.mkdtemp(dir=tmp_path)).resolve()
        for name, content in (files | (changes or {})).items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            if content is not None:
                (root / name).write_bytes(content)
        submission = Submission(Performer(Loader(root, {})))
        arguments = (submission, slug, course, answers)
        try:
            check(*arguments[: check.__code__.co_argcount])
        except CheckFailed as failed:
            assert failed.finding.open
            return " ".join([f"[{failed.finding.kind}]", failed.finding.headline, *failed.finding.evidence])
        return submission._noted("public")[0]

    return run


DEV = "vanilla.pretrain.dev.predictions"


def test_files_in_order_pass_and_the_dev_accuracy_is_told(checked):
    assert checked(predictions.are_in_order, "predictions_vanilla") == "dev 56.7 %, 15.0 % asked for"
    assert checked(predictions.are_in_order, "predictions_rope") == "dev 61.7 %"
    assert checked(predictions.parameters_are_plain, "predictions_rope") == ""


def test_missing_files_are_named(checked):
    said = checked(predictions.are_in_order, "predictions_vanilla", {DEV: None})
    handed_in = "handed in: vanilla.finetune.params"
    test = "vanilla.pretrain.test.predictions"
    assert said == (
        f"[missing] predictions_vanilla: not handed in: {DEV} is missing {handed_in} missing: {DEV} handed in: {test}"
    )
    said = checked(predictions.are_in_order, "predictions_vanilla", {DEV: None, test: None})
    assert said.startswith("[missing] predictions_vanilla: not handed in: 2 of 3 files are missing ")
    assert said.endswith(f" {handed_in} missing: {DEV} missing: {test}")


def test_nothing_handed_in_is_not_started(checked):
    none = dict.fromkeys(read_course("cs224n").items["predictions_vanilla"].files)
    for check in (predictions.are_in_order, predictions.parameters_are_plain, predictions.reach_the_threshold):
        said = checked(check, "predictions_vanilla", none)
        assert said.startswith("[not started] predictions_vanilla: not handed in: all 3 files are missing ")
        assert said.count("missing: ") == 3 and f"missing: {DEV}" in said
    assert checked(predictions.london_is_right, "london_baseline", {"london_baseline_accuracy.txt": None}) == (
        "[not started] london_baseline: not handed in: london_baseline_accuracy.txt is missing"
    )


def test_line_counts_are_checked_with_a_message(checked):
    said = checked(predictions.are_in_order, "predictions_vanilla", {DEV: b"London\n" * 59})
    assert said.startswith(
        "[shape] predictions_vanilla: dev: 59 lines, 60 expected: one prediction per question, in the order of "
        "data/birth_dev.tsv"
    )
    assert "60 expected" in checked(predictions.are_in_order, "predictions_vanilla", {DEV: b""})
    test = {"vanilla.pretrain.test.predictions": b"x\n" * 61}
    assert "test: 61 lines" in checked(predictions.are_in_order, "predictions_vanilla", test)
    both = checked(predictions.are_in_order, "predictions_vanilla", {**test, DEV: b"x"})
    assert "dev: 1 lines, 60 expected" in both and "test: 61 lines" in both and f"These are {DEV} and vanilla" in both
    assert "more than 1 MiB" in checked(predictions.are_in_order, "predictions_vanilla", {DEV: bytes(1 << 21)})


def test_threshold_is_that_of_the_course(checked):
    assert checked(predictions.reach_the_threshold, "predictions_vanilla") == "dev 56.7 %, test 71.7 %"
    said = checked(predictions.reach_the_threshold, "predictions_vanilla", {DEV: b"Oslo\n" * 60})
    assert said.startswith("[values] predictions_vanilla: dev accuracy 6.7 %, 15.0 % asked for")


@pytest.mark.parametrize(
    "text", ["5", "5.0", "5.0%", "0.05", "5.04 %\n", "Correct: 3.0 out of 60.0: 5.0%", "3 of 60", "3/60"]
)
def test_london_baseline_may_be_written_in_many_ways(checked, text):
    assert (
        checked(predictions.london_is_right, "london_baseline", {"london_baseline_accuracy.txt": text.encode()})
        == "5.0 %"
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("5.2", "5.2 % is not its accuracy"),
        ("0.5", "0.5 % is not its accuracy"),
        ("0", "0.0 % is not its accuracy"),
        ("100%", "100.0 % is not its accuracy"),
        ("", "must hold one number"),
        ("about five", "must hold one number"),
        ("5% or 6%", "must hold one number"),
        ("1 2 3 5", "must hold one number"),
        ("3 of 0", "must hold one number"),
    ],
)
def test_wrong_london_baselines(checked, text, words):
    said = checked(predictions.london_is_right, "london_baseline", {"london_baseline_accuracy.txt": text.encode()})
    assert words in said and "5.0 %" not in said


# Making them again, in a worker

ROWS = ("predictions_nopretrain", "predictions_vanilla", "predictions_rope")


@pytest.fixture
def graded(tmp_path, root, student):
    """Results of submissions, by name; each predictions exercise of cs224n, by its row."""
    tmp_path.chmod(0o711)
    course = read_course("cs224n")

    def run(submissions, answers=None, deadline=20, rows=(*ROWS, "london_baseline"), **options):
        items = {slug: replace(item, deadline=deadline) for slug, item in course.items.items()}
        items = {slug: item for slug, item in items.items() if slug in rows}
        path = tmp_path / "answers.json"
        if answers is not None:
            path.write_bytes(answers)
        paths = []
        for name, files in submissions.items():
            paths.append(tmp_path / f"{name}.zip")
            paths[-1].write_bytes(zipped(files))
        folders = (root / "tests/public", root / "tests/hidden")
        setting = Setting(replace(course, items=items), probe(), Limits(), folders, 2, answers=path)
        records = grade(read_roster(paths), setting, tmp_path / "out", **options)
        return {one.id: json.loads((tmp_path / "out" / one.id / "results.json").read_text()) for one in records}

    return run


def row(content, name):
    return next(test for test in content["tests"] if test["name"] == name)


@linux
def test_honest_students_get_all_points(graded, student, tmp_path):
    """Of both formats, from below other folders, and with predictions that were made with other numbers of threads."""
    other = tmp_path / "threads"
    subprocess.run([sys.executable, str(HONEST), str(other), "4"], check=True)
    threaded = {path.relative_to(other).as_posix(): path.read_bytes() for path in other.rglob("*.*") if path.is_file()}
    del threaded["answers.json"]
    new, old = student["HANDS_IN"](), student["HANDS_IN"](seed=1, old=True)
    nested = {f"My work/final/{name}": content for name, content in old.items()}
    found = graded({"new": new, "old": old, "nested": nested, "threaded": threaded}, student["ANSWERS"])
    assert {name: content["score"] for name, content in found.items()} == dict.fromkeys(found, 18)
    told = row(found["new"], "predictions_rope (hidden)")["output"]
    assert "80 of 80 sampled predictions reproduced" in told and "dev 61.7 %, test 65.0 %" in told
    assert found["new"]["leaderboard"] == [{"name": "predictions_rope", "value": 0.65, "order": "desc"}]


@linux
def test_a_few_differences_are_rounding_and_more_are_not(graded, student):
    """Of a sample of 40, two may differ, and one of them may have become a right answer."""
    honest = student["HANDS_IN"]()
    answers = HeldOut((), (), "", hashlib.sha256(student["ANSWERS"]).digest())
    sampled = answers.sample("predictions_vanilla dev", 60, 40)
    lines, places = honest[DEV].decode().splitlines(), [place for _, place in student["WORLD"]["dev"]]
    one, two, three = [number for number in sampled if lines[number] != places[number]][:3]
    changed = {
        "two": {one: places[one], two: "Nowhere"},
        "gained": {one: places[one], two: places[two]},
        "three": dict.fromkeys((one, two, three), "Nowhere"),
    }
    submissions = {
        name: honest | {DEV: "\n".join(new.get(n, line) for n, line in enumerate(lines)).encode()}
        for name, new in changed.items()
    }
    found = graded(submissions, student["ANSWERS"])
    told = {name: row(found[name], "predictions_vanilla (hidden)") for name in changed}
    assert told["two"]["score"] == 8 and "78 of 80 sampled predictions reproduced" in told["two"]["output"]
    for name, count in (("gained", 2), ("three", 3)):
        assert told[name]["score"] == 0
        assert f"{count} of 40 sampled dev predictions came out otherwise" in told[name]["output"]
        assert "Handed in: '" in told[name]["output"] and "made again: '" in told[name]["output"]
        assert row(found[name], "predictions_vanilla (public)")["score"] == 2


@linux
def test_of_the_test_questions_nothing_is_shown(graded, student):
    honest = student["HANDS_IN"]()
    name = "rope.pretrain.test.predictions"
    found = graded({"other": honest | {name: b"Rome\n" * 60}}, student["ANSWERS"])["other"]
    output = row(found, "predictions_rope (hidden)")["output"]
    assert "sampled test predictions came out otherwise" in output and "Where was" not in output
    assert "leaderboard" not in found  # not with an accuracy that nobody has reproduced


RAISES = {
    "raises": ("raise ValueError('LEAK')", "your code raised an exception"),
    "argparse": ("import argparse\nargparse.ArgumentParser().parse_args()", "your code raised an exception"),
    "silent": ("x = 1", "your code raised an exception"),
    "loops": ("while True: pass", "did not finish within 3 s"),
    "crash": ("import os\nos._exit(0)", "ended Python itself"),
    "modules": ("import torch, os\nimport nowhere\nfrom nothing.x import y", "2 modules are missing"),
    "pretends": ("raise ModuleNotFoundError('LEAK')", "your code raised an exception"),
    "short": ("import sys\nopen(sys.argv[-1], 'w').write('x\\n')", "wrote 1 lines for 40 questions of dev"),
}


@linux
def test_code_that_does_not_predict_is_told_so(graded, student):
    honest = student["HANDS_IN"]()
    missing = {name: content for name, content in honest.items() if name != "src/run.py"}
    large = honest | {"src/table.py": b"#" * (2 << 20)}
    cases = {name: honest | {"src/run.py": code.encode()} for name, (code, _) in RAISES.items()}
    cases |= {"missing": missing, "large": large}
    found = graded(cases, student["ANSWERS"], deadline=12, rows=("predictions_vanilla",))
    words = {name: words for name, (_, words) in RAISES.items()}
    words |= {"missing": "src/run.py is not in your submission", "large": "src/ holds more than 1 MiB of code"}
    for name, expected in words.items():
        test = row(found[name], "predictions_vanilla (hidden)")
        assert expected in test["output"] and test["score"] == 0, (name, test["output"])
        assert "LEAK" not in test["output"]
        each = [f"missing: {module}, which src/run.py imports" in test["output"] for module in ("nowhere", "nothing")]
        assert each == [name == "modules"] * 2 and "missing: torch" not in test["output"]
        assert found[name]["score"] == 2 and not found[name]["extra_data"]["could_not_grade"]


@linux
def test_without_answers_nobody_is_blamed_and_with_others_all_is_graded_again(graded, student):
    honest, records = student["HANDS_IN"](), []
    found = graded({"honest": honest, "blank": {"src/run.py": b""}})
    assert {test["extra_data"]["verdict"] for test in found["honest"]["tests"]} == {"could not check"}
    trouble = found["honest"]["extra_data"]["could_not_grade"]
    assert "the fault is ours" in trouble and "python -m autograder data --term NAME" in trouble
    assert not found["blank"]["extra_data"]["could_not_grade"]  # nothing was handed in: no answers are needed
    assert "not handed in" in row(found["blank"], "predictions_rope (public)")["output"]
    for answers, kept in ((student["ANSWERS"], False), (student["ANSWERS"], True), (student["ANSWERS"] + b" ", False)):
        found = graded({"honest": honest}, answers, told=records.append)
        assert found["honest"]["score"] == 18 and records[-1].kept is kept


@linux
def test_a_grader_elsewhere_has_the_answers_too(root, trained, answers):
    """As on a cluster: all that it needs travels with the first submission."""
    folders = (root / "tests/public", root / "tests/hidden")
    bundle = packed(folders, read_course("cs224n").path, answers)
    assert not {ANSWERS} & set(packed(folders, read_course("cs224n").path, answers.parent / "none.json"))
    server = Server(bundle, asdict(Limits()), weak_allowed=False)
    try:
        assert not (server.bundle / ANSWERS).stat().st_mode & 0o077
        outcomes = server.examine(trained.files)["outcomes"]
    finally:
        server.close()
    found = [(one["exercise"], one["verdict"]) for one in outcomes if one["exercise"] in ASKING]
    assert len(found) == 13 and {verdict for _, verdict in found} == {"passed"}


@linux
def test_the_command_says_at_once_that_answers_are_missing(repository, trained, tmp_path, capsys):
    (tmp_path / "one.zip").write_bytes(zipped(trained.files))
    (repository / "data/wiki.txt").write_text("Not the demo, whose answers anybody can make.\n")
    command = ["--root", str(repository), "grade", str(tmp_path / "one.zip"), "--out", str(tmp_path / "out")]
    assert main([*command, "--course", "cs224n"]) == 1
    told = capsys.readouterr()
    assert told.err == (
        "note: data/held_out/answers.json is missing, so that predictions cannot be graded; "
        "run: python -m autograder data --term NAME; all else is graded\n"
    )
    assert "1 could not be graded" in told.out
    assert main([*command, "--course", "uw447"]) == 0 and "note" not in capsys.readouterr().err


def test_the_same_holds_in_ones_own_process(tmp_path, student):
    """As the gate does it: nothing is left of it, in memory or on disk."""
    before = sys.path[:], sys.modules["__main__"], Path.cwd(), set(sys.modules)
    answers = held_out.supplied(written(tmp_path, student["WORLD"]))
    for old in (False, True):
        root = tmp_path / f"old {old}"
        for name, content in student["HANDS_IN"](old=old).items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(content)
        submission = Submission(Performer(Loader(root, {})))
        reproduction.are_reproduced(submission, "predictions_rope", read_course("cs224n"), answers)
        assert submission._noted("hidden")[0] == "80 of 80 sampled predictions reproduced"
    assert before[:3] == (sys.path, sys.modules["__main__"], Path.cwd())
    assert not {"model", "tqdm"} & (set(sys.modules) - before[3])


@pytest.mark.parametrize(("place", "runs"), [(None, 4), ("Nowhere", 2)])
def test_scrambled_parameters_are_tried_only_where_they_could_tell(tmp_path, student, monkeypatch, place, runs):
    """If everybody was born somewhere else than predicted, nothing right can come out of them."""
    world = {key: [[question, place or born] for question, born in student["WORLD"][key]] for key in ("dev", "test")}
    answers = held_out.supplied(written(tmp_path, {**student["WORLD"], **world}))
    for name, content in student["HANDS_IN"]().items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    real, tried = Performer.run, []
    monkeypatch.setattr(Performer, "run", lambda self, *script: tried.append(script) or real(self, *script))
    submission = Submission(Performer(Loader(tmp_path, {})))
    reproduction.are_reproduced(submission, "predictions_rope", read_course("cs224n"), answers)
    assert len(tried) == runs


@pytest.mark.parametrize(("right", "refused"), [(0, False), (5, False), (6, True), (40, True)])
def test_five_right_answers_are_too_few_to_tell(right, refused):
    questions = [Question(f"Where was {number} born?", "Rome") for number in range(40)]
    sampled = reproduction._Sampled("dev", questions, ["Rome"] * right + ["Oslo"] * (40 - right))
    assert reproduction._could_be_refused([sampled]) == refused


@pytest.mark.parametrize(
    ("still", "right", "frequent", "refused"),
    [
        (40, 40, 5, True),  # a table
        (12, 12, 2, True),
        (11, 24, 2, True),  # a table for some of them, to get above the threshold
        (6, 6, 6, False),  # always the same answer
        (5, 20, 5, False),
        (9, 40, 4, False),
        (3, 4, 1, False),  # too few to tell
        (0, 0, 0, False),
    ],
)
def test_right_answers_that_come_by_chance_are_not_held_against_anybody(still, right, frequent, refused):
    found = [
        reproduction._Right("dev", "London" if number < frequent else str(number), number < still)
        for number in range(right)
    ]
    item = read_course("cs224n").items["predictions_vanilla"]
    if refused:
        with pytest.raises(CheckFailed, match="these answers do not come from the parameters"):
            reproduction._refuse_unlearnt(item, found)
    else:
        reproduction._refuse_unlearnt(item, found)


def test_the_small_student_is_the_same_each_time(student):
    again = runpy.run_path(str(HONEST))
    assert again["HANDS_IN"]() == student["HANDS_IN"]() != student["HANDS_IN"](1)
