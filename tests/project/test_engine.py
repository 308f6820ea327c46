"""The engine: every check reported, three verdicts, and what a hidden check may say."""

from __future__ import annotations

import pytest

from autograder.checking.engine import Outcome, collect
from autograder.checking.points import lost, rows, score
from autograder.checking.wording import LINES, message
from autograder.errors import UserError
from autograder.judging.findings import SPOKEN, Finding

ATTENTION, DATASET = "src/attention.py", "src/dataset.py"


def only(outcomes, part="public"):
    return [outcome for outcome in outcomes if outcome.part == part]


def test_every_check_is_reported_when_a_file_is_missing_or_broken(examine, course):
    whole = examine()
    broken = examine({ATTENTION: "def f(:\n", DATASET: "raise SystemExit\n", "notebooks/A2S1.py": "1 / 0\n"})
    assert [o.name for o in broken] == [o.name for o in whole]
    assert {o.verdict for o in broken} == {"failed"}
    assert score(course, whole) == 100 and score(course, broken) == 0


def test_syntax_error_shows_the_students_own_line(examine):
    finding = examine({ATTENTION: "import torch\ndef split_heads(x, n_heads)\n    return x\n"}, ["split_heads"])[
        0
    ].finding
    assert finding.headline == "split_heads: src/attention.py has a syntax error in line 2"
    assert finding.evidence == (
        "SyntaxError: expected ':'",
        "def split_heads(x, n_heads)",
        "                           ^",
    )


@pytest.mark.parametrize(
    ("code", "kind", "text"),
    [
        ("return undefined", "exception", "NameError: name 'undefined' is not defined"),
        ("raise SystemExit(0)", "exception", "SystemExit: 0"),
        ("raise KeyboardInterrupt", "exception", "KeyboardInterrupt: "),
        ("return split_heads(x, n_heads)", "exception", "RecursionError"),
        ("input()", "exception", "RuntimeError: input() waits for a person"),
        ("breakpoint()", "exception", "RuntimeError: breakpoint() waits for a person"),
    ],
)
def test_exceptions_of_every_kind_fail_the_check_only(examine, sources, code, kind, text):
    source = sources.texts[ATTENTION] + f"\n\ndef split_heads(x, n_heads):\n    {code}\n"
    outcome = examine({ATTENTION: source}, ["split_heads"])[0]
    assert outcome.finding.kind == kind and outcome.finding.evidence[1].startswith(text)


def test_not_implemented_reads_not_started_only_if_the_student_raised_it(examine, sources):
    own = sources.texts[ATTENTION] + "\n\ndef merge_heads(y):\n    raise NotImplementedError\n"
    assert examine({ATTENTION: own}, ["merge_heads"])[0].finding.kind == "not started"
    theirs = sources.texts[ATTENTION] + "\n\ndef merge_heads(y):\n    return torch.nn.Module()(y)\n"
    assert examine({ATTENTION: theirs}, ["merge_heads"])[0].finding.kind == "exception"


def test_missing_name_and_missing_file(examine):
    missing = examine({ATTENTION: "x = 1\n"}, ["split_heads"])[0].finding
    assert missing.headline == "split_heads: src/attention.py does not define split_heads"


def test_printing_changes_nothing(examine, sources, capsys):
    source = sources.texts[ATTENTION].replace("return A @ V", "print('noise')\n    return A @ V")
    assert {o.verdict for o in examine({ATTENTION: source}, ["compute_outputs"])} == {"passed"}
    assert "noise" not in capsys.readouterr().out


def test_helper_modules_may_be_imported(examine, sources):
    files = {ATTENTION: sources.texts[ATTENTION] + "\nfrom mixing import compute_outputs\n"}
    files["src/mixing.py"] = "def compute_outputs(A, V):\n    return A @ V\n"
    assert {o.verdict for o in examine(files, ["compute_outputs"])} == {"passed"}


def test_our_own_fault_is_a_third_verdict_and_earns_nothing(examine, course, tmp_path):
    folder = tmp_path / "public"
    (folder / "references").mkdir(parents=True)
    (folder / "test_split_heads.py").write_text(
        "from autograder.checking.claims import core\n\n\n"
        '@core\ndef test_split_heads_x(submission):\n    """works"""\n    1 / 0\n'
    )
    from autograder.judging import references

    empty = references.Reference("split_heads", "public", (), {})
    (folder / "references/split_heads.safetensors").write_bytes(references.encode(empty))
    outcomes = examine(None, ["split_heads"], [folder])
    assert outcomes[0].verdict == "could not check" and "ZeroDivisionError" in outcomes[0].trouble
    row = next(row for row in rows(course, outcomes) if row.item.slug == "split_heads")
    assert row.verdict == "could not check" and row.score == 0
    assert "the fault is ours" in message(outcomes[0], "2.3", (ATTENTION,)).headline


def test_rows_without_any_outcome_could_not_be_checked(course):
    assert {row.verdict for row in rows(course, [])} == {"could not check"}
    assert lost(course, []) == {item.slug for item in course.graded if item.points}


def test_uncollectable_checks_are_one_line(tmp_path):
    folder = tmp_path / "public"
    folder.mkdir()
    (folder / "test_f.py").write_text("import nothing_of_that_name\n")
    with pytest.raises(UserError, match="could not be collected"):
        collect([folder], lambda _: None)
    with pytest.raises(UserError, match="is missing; it holds the checks"):
        collect([tmp_path / "hidden"], lambda _: None)
    (folder / "test_f.py").write_text("raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):  # Ctrl-C, and no fault of the checks
        collect([folder], lambda _: None)


SHAPE = "(2, 5, 12)"
ODD = [
    *("None", "1.5", "'text'", "object()", "()", "{}", "[[1.0]]", "(torch.ones(1),)"),
    *("torch.tensor(1.0)", "torch.empty(0)", "torch.ones(3)", "torch.ones(1).expand(10**12)"),
    *(f"torch.ones({SHAPE}, dtype=torch.{name})" for name in ("bool", "int64", "bfloat16", "complex64")),
    f"torch.full({SHAPE}, float('nan'))",
]


@pytest.mark.slow
@pytest.mark.parametrize("value", ODD)
def test_odd_values_fail_and_are_never_our_fault(examine, sources, course, value):
    names = [slug for slug, file in sources.home.items() if file == ATTENTION and slug != "causal_self_attention"]
    code = "".join(f"\n\ndef {name}(*_, **__):\n    return {value}\n" for name in names)
    code += f"\n\nclass CausalSelfAttention(CausalSelfAttention):\n    def forward(self, x):\n        return {value}\n"
    data = f"\n\nclass CharCorruptionDataset(CharCorruptionDataset):\n    vocab_size = property(lambda self: {value})\n"
    data += f"    __init__ = lambda self, *a: None\n    __getitem__ = lambda self, i: {value}\n    data = {value}\n"
    queries = "".join(f"\n{slug} = {value}\n" for slug, file in sources.home.items() if "A2S1" in file)
    files = {ATTENTION: sources.texts[ATTENTION] + code, DATASET: sources.texts[DATASET] + data}
    files["notebooks/A2S1.py"] = sources.texts["notebooks/A2S1.py"] + queries
    outcomes = examine(files)
    graded = [o for o in outcomes if o.exercise != "init_qkv_proj"]
    assert [o.trouble for o in graded if o.verdict == "could not check"] == []
    assert score(course, outcomes) == 0


def outcome(part, says="", **finding):
    detail = Finding("values", "f: 3.25 is wrong", ("x = 3.25",), **finding)
    return Outcome("f", part, "test_f", "f doubles its input", "failed", detail, says)


def test_hidden_checks_never_show_values():
    said = message(outcome("hidden", "You halve.", where="TypeError, src/f.py line 3"), "2.1", ("src/f.py",))
    shown = "\n".join(said.lines())
    assert "3.25" not in shown
    assert shown == (
        "f: the values differ from the reference\n  Asked for: f doubles its input.\n"
        "  TypeError, src/f.py line 3\n  You halve.\n  → src/f.py, handout 2.1"
    )


def test_public_checks_show_everything_in_eight_lines():
    many = Outcome("f", "public", "t", "c", "failed", Finding("values", "f: no", tuple("abcdefghijkl")), "You halve.")
    lines = message(many, "2.1", ("src/f.py",)).lines()
    assert len(lines) == LINES and lines[0] == "f: no" and lines[-2:] == ["  You halve.", "  → src/f.py, handout 2.1"]


def test_a_made_up_exception_name_is_not_repeated_for_hidden_checks(examine, sources):
    code = "\n\ndef merge_heads(y):\n    raise type('v' + str(float(y.sum())), (Exception,), {})\n"
    outcomes = examine({ATTENTION: sources.texts[ATTENTION] + code}, ["merge_heads"])
    for o in (o for o in only(outcomes, "hidden") if o.counts == "core"):
        assert o.finding.where.startswith("an exception, src/attention.py line")
        assert not any(character in "".join(message(o, "2.3", ("a",)).lines()[:2]) for character in "0123456789")


def test_spoken_sentences_cover_every_kind():
    assert all(SPOKEN.values())


@pytest.mark.parametrize("kind", ["NotImplementedError", "ValueError"])
def test_a_hidden_check_tells_no_place_that_no_public_one_has_met(examine, sources, kind):
    """The line in which code raises may say something of a hidden input: public inputs have a batch of 1 or 2."""
    body = f"    if x.shape[0] > 2:\n        raise {kind}\n    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)\n"
    source = sources.texts[ATTENTION] + "\n\ndef split_heads(x, n_heads):\n" + body
    hidden = [o for o in only(examine({ATTENTION: source}, ["split_heads"]), "hidden") if o.verdict == "failed"]
    assert hidden and {outcome.finding.where for outcome in hidden} == {""}
    assert not any("line" in line for outcome in hidden for line in message(outcome, "2.3", ("f.py",)).lines())


@pytest.mark.parametrize(
    ("exercise", "body"),
    [
        ("attn_scaled(A, n_embd, n_heads)", "return (A.double() * 1e-310).to(A.dtype)"),
        ("attn_scaled(A, n_embd, n_heads)", "return A * 1e300"),
        (
            "precompute_rotary_emb(dim, max_positions)",
            "return torch.ones(max_positions, dim // 2, 2).double() * 1e-300",
        ),
    ],
)
def test_numbers_beyond_all_bounds_are_wrong_and_not_our_fault(examine, sources, exercise, body):
    source = sources.texts[ATTENTION] + f"\n\ndef {exercise}:\n    {body}\n"
    outcomes = examine({ATTENTION: source}, [exercise.split("(")[0]])
    assert {outcome.verdict for outcome in outcomes} <= {"failed", "passed"}
    assert any(outcome.verdict == "failed" for outcome in outcomes)


def test_modules_may_share_one_table(examine, sources):
    """With a cache of its own, a student's code makes one rotary table for all modules of a size, whatever dtype they
    are loaded in: our float64 case must not change it for the others."""
    kept = "\nimport functools\n\nprecompute_rotary_emb = functools.lru_cache(None)(precompute_rotary_emb)\n"
    source = sources.texts[ATTENTION].replace("rope_cache[: x.size(-2)].to(x.dtype)", "rope_cache[: x.size(-2)]") + kept
    outcomes = examine({ATTENTION: source}, ["causal_self_attention"])
    assert source.count("x.dtype") == 0 and {outcome.verdict for outcome in outcomes} == {"passed"}
