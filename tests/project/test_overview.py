"""`python -m autograder list`: parts, exercises, points and courses as a table."""

from __future__ import annotations

from autograder.__main__ import main
from autograder.checking.courses import available, read_course
from autograder.publishing.overview import WIDTH, overview


def test_the_list_shows_parts_exercises_points_and_courses(root, capsys):
    assert main(["--root", str(root), "list"]) == 0
    shown = capsys.readouterr().out
    lines = shown.splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert lines[0].split() == ["cs224n", "default", "uw447", "uw517"]
    groups = ["queries", "attention", "pretraining", "in no part"]
    assert [line for line in lines if line in groups] == groups
    rows = {line.split()[0]: line.split()[1:] for line in lines if line.startswith("  ") and line.split()}
    assert rows["self_attention"] == ["-", "2+8", "1+3", "1+3"]
    assert rows["key141"] == ["-", "3+0", "2+0*", "4+0"]
    assert rows["written143"] == ["-", "-", "person", "1*", "person", "2"]
    assert rows["sentiment"] == ["-", "-", "coming", "40", "coming", "40"]
    assert rows["name_dataset"] == ["given", "given", "-", "-"]
    (total,) = (line.split() for line in lines if line.startswith("total"))
    assert total == ["total", "60", "120", "100", "+", "5*", "110"]
    assert "  still coming" in shown and "*: extra credit" in lines[-1]


def test_a_list_of_many_courses_stands_in_several_tables():
    courses = [read_course(name) for name in available()]
    shown = overview(courses * 4)
    assert max(map(len, shown.splitlines())) <= WIDTH
    heads = [line.split() for line in shown.splitlines() if line.split() and line.split()[0] in available()]
    assert len(heads) > 1 and sum(map(len, heads)) == 16
