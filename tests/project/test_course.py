"""Course files: totals that add up, and errors that name the key and the line."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autograder.checking import courses
from autograder.checking.courses import available, read_course
from autograder.checking.engine import collect
from autograder.classroom.server import packed
from autograder.errors import UserError
from autograder.files import write_files, zipped
from autograder.grading.grade import Setting, _Run
from autograder.isolation.layers import WEAK
from autograder.proving import rehearsal
from autograder.publishing import bundle
from autograder.workers.remote import Limits

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


PART = """[[section]]
title = "One"
files = ["src/a.py"]
run = "cells"
exercises = [
    { slug = "f", handout = "1.1", public = 1, hidden = 2, notes = ["shape"] },
    { slug = "g", handout = "1.2", public = 1, deadline = 60 },
]

[[section]]
title = "Two"
files = ["src/b.py"]
visibility = "hidden"
exercises = [
    { slug = "h", handout = "1.3", hidden = 3 },
]
"""
WHOLE = """title = "T"
use = ["p"]

[totals]
required = 7
extra_credit = 0
"""
CHOSEN = """title = "T"

[totals]
required = 9
extra_credit = 2

[[section]]
use = "p"
deadline = 30
exercises = [
    { slug = "h", handout = "9", visibility = "visible", threshold = 0.5 },
    { slug = "f", hidden = 3, files = ["src/c.py"], carried_forward = 50 },
    { slug = "essay", handout = "2", by = "person", points = 2 },
    { slug = "g", hidden = 1, extra_credit = true },
]
"""


def read_with(tmp_path, course, part=PART):
    (tmp_path / "parts").mkdir(exist_ok=True)
    (tmp_path / "parts/p.toml").write_text(part)
    return read(tmp_path, course)


def test_a_part_that_is_used_whole_is_as_if_it_were_written_out(tmp_path):
    used, written = read_with(tmp_path, WHOLE), read(tmp_path, WHOLE.replace('use = ["p"]\n', "") + PART)
    assert [*used.items] == [*written.items] == ["f", "g", "h"]
    assert {slug: replace(item, part="") for slug, item in used.items.items()} == written.items
    assert replace(used, items=written.items, parts={}) == written
    assert {item.part for item in used.items.values()} == {"p"} and used.parts == {"p": tmp_path / "parts/p.toml"}
    assert [*used.files_read] == ["c.toml", "parts/p.toml"] and [*written.files_read] == ["c.toml"]


def test_a_course_chooses_exercises_of_a_part_and_says_what_is_different(tmp_path):
    h, f, essay, g = read_with(tmp_path, CHOSEN).items.values()
    assert [item.slug for item in (h, f, essay, g)] == ["h", "f", "essay", "g"]
    assert {item.section for item in (h, f, essay, g)} == {"One"} and {item.part for item in (f, essay)} == {"p"}
    assert (h.handout, h.visibility, h.threshold, h.files, h.run) == ("9", "visible", 0.5, ("src/b.py",), "definitions")
    assert (f.points, f.files, f.carried_forward, [*f.claims], f.run) == (4, ("src/c.py",), 50, ["shape"], "cells")
    assert (f.deadline, g.deadline) == (30, 60)  # a section's holds for those that say nothing themselves
    assert (g.public, g.hidden, g.extra_credit, essay.by) == (1, 1, True, "person")


def test_a_course_changes_exercises_of_a_part_that_it_uses_whole(tmp_path):
    text = WHOLE.replace("= 7", "= 9") + '\n[change]\ng = { hidden = 2, notes = ["dtype"] }\nh = { handout = "4" }\n'
    course = read_with(tmp_path, text)
    assert (course.items["g"].points, [*course.items["g"].claims], course.items["h"].handout) == (3, ["dtype"], "4")
    section = '\n[[section]]\nuse = "p"\ntitle = "All"\ndeadline = 5\n'
    course = read_with(tmp_path, WHOLE.replace('use = ["p"]\n', "") + section)
    assert [(item.section, item.deadline) for item in course.items.values()] == [("All", 5), ("All", 60), ("All", 5)]


def test_a_file_is_run_one_way_in_parts_and_sections(tmp_path):
    text = WHOLE.replace("= 7", "= 8") + '\n[[section]]\ntitle = "3"\nfiles = ["src/a.py"]\nexercises = [{ slug = "k", '
    with pytest.raises(UserError, match=r"c\.toml:\d+: 'run' of '3' is 'cells' for src/a\.py elsewhere"):
        read_with(tmp_path, text + 'handout = "3", public = 1 }]\n')


@pytest.mark.parametrize(
    ("course", "part", "message"),
    [
        (WHOLE.replace("= 7", "= 8"), PART, r"c\.toml:5: 'required' is 8, but the exercises add up to 7"),
        (WHOLE.replace('"p"', '"q"'), PART, r"c\.toml:2: 'use' names 'q', but the parts are attention, p, pretraining"),
        (WHOLE.replace('["p"]', "3"), PART, r"c\.toml:2: 'use' must be a list of parts"),
        (WHOLE.replace('["p"]', '["p", "p"]'), PART, r"c\.toml:2: 'use' names 'p' twice"),
        (f'{WHOLE}[[section]]\nuse = "p"\n', PART, r"c\.toml:\d: 'slug' 'f' is listed twice"),
        (WHOLE.replace('use = ["p"]\n', ""), PART, r"c\.toml:1: 'section' is missing"),
        (CHOSEN.replace('use = "p"', 'use = "q"'), PART, r"c\.toml:8: 'use' of 'q' names 'q', but the parts are"),
        (
            CHOSEN.replace('"h"', '"hh"'),
            PART,
            r"c\.toml:11: 'slug' 'hh' is no exercise of the part 'p', which has f, g",
        ),
        (CHOSEN.replace("deadline = 30", "deadline = 0"), PART, r"c\.toml:11: 'deadline' of 'h' must be a positive"),
        (CHOSEN.replace("hidden = 3", "hidden = -3"), PART, r"c\.toml:12: 'hidden' of 'f' must not be negative"),
        (
            CHOSEN.replace("hidden = 3", "given = true"),
            PART,
            r"c\.toml:12: 'given' of 'f' given code carries no points",
        ),
        (f"{WHOLE}[change]\nk = {{ hidden = 1 }}\n", PART, r"c\.toml:7: 'change' names 'k', which is no exercise of a"),
        (
            f"{CHOSEN}[change]\nf = {{ hidden = 1 }}\n",
            PART,
            r"c\.toml:\d+: 'change' names 'f', which is no exercise of",
        ),
        (f"{WHOLE}[change]\nf = 3\n", PART, r"c\.toml:8: 'change' of 'f' must say what changes: f = { hidden = 2 }"),
        (f"{WHOLE}[change]\nf = {{ hiden = 1 }}\n", PART, r"c\.toml:8: 'hiden' of 'f' is not known here"),
        (f"{WHOLE}[change.f]\nhidden = -1\n", PART, r"c\.toml:\d: 'hidden' of 'f' must not be negative"),
        (WHOLE, PART.replace("hidden = 2", "hiden = 2"), r"parts/p\.toml:6: 'hiden' of 'f' is not known here"),
        (WHOLE, PART.replace("hidden = 2", "hidden = 0.5"), r"parts/p\.toml:6: 'hidden' of 'f' must be a whole number"),
        (CHOSEN, PART.replace("deadline = 60", "deadline = 0"), r"parts/p\.toml:7: 'deadline' of 'g' must be a posit"),
        (WHOLE, PART.replace('handout = "1.2", ', ""), r"parts/p\.toml:7: 'handout' of 'g' is missing"),
        (CHOSEN, PART.replace('handout = "1.2", ', ""), r"parts/p\.toml:7: 'handout' of 'g' is missing"),
        (WHOLE, PART.replace('files = ["src/b.py"]\n', ""), r"parts/p\.toml:14: 'files' of 'h' is missing: where may"),
        (WHOLE, PART.replace('"hidden"', '"no"'), r"parts/p\.toml:\d+: 'visibility' of 'h' is 'no', must be one of"),
        (WHOLE, PART.replace('"cells"', '"cell"'), r"parts/p\.toml:2: 'run' of 'One' is 'cell', must be one of"),
        (WHOLE, PART.replace('"h"', '"f"'), r"parts/p\.toml:15: 'slug' 'f' is listed twice"),
        (WHOLE, f"title = 3\n{PART}", r"parts/p\.toml:1: 'title' is not known here; known are section"),
        (WHOLE, "", r"parts/p\.toml:1: 'section' is missing"),
        (WHOLE, "section = []\n", r"parts/p\.toml:1: 'section' must list the exercises of the part"),
        (WHOLE, PART.replace("[[section]]", "[[section]"), r"parts/p\.toml: .*line 1"),
        (WHOLE, PART.replace('title = "One"', 'use = "attention"'), r"parts/p\.toml:2: 'use' is not known here"),
        (WHOLE, PART.replace('title = "One"\n', ""), r"parts/p\.toml:\d+: 'title' is missing"),
        (
            WHOLE,
            PART.replace('{ slug = "h", handout = "1.3", hidden = 3 }', "3"),
            r"p\.toml:\d+: 'exercises' of 'Two' m",
        ),
    ],
)
def test_what_is_wrong_is_said_of_the_file_that_says_it(tmp_path, course, part, message):
    with pytest.raises(UserError, match=message) as error:
        read_with(tmp_path, course, part)
    assert "\n" not in str(error.value)


def test_a_claim_that_there_is_not_is_said_of_the_file_that_names_it(tmp_path, root):
    folders = [root / "tests/public", root / "tests/hidden"]
    part = PART.replace('"f"', '"split_heads"').replace('"g"', '"attn_scaled"').replace('"h"', '"merge_heads"')
    changes = '\n[change]\nsplit_heads = { notes = ["nothing"] }\nmerge_heads = { hidden = 3 }\n'
    cases = {
        r"parts/p\.toml: 'split_heads' has no claim 'shape'": read_with(tmp_path, WHOLE, part),
        r"c\.toml: 'split_heads' has no claim 'nothing'": read_with(tmp_path, WHOLE + changes, part),
    }
    short = part.replace(', notes = ["shape"]', "").replace("hidden = 3", "hidden = 1")
    cases[r"parts/p\.toml: the further claims of 'merge_heads' take 1 of its 1 hidden points"] = read_with(
        tmp_path, WHOLE.replace("= 7", "= 5"), short
    )
    cases[r"c\.toml: the further claims of 'split_heads' take 1 of its 1 hidden points"] = read_with(
        tmp_path, WHOLE.replace("= 7", "= 6") + "\n[change]\nsplit_heads = { hidden = 1 }\n",
        short.replace("hidden = 1", "hidden = 3"),
    )  # fmt: skip
    for message, course in cases.items():
        with pytest.raises(UserError, match=message):
            collect(folders, lambda examiner, course=course: examiner.fits(course))


def test_the_points_of_uw_are_those_of_the_original():
    """CONTRACTS 9: 1.2 10, 1.3 10, 1.4 5 extra or 10, 2.1 20, 2.2 20, 3 40."""
    for name, keys, extra in (("uw447", 5, True), ("uw517", 10, False)):
        course = read_course(name)
        by_chapter: dict[str, int] = {}
        for item in course.items.values():
            chapter = item.handout if item.part == "queries" else item.part or item.slug
            by_chapter[chapter] = by_chapter.get(chapter, 0) + item.points
        assert by_chapter == {
            **{"1.2": 10, "1.3": 10, "1.4": keys, "attention": 20},
            **{"written_experiments": 20, "sentiment": 40},
        }
        assert {item.handout for item in course.items.values() if item.extra_credit} == ({"1.4"} if extra else set())
        assert {item.slug: item.by for item in course.items.values() if item.by != "grader"} == {
            **dict.fromkeys(("written123", "written133", "written143", "written_experiments"), "person"),
            "sentiment": "coming",
        }


def test_a_tree_with_one_course_uses_it_and_the_repository_the_usual_one(tmp_path, monkeypatch):
    assert courses.course_of_this_tree().name == "default"
    monkeypatch.setattr(courses, "FOLDER", tmp_path)
    monkeypatch.setattr(courses.available, "__defaults__", (tmp_path,))
    with pytest.raises(UserError, match=r"must hold one course file, and holds 0"):
        courses.course_of_this_tree()
    (tmp_path / "mine.toml").write_text(GOOD)
    assert courses.course_of_this_tree().name == "mine"
    (tmp_path / "other.toml").write_text(GOOD)
    with pytest.raises(UserError, match=r"must hold one course file, and holds 2"):
        courses.course_of_this_tree()


def test_the_files_of_a_course_travel_together(root, tmp_path):
    """To the machines of a cluster, and to Gradescope; there, the course is the one that is not a part."""
    course = read_course("uw447")
    names = ["uw447.toml", "parts/queries.toml", "parts/attention.toml"]
    assert [*packed([], course, None)] == [f"courses/{name}" for name in names]
    write_files(tmp_path, packed([], course, None))
    assert courses.only_course(tmp_path / "courses").items == course.items
    tree = bundle.build(root / "scripts/gradescope/bundle.toml", root, course)
    assert {name for name in tree if name.startswith("autograder/courses/")} == {
        f"autograder/courses/{name}" for name in names
    }
    (tmp_path / "bundle.zip").write_bytes(zipped(tree))
    assert rehearsal._minutes(tmp_path / "bundle.zip") == 15


def test_what_a_part_says_counts_when_results_are_kept(tmp_path):
    """A changed part is a changed course: what was graded by the old one is graded again."""
    hashes = []
    for part in (PART, PART.replace("deadline = 60", "deadline = 61")):
        setting = Setting(read_with(tmp_path, WHOLE, part), WEAK, Limits(), (), 1)
        hashes.append(_Run([], setting, tmp_path, lambda _: None, False, None, None).hashes)
    assert [key for key in hashes[0] if hashes[0][key] != hashes[1][key]] == ["course"]
