"""What Gradescope tells about a submission: lateness, earlier submissions, and nothing that could cost a grade."""

from __future__ import annotations

import copy
import json

import pytest

from autograder.checking.courses import Platform, read_course
from autograder.gradescope import metadata
from autograder.gradescope.metadata import read_metadata
from autograder.gradescope.quota import over_quota
from autograder.grading.results_file import fallback
from autograder.proving.schema import complaints

ON_TIME = {
    "id": 1,
    "created_at": "2026-03-10T12:00:00.123456-08:00",
    "assignment": {"due_date": "2026-03-11T23:00:00.000000-08:00", "title": "A2", "total_points": "100.0"},
    "users": [
        {"email": "ada@example.edu", "id": 1, "name": "Ada"},
        {"email": "bob@example.edu", "id": 2, "name": "Bob\u202e"},
    ],
    "previous_submissions": [],
}


@pytest.fixture
def read(tmp_path):
    def write_and_read(data):
        path = tmp_path / "submission_metadata.json"
        path.write_text(data if isinstance(data, str) else json.dumps(data))
        return read_metadata(path)

    return write_and_read


def test_who_and_when(read):
    found = read(ON_TIME)
    assert (found.student.name, found.student.email) == ("Ada; Bob�", "ada@example.edu; bob@example.edu")
    assert (found.student.late, found.seconds_late, found.trouble) == ("", 0, "")


def test_metadata_without_end_are_not_read(read, monkeypatch):
    monkeypatch.setattr(metadata, "LARGEST", 1 << 20)
    found = read(ON_TIME | {"previous_submissions": ["x" * (1 << 20)]})
    assert found.trouble == "submission_metadata.json is larger than 1 MiB and was not read"
    assert found.student.people == () and read(ON_TIME).trouble == ""


def test_lateness_goes_by_the_clock_and_not_by_the_zone(read):
    due = {"assignment": {"due_date": "2026-03-10T12:00:00-07:00"}}  # 11:00 in the zone of created_at
    assert read(ON_TIME | due).student.late == "1 h late"


def test_an_extension_counts(read):
    users = [{"name": "Ada", "assignment": {"due_date": "2026-03-12T00:00:00-08:00"}}]
    assert read(ON_TIME | {"assignment": {"due_date": "2026-03-01T00:00:00-08:00"}, "users": users}).seconds_late == 0


@pytest.mark.parametrize(
    "data",
    [
        *("", "{", "[]", "null", "7", "[" * 100_000, '{"created_at": 1e400}'),
        {},
        {"created_at": "soon", "assignment": 3, "users": "Ada", "previous_submissions": {"a": 1}},
        {"created_at": "2026-03-10", "assignment": {"due_date": None}, "users": [None, {"name": 3}]},
        {"created_at": "0001-01-01T00:00:00+23:00", "assignment": {"due_date": "9999-12-31T23:59:59-23:00"}},
        {"created_at": "0001-01-01T00:00:00Z", "previous_submissions": [{"submission_time": "0001-01-01T00:00:00Z"}]},
        {
            "previous_submissions": [
                None,
                3,
                {},
                {"submission_time": 3},
                {"submission_time": "2026-03-10", "results": 3},
            ]
        },
        {"previous_submissions": [{"submission_time": "2026-03-10", "results": {"tests": [3, {"extra_data": 3}]}}]},
    ],
)
def test_broken_metadata_costs_nothing(read, data):
    found = read(data)
    assert found.student.id == "submission" and found.seconds_late == 0
    assert found.trouble and found.next_try(5) is None


def test_missing_metadata_costs_nothing(tmp_path):
    found = read_metadata(tmp_path / "none.json")
    assert found.trouble and found.next_try(1) is None


# The daily limit


def course(limit):
    made = read_course("uw447")
    object.__setattr__(made, "gradescope", Platform(daily_limit=limit))
    return made


def graded(points: int, **more):
    """Results of an earlier submission: all points of the first test, if any."""
    content = fallback(read_course("uw447"))
    for test in content["tests"]:
        test["extra_data"]["verdict"] = "failed"
    content["tests"][0] |= {"score": points, "status": "passed" if points else "failed", "output": "earlier"}
    content["score"] = points
    content["extra_data"] |= more
    return content


def earlier(hour: int, results=None, **more):
    results = graded(0) if results is None else results
    return {"submission_time": f"2026-03-10T{hour:02}:30:00-08:00", "score": 0.0, "results": results} | more


def test_limit_is_reached_by_what_was_judged_within_a_day(read):
    early, late = earlier(1), earlier(2)
    yesterday = earlier(3) | {"submission_time": "2026-03-09T11:59:00-08:00"}
    assert over_quota(course(3), read(ON_TIME | {"previous_submissions": [yesterday, early, late]})) is None
    assert over_quota(course(None), read(ON_TIME | {"previous_submissions": [early] * 50})) is None
    content = over_quota(course(2), read(ON_TIME | {"previous_submissions": [late, yesterday, early]}))
    assert "only 2 submissions are graded within 24 hours" in content["output"]
    assert "from 2026-03-11 01:30 (UTC-08:00)" in content["output"]  # 24 hours after the earlier of the two
    assert content["extra_data"]["next_try"] == "2026-03-11T01:30:00-08:00"


@pytest.mark.parametrize(
    "uncounted",
    [
        earlier(1, autograder_error=True),
        earlier(1, graded(0, over_limit=True)),
        earlier(1, fallback(read_course("uw447"))),
    ],
    ids=["the grader failed", "was over the limit itself", "nothing was judged"],
)
def test_what_nobody_looked_at_does_not_count(read, uncounted):
    assert over_quota(course(1), read(ON_TIME | {"previous_submissions": [uncounted]})) is None


def test_points_of_the_last_judged_submission_stay(read):
    previous = [
        earlier(1, graded(3)),
        earlier(2, graded(4)),
        earlier(3, graded(2)),
        earlier(4, graded(0, over_limit=True)),
    ]
    content = over_quota(course(1), read(ON_TIME | {"previous_submissions": previous}))
    assert content["score"] == 2 and content["tests"][0]["output"] == "earlier"
    assert "one submission is graded" in content["output"] and "of 2026-03-10 03:30" in content["output"]
    assert complaints(json.dumps(content).encode()) == []


@pytest.mark.parametrize(
    "spoil",
    [
        lambda results: results.pop("tests"),
        lambda results: results["tests"].pop(),
        lambda results: results["tests"][0].update(score=1000),
        lambda results: results["tests"][0].update(score=True),
        lambda results: results["tests"][0].update(max_score=3),
        lambda results: results["tests"][0].update(output=None),
        lambda results: results["tests"][0].update(status="unknown"),
        lambda results: results["tests"][0]["extra_data"].update(exercise="another"),
        lambda results: results["tests"][0].update(extra_data=None),
    ],
)
def test_results_of_another_kind_are_not_taken_over(read, spoil):
    results = copy.deepcopy(graded(4))
    spoil(results)
    content = over_quota(course(1), read(ON_TIME | {"previous_submissions": [earlier(1, results)]}))
    assert content["score"] == 0 and "activate one in the submission history" in content["output"]
    assert complaints(json.dumps(content).encode()) == []
