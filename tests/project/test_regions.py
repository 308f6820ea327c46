"""Solution regions: strict markers, stubs, replacements."""

from __future__ import annotations

import pytest

from autograder.errors import UserError
from autograder.publishing import regions

GOOD = """def f(x):
    # TODO(f): say it.
    # BEGIN SOLUTION f
    return x + 1
    # END SOLUTION f
"""


def test_stub_raises_and_names_the_exercise():
    assert regions.stubbed(GOOD, "a.py") == (
        'def f(x):\n    # TODO(f): say it.\n    raise NotImplementedError("f is not started yet")\n'
    )


def test_stub_part_replaces_the_solution():
    text = "# BEGIN SOLUTION a\na = 1\n# STUB\n# a = None\n# END SOLUTION a\n"
    assert regions.stubbed(text, "a.py") == "a = None\n"


def test_stub_part_keeps_indentation():
    text = "if x:\n    # BEGIN SOLUTION a\n    a = 1\n    # STUB\n    # a = None\n    # END SOLUTION a\n"
    assert regions.stubbed(text, "a.py") == "if x:\n    a = None\n"


def test_markdown_regions_vanish():
    text = "Question\n<!-- BEGIN SOLUTION q -->\nAnswer\n<!-- END SOLUTION q -->\nMore\n"
    assert regions.stubbed(text, "a.md") == "Question\nMore\n"


def test_replacement_moves_to_the_regions_indentation():
    assert "    y = 2\n    return y\n" in regions.replaced(GOOD, "a.py", {"f": lambda _: ["y = 2", "return y"]})


def test_replacement_of_an_unknown_region_is_an_error():
    with pytest.raises(UserError, match=r"a\.py: no solution region is called 'g'"):
        regions.replaced(GOOD, "a.py", {"g": list})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# BEGIN SOLUTION a\n# BEGIN SOLUTION b\n", r"x\.py:2: 'b' begins inside 'a' \(line 1\)"),
        ("a\n# BEGIN SOLUTION a\nb\n", r"x\.py:2: 'a' is never closed"),
        ("# END SOLUTION a\n", r"x\.py:1: 'a' ends but never began"),
        ("# BEGIN SOLUTION a\n# END SOLUTION b\n", r"x\.py:2: 'b' ends, but 'a' \(line 1\) is open"),
        ("# BEGIN SOLUTION a\n# END SOLUTION a\n# BEGIN SOLUTION a\n", r"x\.py:3: 'a' already has a region at line 1"),
        ("# begin solution a\n", r"x\.py:1: malformed marker"),
        ("#BEGIN SOLUTION a\n", r"x\.py:1: malformed marker"),
        ("# BEGIN SOLUTION\n", r"x\.py:1: malformed marker"),
        ("# BEGIN SOLUTION A-b\n", r"x\.py:1: malformed marker"),
        ("x = 1  # END SOLUTION a\n", r"x\.py:1: malformed marker"),
        ("# STUB\n", r"x\.py:1: STUB belongs once inside"),
        ("# BEGIN SOLUTION a\n# STUB\n# STUB\n", r"x\.py:3: STUB belongs once inside"),
        ("# BEGIN SOLUTION a\n# STUB\na = 1\n# END SOLUTION a\n", r"x\.py:3: after STUB, every line must be a comment"),
    ],
)
def test_doubtful_markers_are_errors_with_file_and_line(text, message):
    with pytest.raises(UserError, match=message):
        regions.parse(text, "x.py")
