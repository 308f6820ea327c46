"""Predictions: what is right, what is said of what is not, and that only what was learnt earns points."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

import pytest

from autograder.__main__ import main
from autograder.checking import predictions
from autograder.checking.courses import read_course
from autograder.classroom.server import ANSWERS, Server, packed
from autograder.errors import UserError
from autograder.files import zipped
from autograder.grading import reproduction
from autograder.judging import held_out
from autograder.judging.exercises import ASKING
from autograder.judging.findings import CheckFailed
from autograder.judging.held_out import HeldOut, Question
from autograder.judging.submission import Submission
from autograder.running.loading import Loader
from autograder.running.perform import Performer
from autograder.workers.remote import Limits

linux = pytest.mark.skipif(sys.platform != "linux", reason="isolation needs Linux")
HONEST = Path(__file__).parent / "attacks/predictions/_honest.py"
WORLD = {"term": "t", "dev": [["Where?", "Bad Ems"]], "test": [["Who?", "Köln"]], "vocabulary": "\n ?"}


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
    ("lines", "texts", "found"),
    [
        (["a", "b"], ["a", "b"], ["a", "b"]),
        (["Lon", "don", "b"], ["Lon\ndon", "b"], ["Lon\ndon", "b"]),  # in two lines
        (["Lon don", "b"], ["Lon\ndon", "b"], ["Lon don", "b"]),  # in one, as our run.py writes it
        (["x", "b"], ["a\nc", "b"], ["x", "b"]),  # another prediction is one line, and moves no other
        (["a"], ["a", "b"], ["a", ""]),
        (["London\u25a1\u25a1", "b"], ["London", "b"], ["London\u25a1\u25a1", "b"]),
    ],
)
def test_a_line_break_in_a_prediction_moves_no_other(lines, texts, found):
    assert predictions.aligned(lines, texts) == found
    assert [predictions.alike(*pair) for pair in zip(found, texts, strict=True)].count(False) == (
        1 if found[0] == "x" or found[-1] == "" else 0
    )


def test_long_rows_of_accents_are_not_put_in_order():
    """To do that takes a time that grows with the square of their number."""
    marks = "a" + "\u0316\u0301" * (predictions.LONGEST // 4)
    assert predictions.normalised(marks) == marks  # as it stands
    assert not predictions.is_right(marks, Question("Who?", "Köln"))
    assert predictions.normalised("a\u0301\u0316") == "\u00e1\u0316"  # a short one is


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
    assert checked(predictions.are_in_order, "predictions_vanilla") == "dev 55.0 %, 15.0 % asked for"
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
    for check in (predictions.are_in_order, predictions.parameters_are_plain, reproduction.reach_the_threshold):
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
    test = {"vanilla.pretrain.test.predictions": b"x\n" * 67}
    assert "test: 67 lines" in checked(predictions.are_in_order, "predictions_vanilla", test)
    both = checked(predictions.are_in_order, "predictions_vanilla", {**test, DEV: b"x"})
    assert "dev: 1 lines, 60 expected" in both and "test: 67 lines" in both and f"These are {DEV} and vanilla" in both
    assert "more than 1 MiB" in checked(predictions.are_in_order, "predictions_vanilla", {DEV: bytes(1 << 21)})


def test_a_few_more_lines_may_be_line_breaks_and_are_told(checked):
    said = checked(predictions.are_in_order, "predictions_vanilla", {DEV: b"London\n" * 66})
    assert said == "dev: 6 lines more than questions; do predictions hold line breaks?"


def test_without_what_was_computed_nothing_is_counted(checked):
    """The files say what they like."""
    said = checked(reproduction.reach_the_threshold, "predictions_vanilla")
    assert said == "[waiting] predictions_vanilla: not counted, because the predictions are not those of the parameters"


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
        ("1" * (1 << 20), "must hold one number"),  # patterns would take a day
        ("1" * 999, "inf % is not its accuracy"),
    ],
)
def test_wrong_london_baselines(checked, text, words):
    said = checked(predictions.london_is_right, "london_baseline", {"london_baseline_accuracy.txt": text.encode()})
    assert words in said and "5.0 %" not in said


# Computed from the parameters


def row(content, name):
    """A row of results, with its output in one line."""
    found = next(test for test in content["tests"] if test["name"] == name)
    return found | {"output": " ".join(found["output"].split())}


@pytest.mark.slow
@linux
def test_honest_students_get_all_points(graded, student, tmp_path):
    """Of both formats, from below other folders, and with predictions that were made with other numbers of threads."""
    other = tmp_path / "threads"
    subprocess.run([sys.executable, str(HONEST), str(other), "4"], check=True)
    threaded = {path.relative_to(other).as_posix(): path.read_bytes() for path in other.rglob("*.*") if path.is_file()}
    del threaded["answers.json"]
    new, old = student["HANDS_IN"](), student["HANDS_IN"](old=True)
    nested = {f"My work/final/{name}": content for name, content in old.items()}
    alone = {name: content for name, content in new.items() if not name.startswith("src/")}
    everybody = {"new": new, "old": old, "nested": nested, "threaded": threaded, "alone": alone}
    found = graded(everybody, student["ANSWERS"])
    assert {name: content["score"] for name, content in found.items()} == dict.fromkeys(found, 18)
    told = row(found["new"], "predictions_rope (hidden)")["output"]
    assert "120 of 120 predictions agree with the parameters" in told and "dev 61.7 %, test 61.7 %" in told
    assert found["new"]["leaderboard"] == [{"name": "predictions_rope", "value": 0.6167, "order": "desc"}]


@pytest.mark.slow
@linux
def test_code_is_not_run_for_it(graded, student):
    """Whatever src/ does, it has no say."""
    loud = "raise SystemExit('LEAK')"
    files = student["HANDS_IN"]() | {"src/run.py": loud.encode(), "src/model.py": loud.encode()}
    assert graded({"loud": files}, student["ANSWERS"])["loud"]["score"] == 18


@pytest.mark.slow
@linux
def test_a_few_differences_are_rounding_and_more_are_not(graded, student):
    """Of 60, three may differ, and one of them may have become a right answer; what counts is what was computed."""
    honest = student["HANDS_IN"]()
    lines, places = honest[DEV].decode().splitlines(), [place for _, place in student["WORLD"]["dev"]]
    one, two, three, four = [n for n in range(60) if lines[n] != places[n]][:4]
    changed = {
        "three": {one: places[one], two: "Nowhere", three: "Nowhere"},
        "gained": {one: places[one], two: places[two]},
        "four": dict.fromkeys((one, two, three, four), "Nowhere"),
    }
    submissions = {
        name: honest | {DEV: "\n".join(new.get(n, line) for n, line in enumerate(lines)).encode()}
        for name, new in changed.items()
    }
    found = graded(submissions, student["ANSWERS"])
    told = {name: row(found[name], "predictions_vanilla (hidden)") for name in changed}
    assert told["three"]["score"] == 8 and "117 of 120 predictions agree" in told["three"]["output"]
    assert "dev 55.0 %" in told["three"]["output"]  # and not 56.7 %, which the file would make it
    for name, count in (("gained", 2), ("four", 4)):
        assert told[name]["score"] == 0
        assert f"{count} of 60 dev predictions differ from what your parameters give" in told[name]["output"]
        assert "Handed in: '" in told[name]["output"] and "computed: '" in told[name]["output"]
        assert row(found[name], "predictions_vanilla (public)")["score"] == 2


@pytest.mark.slow
@linux
def test_of_the_test_questions_nothing_is_shown(graded, student):
    honest = student["HANDS_IN"]()
    name = "rope.pretrain.test.predictions"
    found = graded({"other": honest | {name: b"Rome\n" * 60}}, student["ANSWERS"])["other"]
    output = row(found, "predictions_rope (hidden)")["output"]
    assert "test predictions differ from what your parameters give" in output and "Where was" not in output
    assert "leaderboard" not in found  # not with an accuracy that nobody has computed


@pytest.mark.slow
@linux
def test_accuracy_below_the_threshold_is_told(graded, student):
    found = graded({"weak": student["HANDS_IN"](share=0.05)}, student["ANSWERS"])["weak"]
    output = row(found, "predictions_vanilla (hidden)")["output"]
    assert "15.0 % asked for" in output and "predictions agree with the parameters" in output
    assert row(found, "predictions_vanilla (hidden)")["score"] == 0


@pytest.mark.slow
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


@pytest.mark.slow
@linux
def test_a_grader_elsewhere_has_the_answers_too(root, trained, answers):
    """As on a cluster: all that it needs travels with the first submission."""
    folders = (root / "tests/public", root / "tests/hidden")
    bundle = packed(folders, read_course("cs224n"), answers)
    assert not {ANSWERS} & set(packed(folders, read_course("cs224n"), answers.parent / "none.json"))
    server = Server(bundle, asdict(Limits()), weak_allowed=False)
    try:
        assert not (server.bundle / ANSWERS).stat().st_mode & 0o077
        outcomes = server.examine(trained.files)["outcomes"]
    finally:
        server.close()
    found = [(one["exercise"], one["verdict"]) for one in outcomes if one["exercise"] in ASKING]
    assert len(found) == 13 and {verdict for _, verdict in found} == {"passed"}


@pytest.mark.slow
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


def test_the_small_student_is_the_same_each_time(student):
    again = runpy.run_path(str(HONEST))
    assert again["HANDS_IN"]() == student["HANDS_IN"]() != student["HANDS_IN"](1)
    assert again["OWN"]() == student["OWN"]()
