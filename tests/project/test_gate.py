"""The gate holds, and lets nothing through that it should stop."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

from autograder.__main__ import main
from autograder.checking.courses import read_course
from autograder.judging.exercises import ASKING
from autograder.judging.held_out import supplied, unknown
from autograder.proving.accepted_forms import FORMS
from autograder.proving.assembling import Sources, lay_out
from autograder.proving.gate import Line, table_text, verify
from autograder.proving.mistakes import read_table


@pytest.mark.slow
def test_gate_holds_and_prints_one_table(root, capsys):
    assert main(["--root", str(root), "verify"]) == 0, capsys.readouterr().out
    shown = capsys.readouterr().out
    assert "OFF" not in shown and "ok   confusion table is clean" in shown
    for mistake in ("make_causal_mask.no_diagonal", "apply_rotary_emb.pairs_halves", "span_corruption.right_anchored"):
        assert f"ok   {mistake}" in shown


@pytest.fixture
def gate(root, table, monkeypatch):
    monkeypatch.setattr("autograder.proving.lazy.ANSWERS", {"zeros": "torch.zeros_like(result)"})  # one is enough here

    def run(*slugs, sources=None, variants=(), answers=unknown, course=None):
        rows = [table[slug] for slug in slugs]
        folders = [root / "tests/public", root / "tests/hidden"]
        given = sources or Sources(root / "solutions")
        return verify(given, rows, variants, [course or read_course("default")], folders, answers, 2, lambda _: None)[0]

    return run


def off(lines):
    return {line.what: line for line in lines if not line.held}


@pytest.mark.slow
def test_gate_stops_a_wrong_solution(gate, repository):
    path = repository / "solutions/src/attention.py"
    path.write_text(path.read_text().replace("a * cos - b * sin, a * sin", "a * cos + b * sin, a * sin"))
    wrong = off(gate(sources=Sources(repository / "solutions")))
    assert "default: solutions" in wrong and wrong["default: solutions"].notes


@pytest.mark.slow
def test_gate_stops_a_stub_that_earns_points(gate, repository):
    path = repository / "solutions/src/attention.py"
    marker = "    # BEGIN SOLUTION merge_heads\n"
    path.write_text(
        path.read_text().replace(marker, "    if True:\n        return y.transpose(1, 2).flatten(-2)\n" + marker)
    )
    assert "default: stubs" in off(gate(sources=Sources(repository / "solutions")))


@pytest.mark.slow
def test_gate_stops_a_mistake_that_loses_too_little_or_too_much(gate, table, monkeypatch):
    slug = "attn_scaled.not_scaled"
    for also_breaks in ((), (*table[slug].also_breaks, "split_heads")):
        monkeypatch.setitem(table, slug, replace(table[slug], also_breaks=also_breaks))
        assert slug in off(gate(slug))


@pytest.mark.slow
def test_gate_stops_a_mistake_that_is_not_named(gate, table, monkeypatch):
    slug = "attn_scaled.not_scaled"
    odd = replace(table[slug], slug="attn_scaled.divided_by_three", body=("return A / 3",))
    monkeypatch.setitem(table, "odd", odd)
    wrong = off(gate("odd"))
    assert wrong["attn_scaled.divided_by_three"].found.endswith("named nothing")
    assert wrong["confusion table is clean"].notes == ("attn_scaled.divided_by_three was named nothing",)


@pytest.mark.slow
def test_gate_judges_a_variant_by_the_courses_that_it_names(root, gate, table):
    variants = {one.slug: one for one in read_table(root / "solutions/exercises", "variant")}
    original = variants["span_corruption.stripped_and_rounded"]
    assert original.courses == ("cs224n",)
    wrong = off(gate(variants=[replace(original, courses=("default",))]))
    assert "right: span_corruption.stripped_and_rounded" in wrong  # our own courses ask for more


@pytest.mark.slow
def test_gate_knows_what_share_a_mistake_costs(gate, table, monkeypatch):
    """One that costs the core must not keep it; one that costs a further claim must cost that one alone."""
    cheap = table["attn_scaled.scaled_in_float32"]
    monkeypatch.setitem(table, cheap.slug, replace(cheap, loses=frozenset()))
    assert off(gate(cheap.slug))[cheap.slug].found.endswith("keeps 2 of 3 hidden points, not 0")
    monkeypatch.setitem(table, cheap.slug, replace(cheap, loses=frozenset({"lets_gradients_flow"})))
    assert "breaks keeps_dtype_and_layout, not lets_gradients_flow" in off(gate(cheap.slug))[cheap.slug].found
    dear = table["attn_scaled.not_scaled"]
    monkeypatch.setitem(table, dear.slug, replace(dear, loses=frozenset({"keeps_dtype_and_layout"})))
    assert dear.slug in off(gate(dear.slug))


@pytest.mark.slow
def test_gate_tries_other_forms_of_an_answer(gate, monkeypatch):
    slug = "make_causal_mask.upper_triangle"
    assert {f"{slug} as {form}" for form in ("float32", "int64", "uint8")} <= {line.what for line in gate(slug)}
    monkeypatch.setitem(FORMS["make_causal_mask"], "float32", "\n\ndef make_causal_mask(n_tok):\n    return None\n")
    assert {what for what in off(gate(slug)) if slug in what} == {f"{slug} as float32"}


@pytest.mark.slow
def test_gate_stops_a_variant_that_loses_points(gate, table):
    lines = off(gate(variants=[table["merge_heads.heads_reversed"]]))
    assert lines["right: merge_heads.heads_reversed"].found.startswith("loses ")


@pytest.mark.slow
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
