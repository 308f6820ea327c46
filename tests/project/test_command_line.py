"""python -m autograder: wrong usage gets one line and exit code 2."""

from __future__ import annotations

import pytest

from autograder.__main__ import main


@pytest.mark.parametrize("command", [["release"], ["references"], ["verify"]])
def test_not_a_repository_is_one_line(tmp_path, capsys, command):
    assert main(["--root", str(tmp_path), *command]) == 2
    errors = capsys.readouterr().err
    assert errors.startswith("autograder: ") and errors.count("\n") == 1


def test_unknown_command(capsys):
    with pytest.raises(SystemExit) as error:
        main(["grate"])
    assert error.value.code == 2


def test_interruption_is_said(monkeypatch, capsys, root):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("autograder.publishing.release.read_plan", interrupt)
    assert main(["--root", str(root), "release"]) == 130
    assert "nothing is left half-written" in capsys.readouterr().err
