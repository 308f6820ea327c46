"""Similar pairs: disguised copies are found, independent work is not, and nothing that is handed in stops it."""

from __future__ import annotations

import ast
import json
import random
import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest

from autograder.pages import similarity
from autograder.pages.side_by_side import PLACES, SAID, comparison
from autograder.pages.similarity import Pair, Place
from autograder.proving.mistakes import read_table
from autograder.publishing import regions

LONG = ("self_attention", "precompute_rotary_emb", "apply_rotary_emb", "causal_self_attention", "span_corruption")


@pytest.fixture(scope="module")
def given(root, sources):
    return [regions.stubbed(text, name) for name, text in sources.texts.items()]


@pytest.fixture(scope="module")
def ways(root, sources):
    """For each exercise, the ways to do it right: None is the solution's. One line in it changed is no other way."""
    table = [one for one in read_table(root / "solutions" / "exercises", "variant") if not one.replaces]
    return {region: [None, *(one for one in table if one.region == region)] for region in sorted(sources.home)}


def made(sources, chosen):
    return sources.mutant(*(way for way in chosen.values() if way))


def two_students(rng, ways):
    """Two who did no long exercise in the same way; the short ones are as they happen to be."""
    one = {region: rng.choice(those) for region, those in ways.items()}
    other = {region: rng.choice(those) for region, those in ways.items()}
    for region in LONG:
        one[region], other[region] = rng.sample(ways[region], 2)
    return one, other


# Disguises


def renamed(tree):
    for function in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]:
        nodes = list(ast.walk(function))
        stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        local = stored | {node.arg for node in nodes if isinstance(node, ast.arg)} - {"self"}
        for node in nodes:
            if isinstance(node, ast.Name) and node.id in local:
                node.id = f"my_{node.id}"
            if isinstance(node, ast.arg) and node.arg in local:
                node.arg = f"my_{node.arg}"


def without_hints(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        if isinstance(node, ast.arg):
            node.annotation = None


def with_hints(tree):
    for node in ast.walk(tree):
        for at, one in enumerate(node.body if isinstance(node, ast.Module | ast.FunctionDef | ast.If) else []):
            if isinstance(one, ast.Assign) and len(one.targets) == 1 and isinstance(one.targets[0], ast.Name):
                hint = ast.parse("dict[str, Tensor]", mode="eval").body
                node.body[at] = ast.AnnAssign(one.targets[0], hint, one.value, 1)


def reordered(tree):
    first = [node for node in tree.body if not isinstance(node, ast.FunctionDef | ast.ClassDef)]
    tree.body = first + [node for node in reversed(tree.body) if node not in first]


def without_docstrings(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node):
            node.body = node.body[1:] or [ast.Pass()]


def reformatted(tree):
    """What is written anew has no comments, and other line ends, quotes and parentheses."""


DISGUISES = [renamed, without_hints, with_hints, reordered, without_docstrings, reformatted]


def disguised(texts, *disguises):
    written = {}
    for name, text in texts.items():
        tree = ast.parse(text)
        for disguise in disguises:
            disguise(tree)
        written[name] = ast.unparse(ast.fix_missing_locations(tree)).replace("\n", "   # my remark\n\n")
    return written


@pytest.mark.parametrize("disguises", [[one] for one in DISGUISES] + [DISGUISES], ids=lambda those: those[-1].__name__)
def test_disguised_copies_are_found(sources, ways, given, disguises):
    rng = random.Random(4)
    for _ in range(5):
        text = made(sources, two_students(rng, ways)[0])
        (pair,) = similarity.similar({"b": text, "a": disguised(text, *disguises)}, given).pairs
        assert (pair.one, pair.other) == ("a", "b")
        assert pair.share > 0.9


def test_copies_with_a_syntax_error_are_found(sources, given):
    text = sources.mutant()
    broken = {name: one.replace("return Q @ K", "return (Q @ K", 1) + "\ndef (:\n'''" for name, one in text.items()}
    (pair,) = similarity.similar({"a": text, "b": broken}, given).pairs
    assert pair.share > 0.9


def test_copies_in_a_notebook_are_found(sources, given):
    cells = [{"cell_type": "code", "source": text.splitlines(keepends=True)} for text in sources.mutant().values()]
    cells.insert(0, {"cell_type": "markdown", "source": "# mine"})
    (pair,) = similarity.similar({"a": sources.mutant(), "b": {"all.ipynb": json.dumps({"cells": cells})}}, given).pairs
    assert pair.share > 0.97
    assert {place.other_file for place in pair.places} == {"all.ipynb"}


def test_independent_work_stays_far_below_the_threshold(sources, ways, given):
    rng = random.Random(5)
    for _ in range(40):
        one, other = two_students(rng, ways)
        assert not similarity.similar({"a": made(sources, one), "b": made(sources, other)}, given, 0.6).pairs


def test_given_code_alone_never_pairs(sources, given):
    stubs = dict(zip(sources.texts, given, strict=True))
    assert similarity.similar({"a": stubs, "b": stubs, "c": disguised(stubs, *DISGUISES)}, given, 0.0).pairs == ()


def test_short_exercises_alone_never_pair(sources, given):
    def left(lines):
        return ['raise NotImplementedError("not started")']

    started = {
        name: regions.replaced(text, name, {region: left for region in LONG if sources.home[region] == name})
        for name, text in sources.texts.items()
    }
    assert similarity.similar({"a": started, "b": started}, given, 0.0).pairs == ()


def test_places_say_which_lines(sources, given):
    moved = {"src/all.py": "\n" * 7 + sources.mutant()["src/attention.py"]}
    (pair,) = similarity.similar({"a": sources.mutant(), "b": moved}, given).pairs
    lines = sources.mutant()["src/attention.py"].split("\n")
    for place in pair.places:
        if place.one_file == "src/attention.py":
            assert place.other_lines == (place.one_lines[0] + 7, place.one_lines[1] + 7)
    marked = {n for place in pair.places for n in range(place.one_lines[0], place.one_lines[1] + 1)}
    assert lines.index("    a, b = x[..., 0::2], x[..., 1::2]  # each (..., tokens, head size / 2)") + 1 in marked
    assert 1 not in marked


def test_the_index_finds_what_comparing_all_finds():
    rng = random.Random(6)
    own = {f"{n:02}": {str(piece) for piece in rng.sample(range(1400), rng.randint(600, 1000))} for n in range(40)}
    all_pairs = [(a, b, len(own[a] & own[b]) / min(len(own[a]), len(own[b]))) for a in own for b in own if a < b]
    for threshold in (0.5, 0.6, 0.7):
        expected = sorted(pair for pair in all_pairs if pair[2] >= threshold)
        assert sorted(similarity._pairs(own, threshold)) == expected
    assert expected


@pytest.mark.slow
def test_order_and_hash_seed_change_nothing(root, sources, given, tmp_path):
    text = sources.mutant()
    submissions = {"a": text, "b": disguised(text, *DISGUISES), "c": disguised(text, renamed)}
    turned = {name: dict(reversed(submissions[name].items())) for name in reversed(submissions)}
    found = similarity.similar(submissions, given).pairs
    assert len(found) == 3
    assert list(found) == sorted(found, key=lambda pair: (-pair.share, pair.one, pair.other))
    assert similarity.similar(turned, list(reversed(given))).pairs == found
    stored = tmp_path / "stored.json"
    stored.write_text(json.dumps([submissions, given]))
    script = (
        "import json, sys; from autograder.pages.similarity import similar\n"
        "print(similar(*json.load(open(sys.argv[1]))).pairs)"
    )
    for seed in ("1", "2"):
        ran = subprocess.run(
            [sys.executable, "-c", script, stored],
            **{"cwd": root, "env": {"PYTHONHASHSEED": seed}, "capture_output": True, "text": True, "check": True},
        )
        assert ran.stdout == f"{found}\n"


@pytest.mark.slow
def test_a_copy_is_found_among_three_hundred(sources, ways, given):
    rng = random.Random(7)
    submissions = {
        f"{n:03}": made(sources, {region: rng.choice(those) for region, those in ways.items()}) for n in range(299)
    }
    submissions["copy"] = disguised(submissions["123"], *DISGUISES)
    assert ("123", "copy") in [(pair.one, pair.other) for pair in similarity.similar(submissions, given).pairs]


@pytest.mark.slow
def test_a_class_of_copies_gives_no_more_pairs_than_anyone_reads(sources, given):
    """Of four circles of friends, none is a third of the class."""
    found = similarity.similar(
        {f"{circle} {n}": written(circle) for circle in range(4) for n in range(15)}, given
    ).pairs
    assert len(found) == similarity.MOST_PAIRS
    assert {pair.share for pair in found} == {1.0}
    assert all(pair.one.split()[0] == pair.other.split()[0] for pair in found)


def written(who, statements=120):
    """Code of one's own: whoever it is, nobody else writes the same."""
    rng = random.Random(who)
    methods = [f"m{rng.randrange(10**9)}" for _ in range(40)]
    lines = [f"    x = y.{rng.choice(methods)}(z, {rng.randrange(1000)})" for _ in range(statements)]
    return {"src/own.py": "\n".join(["def f(x, y, z):", *lines, ""])}


def with_lecture(who, lecture="lecture"):
    return {**written(who), "src/shared.py": written(lecture, 400)["src/own.py"]}


def test_code_that_a_third_of_the_class_has_is_nobodys_own():
    nobody = {f"alone {n}": written(n) for n in range(16)}
    third = {f"taught {n}": with_lecture(f"taught {n}") for n in range(8)}
    found = similarity.similar(nobody | third, [])
    assert found.pairs == () and (found.submissions, found.holders) == (24, 8)
    assert 0.4 < found.left_out < 0.6
    said = "Code that 8 or more of the 24 submissions have was left out as nobody's own: "
    assert re.fullmatch(re.escape(said) + r"[45]\d % of all that was not given\.", found.note)
    less = {name: texts for name, texts in third.items() if name != "taught 7"}
    found = similarity.similar(nobody | less | {"more": written("more")}, [])
    assert len(found.pairs) == 7 * 6 / 2 and found.left_out < 0.1


def test_a_copy_is_found_beside_what_a_third_of_the_class_has():
    everybody = {f"taught {n}": with_lecture(f"taught {n}") for n in range(12)}
    found = similarity.similar(everybody | {"copy": with_lecture("taught 3")}, [])
    assert [(pair.one, pair.other, pair.share) for pair in found.pairs] == [("copy", "taught 3", 1.0)]
    assert {place.one_file for place in found.pairs[0].places} == {"src/own.py"}


def test_three_friends_of_a_small_class_are_found():
    """A third of eleven is three or four: whom one looks for."""
    for size in (2, 3, 6, 11):
        friends = {f"friend {n}": written("friends") for n in range(min(size, 4))}
        others = {f"other {n}": written(n) for n in range(size - len(friends))}
        found = similarity.similar(friends | others, [])
        assert len(found.pairs) == len(friends) * (len(friends) - 1) / 2 and found.note == ""


# What is handed in to stop it

HOSTILE = {
    "long line": "x = " + "a+" * 500_000,
    "brackets": "(" * 1_000_000,
    "same lines": "x = f(x, 1)\n" * 100_000,
    "nul": "\0" * 1_000_000,
    "open strings": '"""a\\' * 200_000,
    "escaped quotes": '\\"""' * 250_000,
    "dots": ". " * 500_000,
    "deep blocks": "".join(" " * depth + "if x:\n" for depth in range(1400)),
    "open headers": "def f(\n" * 140_000,
    "commas": "f(" + ",)" * 400_000,
    "surrogates": "\ud800 x" * 300_000,
    "deep notebook": '{"cells": ' + "[" * 500_000,
    "deep extra": '{"cells": [], "x": ' + "[" * 100_000 + "]" * 100_000 + "}",
    "large notebook": '{"cells": [], "x": "' + "a" * 9_000_000 + '"}',
    "odd notebook": '{"cells": [1, {"cell_type": "code", "source": [2]}]}',
    "different names": " ".join(f".a{n}" for n in range(140_000)),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_takes_few_operations(text):
    """Calls are counted, not seconds. The lexer's loops are possessive, so that it never reads a character twice."""
    calls = 0

    def count(frame, event, argument):
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        found = similarity.similar({"a": {"x.py": text}, "b": {"x.py": text, "y.ipynb": "{"}}, []).pairs
    finally:
        sys.setprofile(None)
    assert calls < 30 * 2 * similarity.READ
    for pair in found:
        assert len(comparison(pair, {"x.py": text}, {"x.py": text}, {})) < 10 * similarity.READ


def test_large_files_are_cut_and_that_is_said(sources, given):
    bulk = sources.mutant() | {"a.py": "x = 1\n" * 100_000, "b.ipynb": '{"cells": [], "x": "' + "a" * 9_000_000 + '"}'}
    (pair,) = similarity.similar({"a": sources.mutant(), "b": bulk}, given).pairs
    assert pair.share == 1.0
    assert sum(map(len, similarity.seen(bulk).values())) == similarity.READ
    assert similarity.cut(sources.mutant()) == []
    shortened, unread = similarity.cut(bulk)
    assert shortened.startswith("a.py: only the first")
    assert unread == "b.ipynb: nothing was compared; it is too large, or has no code."
    assert unread in comparison(pair, sources.mutant(), bulk, {})


# The page


class Outline(HTMLParser):
    """Tags, attributes and text of a page; whatever is not closed in order is an error."""

    def __init__(self, source):
        super().__init__()
        self.open, self.tags, self.names, self.marked, self.text = [], set(), set(), [], []
        self.feed(source)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.names |= {name for name, _ in attributes}
        if tag not in ("meta", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        (self.marked if self.open and self.open[-1] == "mark" else self.text).append(data)


def test_comparison_marks_what_is_alike_and_accuses_nobody(sources, given):
    one, other = sources.mutant(), disguised(sources.mutant(), *DISGUISES)
    (pair,) = similarity.similar({"a": one, "b": other}, given).pairs
    source = comparison(pair, one, other, {"a": "Ada", "b": ""})
    page = Outline(source)
    words = " ".join(" ".join(page.text).split())
    assert " ".join(SAID.split()) in words
    assert "Ada" in words
    assert not {"plagiarism", "cheat", "copied", "guilty"} & set(words.lower().split())
    assert "    rotated = torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1)" in page.marked
    assert any("my_rotated: dict[str, Tensor] = torch.stack(" in line for line in page.marked)
    assert not any(line.strip().startswith("#") for line in page.marked)
    assert source == comparison(pair, one, other, {"a": "Ada", "b": ""})


def test_comparison_is_inert_whatever_it_shows():
    bad = "</pre></style><script>window.pwned = 1</script><img src=x onerror=alert(1)>\u202e\x00\ud800"
    texts = {f"{bad}.py": f"{bad}\n\t{'x' * 5000}\n" * 500}
    place = Place(f"{bad}.py", (1, 900), f"{bad}.py", (3, 3))
    gone = Place("gone.py", (5, 9), f"{bad}.py", (90_000, 90_001))
    source = comparison(Pair(bad, "b", 0.8, (place, gone) * PLACES), texts, texts, {"b": bad})
    page = Outline(source)
    assert not page.tags & {"script", "img", "iframe", "object", "form", "base", "svg"}
    assert not any(name.startswith("on") for name in page.names)
    assert "default-src &#x27;none&#x27;" in source
    assert f"Only the first {PLACES} of {2 * PLACES} places are shown; the others are in the files." in page.text
    assert any(text.startswith("and 700 more lines, in </pre>") for text in page.text)
    assert "\u202e" not in source and "\0" not in source
