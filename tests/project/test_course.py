"""Course files: totals that add up, and errors that name the key and the line."""

from __future__ import annotations

import pytest

from autograder.checking.courses import available, read_course
from autograder.errors import UserError

GOOD = """title = "T"

[totals]
required = 7
extra_credit = 1

[tolerance]
values = 1e-5

[[section]]
title = "One"
files = ["src/a.py"]
exercises = [
    { slug = "f", handout = "1", public = 1, hidden = 2 },
    { slug = "g", handout = "1", by = "person", points = 4 },
    { slug = "h", handout = "1", public = 1, extra_credit = true },
    { slug = "i", handout = "1", given = true },
]
"""


def test_only_courses_with_predictions_ask_for_answers():
    assert {name for name in available() if read_course(name).asks} == {"cs224n", "default"}
    course = read_course("cs224n")
    assert course.retries == 40  # notebooks are not given the time of a model
    rope = course.items["predictions_rope"]
    assert (rope.runs("public"), rope.runs("hidden"), course.items["span_corruption"].runs("public")) == (
        False,
        True,
        True,
    )
    assert not course.items["london_baseline"].runs("public")


def read(tmp_path, text):
    path = tmp_path / "c.toml"
    path.write_text(text)
    return read_course(str(path))


@pytest.mark.parametrize(("name", "required", "extra"), [("uw447", 100, 5), ("uw517", 110, 0), ("cs224n", 60, 0)])
def test_course_totals(name, required, extra):
    course = read_course(name)
    assert (course.required, course.extra_credit) == (required, extra)


def test_every_course_reads_and_default_has_every_exercise():
    everything = set(read_course("default").items)
    for name in available():
        assert {item.slug for item in read_course(name).graded} <= everything


def test_autograded_points_leave_out_people_and_what_is_to_come(tmp_path):
    course = read(tmp_path, GOOD)
    assert [(item.slug, item.points) for item in course.graded] == [("f", 3), ("h", 1), ("i", 0)]
    assert course.items["g"].points == 4


def test_unknown_course_lists_the_known():
    with pytest.raises(UserError, match=r"no course 'mit'; there are cs224n, default, uw447, uw517"):
        read_course("mit")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("required = 7", "required = 8", r"c\.toml:4: 'required' is 8, but the exercises add up to 7"),
        ("extra_credit = 1", "extra_credit = 0", r"c\.toml:5: 'extra_credit' is 0, but the exercises add up to 1"),
        ("public = 1, hidden = 2", "public = 1.5, hidden = 2", r"c\.toml:14: 'public' of 'f' must be a whole number"),
        ("hidden = 2", "hiden = 2", r"c\.toml:14: 'hiden' of 'f' is not known here"),
        ("hidden = 2", "hidden = -2", r"c\.toml:14: 'hidden' of 'f' must not be negative"),
        ("hidden = 2 }", "hidden = true }", r"c\.toml:14: 'hidden' of 'f' must be a whole number"),
        ('by = "person"', 'by = "robot"', r"c\.toml:15: 'by' of 'g' is 'robot', must be one of grader, person, coming"),
        ("points = 4", "points = 4, public = 1", r"c\.toml:15: 'by' of 'g' what the grader does not grade"),
        ("public = 1, extra", "points = 1, extra", r"c\.toml:16: 'points' of 'h' is for what a person grades"),
        ("given = true", "given = true, public = 1", r"c\.toml:17: 'given' of 'i' given code carries no points"),
        ('slug = "g"', 'slug = "f"', r"c\.toml:15: 'slug' 'f' is listed twice"),
        ('handout = "1", given', "given", r"c\.toml:17: 'handout' of 'i' is missing"),
        ('title = "T"', "title = 3", r"c\.toml:1: 'title' must be text, is 3"),
        ("[tolerance]", "[predictions]\nsample = 40\n[tolerance]", r"c\.toml:7: 'predictions' is not known here"),
        ("hidden = 2 }", "hidden = 2, threshold = 15.0 }", r"c\.toml:14: 'threshold' of 'f' must lie between 0 and 1"),
        ('slug = "f"', 'slug = "predictions_rope"', r"must name one file that ends in \.params"),
        ("values = 1e-5", "values = 2.0", r"c\.toml:8: 'values' must lie between 0 and 1"),
        ("values = 1e-5", "value = 1e-5", r"c\.toml:8: 'value' is not known here; known are values, rope"),
        ('files = ["src/a.py"]\n', "", r"c\.toml:13: 'files' of 'f' is missing: where may students put it"),
        ('files = ["src/a.py"]', "files = 3", r"c\.toml:\d+: 'files' of 'f' must be a list of file names"),
        ("hidden = 2 }", "hidden = 2, deadline = 0 }", r"c\.toml:14: 'deadline' of 'f' must be a positive"),
        ("[tolerance]", "[gradescope]\nminutes = 41\n[tolerance]", r"c\.toml:8: 'minutes' must lie between 1 and 40"),
        ("[tolerance]", "[gradescope]\nminutes = 1.5\n[tolerance]", r"c\.toml:8: 'minutes' must be a whole number"),
        ("[tolerance]", "[gradescope]\ndaily_limit = 0\n[tolerance]", r"c\.toml:8: 'daily_limit' must be at least 1"),
        ("[tolerance]", "[gradescope]\nlimit = 3\n[tolerance]", r"c\.toml:8: 'limit' is not known here"),
        (
            "[tolerance]",
            '[gradescope]\nvisibility = "no"\n[tolerance]',
            r"'visibility' .*is 'no', must be one of visible",
        ),
        (
            "[tolerance]",
            '[gradescope]\nleaderboard = ["speed"]\n[tolerance]',
            r"c\.toml:8: 'leaderboard' names 'speed', which is no exercise",
        ),
        ("[totals]", "gradescope = 3\n[totals]", r"c\.toml:3: 'gradescope' must be a dict, is 3"),
        ("hidden = 2 }", 'hidden = 2, visibility = "no" }', r"c\.toml:14: 'visibility' of 'f' is 'no', must be one"),
        (
            "exercises = [",
            'run = "cell"\nexercises = [',
            r"c\.toml:11: 'run' of 'One' is 'cell', must be one of defini",
        ),
        ("hidden = 2 }", 'hidden = 2, run = "cells" }', r"c\.toml:14: 'run' of 'f' is not known here"),
        ("[totals]", "[totals", r"c\.toml: .*line 3"),
        ("[[section]]", "[[sections]]", r"c\.toml:10: 'sections' is not known here"),
    ],
)
def test_wrong_course_names_key_and_line(tmp_path, old, new, message):
    assert old in GOOD
    with pytest.raises(UserError, match=message) as error:
        read(tmp_path, GOOD.replace(old, new, 1))
    assert "\n" not in str(error.value)


def test_a_course_says_which_notebooks_are_run_whole(tmp_path):
    assert read_course("default").by_cells == ("A2S1.ipynb", "A2S1.py")
    assert read(tmp_path, GOOD).by_cells == ()
    both = (
        GOOD.replace("required = 7", "required = 8")
        + """
[[section]]
title = "Two"
run = "cells"
files = ["B.ipynb", "src/a.py"]
exercises = [{ slug = "k", handout = "2", public = 1 }]
"""
    )
    with pytest.raises(UserError, match=r"'run' of 'One' is 'cells' for src/a\.py elsewhere, and 'definitions' here"):
        read(tmp_path, both)
    assert read(tmp_path, both.replace(', "src/a.py"', "")).by_cells == ("B.ipynb",)


def test_course_that_is_not_text(tmp_path):
    path = tmp_path / "c.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match="not UTF-8 text"):
        read_course(str(path))


def test_gradescope_has_its_usual_values_unless_told(tmp_path):
    course = read(tmp_path, GOOD)
    assert (course.gradescope.minutes, course.gradescope.daily_limit) == (10, None)
    told = '[gradescope]\nminutes = 20\ndaily_limit = 3\nvisibility = "hidden"\n[tolerance]'
    text = GOOD.replace("[tolerance]", told).replace("hidden = 2 }", 'hidden = 2, visibility = "visible" }')
    course = read(tmp_path, text)
    assert (course.gradescope.minutes, course.gradescope.daily_limit) == (20, 3)
    assert [item.visibility for item in course.graded] == ["visible", "hidden", "hidden"]
