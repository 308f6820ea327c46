"""The student's check: one command, instant feedback, honest exit codes."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys

import pytest

from autograder.checking.courses import read_course
from autograder.checking.engine import Outcome
from autograder.checking.points import Row
from autograder.judging.findings import Finding
from autograder.proving.assembling import lay_out
from autograder.selfcheck.command import _coloured, main, note, state, told
from autograder.selfcheck.notebook import Shown


def check(folder, *arguments, **environment):
    return subprocess.run(
        [sys.executable, "check.py", *arguments],
        cwd=folder, capture_output=True, text=True, check=False, env=os.environ | environment,
    )  # fmt: skip


@pytest.fixture
def student(repository):
    return repository / "student"


@pytest.mark.slow
def test_fresh_release_is_not_started_and_says_what_is_next(student):
    run = check(student)
    assert run.returncode == 1 and run.stderr == ""
    assert "· query121                not started" in run.stdout
    assert "3 of 27 pass their public checks. Next: query121 (handout 1.2)." in run.stdout
    assert "\033" not in run.stdout and max(map(len, run.stdout.splitlines())) <= 110


def test_one_exercise_by_name(student, capsys):
    path = student / "src/attention.py"
    stub = 'raise NotImplementedError("attn_softmax is not started yet")'
    path.write_text(path.read_text().replace(stub, "return torch.softmax(A, dim=-1)"))
    assert main(["attn_softmax"], student) == 0
    assert "1 of 1 pass" in capsys.readouterr().out


def test_a_mistake_is_named_with_evidence(student, capsys):
    path = student / "src/attention.py"
    stub = 'raise NotImplementedError("split_heads is not started yet")'
    path.write_text(path.read_text().replace(stub, "return x.view(x.size(0), n_heads, x.size(1), -1)"))
    assert main(["split_heads"], student) == 1
    shown = capsys.readouterr().out
    assert "split_heads: right shape (2, 3, 5, 4), wrong values" in shown
    assert "Your heads hold whole tokens: split the last axis first, then swap tokens and heads." in " ".join(
        shown.split()
    )
    assert max(map(len, shown.splitlines())) <= 80
    assert "→ src/attention.py, handout 2.3" in shown


@pytest.mark.slow
def test_predictions_are_checked_against_the_data_that_students_have(root, trained, tmp_path, capsys):
    """Presence, form and dev accuracy, without anything that is held out."""
    world = json.loads(trained.answers)
    dev = "".join(f"{question}\t{place}\n" for question, place in world["dev"]).encode()
    data = {"data/birth_dev.tsv": dev, "data/birth_test_inputs.tsv": b"".join(b"Where?\n" for _ in world["test"])}
    lay_out(tmp_path, {**trained.files, **data, "vanilla.model.params": b"none"})
    shutil.copytree(root / "tests/public", tmp_path / "tests/public")
    assert main(["london_baseline", "predictions_vanilla", "predictions_rope"], tmp_path) == 0
    assert "2 of 2 checks (dev 55.0 %, 15.0 % asked for)" in capsys.readouterr().out
    assert main(["predictions_nopretrain"], tmp_path) == 1
    assert "vanilla.model.params is neither of torch.save nor of safetensors" in " ".join(
        capsys.readouterr().out.split()
    )
    (tmp_path / "data/birth_dev.tsv").unlink()
    assert main(["predictions_vanilla"], tmp_path) == 1
    shown = capsys.readouterr().out
    assert "data/birth_dev.tsv is missing; take it from the student release" in shown
    for path in tmp_path.glob("vanilla.pretrain.*"):
        path.unlink()
    (tmp_path / "vanilla.finetune.params").unlink()
    assert main(["predictions_vanilla"], tmp_path) == 1
    assert "· predictions_vanilla     not started" in capsys.readouterr().out


def test_unknown_exercise_suggests_the_nearest(student, capsys):
    assert main(["split_head"], student) == 2
    assert capsys.readouterr().err == "check.py: there is no exercise 'split_head'; did you mean split_heads?\n"
    assert main(["zzz"], student) == 2
    assert "python check.py --list shows them all" in capsys.readouterr().err


def test_list(student, capsys):
    assert main(["--list"], student) == 0
    assert "causal_self_attention    handout 3.3" in capsys.readouterr().out


def test_missing_package_is_one_line(student):
    (student / "autograder/selfcheck/command.py").write_text("import nothing_of_that_name\n")
    run = check(student)
    assert run.returncode == 1
    assert run.stderr == (
        "check.py: the package 'nothing_of_that_name' is missing; run: python -m pip install -r requirements.txt\n"
    )


def test_damaged_reference_is_one_line(student, capsys):
    (student / "tests/public/attention/references/split_heads.safetensors").write_bytes(b"x")
    assert main([], student) == 2
    assert "is not a reference file" in capsys.readouterr().err


def outcome(claim, headline="", *evidence, counts="core", worth=0, kind="values"):
    finding = Finding(kind, f"self_attention: {headline}", evidence) if headline else None
    verdict = "failed" if headline else "passed"
    return Outcome("self_attention", "public", "test_x", claim, verdict, finding, counts=counts, worth=worth)


def row(*outcomes):
    return Row(read_course("default").items["self_attention"], "public", outcomes)


def test_claims_say_what_they_are_worth_and_a_part_of_the_points_is_told():
    partly = row(outcome("values agree"), outcome("gradients flow", "gradients stop", counts="further", worth=1))
    assert partly.score == 1 and partly.points == 2
    assert note(partly) == "1 of 2 checks, 1 of 2 points"
    assert told(partly, ("src/attention.py",), 74) == [
        *("✓ values agree · core: 1 point", "✗ gradients flow · 1 point", "  self_attention: gradients stop"),
        "    → src/attention.py, handout 2.4",
    ]


def test_a_note_that_does_not_hold_fails_nothing_and_comes_last():
    aside = outcome("lists are taken", "raised for lists", "x = [1]", counts="note")
    noted = row(aside, outcome("values agree"))
    assert noted.verdict == "passed" and state(noted) == "passed" and note(noted) == "1 of 1 checks, 1 note"
    assert told(noted, ("src/attention.py",), 74) == [
        *("– note, no points: lists are taken", "  self_attention: raised for lists", "    x = [1]"),
        "    → src/attention.py, handout 2.4",
    ]
    both = told(row(aside, outcome("values agree", "wrong values")), ("src/attention.py",), 74)
    assert both[0] == "✗ values agree · core: 2 points" and "– note, no points: lists are taken" in both[1:]
    shown = repr(Shown("q2_4_1", noted))
    assert "✓ values agree" in shown and "✓ lists" not in shown and "– note, no points: lists are taken" in shown


def test_one_exception_in_many_exercises_is_told_once(student, capsys):
    path = student / "src/attention.py"
    text = path.read_text()
    for name in ("split_heads", "self_attention"):
        stub = f'raise NotImplementedError("{name} is not started yet")'
        body = "return x.view(x, n_head)" if name == "split_heads" else "return split_heads(Q, n_heads)"
        text = text.replace(stub, body)
    path.write_text(text)
    assert main(["split_heads", "self_attention"], student) == 1
    shown = capsys.readouterr().out
    report, _, advice = shown.partition("Fix first:")
    assert report.count("NameError: name 'n_head' is not defined") == 1 and "'n_head'" in advice
    assert shown.count("told at split_heads; look here again when that is right") == 1
    assert max(map(len, shown.splitlines())) <= 80


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_colour_is_for_terminals_only_and_no_color_is_respected(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr("sys.stdout", io.StringIO())
    assert _coloured("wrong", "failed") == "wrong"
    monkeypatch.setattr("sys.stdout", Terminal())
    assert _coloured("wrong", "failed") == "\033[31mwrong\033[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert _coloured("wrong", "failed") == "wrong"
    monkeypatch.setenv("NO_COLOR", "")  # empty is as good as unset
    assert _coloured("wrong", "failed") != "wrong"


def test_nothing_is_wider_than_the_terminal(student, capsys, monkeypatch):
    path = student / "src/attention.py"
    stub = 'raise NotImplementedError("split_heads is not started yet")'
    path.write_text(path.read_text().replace(stub, "return x.view(x.size(0), n_heads, x.size(1), -1)"))
    monkeypatch.setenv("COLUMNS", "60")
    assert main(["split_heads"], student) == 1
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 60
