"""Parameters of another architecture: the student's own code makes predictions again, and a person must look."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from autograder.checking.courses import read_course
from autograder.grading import own_code, reproduction
from autograder.grading.own_code import Part
from autograder.grading.summaries import Record
from autograder.judging import held_out
from autograder.judging.findings import CheckFailed
from autograder.judging.held_out import Question
from autograder.judging.submission import Submission
from autograder.running.loading import Loader
from autograder.running.perform import Performer, Reply

linux = pytest.mark.skipif(sys.platform != "linux", reason="isolation needs Linux")
TEST = "rope.pretrain.test.predictions"


def row(content, name):
    """A row of results, with its output in one line."""
    found = next(test for test in content["tests"] if test["name"] == name)
    return found | {"output": " ".join(found["output"].split())}


@pytest.mark.slow
@linux
def test_another_architecture_waits_for_a_person(graded, student):
    """What has no threshold earns its points; what has one, does when somebody has read the code."""
    own = {"new": student["OWN"](), "old": student["OWN"](old=True)}
    for content in graded(own, student["ANSWERS"]).values():
        assert row(content, "predictions_nopretrain (hidden)")["score"] == 2
        found = row(content, "predictions_rope (hidden)")
        assert found["score"] == 0 and "✓ your parameters" in found["output"]
        assert "the course staff decide about these points" in found["output"]
        assert "does not fit the model of the handout: it has no tok_emb.weight" in found["output"]
        notes = [note.text() for note in Record.of(content).notes]
        for slug in ("predictions_nopretrain", "predictions_vanilla", "predictions_rope"):
            said = f"{slug}: an architecture of its own (it has no tok_emb.weight): a person must look at src/"
            assert any(said in note for note in notes)
        assert "leaderboard" not in content


@pytest.mark.slow
@linux
def test_a_model_that_computes_otherwise_waits_for_a_person(graded, student):
    """Its tensors have the right names, so that the grader computes; what its own code makes may still be honest."""
    unscaled = student["MODEL"].replace(" / math.sqrt(q.size(-1))", "")
    honest = student["HANDS_IN"](model=unscaled)
    forged = honest | {TEST: b"Rome\n" * 60}
    found = graded({"honest": honest, "forged": forged}, student["ANSWERS"], rows=("predictions_rope",))
    said = row(found["honest"], "predictions_rope (hidden)")
    assert said["score"] == 0 and "the course staff decide about these points" in said["output"]
    assert "Does your model compute something else?" in said["output"]
    notes = [note.text() for note in Record.of(found["honest"]).notes]
    assert any("its own code computes otherwise than the model of the course" in note for note in notes)
    said = row(found["forged"], "predictions_rope (hidden)")
    assert said["score"] == 0 and "differ from what your parameters give" in said["output"]


@pytest.mark.slow
@linux
def test_nothing_that_the_code_wrote_is_shown(graded, student):
    """Neither a line, nor how many lines, nor how many of them differ."""
    other = student["OWN"]() | {TEST: b"Rome\n" * 60}
    spoilt = {
        "differs": (other, f"your own src/run.py does not make {TEST} again"),
        "short": (
            student["OWN"]() | {"src/run.py": b"import sys\nopen(sys.argv[-1], 'w').write('LEAK\\n' * 7)"},
            "your src/run.py does not write one line for each question of test",
        ),
    }
    found = graded({name: files for name, (files, _) in spoilt.items()}, student["ANSWERS"], rows=("predictions_rope",))
    for name, (_, words) in spoilt.items():
        output = row(found[name], "predictions_rope (hidden)")["output"]
        assert words in output and found[name]["score"] == 1
        assert not any(shown in output for shown in ("LEAK", "Where was", " 7 ", "of 60"))


RAISES = {
    "raises": ("raise ValueError('LEAK')", "your code raised an exception"),
    "argparse": ("import argparse\nargparse.ArgumentParser().parse_args()", "your code raised an exception"),
    "silent": ("x = 1", "your code raised an exception"),
    "loops": ("while True: pass", "your code did not finish in time"),
    "crash": ("import os\nos._exit(0)", "your code ended the Python process"),
    "modules": ("import torch, os\nimport nowhere\nfrom nothing.x import y", "2 modules are missing"),
    "pretends": ("raise ModuleNotFoundError('LEAK')", "your code raised an exception"),
}


@pytest.mark.slow
@linux
def test_code_that_does_not_predict_is_told_so(graded, student):
    honest = student["OWN"]()
    missing = {name: content for name, content in honest.items() if name != "src/run.py"}
    large = honest | {"src/table.py": b"#" * (2 << 20)}
    cases = {name: honest | {"src/run.py": code.encode()} for name, (code, _) in RAISES.items()}
    cases |= {"missing": missing, "large": large}
    found = graded(cases, student["ANSWERS"], deadline=6, rows=("predictions_vanilla",))
    words = {name: words for name, (_, words) in RAISES.items()}
    words |= {"missing": "src/run.py is not in your submission", "large": "src/ holds more than 1 MiB of code"}
    for name, expected in words.items():
        test = row(found[name], "predictions_vanilla (hidden)")
        assert expected in test["output"] and test["score"] == 0, (name, test["output"])
        assert "LEAK" not in test["output"]
        each = [f"missing: {module}, which src/run.py imports" in test["output"] for module in ("nowhere", "nothing")]
        assert each == [name == "modules"] * 2 and "missing: torch" not in test["output"]
        assert found[name]["score"] == 2 and not found[name]["extra_data"]["could_not_grade"]


@pytest.fixture
def here(tmp_path, student):
    """Run the check in this process, as the gate does; returns what was noted, and the scripts that ran."""

    def run(files, world, monkeypatch):
        path = tmp_path / "answers.json"
        path.write_text(json.dumps(world))
        for name, content in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_bytes(content)
        real, tried = Performer.run, []
        monkeypatch.setattr(Performer, "run", lambda self, *script: tried.append(script[0]) or real(self, *script))
        submission = Submission(Performer(Loader(tmp_path, {})))
        reproduction.are_reproduced(submission, "predictions_rope", read_course("cs224n"), held_out.supplied(path))
        return submission._noted("hidden")[0], tried

    return run


@pytest.mark.slow
def test_all_lines_that_count_are_made_again_in_no_order_that_is_known(here, student, monkeypatch):
    """And nothing is left of it, in memory or on disk."""
    before = sys.path[:], sys.modules["__main__"], Path.cwd(), set(sys.modules)
    monkeypatch.setattr(own_code, "PART", 20)
    noted, tried = here(student["OWN"](), student["WORLD"], monkeypatch)
    assert "a person must look" in noted
    asked = [script.files["birth_test_inputs.tsv"].decode().splitlines() for script in tried]
    questions = [question for question, _ in student["WORLD"]["test"]]
    assert [len(lines) for lines in asked] == [20] * 4  # three parts, and one of them with other numbers
    assert {line for lines in asked for line in lines} == set(questions)
    assert [line for lines in asked for line in lines][:60] != questions
    params = {script.files["rope.finetune.params"] for script in tried}
    assert len(params) == 4 and student["OWN"]()["rope.finetune.params"] not in params
    assert before[:3] == (sys.path, sys.modules["__main__"], Path.cwd())
    assert not {"model", "tqdm"} & (set(sys.modules) - before[3])


@pytest.mark.slow
@pytest.mark.parametrize(("place", "runs"), [(None, 2), ("Nowhere", 1)])
def test_scrambled_parameters_are_tried_only_where_they_could_tell(here, student, monkeypatch, place, runs):
    """If everybody was born somewhere else than predicted, nothing right can come out of them."""
    world = {key: [[question, place or born] for question, born in student["WORLD"][key]] for key in ("dev", "test")}
    assert len(here(student["OWN"](), {**student["WORLD"], **world}, monkeypatch)[1]) == runs


@pytest.mark.parametrize(("right", "refused"), [(0, False), (5, False), (6, True), (40, True)])
def test_five_right_answers_are_too_few_to_tell(right, refused):
    questions = [Question(f"Where was {number} born?", "Rome") for number in range(40)]
    assert own_code.could_be_refused(Part("dev", questions, ["Rome"] * right + ["Oslo"] * (40 - right))) == refused


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
    places = ["London" if number < frequent else str(number) for number in range(right)]
    part = Part("dev", [Question(f"Where was {number}?", place) for number, place in enumerate(places)], places)
    again = Reply("".join(f"{place if number < still else 'x'}\n" for number, place in enumerate(places)))
    item = read_course("cs224n").items["predictions_vanilla"]
    if refused:
        with pytest.raises(CheckFailed, match="these answers do not come from the parameters") as failed:
            own_code.refuse_unlearnt(item, part, again)
        assert not any(digit in " ".join(failed.value.finding.evidence) for digit in "0123456789")
    else:
        own_code.refuse_unlearnt(item, part, again)


def test_parts_are_of_one_size_and_drawn_anew():
    questions = [Question(str(number), "x") for number in range(437)]
    one, other = (own_code.in_parts("test", questions, [q.text for q in questions]) for _ in range(2))
    assert sorted({len(part.lines) for part in one}) == [87, 88] and len(one) == 5
    assert one != other and all([question.text for question in part.questions] == part.lines for part in one)
