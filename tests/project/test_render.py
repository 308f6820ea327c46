"""Messages as text and Markdown: short, at most 80 wide, and inert."""

from __future__ import annotations

from autograder.checking.formatting import Markdown, Memory, Text, escaped, fenced, told_once
from autograder.checking.wording import LINES, Message


def check(
    headline="f: wrong",
    evidence=(),
    says="",
    verdict="failed",
    claim="f doubles",
    kind="values",
    counts="core",
    worth="",
):
    message = {"headline": headline, "evidence": list(evidence), "says": says, "look": "→ src/f.py, handout 2.1"}
    about = {"claim": claim, "verdict": verdict, "kind": kind, "cause": "", "counts": counts, "worth": worth}
    return about | {"message": None if verdict == "passed" else message}


def test_messages_are_wrapped_and_never_longer_than_eight_lines():
    long = Message("f: " + "word " * 40, tuple("fact " * 30 for _ in range(9)), "You halve. " * 9, "→ f")
    for width in (40, 74, 80):
        lines = Message("f: no", tuple(f"fact {n} " + "x" * 60 for n in range(9)), "You halve.", "→ f").lines(width)
        assert len(lines) <= LINES and max(map(len, lines)) <= width
        assert lines[-1] == "  → f" and lines[-2] == "  You halve."
    assert max(map(len, long.lines(80))) <= 80


def test_a_caret_keeps_its_place():
    lines = Message("f: syntax", ("def f(:", "      ^")).lines()
    assert lines[1:] == ["  def f(:", "        ^"]


def test_the_same_mistake_is_told_once():
    checks = [check(says="You halve.", evidence=[f"example {n}"]) for n in range(3)]
    (told,) = told_once(checks)
    assert told.checks == tuple(checks) and told.said.evidence == ("example 0",)
    assert len(told_once([*checks, check(says="You double.")])) == 2


RAISED = ["NameError: name 'n' is not defined", "at src/f.py line 3: return n"]


def raised(name, *evidence, claim="f doubles", line=3):
    public = [*evidence, RAISED[0], f"at src/f.py line {line}: return n"]
    return check(f"{name}: your code raised NameError", public, kind="exception", claim=claim)


def hidden_raised(name, claim, line=3):
    evidence = [f"Asked for: {claim}.", f"NameError, src/f.py line {line}"]
    return check(f"{name}: your code raised an exception", evidence, kind="exception", claim=claim)


def test_one_exception_is_told_once_whatever_the_example_and_whoever_called():
    checks = [
        raised("f", "by hand: x = 3"),
        raised("F.forward", claim="gradients flow"),
        hidden_raised("f", "f doubles"),
    ]
    (told,) = told_once(checks)
    assert len(told.checks) == 3 and told.said.evidence[0] == "by hand: x = 3"
    assert len(told_once([*checks, raised("f", line=4)])) == 2
    assert len(told_once([*checks, hidden_raised("f", "f doubles", line=4)])) == 2
    other = check("f: your code raised TypeError", ["TypeError: no", RAISED[1]], kind="exception")
    assert len(told_once([*checks, other])) == 2  # at the same line, but another one


def test_a_syntax_error_is_told_once():
    public = check(
        "f: src/f.py has a syntax error in line 3", ["SyntaxError: invalid", "def f(:", "      ^"], kind="import"
    )
    hidden = check(
        "g: the file could not be loaded", ["Asked for: f doubles.", "SyntaxError, src/f.py line 3"], kind="import"
    )
    assert len(told_once([public, hidden])) == 1


def test_what_is_not_checked_for_one_reason_is_one_message():
    claims = ["gradients flow", "inputs stay", "calls agree"]
    checks = [check("f: not checked: the results are not right yet", kind="property", claim=claim) for claim in claims]
    text = Text().checks([check(evidence=["x = 3"]), *checks])
    assert text.count("not checked: the results are not right yet") == 1
    assert [line for line in text.splitlines() if line.startswith("✗")] == [f"✗ {c}" for c in ("f doubles", *claims)]
    assert Markdown().checks(checks).count("not checked: the results are not right yet") == 1


def test_a_hidden_check_that_only_repeats_its_claim_is_explained_by_the_public_one():
    public = check(evidence=["yours [1], expected [2]"])
    hidden = check("f: the values differ from the reference", ["Asked for: f doubles."])
    assert len(told_once([public, hidden])) == 1
    late = check("f: your code did not finish in time", ["Asked for: f doubles."], kind="timeout")
    assert len(told_once([public, late])) == 2  # that is something else


def test_what_another_exercise_told_is_one_line_there():
    memory = Memory()
    (first,) = told_once([raised("split_heads")], "split_heads", memory)
    (again,) = told_once([hidden_raised("split_heads", "f doubles")], "split_heads", memory)
    (then,) = told_once([raised("self_attention", "map: x")], "self_attention", memory)
    assert (first.before, again.before, then.before) == ("", "", "split_heads")
    (values,) = told_once([check(evidence=["yours 1"])], "merge_heads", memory)
    (alike,) = told_once([check(evidence=["yours 1"])], "self_attention", memory)
    assert (values.before, alike.before) == ("", "")  # equal numbers are no reason
    told = Text().checks([raised("self_attention")], "", "self_attention", memory)
    assert told == "✗ f doubles\n  told at split_heads; look here again when that is right"


def shared():
    core, own = {"worth": "core: 2 points together"}, {"counts": "further", "worth": "1 point"}
    return [
        *(check(verdict="passed", claim="f is right", **core), check(verdict="passed", claim="f is stable", **core)),
        *(check(verdict="passed", claim="inputs stay", **own), check(claim="gradients flow", **own)),
        check(claim="f takes lists", headline="f: raised", counts="note", worth="a note: no points"),
    ]


def test_every_claim_says_what_it_is_worth_and_notes_come_last():
    lines = Text().checks(shared()[::-1]).splitlines()
    assert [line for line in lines if not line.startswith(" ")] == [
        *("✓ inputs stay · 1 point", "✓ f is stable · core: 2 points together", "✓ f is right · core"),
        *("✗ gradients flow · 1 point", "– note, no points: f takes lists"),
    ]
    marked = Markdown().checks(shared()).split("\n\n")
    assert marked[0].splitlines()[:2] == ["- ✓ f is right · core: 2 points together", "- ✓ f is stable · core"]
    assert "**✗ gradients flow** · 1 point" in marked and "– note, no points: f takes lists" in marked
    assert marked.index("**✗ gradients flow** · 1 point") < marked.index("– note, no points: f takes lists")
    old = [{key: value for key, value in one.items() if key not in ("counts", "worth")} for one in shared()]
    assert Text().checks(old).count("✗") == 2  # results of an older grader


def test_long_claims_are_wrapped():
    claim = "later tokens change nothing in the output of earlier ones, whatever stands in them, and however many"
    text = Text(60).checks([check(claim=claim, counts="further", worth="1 point, with the hidden checks")])
    assert max(map(len, text.splitlines())) <= 60
    assert claim in " ".join(text.split()) and text.splitlines()[1].startswith("  ")


def test_what_is_left_out_of_the_advice_says_where_it_is():
    advice = [f"f{n}: x" for n in range(6)]
    assert "And 2 more, told at the exercises below." in Text().summary([], advice).splitlines()
    assert "And 2 more, told at the exercises below." in Markdown().summary(["1"], advice)
    assert "more" not in Text().summary([], advice[:4])


def test_text_says_what_is_right_too():
    text = Text().checks([check(verdict="passed", claim="f is there"), check(evidence=["x = 3"], says="You halve.")])
    assert text == "✓ f is there\n✗ f doubles\n  f: wrong\n    x = 3\n    You halve.\n    → src/f.py, handout 2.1"


def test_markdown_holds_what_students_chose_in_code_blocks_only():
    hostile = "```\n# Title <script>alert(1)</script> [link](javascript:x)"
    text = Markdown().checks([check(headline=hostile.splitlines()[0], evidence=hostile.splitlines()[1:])])
    block = text.split("\n\n")[1]
    assert block.startswith("````text\n```\n") and block.endswith("\n````") and "<script>" in block
    assert "<script>" not in text.replace(block, "")


def test_escaped_text_means_nothing_to_markdown():
    assert escaped("a_b *c* <d> [e](f) `g`") == r"a\_b \*c\* &lt;d&gt; \[e\](f) \`g\`"
    assert fenced(["a", "```` b"]).startswith("`````text\n")


def test_fix_first_stands_on_top():
    assert Text().summary(["3 of 4 passed."], ["f: x", "g: y"]) == "Fix first: f: x\nThen: g: y\n3 of 4 passed."
    assert Markdown().summary(["3 of 4 passed."], ["f: x"]) == "**Fix first:** f: x\n\n3 of 4 passed."
