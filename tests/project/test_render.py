"""Messages as text and Markdown: short, at most 80 wide, and inert."""

from __future__ import annotations

from autograder.render import Markdown, Text, escaped, fenced, told_once
from autograder.report import LINES, Message


def check(headline="f: wrong", evidence=(), says="", verdict="failed", claim="f doubles"):
    message = {"headline": headline, "evidence": list(evidence), "says": says, "look": "→ src/f.py, handout 2.1"}
    return {"claim": claim, "verdict": verdict, "message": None if verdict == "passed" else message}


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
    assert [said is not None for _, said in told_once(checks)] == [True, False, False]


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
