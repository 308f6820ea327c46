"""The student's check: one command, instant feedback, honest exit codes."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys

import pytest

from autograder.check import _coloured, main
from autograder.mutants import lay_out


def check(folder, *arguments, **environment):
    return subprocess.run(
        [sys.executable, "check.py", *arguments],
        cwd=folder, capture_output=True, text=True, check=False, env=os.environ | environment,
    )  # fmt: skip


@pytest.fixture
def student(repository):
    return repository / "student"


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
    assert "split_heads: right shape (1, 2, 2, 2), wrong values" in shown
    assert "Your heads hold whole tokens: split the last axis first, then swap tokens and heads." in " ".join(
        shown.split()
    )
    assert max(map(len, shown.splitlines())) <= 80
    assert "→ src/attention.py, handout 2.3" in shown


def test_predictions_are_checked_against_the_data_that_students_have(root, trained, tmp_path, capsys):
    """Presence, form and dev accuracy, without anything that is held out."""
    world = json.loads(trained.answers)
    dev = "".join(f"{question}\t{place}\n" for question, place in world["dev"]).encode()
    data = {"data/birth_dev.tsv": dev, "data/birth_test_inputs.tsv": b"".join(b"Where?\n" for _ in world["test"])}
    lay_out(tmp_path, {**trained.files, **data, "vanilla.model.params": b"none"})
    shutil.copytree(root / "tests/public", tmp_path / "tests/public")
    assert main(["london_baseline", "predictions_vanilla", "predictions_rope"], tmp_path) == 0
    assert "2 of 2 checks (dev 56.7 %, 15.0 % asked for)" in capsys.readouterr().out
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
    (student / "autograder/check.py").write_text("import nothing_of_that_name\n")
    run = check(student)
    assert run.returncode == 1
    assert run.stderr == (
        "check.py: the package 'nothing_of_that_name' is missing; run: python -m pip install -r requirements.txt\n"
    )


def test_damaged_reference_is_one_line(student, capsys):
    (student / "tests/public/references/split_heads.safetensors").write_bytes(b"x")
    assert main([], student) == 2
    assert "is not a reference file" in capsys.readouterr().err


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
