"""Points by claim: a core that decides, further claims that earn their own points, and notes that earn none."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

from autograder.checking.claims import CORE, NOTE, Worth, changed, core, declared, further, note
from autograder.checking.courses import read_course
from autograder.checking.engine import Outcome, collect
from autograder.checking.points import Row
from autograder.errors import UserError
from autograder.proving.assembling import on_disk
from autograder.selfcheck.local import sitting


def row(course, *outcomes, slug="span_corruption", part="hidden"):
    return Row(course.items[slug], part, outcomes)


def outcome(counts, verdict="passed", worth=0, elsewhere=0):
    name = f"test_span_corruption_{counts}"
    claimed = Outcome("span_corruption", "hidden", name, "a claim", verdict)
    return replace(claimed, counts=counts, worth=worth, elsewhere=elsewhere)


def test_core_earns_what_the_further_claims_leave(course):
    whole = row(course, outcome("core"), outcome("further", worth=2), outcome("further", worth=1), outcome("note"))
    assert (whole.points, whole.core_points, whole.score, whole.verdict) == (10, 7, 10, "passed")


def test_without_the_core_a_part_earns_nothing(course):
    lost = row(course, outcome("core"), outcome("core", "failed"), outcome("further", worth=2))
    assert (lost.score, lost.verdict) == (0, "failed")


def test_a_further_claim_costs_its_own_points(course):
    partly = row(course, outcome("core"), outcome("further", "failed", worth=2), outcome("further", worth=1))
    assert (partly.score, partly.verdict) == (8, "failed")


def test_a_note_costs_nothing(course):
    noted = row(course, outcome("core"), outcome("note", "failed"))
    assert (noted.score, noted.verdict) == (10, "passed")


def test_a_further_claim_that_could_not_be_checked_is_said(course):
    unsure = row(course, outcome("core"), outcome("further", "could not check", worth=2))
    assert (unsure.score, unsure.verdict) == (8, "could not check")


def test_a_core_that_could_not_be_checked_is_our_fault_whatever_waits_for_it(course):
    ours = row(course, outcome("core", "could not check"), outcome("further", "failed", worth=2))
    assert (ours.score, ours.verdict) == (0, "could not check")


def test_nothing_that_ran_earns_nothing(course):
    assert row(course).score == 0 and row(course, outcome("note")).score == 0


def test_worth_in_words(course):
    told = row(
        course,
        *(outcome("core"), outcome("core"), outcome("further", worth=1)),
        *(outcome("further", elsewhere=2), outcome("further"), outcome("note")),
    )
    assert [told.worth(one) for one in told.outcomes] == [
        *("core: 9 points together", "core: 9 points together", "1 point"),
        *("2 points, with the hidden checks", "no points here", "a note: no points"),
    ]
    assert row(course, outcome("core")).worth(outcome("core")) == ""  # the row says it


def test_marks_of_test_functions():
    @core
    def one(): ...

    @further(public=1, hidden=2)
    def two(): ...

    @note
    def three(): ...

    def four(): ...

    assert [declared(check, "f.py") for check in (one, two, three)] == [CORE, Worth("further", 1, 2), NOTE]
    with pytest.raises(UserError, match=r"f\.py: 'four' must be marked with @core, @further\(\.\.\.\) or @note"):
        declared(four, "f.py")


def test_a_course_changes_further_claims_and_notes_but_not_the_core():
    changes = {"a": NOTE, "b": Worth("further", 0, 3)}
    assert changed("a", Worth("further", 1, 1), changes) == NOTE
    assert changed("b", NOTE, changes) == Worth("further", 0, 3)
    assert changed("a", CORE, changes) == CORE
    assert changed("c", NOTE, changes) == NOTE


COURSE = """title = "T"
[totals]
required = {total}
extra_credit = 0
[[section]]
title = "One"
files = ["src/dataset.py"]
exercises = [
    {{ slug = "span_corruption", handout = "1", public = {public}, hidden = {hidden}{more} }},
]
"""


def course_with(tmp_path, more, public=4, hidden=10):
    path = tmp_path / "c.toml"
    path.write_text(COURSE.format(total=public + hidden, public=public, hidden=hidden, more=more and f", {more}"))
    return read_course(str(path))


def fit(root, course):
    collect([root / "tests/public", root / "tests/hidden"], lambda examiner: examiner.fits(course))


def test_a_course_names_claims_that_there_are(tmp_path, root):
    fit(root, course_with(tmp_path, 'notes = ["short_documents"]'))
    with pytest.raises(UserError, match=r"c\.toml: 'span_corruption' has no claim 'shortt'; it has form, full_length"):
        fit(root, course_with(tmp_path, 'notes = ["shortt"]'))


def test_further_claims_leave_something_for_the_core(tmp_path, root):
    with pytest.raises(UserError, match=r"claims of 'span_corruption' take 7 of its 7 hidden points, and the core"):
        fit(root, course_with(tmp_path, "", hidden=7))
    fit(root, course_with(tmp_path, 'notes = ["short_documents"]', hidden=7))
    fit(root, course_with(tmp_path, "", hidden=0))  # nothing to share out


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("notes = [1]", "'notes' of 'span_corruption' must be a list of claims"),
        ("further = { varies = 2 }", r"must say which points: varies = \{ hidden = 1 \}"),
        ("further = { varies = { hiden = 2 } }", "'hiden' of 'span_corruption' is not known here"),
        ("further = { varies = { hidden = -2 } }", "gives 'varies' negative points"),
        ('notes = ["varies"], further = { varies = { hidden = 2 } }', "names 'varies', which is in 'notes', too"),
    ],
)
def test_errors_in_a_course_name_the_exercise(tmp_path, more, message):
    with pytest.raises(UserError, match=message):
        course_with(tmp_path, more)


def test_claims_of_a_course_reach_the_outcomes(tmp_path, root, sources):
    """A note by the course's choice costs nothing; a further claim is worth what the course says."""
    more = (
        'notes = ["short_documents"], further = { full_length = { hidden = 0, public = 1 }, varies = { hidden = 3 } }'
    )
    course = course_with(tmp_path, more)
    found = []
    with on_disk(sources.solved()) as place:
        collect(
            [root / "tests/public", root / "tests/hidden"],
            lambda examiner: found.extend(examiner.examine(sitting(place, course))),
        )
    counts = {(o.part, o.claim_name): (o.counts, o.worth) for o in found}
    assert counts["hidden", "short_documents"] == ("note", 0)
    assert counts["public", "full_length"] == ("further", 1)
    assert counts["hidden", "varies"] == ("further", 3) and counts["public", "varies"] == ("further", 0)


def test_public_and_hidden_files_declare_the_same(root):
    """A claim that is made in both parts counts the same way in both files."""
    declared_in = {}

    def job(examiner):
        for (exercise, part), checks in examiner._checks.items():
            for check in checks:
                declared_in.setdefault((exercise, check.name), {})[part] = check.worth

    collect([root / "tests/public", root / "tests/hidden"], job)
    differing = [claim for claim, worths in declared_in.items() if len(set(worths.values())) > 1]
    assert not differing and len(declared_in) > 50


def test_every_part_has_a_core(root):
    parts = {}

    def job(examiner):
        parts.update({key: {check.worth.kind for check in checks} for key, checks in examiner._checks.items()})

    collect([root / "tests/public", root / "tests/hidden"], job)
    assert [key for key, kinds in parts.items() if "core" not in kinds] == []


def test_an_unmarked_check_is_an_error_in_one_line(tmp_path, root):
    shutil.copytree(root / "tests/public", tmp_path / "public")
    path = tmp_path / "public/attention/test_split_heads.py"
    path.write_text(path.read_text().replace("@core\n", ""))
    with pytest.raises(UserError, match="'test_split_heads_matches_reference' must be marked with"):
        collect([tmp_path / "public"], lambda examiner: None)
