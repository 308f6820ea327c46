"""Mutants nobody listed: what the operators make, and what becomes of a few of them."""

from __future__ import annotations

import ast
import os
import random
from dataclasses import replace

import pytest

from autograder.checking.engine import Outcome
from autograder.judging.findings import Finding
from benchmarks.mutants import EQUIVALENT, Equivalent, Verdict, accusations, judge, read_equivalents, report, stale
from benchmarks.mutation import OPERATORS, Mutant, mutants, variations

OUTCOMES = (Outcome("f", "public", "test_f", "f is right", "failed", Finding("values", "f", (), "f.wrong"), "Wrong."),)


@pytest.fixture(scope="module")
def made(sources):
    return mutants(sources)


@pytest.mark.parametrize(
    ("operator", "code", "expected"),
    [
        ("constant", "y = 4", {"y = 5", "y = 3", "y = 0", "y = -4", "y = 2", "y = 8"}),
        ("constant", "y = -0.5", {"y = 0.5", "y = -1.5", "y = 0.0", "y = -0.25", "y = -1.0"}),
        ("constant", "y = True", {"y = False"}),
        ("axis", "y = x.flatten(-2)", {"y = x.flatten(1)", "y = x.flatten(3)"}),  # the others are constants ± 1
        ("comparison", "y = a == b", {f"y = a {sign} b" for sign in ("!=", "<", "<=", ">", ">=")} | {"y = a"}),
        ("sign", "return a @ b", {"return -a @ b", "return a @ -b", "return -(a @ b)"}),
        ("sign", "y = -a", {"y = a"}),
        ("off by one", "y = x[:n]", {"y = x[:n + 1]", "y = x[:n - 1]"}),
        ("condition", "if a:\n    y = b", {f"if {test}:\n    y = b" for test in ("not a", "True", "False")}),
        ("arguments", "y = f(a, b)", {"y = f(b, a)", "y = f(a)", "y = f(b)"}),
        ("arguments", "y = f(dim=n)", {"y = f()"}),
        ("call", "y = x.tril()", {"y = x", "y = x.tril().tril()"}),
        ("call", "y = math.sqrt(x)", {"y = x", "y = math.sqrt(math.sqrt(x))"}),
        ("sibling", "y = x.cos", {"y = x.sin", "y = x.tan"}),
        ("slice", "y = x[a:]", {"y = x[:]", "y = x[:a]", "y = x"}),
        ("statement", "a = b\nc = d", {"a = b", "c = d", "c = d\na = b"}),
        ("statement", "if a:\n    b = c", {"pass", "if a:\n    pass"}),
    ],
)
def test_operators_make_what_they_say(operator, code, expected):
    assert {text for name, text in variations(code) if name == operator} == expected


def test_arithmetic_is_exchanged_turned_and_dropped():
    found = {text for name, text in variations("y = a / b") if name == "arithmetic"}
    assert found == {f"y = a {sign} b" for sign in ("+", "-", "*", "//", "%", "**", "@")} | {
        "y = b / a",
        "y = a",
        "y = b",
    }


def test_names_come_from_around_and_from_above():
    found = {text for name, text in variations("y = x\nz = y\nreturn f(z)", ["x", "n"]) if name in ("name", "return")}
    assert {"y = n\nz = y\nreturn f(z)", "y = x\nz = n\nreturn f(z)", "y = x\nz = y\nreturn y"} <= found
    assert not any(text.startswith("y = z") for text in found)  # z is not there yet


def test_variations_are_all_different_and_never_the_original():
    texts = [text for _, text in variations("return (a + a) / 1", ["a"])]
    assert len(texts) == len(set(texts)) and "return (a + a) / 1" not in texts


def test_a_mutant_tells_its_changed_statement():
    mutant = Mutant("f", "f.py", "statement", "a = 1\nb = 2\nc = 3", "b = 2\na = 1\nc = 3")
    assert mutant.statement == "b = 2\na = 1"
    assert replace(mutant, after="a = 1\nc = 3").statement == "without b = 2"
    assert replace(mutant, after="a = 1\nb = 4\nc = 3").diff == "-b = 2\n+b = 4"


def test_the_generator_makes_many_and_always_the_same(made, sources):
    assert len(made) >= 300 and mutants(sources) == made
    assert {mutant.operator for mutant in made} == set(OPERATORS)
    assert {mutant.exercise for mutant in made} == set(sources.home)


def test_only_the_region_changes(made, sources):
    for mutant in made[::50]:
        texts = mutant.submission(sources)
        assert [name for name in texts if texts[name] != sources.texts[name]] == [mutant.file]
        ast.parse(texts[mutant.file])
        assert mutant.before != mutant.after


@pytest.mark.slow
def test_checks_kill_a_sample_and_one_that_loops_for_ever_and_spare_an_equivalent(made, sources, monkeypatch):
    monkeypatch.setattr("benchmarks.mutants.SECONDS", 2)
    quick = ("attn_scaled", "make_causal_mask", "merge_heads", "query121", "key142")
    listed = {entry.key for entry in read_equivalents(EQUIVALENT)}
    candidates = [mutant for mutant in made if mutant.exercise in quick and mutant.key not in listed]
    spared = next(mutant for mutant in made if mutant.key == ("query121", "query121 = 20 * K[0]"))
    chosen = [*random.Random(0).sample(candidates, 9), replace(spared, after="while True: pass"), spared]
    verdicts = judge(chosen, sources, os.cpu_count() or 1, 0, lambda _: None)
    assert [verdict.killed for verdict in verdicts] == [True] * 10 + [False]
    assert [bool(verdict.outcomes) for verdict in verdicts] == [True] * 9 + [False, True]


def test_an_equivalent_that_matches_nothing_is_reported(made):
    entries = read_equivalents(EQUIVALENT)
    assert stale(entries, made) == []
    gone = replace(entries[0], statement="return nothing")
    assert stale([gone, *entries], made) == [gone]


def test_report_is_well_only_if_every_survivor_is_explained(made):
    mutant = made[0]
    survivor, killed = Verdict(mutant, OUTCOMES, frozenset()), Verdict(mutant, (), frozenset())
    entry = Equivalent(mutant.exercise, mutant.statement, "it is right")
    text, well = report([survivor], [entry])
    assert well and "it is right" in text and mutant.diff.splitlines()[1] in text
    text, well = report([survivor], [])
    assert not well and "holes in the checks" in text
    text, well = report([killed], [entry])
    assert not well and "lost points" in text
    assert report([killed], [replace(entry, chance=True)])[1] and report([killed], [])[1]


def test_accusations_are_grouped_by_what_is_said(made):
    verdict = Verdict(made[0], OUTCOMES, frozenset())
    assert accusations([verdict, verdict]).count("at f, f.wrong: Wrong.") == 1
