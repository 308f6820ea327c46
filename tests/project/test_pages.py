"""The pages: well-formed, inert whatever they are told, and tried in a browser if there is one."""

from __future__ import annotations

import base64
import contextlib
import copy
import hashlib
import html
import json
import random
import re
import shutil
import subprocess
import time
import urllib.request
from dataclasses import asdict
from html.parser import HTMLParser
from pathlib import Path

import pytest

from autograder.checking import points
from autograder.grading import results_file
from autograder.intake.people import Student
from autograder.isolation.layers import Layers
from autograder.pages import class_page, markup, similarity, submission_page
from autograder.pages.drawings import Scale, bars, brief, picture
from autograder.pages.side_by_side import comparison
from autograder.pages.similar_pairs import GROUPS, MEMBERS, SHOWN, connected, similar_pairs
from autograder.pages.students_table import SCRIPT

VOID = {"img", "input", "link", "meta", "wbr"}
LAYERS = Layers(True, 7, True, ("pid", "net"), True, True)
HOSTILE = [
    "<script>window.pwned = 1</script>",
    "</script></style></title></svg></pre><script>window.pwned = 1</script>",
    '" onmouseover="window.pwned = 1" x=\'',
    "'><img src=x onerror='window.pwned = 1'>",
    "<!-- <svg onload=window.pwned=1> -->",
    "javascript:window.pwned=1",
    "//example.invalid/x",
    "&lt;b&gt; &amp;quot;",
    "a\u202eb\u2066c\x00d\x1b[2Je\ud800f",
]


class Outline(HTMLParser):
    """A page taken apart; whatever is not closed in order is an error."""

    def __init__(self, source):
        super().__init__()
        self.open, self.tags, self.attributes, self.headings, self.ids = [], set(), [], [], []
        self.text, self.scripts, self.untitled, self.captionless = [], [], 0, 0
        self.feed(source)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        if self.open and self.open[-1] == "svg" and not self.titled:
            self.titled = tag == "title"
            self.untitled += tag != "title"
        self.tags.add(tag)
        self.attributes += [(tag, *one) for one in attributes]
        self.ids += [value for name, value in attributes if name == "id"]
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag == "svg":
            self.titled = False
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        (self.scripts if self.open and self.open[-1] == "script" else self.text).append(data)

    def links(self):
        return [value for _, name, value in self.attributes if name in ("href", "src")]

    def policy(self):
        return next(v for tag, name, v in self.attributes if name == "content" and "default-src" in v)


def check(name, verdict="passed", kind="", message=None, drawn=None, counts="core", worth="", cause=""):
    return {
        **{"name": f"test_{name}", "claim": f"{name} holds", "verdict": verdict, "kind": kind, "cause": cause},
        **{"message": message, "picture": drawn, "counts": counts, "worth": worth},
    }


def said(headline, *evidence, says=""):
    return {"headline": headline, "evidence": list(evidence), "says": says, "look": "→ src/attention.py, handout 2.1"}


def row(slug, part, score, points, *checks, section="1 First", given=False):
    verdicts = {one["verdict"] for one in checks if one["counts"] != "note"}
    verdict = "failed" if "failed" in verdicts else "passed" if verdicts == {"passed"} else "could not check"
    about = {"exercise": slug, "part": part, "section": section, "handout": "2.1", "given": given, "verdict": verdict}
    return {
        **{"name": f"{slug} ({part})", "score": score, "max_score": points, "visibility": "visible"},
        "extra_data": about | {"extra_credit": False, "checks": list(checks)},
    }


WIDE = [[0.5 * i - j for j in range(12)] for i in range(5)]
MAPS = {
    **{"kind": "maps", "caption": "mask, batch 0", "rows": "query", "columns": "key"},
    "panels": [
        {"title": "yours", "values": [[1.0, "nan"], ["inf", 0.25]]},
        {"title": "expected", "values": [[1.0, "-inf"], [3.0, 4.0]]},
        {"title": "difference", "values": [[0.0, "nan"], ["inf", -3.75]]},
    ],
}
BARS = {
    **{"kind": "bars", "caption": "lengths", "x": "characters kept", "labels": ["4", "5", "6"]},
    **{"counts": [3, 0, 9], "needed": [True, True, True]},
}


def person(name, sid="", email=""):
    return {"name": name, "sid": sid, "email": email, "canvas": ""}


def result():
    """A points.json with one of everything."""
    wrong = said("softmax: wrong values", "yours [1 2]", "     ^", says="You forgot to scale.")
    hidden = said("softmax: the values differ", "Asked for: first holds.", says="You forgot to scale.")
    late = said("softmax: did not finish", "Asked for: second holds.", "line 3")
    never = said("loss: not started yet")
    wide = {**MAPS, "panels": [{**panel, "values": WIDE} for panel in MAPS["panels"]]}
    return {
        "score": 4,
        "tests": [
            row("scaled", "public", 1, 1, check("scaled")),
            row("scaled", "hidden", 3, 3, check("scaled")),
            row("given_code", "public", 0, 0, check("given", "failed", "not started", never), given=True),
            row("softmax", "public", 0, 1, check("first", "failed", "values", wrong, MAPS), check("third")),
            row(
                "softmax",
                "hidden",
                0,
                3,
                check("first", "failed", "values", hidden),
                check("second", "failed", "", late),
            ),
            row("spans", "public", 0, 2, check("all", "failed", "x", said("spans: no"), BARS), section="2 Then"),
            row("heads", "public", 0, 2, check("heads", "failed", "x", said("heads: no"), wide), section="2 Then"),
            row("loss", "public", 0, 2, check("loss", "failed", "not started", never), section="2 Then"),
        ],
        "extra_data": {
            **{"course": "default", "title": "Attention", "could_not_grade": "", "isolation": "root"},
            "summary": ["1 of 7 groups of checks passed.", "ignored notes.docx: not asked for"],
            "advice": [
                {"exercise": "softmax", "says": "You forgot to scale.", "waiting": ["heads", "spans"]},
                {"exercise": "loss", "says": "it raised.", "waiting": []},
            ],
            "layers": {"landlock": 7, "limits": True, "seccomp": False, "namespaces": ["pid", "net"]},
            "versions": {"torch": "2.13", "autograder": "0.1"},
            "hashes": {"course": "c" * 64, "checks": "d" * 64},
            "student": {
                **{"id": "submission_1234", "seconds_late": 18120, "submitted": "2026-11-15 23:10:00-08:00"},
                "people": [person("Ada", "7001", "ada@example.edu"), person("Bo", "7002", "bo@example.edu")],
            },
        },
    }


def summary(count=30):
    """A class of so many students."""
    draw = random.Random(count)
    slugs = [f"exercise_{i}" for i in range(20)]
    ids = [f"submission_{1000 + i}" for i in range(count)]
    students = []
    for i, identity in enumerate(ids):
        points = {slug: draw.choice((0, 5, 5)) for slug in slugs}
        late = draw.choice((0, 7200))
        students.append(
            {
                **{"id": identity, "name": f"Student {count - i}", "sid": str(7000 + i), "email": f"s{i}@school.edu"},
                **{"late": "2 h late" if late else "", "seconds_late": late, "submitted": f"2026-11-15 23:{i % 60:02}"},
                **{"score": sum(points.values()), "exercises": points, "trouble": ""},
                **{"report": f"{identity}/report.html", "fix_first": "exercise_3: You forgot to scale the scores."},
            }
        )
    students[1] |= {"name": "José Ñandú", "score": 100}
    students[2] |= {"trouble": "not a zip", "exercises": dict.fromkeys(slugs, 0), "score": None, "fix_first": ""}
    mistake = {"exercise": "exercise_3", "says": "You forgot to scale the scores."}
    return {
        **{
            "course": "default",
            "title": "Attention",
            "points": 100,
            "isolation": "root",
            "versions": {"torch": "2.13"},
        },
        "exercises": [
            {
                "slug": s,
                "section": f"Part {i // 10}",
                "points": 5,
                "extra_credit": i == 19,
                "full": draw.randrange(count),
            }
            for i, s in enumerate(slugs)
        ],
        "students": students,
        "mistakes": [
            mistake | {"cause": f"exercise_3.m{i:02}", "count": len(ids[i::15]), "students": ids[i::15]}
            for i in range(15)
        ],
        "similar": [{"one": ids[0], "other": ids[1], "share": 0.934, "page": "similar/1 2.html"}],
    }


BOTH = pytest.mark.parametrize(
    "source", [submission_page.page(result(), "ada"), class_page.overview(summary())], ids=["page", "overview"]
)


@BOTH
def test_page_is_well_formed(source):
    outline = Outline(source)
    assert outline.headings[0] == 1
    assert outline.headings.count(1) == 1
    assert all(after - before <= 1 for before, after in zip(outline.headings, outline.headings[1:], strict=False))
    assert len(outline.ids) == len(set(outline.ids))
    assert {"header", "main", "footer", "caption"} <= outline.tags
    assert "svg" in outline.tags
    assert outline.untitled == 0
    assert source.count("<figure>") == source.count("<figcaption>")
    assert source.count("<svg") == source.count('role="img"')


@BOTH
def test_page_fetches_nothing(source):
    outline = Outline(source)
    within = {f"#{one}" for one in outline.ids}
    for link in outline.links():
        assert link in within or link == "data:," or re.fullmatch(r"\./[\w./%~-]+", link), link
    assert "url(" not in source
    assert "@import" not in source
    assert not [name for _, name, _ in outline.attributes if name.startswith("on")]


@BOTH
def test_page_lets_only_its_own_script_run(source):
    outline = Outline(source)
    policy = dict(one.strip().split(" ", 1) for one in outline.policy().split(";"))
    assert policy["default-src"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert policy["img-src"] == "data:"
    hashes = [f"'sha256-{base64.b64encode(hashlib.sha256(s.encode()).digest()).decode()}'" for s in outline.scripts]
    assert policy.get("script-src", "") == " ".join(hashes)
    assert outline.tags.isdisjoint({"iframe", "object", "embed", "base", "form", "img"})


def test_page_tells_what_to_fix_and_each_thing_once():
    source = submission_page.page(result(), "ada")
    assert source.index("Fix first") < source.index("<table>") < source.index("What to look at")
    words = " ".join(Outline(source).text)
    assert (
        words.count("You forgot to scale.") == 2
    )  # at the top, and at the exercise: not once more for the hidden check
    assert "4 / 14" in words
    assert "1 of 5 exercises with full marks" in words
    assert "Asked for" not in words
    assert "seccomp" not in words
    assert "landlock (version 7), limits, namespaces (pid, net)" in words
    assert "cccccccccccc" in words
    assert "c" * 13 not in words
    assert "ignored notes.docx" in words
    assert "given; needs other parts" in words


def test_page_folds_what_is_right():
    source = submission_page.page(result(), "ada")
    folded = source[source.index("<details>") : source.index("</details>")]
    assert "scaled holds" in folded
    assert source.count("scaled holds") == 1
    assert "<details open" not in source


def test_page_without_mistakes_says_so():
    perfect = result()
    perfect["tests"] = perfect["tests"][:2]
    perfect["extra_data"]["advice"] = []
    assert "Everything that was checked is right" in submission_page.page(perfect, "ada")


def spoken(source):
    """All words of a page, with a space between elements."""
    return " ".join(" ".join(Outline(source).text).split())


def shared_out(*checks, score=3):
    """A submission whose one exercise has a core, a further claim of a point, and a note."""
    data = result()
    core, own = {"worth": "core: 3 points together"}, {"counts": "further", "worth": "1 point"}
    usual = [check("first", **core), check("second", **core), check("third", **own), *checks]
    data["tests"] = [row("rope", "hidden", score, 4, *usual)]
    data["extra_data"]["advice"] = []
    return data


NOTE = check(
    "fourth", "failed", "x", said("rope: raised for lists", "x = [1]"), counts="note", worth="a note: no points"
)


def test_page_tells_what_each_claim_was_worth():
    lost = said("rope: gradients stop")
    data = shared_out(check("fifth", "failed", "property", lost, counts="further", worth="1 point"))
    source = submission_page.page(data, "ada")
    words = spoken(source)
    assert "✗ not right yet: fifth holds hidden · 1 point rope: gradients stop" in words
    assert "first holds hidden · core: 3 points together" in words and "third holds hidden · 1 point" in words
    assert '<span class="n lost">3 / 4</span>' in source
    assert "or the points of that claim where the claim has its own." in words
    assert "costs all of its points." in " ".join(Outline(submission_page.page(result(), "ada")).text)


def test_page_tells_a_claim_of_both_parts_once():
    data = shared_out()
    public = check("third", counts="further", worth="1 point, with the hidden checks")
    data["tests"].insert(0, row("rope", "public", 1, 1, public))
    words = spoken(submission_page.page(data, "ada"))
    assert words.count("third holds") == 1 and "third holds public hidden · 1 point" in words


def test_page_tells_notes_as_notes():
    data = shared_out(NOTE, score=4)
    source = submission_page.page(data, "ada")
    words = spoken(source)
    assert "1 of 1 exercise with full marks" in words and "Everything that was checked is right" in words
    assert "These cost no points. – note: rope : this does not hold: fourth holds." in words
    assert "rope: raised for lists" in words and "✗" not in words
    data["extra_data"]["notes"] = [
        {"exercise": "rope", "note": "ran on the CPU in place of cuda"},
        {"exercise": "", "note": "A2S2 (1).ipynb was taken for A2S2.ipynb"},
    ]
    words = spoken(submission_page.page(data, "ada"))
    assert "rope : ran on the CPU in place of cuda" in words and "note: A2S2 (1).ipynb was taken" in words
    wrong = shared_out(check("core", "failed", "values", said("rope: wrong")), NOTE, score=0)
    words = spoken(submission_page.page(wrong, "ada"))
    assert "Also not so, but worth no points – note: fourth holds" in words  # it may only follow from the rest
    assert "raised for lists" not in words


def test_page_tells_a_reason_once_in_all_exercises():
    frames = ["NameError: name 'n' is not defined", "at src/attention.py line 3: return n"]
    raised = said("split: your code raised NameError", *frames)
    hidden = said("merge: your code raised an exception", "Asked for: b holds.", "NameError, src/attention.py line 3")
    mistake = {"cause": "split.x", "kind": "values", "verdict": "failed"}
    data = result()
    data["tests"] = [
        row("split", "public", 0, 1, check("a", "failed", "exception", raised)),
        row("merge", "hidden", 0, 3, check("b", "failed", "exception", hidden)),
        row("mask", "public", 0, 1, check("c", message=said("mask: no", "x 1", says="No diagonal."), **mistake)),
        row(
            "all",
            "public",
            0,
            1,
            check("d", drawn=MAPS, message=said("all: no", "y 2", says="No diagonal."), **mistake),
        ),
    ]
    source = submission_page.page(data, "ada")
    words = spoken(source)
    assert "<svg" not in source  # nor is it drawn again
    assert words.count("line 3") == 1 and words.count("x 1") == 1 and "y 2" not in words
    assert "b holds hidden Your code raised an exception. Told at split ; look here again" in words
    assert "d holds public No diagonal. Told at mask ; look here again when that is right." in words
    assert 'href="#exercise-1"' in source[source.index("b holds") :]


def test_page_and_gradescope_do_not_show_what_the_sandbox_refused(course):
    data = shared_out(NOTE)
    data["extra_data"]["refused"] = ["forkword", "socketword"]
    assert "forkword" not in submission_page.page(data, "ada")
    written = results_file.results(course, points.rows(course, []), LAYERS, None, "", {})
    written["extra_data"] |= {"refused": ["forkword"], "student": asdict(Student("ada"))}
    shown = {key: value for key, value in written.items() if key != "extra_data"}
    assert "forkword" not in json.dumps(shown) and "forkword" not in submission_page.page(written, "ada")


def test_page_of_a_blank_submission_names_the_first_step():
    blank = result()
    blank["tests"] = blank["tests"][-1:]
    blank["extra_data"]["advice"] = []
    assert "Begin with " in submission_page.page(blank, "ada")


def test_page_says_briefly_what_is_missing_unless_there_is_something_like_it():
    gone = result()
    nowhere, near = (
        said("rope: rope.py is not in the submission"),
        said("rope: not defined", "It defines rop: rename it."),
    )
    gone["tests"] = [row("rope", "public", 0, 1, check("rope", "failed", "missing", nowhere))]
    assert "rope.py is not in the submission → src/attention.py" in submission_page.page(gone, "ada")
    assert "<article" not in submission_page.page(gone, "ada")
    files = said("rope: not handed in: all 2 files are missing", "missing: a.params", "missing: b.txt")
    gone["tests"] = [row("rope", "public", 0, 1, check("rope", "failed", "not started", files))]
    assert "missing: a.params; missing: b.txt → src/attention.py" in submission_page.page(gone, "ada")
    gone["tests"] = [row("rope", "public", 0, 1, check("rope", "failed", "missing", near))]
    assert "<article" in submission_page.page(gone, "ada")


def test_advice_names_only_some_of_those_that_wait():
    many = result()
    many["extra_data"]["advice"][0]["waiting"] = [f"waiting_{i}" for i in range(9)]
    words = "".join(Outline(submission_page.page(many, "ada")).text)
    assert "waiting_0, waiting_1, waiting_2 and 6 more (below) fail with it" in words


def test_page_of_what_could_not_be_opened_shows_no_points():
    broken = result()
    broken["tests"] = [row("softmax", "public", 0, 1), row("softmax", "hidden", 0, 3)]
    broken["extra_data"] |= {"could_not_grade": "not a zip", "summary": ["not a zip"], "advice": []}
    source = submission_page.page(broken, "ada")
    assert "not a zip" in source
    assert "<table>" not in source
    assert "0 / 4" not in source


def test_page_says_if_a_part_could_not_be_checked():
    partly = result()
    partly["tests"].append(row("rope", "hidden", 0, 3))
    partly["extra_data"]["could_not_grade"] = "some checks could not be run; the fault is ours"
    words = " ".join(Outline(submission_page.page(partly, "ada")).text)
    assert "Not everything could be checked" in words
    assert "This could not be checked. The fault is ours" in words
    assert "Fix first" in words


def test_page_warns_if_gradescope_withholds_something():
    kept = result()
    assert "For course staff" not in submission_page.page(kept, "ada")
    kept["tests"][1]["visibility"] = "after_published"
    assert "For course staff" in submission_page.page(kept, "ada")


def test_page_reads_what_the_grader_writes(examine, course, sources, table):
    outcomes = examine(sources.mutant(table["make_causal_mask.no_diagonal"]), only=["make_causal_mask", "split_heads"])
    rows = [row for row in points.rows(course, outcomes) if row.outcomes]
    written = results_file.results(course, rows, LAYERS, None, "", {"course": "ab" * 32})
    written["extra_data"]["student"] = asdict(Student("ada"))
    source = submission_page.page(json.loads(json.dumps(written)), "ada")
    assert source == submission_page.page(written, "ada")
    words = " ".join(Outline(source).text)
    assert table["make_causal_mask.no_diagonal"].says in words
    assert source.count("<svg") == 3


def who(student, heading="Ada"):
    data = result()
    data["extra_data"]["student"] = student
    found = re.search(r'<p class="quiet who">(.*?)</p>', submission_page.page(data, heading))
    return "".join(Outline(found[1]).text) if found else ""


def test_page_tells_who_handed_in_and_when():
    told = who(result()["extra_data"]["student"])
    assert told == (
        "Submission submission_1234 · Student IDs 7001, 7002 · ada@example.edu, bo@example.edu · "
        "submitted 2026-11-15 23:10:00-08:00 · 5 h 2 min late"
    )
    alone = {"id": "s1", "people": [person("Ada", "7001")], "seconds_late": None, "submitted": ""}
    assert who(alone) == "Submission s1 · Student ID 7001 · late"
    assert who(alone | {"seconds_late": 0}) == "Submission s1 · Student ID 7001"


def test_page_says_nothing_twice():
    assert who({"id": "Ada", "people": [person("")], "seconds_late": 0, "submitted": ""}) == ""
    assert who({"id": "Ada", "people": [], "seconds_late": 60, "submitted": ""}) == "1 min late"


@pytest.mark.parametrize("poison", HOSTILE)
def test_who_handed_in_is_inert(poison):
    student = {"id": poison, "people": [person(poison, poison, poison)] * 2, "seconds_late": 1, "submitted": poison}
    data = result()
    clean = Outline(submission_page.page(data, "ada"))
    data["extra_data"]["student"] = student
    dirty = Outline(submission_page.page(data, "ada"))
    assert dirty.tags == clean.tags
    assert {(tag, name) for tag, name, _ in dirty.attributes} == {(tag, name) for tag, name, _ in clean.attributes}


# Hostile values


def poisoned(value, poison, keep=("kind", "verdict", "part", "visibility", "title", "id", "slug", "exercise")):
    """The same data, with poison at the end of every text that steers nothing."""
    if isinstance(value, dict):
        return {k: v if k in keep and isinstance(v, str) else poisoned(v, poison, keep) for k, v in value.items()}
    if isinstance(value, list):
        return [poisoned(one, poison, keep) for one in value]
    return value + poison if isinstance(value, str) and value and not value.startswith("submission_") else value


@pytest.mark.parametrize("poison", HOSTILE)
def test_hostile_text_adds_no_markup(poison):
    for render, data in (
        (lambda data: submission_page.page(data, "ada" + poison), result()),
        (class_page.overview, summary()),
    ):
        clean, dirty = Outline(render(data)), Outline(render(poisoned(data, poison)))
        assert dirty.tags == clean.tags
        assert {(tag, name) for tag, name, _ in dirty.attributes} == {(tag, name) for tag, name, _ in clean.attributes}
        assert dirty.scripts == clean.scripts
        assert dirty.policy() == clean.policy()
        assert all(re.match(r"#|\./|data:,$", link) for link in dirty.links())
        seen = "".join("�" if ord(c) in (0, 0x1B, 0x202E, 0x2066, 0xD800) else c for c in poison)
        assert seen in "".join(dirty.text)
        render(poisoned(data, poison)).encode()


def test_hostile_identities_are_inert():
    for render, data, name in (
        (class_page.overview, summary(), "submission_1000"),
        (lambda data: submission_page.page(data, "ada"), result(), "softmax"),
    ):
        tags = Outline(render(data)).tags
        for poison in HOSTILE:
            poisonous = json.loads(json.dumps(data).replace(name, json.dumps(poison)[1:-1]))
            assert Outline(render(poisonous)).tags == tags


@pytest.mark.parametrize(
    ("target", "href"),
    [
        ("a b/report.html", "./a%20b/report.html"),
        ("javascript:alert(1)", "./javascript%3Aalert%281%29"),
        ("//example.invalid/x", "./example.invalid/x"),
        ("../../etc/./passwd", "./etc/passwd"),
        ("a\\b?c#d%2e", "./a%5Cb%3Fc%23d%252e"),
        ("\ud800é", "./%3F%C3%A9"),
    ],
)
def test_links_lead_below_the_page(target, href):
    assert markup.link(target, "x") == f'<a href="{href}">x</a>'


def test_link_to_nothing_is_text():
    assert markup.link("", "<x>") == "&lt;x&gt;"


def test_tag_escapes_all_but_html():
    assert markup.tag("p", "<", markup.tag("b", "&"), title='"') == '<p title="&quot;">&lt;<b>&amp;</b></p>'
    assert markup.tag("input", hidden=True, disabled=False, value=None) == "<input hidden>"


# Pictures


def test_maps_mark_what_is_no_number():
    drawn = picture(MAPS)
    assert [drawn.count(f">{sign}</text>") for sign in ("NaN", "∞", "−∞")] == [2, 2, 1]
    assert drawn.count('class="hatch"') == 5
    assert "query 0: 1, NaN; query 1: ∞, 0.25" in drawn
    assert "−3.75" in drawn


def test_large_maps_have_a_scale_instead_of_numbers():
    panels = [{**panel, "values": WIDE} for panel in MAPS["panels"]]
    drawn = picture({**MAPS, "panels": panels})
    assert ">−11</text>" in drawn
    assert "5 rows and 12 columns, from −11 to 2" in drawn
    assert drawn.count(">+</text>") == sum(value > 0 for row in WIDE for value in row)  # a sign, not only a colour


def test_scales_reach_from_end_to_end():
    amounts, apart = Scale(-1.0, 3.0, False), Scale(-2.0, 2.0, True)
    assert [amounts.colour(value) for value in (-1, 1, 3)] == ["q0", "q4", "q8"]
    assert [apart.colour(value) for value in (-2, -0.01, 0, 0.01, 2)] == ["d0", "d3", "d4", "d5", "d8"]
    assert Scale(1.0, 1.0, False).colour(1.0) == "q2"
    assert Scale(0.0, 0.0, True).colour(0.0) == "d4"
    assert Scale(-1.7e308, 1.7e308, False).colour(1.7e308) == "q8"


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0"), (-0.69314, "−0.693"), (123456.0, "1.2e5"), (-1e-9, "−1e−9"), (2.5e300, "2.5e300")]
)
def test_brief_numbers_fit_a_cell(value, text):
    assert brief(value) == text


def test_bars_mark_what_is_missing():
    drawn = picture(BARS)
    assert drawn.count('class="bar missing"') == 1
    assert "✗ never occurs, but must." in drawn
    assert "5: 0, but must occur" in drawn


def test_bars_leave_out_numbers_that_would_lie_upon_others():
    drawn = bars("t", "t", "x", [str(n) for n in range(30)], [100 + n % 3 for n in range(30)], [False] * 30)
    always = re.findall(r'class="count">(\d+)', drawn)
    assert set(always) == {"102"}  # on a narrow page, only what stands out
    assert len(always) == 10
    assert drawn.count("count roomy") > 0
    few = bars("t", "t", "x", ["1", "2"], [100, 90], [False] * 2)
    assert "roomy" not in few


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colours", [markup.LIGHT, markup.DARK], ids=["light", "dark"])
def test_colours_can_be_read(colours):
    for ink in ("ink", "quiet", "accent", "wrong", "right"):
        for ground in ("paper", "card", "soft"):
            assert contrast(colours[ink], colours[ground]) >= 4.5, (ink, ground)
    assert contrast(colours["ink"], colours["wrong-soft"]) >= 4.5
    for step in range(9):
        for scale, value in ((Scale(0, 8, False), step), (Scale(-4, 4, True), step - 4)):
            ground = colours[scale.colour(value)]
            assert contrast(colours[f"{scale.ink(value)}-ink"], ground) >= 4.5, scale.colour(value)
    assert contrast(colours["lo-ink"], colours["odd"]) >= 4.5


# The class


def test_overview_tells_the_class():
    data = summary()
    outline = Outline(class_page.overview(data))
    words = " ".join("".join(outline.text).split())
    assert words.index("Most frequent mistakes") < words.index("graded students have full marks")
    assert "2 students: You forgot to scale the scores." in words
    assert "5 rarer ones" in words
    assert "look at both before you conclude anything" in words
    assert "93 % alike" in words
    assert words.index("Points of every student") < words.index("Similar pairs")
    assert "./similar/1%202.html" in outline.links()
    assert "Could not be graded: not a zip" in words
    assert "How many of 29 graded students have full marks" in words
    assert sum(name == "aria-sort" for _, name, _ in outline.attributes) == 28


def with_notes(data):
    """The same class, in which some have notes, and some tried what is refused."""
    cuda = {"exercise": "exercise_3", "note": "asks for cuda; run on the CPU"}
    ids = [one["id"] for one in data["students"]]
    for i in (3, 4, 7):
        data["students"][i]["notes"] = [cuda]
    data["students"][7]["notes"] = [{"exercise": "", "note": f"file {n} was renamed"} for n in range(4)] + [cuda]
    data["students"][4]["refused"], data["students"][9]["refused"] = ["fork", "socket"], ["fork"]
    data["notes"] = [cuda | {"students": [ids[3], ids[4], ids[7]], "count": 3}]
    data["notes"] += [
        {"exercise": "", "note": f"file {n} was renamed", "students": [ids[7]], "count": 1} for n in range(12)
    ]
    data["refused"] = [
        {"what": "fork", "students": [ids[4], ids[9]], "count": 2},
        {"what": "socket", "students": [ids[4]], "count": 1},
    ]
    return data


def test_overview_tells_notes_and_what_was_refused():
    source = class_page.overview(with_notes(summary()))
    words = spoken(source)
    assert "3 students : asks for cuda; run on the CPU" in words and "3 rarer ones" in words
    assert "fork : 2 students" in words and "Please read the code before you conclude anything" in words
    assert "tried: fork, socket" in words
    assert "file 2 was renamed; and 2 more, in the report" in words
    assert "With notes (3)" in words and "Tried what is refused (2)" in words
    plain = spoken(class_page.overview(summary()))
    for heading in ("Notes", "Refused", "With notes", "Tried what"):  # what there is none of is left out
        assert heading not in plain


@pytest.mark.parametrize("poison", HOSTILE)
def test_notes_and_refused_words_are_inert(poison):
    data = with_notes(summary())
    clean, dirty = Outline(class_page.overview(data)), Outline(class_page.overview(poisoned(data, poison)))
    assert dirty.tags == clean.tags and dirty.scripts == clean.scripts
    assert {(tag, name) for tag, name, _ in dirty.attributes} == {(tag, name) for tag, name, _ in clean.attributes}


def test_overview_counts_the_members_of_groups():
    data = summary()
    words = " ".join("".join(Outline(class_page.overview(data)).text).split())
    assert "Students30 Mean" in words and "Submissions" not in words
    data["students"][0]["people"] = 3
    words = " ".join("".join(Outline(class_page.overview(data)).text).split())
    assert "Students32 Submissions30 Mean" in words


def test_overview_shows_no_points_of_what_could_not_be_graded():
    data = summary()
    refused = data["students"][2]
    source = class_page.overview(data)
    (line,) = (line for line in re.findall(r"<tr.*?</tr>", source) if f'href="./{refused["report"]}"' in line)
    assert refused["score"] is None
    assert line.count(">–</td>") == 1 + len(data["exercises"])
    assert "lost" not in line
    assert "None" not in line


def test_percentages_are_written_alike():
    pair = similarity.Pair("a", "b", 0.934, ())
    sources = submission_page.page(result(), "ada"), class_page.overview(summary()), comparison(pair, {}, {}, {})
    for source in sources:
        shown = re.sub(r"<(style|script)>.*?</\1>", "", source, flags=re.DOTALL)
        assert not re.search(r"\d%", " ".join(Outline(shown).text))
    assert "93\u00a0%" in sources[2]


def test_overview_leaves_out_what_there_is_none_of():
    data = summary()
    data |= {"similar": [], "mistakes": []}
    for one in data["students"]:
        one |= {"trouble": "", "late": "", "seconds_late": 0, "submitted": ""}
        one |= {"sid": "", "email": "", "name": "", "score": 50}
    source = class_page.overview(data)
    for heading in (
        "Similar pairs",
        "Most frequent mistakes",
        "<h2>Could not be graded",
        "Late",
        "Submitted",
        "Not graded (",
        "Email",
        "Student ID",
    ):
        assert heading not in source
    assert "submission_1000" in source


@pytest.mark.parametrize("trouble", ["", "not a zip"])
def test_overview_of_one_student_and_of_none(trouble):
    data = summary()
    data |= {"students": [data["students"][0] | {"trouble": trouble}], "similar": [], "mistakes": []}
    assert "<b>1</b>" in class_page.overview(data)
    assert "<b>0</b>" in class_page.overview(data | {"students": []})


def test_pages_are_the_same_twice():
    data, upside_down = result(), result()
    for key in ("versions", "hashes", "layers"):
        upside_down["extra_data"][key] = dict(reversed(data["extra_data"][key].items()))
    before = copy.deepcopy(data)
    assert submission_page.page(data, "ada") == submission_page.page(upside_down, "ada")
    assert data == before
    whole = summary()
    assert class_page.overview(whole) == class_page.overview(whole | {"mistakes": whole["mistakes"][::-1]})


def test_overview_of_a_thousand_is_light():
    assert len(class_page.overview(summary(1000)).encode()) < 3_000_000


# In a browser

CHROMIUM = shutil.which("chromium")
in_browser = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH")
QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--host-resolver-rules=MAP * ~NOTFOUND",  # what the browser itself would like to ask for stays here, too
)
LISTEN = """
window.blocked = [];
addEventListener("securitypolicyviolation", event => blocked.push(event.effectiveDirective));
addEventListener("error", event => blocked.push(String(event.message)), true);
"""
REPORT = """
addEventListener("load", () => setTimeout(async () => {
  const soon = () => new Promise(go => setTimeout(go, 100));
  const seen = await (async () => { STEPS })();
  parent.postMessage(JSON.stringify({
    seen, blocked, pwned: typeof window.pwned, requests: performance.getEntriesByType("resource").map(one => one.name),
    overflow: document.documentElement.scrollWidth - innerWidth, width: innerWidth,
  }), "*");
}, 50));
"""
HOST = """<!DOCTYPE html><meta charset="utf-8"><title>host</title><link rel="icon" href="data:,"><pre id="report"></pre>
<script>addEventListener("message", event => { report.textContent = document.title = event.data; });</script>
<iframe src="submission_page.html" width="WIDTH" height="800"></iframe>"""


def with_scripts(source, *scripts):
    """A copy of a page in which these scripts may run, too: the first before, the others after its own."""
    hashes = [f"'sha256-{base64.b64encode(hashlib.sha256(one.encode()).digest()).decode()}'" for one in scripts]
    policy = html.unescape(re.search(r'content="(default-src[^"]*)"', source)[1])
    wider = policy if "script-src" in policy else f"{policy}; script-src"
    source = source.replace(html.escape(policy), html.escape(" ".join([wider, *hashes])), 1)
    first, *others = [f"<script>{one}</script>" for one in scripts]
    source = source.replace("<title>", f"{first}<title>", 1)
    return source.replace("</body>", "".join(others) + "</body>", 1)


def browser(folder, source, steps, width):
    """The command that opens a page in a frame of this width and takes the steps."""
    (folder / "submission_page.html").write_text(with_scripts(source, LISTEN, REPORT.replace("STEPS", steps)))
    (folder / "host.html").write_text(HOST.replace("WIDTH", str(width)))
    return [CHROMIUM, (folder / "host.html").as_uri(), *QUIET, f"--user-data-dir={folder / 'profile'}"]


def browse_live(folder, source, steps, width=390):
    """As `browse`, in real time: only then are frames drawn, and is it told what comes into view. No console."""
    command = [*browser(folder, source, steps, width), "--remote-debugging-port=0"]
    until = time.monotonic() + 60
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as running:
        try:
            while time.monotonic() < until:
                time.sleep(0.1)
                with contextlib.suppress(OSError, IndexError):  # not there yet
                    port = (folder / "profile" / "DevToolsActivePort").read_text().split()[0]
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=10) as told:
                        titles = [html.unescape(one["title"]) for one in json.load(told)]
                    if said := [title for title in titles if title.startswith("{")]:
                        return json.loads(said[0]) | {"console": []}
        finally:
            running.terminate()
    raise AssertionError("the browser said nothing")


def browse(folder, source, steps="", width=390):
    """Open a page in a frame of this width, take the steps, and return what was seen, with the console's lines."""
    command = browser(folder, source, steps, width)
    done = subprocess.run(
        [*command, "--enable-logging=stderr", "--virtual-time-budget=5000", "--dump-dom"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    found = re.search(r'<pre id="report">(.+?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stderr[-2000:]
    console = [line.split("] ", 1)[1] for line in done.stderr.splitlines() if ":CONSOLE" in line]
    return json.loads(html.unescape(found[1])) | {"console": console}


def assert_calm(seen):
    assert {key: seen[key] for key in ("blocked", "console", "requests", "pwned")} == {
        **{"blocked": [], "console": [], "requests": [], "pwned": "undefined"}
    }
    assert seen["overflow"] <= 0


@pytest.mark.slow
@in_browser
def test_browser_finds_nothing_to_run_in_a_hostile_page(tmp_path: Path):
    data, everything = result(), "".join(HOSTILE[:-1])
    seen = browse(tmp_path, submission_page.page(poisoned(data, everything), everything))
    assert_calm(seen)
    assert seen["width"] == 390


@pytest.mark.slow
@in_browser
def test_browser_sorts_and_searches_the_class(tmp_path: Path):
    data = summary()
    steps = """
    const heads = Array.from(document.querySelectorAll("#students thead th"));
    const named = name => heads.find(head => head.textContent.startsWith(name));
    const column = head => Array.from(document.querySelectorAll("#students tbody tr:not([hidden])"),
      row => row.cells[heads.indexOf(head)].textContent);
    const click = name => {
      named(name).querySelector("button").click();
      return [named(name).getAttribute("aria-sort"), column(named(name))];
    };
    const find = text => {
      const input = document.getElementById("find");
      input.value = text;
      input.dispatchEvent(new Event("input"));
      return [column(named("Name")), document.getElementById("found").textContent];
    };
    const seen = {names: click("Name"), up: click("Points"), down: click("Points"), hard: click("exercise_7")};
    seen.sorted = heads.filter(head => head.getAttribute("aria-sort") !== "none").length;
    seen.jose = find("JOSE nandu");
    seen.mail = find("s7@school");
    seen.cause = find("exercise_3.m04");
    seen.nobody = find("5");
    seen.all = find("");
    document.querySelector("button[data-find='exercise_3.m03']").click();
    seen.button = [document.getElementById("find").value, column(named("Submission"))];
    return seen;
    """
    seen = browse(tmp_path, class_page.overview(data), steps)
    assert_calm(seen)
    students, seen = data["students"], seen["seen"]
    numbers = [int(name.removeprefix("Student ")) for name in seen["names"][1] if name.startswith("Student")]
    assert seen["names"][0] == "ascending"
    assert numbers == sorted(numbers)
    assert len(numbers) == 29
    points = sorted(one["score"] for one in students if not one["trouble"])
    assert seen["up"] == ["ascending", [*map(str, points), "–"]]
    assert seen["down"] == ["descending", [*map(str, points[::-1]), "–"]]
    assert seen["hard"][1] == [*sorted(seen["hard"][1][:-1]), "–"]
    assert seen["sorted"] == 1
    assert seen["jose"] == [["José Ñandú"], "1 of 30"]
    assert seen["mail"] == [[students[7]["name"]], "1 of 30"]
    assert sorted(seen["cause"][0]) == sorted(students[i]["name"] for i in (4, 19))
    assert len(seen["nobody"][0]) < 30  # points are not searched, or every row would be found
    assert len(seen["all"][0]) == 30
    assert seen["all"][1] == ""
    assert seen["button"][0] == "exercise_3.m03"
    assert sorted(seen["button"][1]) == ["submission_1003", "submission_1018"]


BIG_CLASS = """
const input = document.getElementById("find"), found = document.getElementById("found");
const rest = document.getElementById("rest"), box = document.getElementById("students").parentElement;
const rows = () => Array.from(document.querySelectorAll("#students tbody tr"));
const names = () => rows().map(row => row.cells[0].textContent);
const find = text => { input.value = text; input.dispatchEvent(new Event("input")); };
const sort = column => document.querySelectorAll("#students thead button")[column].click();
const down = async () => {
  const before = rows().length;
  box.scrollTop = box.scrollHeight;
  for (let i = 0; i < 50 && rows().length === before; i++) await soon();  // a busy machine draws late
  await soon();
  return rows().length;
};
"""


@pytest.mark.slow
@in_browser
def test_browser_keeps_a_large_class_light_and_sorts_and_finds_all_of_it(tmp_path: Path):
    data = summary(1000)
    data["students"][500]["name"] = "Aardvark"  # in the middle of the file
    steps = """
    const seen = {first: rows().length, offered: rest.textContent};
    sort(0);
    seen.sorted = [rows().length, ...names().slice(0, 3)];
    sort(0);
    seen.turned = [rows().length, ...names().slice(0, 2)];
    find("s777@school");
    seen.found = [...names(), found.textContent, rest.hidden];
    find("");
    seen.all = [rows().length, names()[0], rest.hidden, found.textContent];
    seen.read = document.getElementById("students").getAttribute("aria-rowcount");
    return seen;
    """
    seen = browse(tmp_path, class_page.overview(data), BIG_CLASS + steps, width=1280)
    assert_calm(seen)
    assert seen["seen"] == {
        **{"first": 100, "offered": "More rows appear as you scroll.Show all 1,000", "read": "1001"},
        "sorted": [100, "Aardvark", "José Ñandú", "Student 1"],
        "turned": [100, "Student 1000", "Student 998"],  # 999 is called José
        "found": [data["students"][777]["name"], "1 of 1000", True],
        "all": [100, "Student 1000", False, ""],
    }


@pytest.mark.slow
@in_browser
def test_browser_adds_rows_as_one_scrolls_or_all_of_them_at_once(tmp_path: Path):
    steps = """
    await soon();
    const seen = {first: rows().length, scrolled: [await down(), await down()]};
    box.scrollLeft = box.scrollWidth;
    await soon();
    seen.aside = await down();
    sort(1);
    seen.again = [rows().length, box.scrollTop];
    dispatchEvent(new Event("beforeprint"));
    seen.printed = rows().length;
    dispatchEvent(new Event("afterprint"));
    seen.after = rows().length;
    rest.querySelector("button").click();
    seen.all = [rows().length, new Set(names()).size, rest.hidden, document.activeElement === box];
    sort(1);
    seen.stays = rows().length;
    return seen;
    """
    data = summary(350)
    data["students"][0]["email"] = f"{'x' * 300}@school.edu"  # far to the side, more rows come all the same
    seen = browse_live(tmp_path, class_page.overview(data), BIG_CLASS + steps)
    assert_calm(seen)
    assert seen["seen"] == {
        **{"first": 100, "scrolled": [200, 300], "aside": 350, "again": [100, 0], "printed": 350, "after": 100},
        **{"all": [350, 350, True, True], "stays": 350},
    }


@pytest.mark.slow
@in_browser
@pytest.mark.parametrize("script", ["", SCRIPT.replace("const STEP = 100;", "throw new Error('broken');")])
def test_browser_shows_all_rows_without_the_script_or_if_it_fails(tmp_path: Path, script):
    source = class_page.overview(summary(150))
    both = [base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in (SCRIPT, script)]
    source = source.replace(SCRIPT, script).replace(*both)
    steps = """
    const tools = Array.from(document.querySelectorAll(".tools"), one => one.getClientRects().length);
    return [rows().filter(row => row.getClientRects().length).length, Math.max(...tools)];
    """
    seen = browse(tmp_path, source, BIG_CLASS + steps)
    assert seen["seen"] == [150, 0]
    assert len(seen["console"]) == bool(script)


def test_style_sheet_and_script_agree_on_how_many_rows_come_first():
    (step,) = re.findall(r"const STEP = (\d+);", SCRIPT)
    assert f".scripted #students tbody tr:nth-child(n+{int(step) + 1}){{display:none}}" in markup.CSS


@pytest.mark.slow
@in_browser
def test_browser_sorts_times_by_what_they_mean(tmp_path: Path):
    data = summary()
    known = [(86_400, "1 d late"), (7200, "2 h late"), (None, "late"), (30, "30 s late"), (0, "")]
    moments = ["2026-11-01 01:30:00-07:00", "2026-11-01 01:10:00-08:00", "2026-11-01 00:59:00-07:00", "soon", ""]
    data["students"] = [
        one | {"seconds_late": seconds, "late": late, "submitted": moment}
        for one, (seconds, late), moment in zip(data["students"], known, moments, strict=False)
    ]
    steps = """
    const column = n => rows().map(row => row.cells[n].textContent);
    const sorted = n => { sort(n); return column(n); };
    return [sorted(2), sorted(2), sorted(3)];
    """
    up, down, moved = browse(tmp_path, class_page.overview(data), BIG_CLASS + steps)["seen"]
    assert up == ["late", "30 s late", "2 h late", "1 d late", ""]
    assert down == ["1 d late", "2 h late", "30 s late", "late", ""]
    assert moved == [moments[2], moments[0], moments[1], "soon", ""]


@pytest.mark.slow
@in_browser
def test_browser_finds_names_without_their_letters(tmp_path: Path):
    asked = {
        **{"soren": "Søren", "lodz": "Łódź", "dordevic": "Đorđević", "strasse": "Straße", "aegir": "Ægir"},
        **{"thor": "Þór", "ilker": "İlker", "irmak": "Irmak Yıldız", "yildiz": "Irmak Yıldız", "fiona": "\ufb01ona"},
        **{"SØREN": "Søren", "łódź": "Łódź", "STRASSE": "Straße"},
    }
    data = summary()
    for one, name in zip(data["students"], dict.fromkeys(asked.values()), strict=False):
        one["name"] = name
    steps = f"return {json.dumps(list(asked))}.map(text => {{ find(text); return names(); }});"
    seen = browse(tmp_path, class_page.overview(data), BIG_CLASS + steps)
    assert dict(zip(asked, seen["seen"], strict=True)) == {text: [name] for text, name in asked.items()}


@pytest.mark.slow
@in_browser
def test_browser_shows_only_those_of_a_kind(tmp_path: Path):
    data = summary()
    for i, one in enumerate(data["students"]):
        one |= {"late": "3 h late", "seconds_late": 10_800} if i in (2, 4, 5) else {"late": "", "seconds_late": 0}
        one["score"] = one["score"] and (0 if i in (5, 6) else 50)
    steps = """
    const filters = Array.from(document.querySelectorAll("button[data-only]"));
    const [late, ungraded, zero] = filters;
    const ids = () => rows().map(row => row.querySelector("a").getAttribute("href").replace(/[^0-9]/g, "") - 1000);
    const click = filter => { filter.click(); return [filter.getAttribute("aria-pressed"), ids(), found.textContent]; };
    const seen = {
      named: filters.map(one => one.textContent), late: click(late), both: click(zero), zero: click(late),
      all: click(zero), ungraded: click(ungraded),
    };
    document.querySelector("button[data-find='exercise_3.m04']").click();
    seen.mistake = [ids(), ungraded.getAttribute("aria-pressed")];
    find("LATE");
    seen.word = ids();
    return seen;
    """
    seen = browse(tmp_path, class_page.overview(data), BIG_CLASS + steps)
    assert_calm(seen)
    everybody = list(range(30))
    assert seen["seen"] == {
        "named": ["Late (3)", "Not graded (1)", "0 points (2)"],
        "late": ["true", [2, 4, 5], "3 of 30"],
        "both": ["true", [5], "1 of 30"],
        "zero": ["false", [5, 6], "2 of 30"],
        "all": ["false", everybody, ""],
        "ungraded": ["true", [2], "1 of 30"],
        "mistake": [[4, 19], "false"],
        "word": [2, 4, 5],
    }


@pytest.mark.slow
@in_browser
def test_browser_filters_by_notes_and_by_what_was_refused(tmp_path: Path):
    steps = """
    const filters = Array.from(document.querySelectorAll("button[data-only]"));
    const [noted, refused] = filters.slice(-2);
    const ids = () => rows().map(row => row.querySelector("a").getAttribute("href").replace(/[^0-9]/g, "") - 1000);
    const click = filter => { filter.click(); return ids(); };
    const shown = text => click(document.querySelector(`button[data-find="${text}"]`));
    return {
      noted: click(noted), both: click(refused), refused: click(noted), none: click(refused).length,
      note: shown("exercise_3 asks for cuda; run on the CPU"), socket: shown("tried: socket"),
      fork: shown("tried: fork"),
    };
    """
    seen = browse(tmp_path, class_page.overview(with_notes(summary())), BIG_CLASS + steps)
    assert_calm(seen)
    assert seen["seen"] == {
        **{"noted": [3, 4, 7], "both": [4], "refused": [4, 9], "none": 30},
        **{"note": [3, 4, 7], "socket": [4], "fork": [4, 9]},
    }


@pytest.mark.slow
@in_browser
@pytest.mark.parametrize("width", [390, 1280])
def test_browser_draws_all_bars_within_the_page(tmp_path: Path, width):
    """Nothing to scroll to, and no text upon another or upon another's bar."""
    data = summary(1000)
    data["points"] = 120
    for i, one in enumerate(data["students"]):
        one["score"] = one["score"] and 6 * ((i % 7) + (i % 11) + i % 5)
    steps = """
    const box = one => {
      const {left, right, top, bottom} = one.getBoundingClientRect();
      return [left, right, top, bottom];
    };
    const drawing = document.querySelector("svg.bars");
    const texts = Array.from(drawing.querySelectorAll("text")).filter(one => one.getClientRects().length);
    return {bars: Array.from(drawing.querySelectorAll("rect"), box), texts: texts.map(box),
      said: texts.map(one => one.textContent), size: texts.map(one => parseFloat(getComputedStyle(one).fontSize))};
    """
    seen = browse(tmp_path, class_page.overview(data), steps, width=width)
    assert_calm(seen)
    drawn = seen["seen"]
    assert len(drawn["bars"]) == 21
    assert all(left >= 0 and right <= width for left, right, _, _ in drawn["bars"] + drawn["texts"])
    assert min(drawn["size"]) >= 11
    counts = [
        sum(6 * n <= one["score"] < 6 * n + 6 for one in data["students"] if not one["trouble"]) for n in range(21)
    ]
    assert {"0", "120", str(max(counts))} <= set(drawn["said"])
    for i, one in enumerate(drawn["texts"]):
        for other in drawn["texts"][i + 1 :] + drawn["bars"]:
            apart = one[1] <= other[0] + 1 or other[1] <= one[0] + 1 or one[3] <= other[2] + 1 or other[3] <= one[2] + 1
            assert apart, (drawn["said"][i], one, other)


@pytest.mark.slow
@in_browser
def test_browser_would_have_noticed(tmp_path: Path):
    """The listeners hear what the policy stops: without this, silence would prove nothing."""
    bad = "<script>window.pwned = 1</script><img src='http://127.0.0.1:9/x.png'><p style='width:900px'>wide</p>"
    seen = browse(tmp_path, submission_page.page(result(), "ada").replace("</main>", f"{bad}</main>"))
    assert sorted(set(seen["blocked"]) - {"undefined"}) == ["img-src", "script-src-elem"]
    assert len(seen["console"]) == 2
    assert seen["pwned"] == "undefined"
    assert seen["overflow"] > 0


# Pairs that are alike


def pairs_of(*edges):
    return [{"one": one, "other": other, "share": 0.9, "page": ""} for one, other in edges]


def told_of(*edges):
    return " ".join("".join(Outline(similar_pairs(pairs_of(*edges), markup.Html)).text).split())


def test_overview_says_when_not_all_similar_pairs_are_listed():
    edges = [(f"a{n}", f"b{n}") for n in range(similarity.MOST_PAIRS)]
    assert "most alike are listed" in told_of(*edges)
    assert "most alike are listed" not in told_of(*edges[1:])


def test_similar_pairs_are_a_hint_and_accuse_nobody():
    told = told_of(("a", "b"))
    for said in (
        "is a hint and proves nothing",
        "made-up classes only",
        "few right forms",
        "75 to 90 %",
        "look at both",
    ):
        assert said in told
    accusing = {"plagiarism", "cheat", "cheated", "copied", "copy", "guilty", "suspicious", "suspect", "misconduct"}
    assert not accusing & set(re.findall(r"\w+", told.lower()))


def test_similar_pairs_fold_all_but_the_first():
    edges = [(f"a{n:02}", f"b{n:02}") for n in range(SHOWN + 3)]
    source = similar_pairs(pairs_of(*edges), markup.Html)
    shown, folded = source.split("<details><summary>3 more</summary>")
    assert shown.count(" alike</li>") == SHOWN
    assert folded.count(" alike</li>") == 3
    assert "<details" not in similar_pairs(pairs_of(*edges[:SHOWN]), markup.Html)


def test_similar_pairs_begin_with_groups():
    everyone = [(one, other) for one in "vwxyz" for other in "vwxyz" if one < other]
    told = told_of(("a", "b"), ("d", "e"), ("c", "d"), *everyone)
    first = told.index("5 submissions are alike with one another: v, w, x, y, z")
    second = told.index("3 submissions are each alike with at least one other of them: c, d, e")
    assert first < second < told.index("a and b: 90 % alike")
    assert len(re.findall(r"\d submissions are", told)) == 2  # two make a pair, and no group


def test_similar_pairs_fold_long_groups_and_name_only_some():
    star = [("a0", f"a{n}") for n in range(1, MEMBERS + 3)]
    source = similar_pairs(pairs_of(*star), markup.Html)
    assert f"<strong>{MEMBERS + 3} submissions</strong>" in source
    assert "<summary>and 3 more</summary>" in source
    threes = [(f"{n:02}a", f"{n:02}{other}") for n in range(GROUPS + 2) for other in "bc"]
    told = told_of(*threes)
    assert told.count("3 submissions are each") == GROUPS
    assert "2 more groups of at most 3, in the list of pairs." in told


def test_connected_is_the_same_whatever_the_order():
    edges = [("a", "b"), ("c", "d"), ("b", "c"), ("x", "y"), ("k", "k")]
    for seed in range(20):
        mixed = [edge if seed % 2 else edge[::-1] for edge in edges]
        random.Random(seed).shuffle(mixed)
        assert connected(mixed) == [["a", "b", "c", "d"], ["x", "y"], ["k"]]


def test_comparison_leads_back_to_the_class_and_to_both_reports():
    pair = similarity.Pair("sub 1", "../../x", 0.934, ())
    source = comparison(pair, {}, {}, {"sub 1": "Ada <b>"})
    hrefs = [link for link in Outline(source).links() if link.startswith("..")]
    assert hrefs == ["../index.html", "../sub%201/report.html", "../x/report.html"]
    assert "Report of <bdi>Ada &lt;b&gt;</bdi>" in source
