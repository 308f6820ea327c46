"""The JSON Schema of results.json refuses what Gradescope would not take, and what this grader never promises."""

from __future__ import annotations

import copy
import json
from dataclasses import asdict, replace

import pytest

from autograder.checking.courses import Platform, read_course
from autograder.checking.points import rows
from autograder.grading.results_file import fallback, results
from autograder.intake.people import Student
from autograder.isolation.layers import WEAK
from autograder.proving.schema import SCHEMA, complaints

GONE = object()


@pytest.fixture(scope="module")
def good():
    leaders = [{"name": "accuracy", "value": 0.31, "order": "desc"}, {"name": "team", "value": "a"}]
    return fallback(read_course("uw447")) | {"leaderboard": leaders}


def test_what_is_right_is_accepted(good):
    assert complaints(json.dumps(good).encode()) == []


@pytest.mark.parametrize(
    ("place", "value", "complaint"),
    [
        (["score"], GONE, "'score' is a required property"),
        (["score"], 1.5, "$.score: 1.5 is not of type 'integer'"),
        (["score"], -1, "$.score: -1 is less than the minimum"),
        (["score"], 3, "$.score: is 3, but the tests add up to 0"),
        (["execution_time"], "2 s", "$.execution_time: '2 s' is not of type 'number'"),
        (["execution_time"], float("nan"), "NaN is no number"),
        (["output"], ["text"], "$.output: ['text'] is not of type 'string'"),
        (["output_format"], "rst", "$.output_format: 'rst' is not one of"),
        (["test_output_format"], "rst", "$.test_output_format: 'rst' is not one of"),
        (["test_name_format"], "rst", "$.test_name_format: 'rst' is not one of"),
        (["visibility"], "seen", "$.visibility: 'seen' is not one of"),
        (["stdout_visibility"], True, "$.stdout_visibility: True is not one of"),
        (["extra_data"], [], "$.extra_data: [] is not of type 'object'"),
        (["tests"], [], "$.tests: [] should be non-empty"),
        (["grade"], 1, "'grade' was unexpected"),
        (["tests", 0, "name"], "", "$.tests[0].name: '' should be non-empty"),
        (["tests", 0, "name_format"], "rst", "$.tests[0].name_format: 'rst' is not one of"),
        (["tests", 0, "number"], 1.2, "$.tests[0].number: 1.2 is not of type 'string'"),
        (["tests", 0, "score"], None, "$.tests[0].score: None is not of type 'integer'"),
        (["tests", 0, "score"], 99, "$.tests[0]: 99 points of 4"),
        (["tests", 0, "max_score"], GONE, "'max_score' is a required property"),
        (["tests", 0, "status"], "could not check", "$.tests[0].status: 'could not check' is not one of"),
        (["tests", 0, "output"], GONE, "'output' is a required property"),
        (["tests", 0, "output_format"], "rst", "$.tests[0].output_format: 'rst' is not one of"),
        (["tests", 0, "tags"], "public", "$.tests[0].tags: 'public' is not of type 'array'"),
        (["tests", 0, "visibility"], "seen", "$.tests[0].visibility: 'seen' is not one of"),
        (["tests", 0, "extra_data"], {}, "'exercise' is a required property"),
        (["tests", 0, "extra_data", "exercise"], "two words", "does not match"),
        (["tests", 0, "points"], 1, "'points' was unexpected"),
        (["leaderboard", 0, "name"], GONE, "'name' is a required property"),
        (["leaderboard", 0, "value"], [1], "$.leaderboard[0].value: [1] is not of type"),
        (["leaderboard", 0, "order"], "up", "$.leaderboard[0].order: 'up' is not one of"),
    ],
)
def test_each_rule_refuses(good, place, value, complaint):
    spoilt = copy.deepcopy(good)
    *path, key = place
    part = spoilt
    for step in path:
        part = part[step]
    if value is GONE:
        del part[key]
    else:
        part[key] = value
    assert any(complaint in line for line in complaints(json.dumps(spoilt).encode())), complaint


def test_torn_files_are_refused():
    assert complaints(b'{"score": 1') == ["not JSON: Expecting ',' delimiter: line 1 column 12 (char 11)"]
    assert complaints(b"") and complaints(b"\xff\xfe")


def test_schema_is_itself_a_schema():
    import jsonschema

    jsonschema.Draft202012Validator.check_schema(json.loads(SCHEMA.read_text()))


def test_leaderboard_holds_what_was_measured_if_the_course_asks_for_it(examine, sources, course):
    texts = sources.solved()
    texts["notebooks/A2S1.py"] = texts["notebooks/A2S1.py"].replace("query132 = 40 *", "query132 = 10 *")
    found = rows(course, examine(texts, ["query132", "key142", "split_heads"]))
    assert "leaderboard" not in results(course, found, WEAK, None, "", {})
    platform = Platform(leaderboard=("key142", "split_heads", "query132"))
    content = results(replace(course, gradescope=platform), found, WEAK, None, "", {})
    assert content["leaderboard"] == [
        {"name": "key142", "value": 0.1184, "order": "asc"},  # told though it fails
        {"name": "query132", "value": 0.0029, "order": "asc"},
    ]
    content["execution_time"], content["extra_data"]["student"] = 1.0, asdict(Student("s1"))
    assert complaints(json.dumps(content).encode()) == []
