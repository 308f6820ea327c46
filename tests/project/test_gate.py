"""The gate holds, and lets nothing through that it should stop."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

from autograder.__main__ import main
from autograder.course import read_course
from autograder.exercises import ASKING
from autograder.held_out import supplied, unknown
from autograder.mutants import Sources, lay_out
from autograder.verify import Line, table_text, verify


def test_gate_holds_and_prints_one_table(root, capsys):
    assert main(["--root", str(root), "verify"]) == 0, capsys.readouterr().out
    shown = capsys.readouterr().out
    assert "OFF" not in shown and "ok   confusion table is clean" in shown
    for mistake in ("make_causal_mask.no_diagonal", "apply_rotary_emb.pairs_halves", "span_corruption.right_anchored"):
        assert f"ok   {mistake}" in shown


@pytest.fixture
def gate(root, table, monkeypatch):
    monkeypatch.setattr("autograder.lazy.ANSWERS", {"zeros": "torch.zeros_like(result)"})  # one is enough here

    def run(*slugs, sources=None, variants=(), answers=unknown, course=None):
        rows = [table[slug] for slug in slugs]
        folders = [root / "tests/public", root / "tests/hidden"]
        given = sources or Sources(root / "solutions")
        return verify(given, rows, variants, [course or read_course("default")], folders, answers, 2, lambda _: None)[0]

    return run


def off(lines):
    return {line.what: line for line in lines if not line.held}


def test_gate_stops_a_wrong_solution(gate, repository):
    path = repository / "solutions/src/attention.py"
    path.write_text(path.read_text().replace("a * cos - b * sin, a * sin", "a * cos + b * sin, a * sin"))
    wrong = off(gate(sources=Sources(repository / "solutions")))
    assert "default: solutions" in wrong and wrong["default: solutions"].notes


def test_gate_stops_a_stub_that_earns_points(gate, repository):
    path = repository / "solutions/src/attention.py"
    marker = "    # BEGIN SOLUTION merge_heads\n"
    path.write_text(
        path.read_text().replace(marker, "    if True:\n        return y.transpose(1, 2).flatten(-2)\n" + marker)
    )
    assert "default: stubs" in off(gate(sources=Sources(repository / "solutions")))


def test_gate_stops_a_mistake_that_loses_too_little_or_too_much(gate, table, monkeypatch):
    slug = "attn_scaled.not_scaled"
    for also_breaks in ((), (*table[slug].also_breaks, "split_heads")):
        monkeypatch.setitem(table, slug, replace(table[slug], also_breaks=also_breaks))
        assert slug in off(gate(slug))


def test_gate_stops_a_mistake_that_is_not_named(gate, table, monkeypatch):
    slug = "attn_scaled.not_scaled"
    odd = replace(table[slug], slug="attn_scaled.divided_by_three", body=("return A / 3",))
    monkeypatch.setitem(table, "odd", odd)
    wrong = off(gate("odd"))
    assert wrong["attn_scaled.divided_by_three"].found.endswith("named nothing")
    assert wrong["confusion table is clean"].notes == ("attn_scaled.divided_by_three was named nothing",)


def test_gate_stops_a_variant_that_loses_points(gate, table):
    lines = off(gate(variants=[table["merge_heads.heads_reversed"]]))
    assert lines["right: merge_heads.heads_reversed"].found.startswith("loses ")


def test_gate_grades_what_the_solutions_were_trained_to(gate, trained, repository, answers):
    """With predictions, full marks; without them, or without the answers, it says so and does not hold."""
    code = {name: content for name, content in trained.files.items() if name.startswith("src/")}
    learnt = {name: content for name, content in trained.files.items() if name not in code}
    known, default = supplied(answers), read_course("default")
    course = replace(default, items={slug: item for slug, item in default.items.items() if slug in ASKING})
    shutil.rmtree(repository / "solutions/trained")
    lay_out(repository / "solutions", code)
    without = off(gate(sources=Sources(repository / "solutions"), answers=known, course=course))
    assert "not handed in" in without["default: solutions"].notes[0]
    lay_out(repository / "solutions/trained", learnt)
    held = {line.what: line for line in gate(sources=Sources(repository / "solutions"), answers=known, course=course)}
    assert held["default: solutions"].held and held["default: solutions"].found == "20 points"
    assert held["default: stubs"].held
    unanswered = off(gate(sources=Sources(repository / "solutions"), course=course))
    assert "no held-out answers were given" in unanswered["default: solutions"].notes[0]


def test_table_marks_what_is_off():
    lines = [Line("a", "x", "x", True), Line("b", "x", "y", False, ("because",))]
    assert table_text(lines, 80).splitlines() == [
        "ok   a  x",
        "OFF  b  expected x; found y",
        "       because",
        "1 of 2 held",
    ]
