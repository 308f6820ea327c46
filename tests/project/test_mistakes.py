"""The table of mistakes: read without being run, turned into whole submissions."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from autograder.errors import UserError
from autograder.judging import span_stories
from autograder.judging.exercises import BUILT_ON
from autograder.proving.mistakes import mutated, read_table

HEAD = "from autograder.proving.mistakes import mistake\n\n\n"


def read(tmp_path: Path, text: str, exercise: str = "f"):
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / f"{exercise}.py").write_text(HEAD + text)
    return read_table(tmp_path)


def test_table_is_large_and_covers_every_exercise(table, sources):
    assert len(table) >= 340
    judged_by_result = {"initialize_model", "pretrain", "finetune", "london_baseline"}
    assert {mistake.exercise for mistake in table.values()} == set(sources.home) - judged_by_result


def test_sentences_are_for_students(table):
    for mistake in table.values():
        assert mistake.says[0].isupper() or mistake.says.startswith(("exp", "view", "x and y", "y is", "θ")), (
            mistake.slug
        )
        assert mistake.says.endswith((".", "...", "?")) and len(mistake.says) <= 115, mistake.slug


def test_every_mutant_parses_and_differs_from_the_solution(table, sources):
    for mistake in table.values():
        texts = sources.mutant(mistake)
        changed = [name for name in texts if texts[name] != sources.texts[name]]
        assert changed == [sources.home[mistake.region]]
        ast.parse(texts[changed[0]])


def test_every_cause_that_a_check_may_name_is_in_the_table(root, table):
    """A rule that names a mistake which nobody described would say nothing to the student."""
    modules = ("spans.py", "span_claims.py", "span_stories.py")
    source = "".join((root / "autograder/judging" / name).read_text() for name in modules)
    told = set(re.findall(r'cause=(?:cause if .*|)"([a-z_]+)"', source)) | set(
        re.findall(r'cause = "([a-z_]+)"', source)
    )
    told |= set(span_stories.FORMS) | set(span_stories.TEXTS) | set(span_stories.COUNTED)
    named = {f"span_corruption.{slug}" for slug in told}
    assert len(named) >= 30 and named <= set(table)


def test_one_statement_is_replaced_where_it_stands(tmp_path):
    row = read(tmp_path, '@mistake(replaces="y =")\ndef g():\n    """S."""\n    y = 2\n    y += 1\n')[0]
    assert row.slug == "f.g" and row.breaks == {"f"}
    solution = ["    if x:", "        y = 1", "    return y"]
    assert mutated(row, solution) == ["if x:", "    y = 2", "    y += 1", "return y"]


def test_parameters_may_be_part_of_a_mistake(tmp_path, sources):
    text = """@mistake(signature=True, loses=("a",), alone=True)
def g(Q, K, V, causal=True):
    \"\"\"S.\"\"\"
    return Q
"""
    row = read(tmp_path, text, "self_attention")[0]
    assert row.loses == {"a"} and row.alone
    assert "def self_attention(Q, K, V, causal=True):\n" in sources.mutant(row)["src/attention.py"]


@pytest.mark.parametrize("solution", [["    y = 1", "    y = 2"], ["    return 3"]])
def test_statement_must_be_found_once(tmp_path, solution):
    row = read(tmp_path, '@mistake(replaces="y =")\ndef g():\n    """S."""\n    y = 2\n')[0]
    with pytest.raises(UserError, match=r"f\.g replaces 'y =', which starts [02] statements"):
        mutated(row, solution)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@mistake()\ndef g():\n    return 1\n", r"f\.py:5: 'g' has no docstring"),
        ('@mistake\ndef g():\n    """S."""\n    return 1\n', r"f\.py:5: 'g' needs exactly one decorator"),
        ('@mistake("f")\ndef g():\n    """S."""\n    return 1\n', r"f\.py:5: 'g' needs exactly one decorator"),
        ('@mistake()\ndef g():\n    """S."""\n', r"f\.py:5: 'g' has no body"),
        ('@mistake()\ndef g():\n    """S."""\n    x = 1\n' * 2, r"mistake 'f\.g' is already in the table"),
        ('@mistake(spares=("h",))\ndef g():\n    """S."""\n    x = 1\n', r"'g' spares 'h', which is not built on 'f'"),
        ("def g(:\n", r"f\.py:4: "),
    ],
)
def test_wrong_table_names_file_and_line(tmp_path, text, message):
    with pytest.raises(UserError, match=message):
        read(tmp_path, text)


def test_mistake_in_an_unknown_region_is_an_error(tmp_path, sources):
    row = read(tmp_path, '@mistake()\ndef g():\n    """S."""\n    return 1\n', "nothing")[0]
    with pytest.raises(UserError, match="no solution region has that name"):
        sources.mutant(row)


def test_a_mistake_breaks_what_is_built_on_its_exercise(tmp_path):
    one = '@mistake({})\ndef {}(x):\n    """S."""\n    return x\n\n\n'
    text = (
        one.format("", "g")
        + one.format('spares=("self_attention",)', "h")
        + "def cases(public, draw):\n    return {}\n"
    )
    assert [(row.slug, row.also_breaks) for row in read(tmp_path, text, "split_heads")] == [
        ("split_heads.g", ("self_attention", "causal_self_attention")),
        ("split_heads.h", ("causal_self_attention",)),
    ]


def test_what_others_are_built_on_comes_first(table):
    places = {slug: place for place, slug in enumerate(dict.fromkeys(mistake.exercise for mistake in table.values()))}
    assert all(places[below] < places[above] for above in BUILT_ON for below in BUILT_ON[above])
