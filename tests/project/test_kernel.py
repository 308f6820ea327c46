"""The checks inside a notebook: `grader.check`, without a kernel and without Otter."""

from __future__ import annotations

import pytest
import torch

from autograder.judging.queries import KEYS
from autograder.selfcheck import notebook
from autograder.selfcheck.notebook import Failed, Grader, passes, questions


def test_questions_are_numbered_as_in_the_handout(course):
    named = questions(course)
    assert [named[f"q1_{number}"] for number in ("2_1", "2_2", "3_1", "3_2", "4_1", "4_2")] == [
        *("query121", "query122", "query131", "query132", "key141", "key142")
    ]
    assert named["q2_1_1"] == "pairwise_similarities" and named["q2_3_2"] == "merge_heads"
    assert named["q2_4_1"] == "self_attention" and "init_qkv_proj" not in named.values()


def test_a_passed_question_says_what_is_right():
    shown = Grader({"query121": 10 * KEYS[0]}).check("q1_2_1")
    headline, claim = repr(shown).splitlines()
    assert headline.startswith("✓ q1_2_1 query121: passed, 1 of 1 checks")
    assert claim == "  ✓ query121 brings out the value of token 0"
    assert "<b>✓ q1_2_1 query121: passed" in shown._repr_html_() and notebook.COLOURS["passed"] in shown._repr_html_()


def test_a_failed_question_gives_the_message_of_every_other_route():
    shown = repr(Grader({"query132": 10 * KEYS[:2].mean(0), "key142": crafted(10)}).check("q1_4_2"))
    assert shown.startswith(
        "✗ q1_4_2 key142: 0 of 1 checks\n  ✗ with key142, query132 brings out the value of token 2\n"
    )
    assert "\n    key142: error 0.1184, must be at most 0.05\n" in shown
    assert "query132 is too short: with a key of length 1" in shown and "→ this notebook, handout 1.4" in shown


def crafted(length):
    key = KEYS.clone()
    query = length * KEYS[:2].mean(0)
    key[2] = query / query.norm()
    return key


def test_not_started_is_neither_right_nor_wrong():
    def attn_softmax(A):
        raise NotImplementedError("attn_softmax is not started yet")

    assert repr(Grader({"query121": None}).check("q1_2_1")) == "· q1_2_1 query121: not started yet"
    assert repr(Grader({"attn_softmax": attn_softmax}).check("q2_1_3")) == "· q2_1_3 attn_softmax: not started yet"


def test_a_name_that_no_cell_has_defined_yet():
    shown = repr(Grader({}).check("q1_2_1"))
    assert "there is no query121 in this notebook yet" in shown and "Have you run the cell that defines it?" in shown


def test_hidden_checks_are_announced_where_there_are_some():
    shown = repr(Grader({"attn_softmax": lambda A: torch.softmax(A, -1)}).check("q2_1_3"))
    assert "passed" in shown and "Hidden checks try other sizes and numbers when you hand in." in shown


def test_what_a_student_wrote_is_no_html():
    def attn_softmax(A):
        raise ValueError("<script>alert(1)</script>")

    shown = Grader({"attn_softmax": attn_softmax}).check("q2_1_3")._repr_html_()
    assert "&lt;script&gt;" in shown and "<script>" not in shown


def test_unknown_question_is_one_line(capsys):
    assert Grader({}).check("q9") is None
    assert capsys.readouterr().out.startswith("There is no question 'q9'; there are q1_2_1, ")


def test_without_otter_the_rest_of_otter_is_not_there():
    with pytest.raises(AttributeError, match="is otter-grader installed"):
        _ = Grader({}).export


class Recorded:
    """Stands for Otter's Notebook: runs the test as Otter's test file does."""

    extra = "something of Otter's"

    def __init__(self):
        self.asked = []

    def check(self, question, names):
        self.asked.append(question)
        with pytest.raises(Failed):
            passes("query121", "public", names)


def test_with_otter_it_is_otter_that_checks():
    otter = Recorded()
    grader = Grader({"query121": KEYS[0]}, otter)
    assert "error 0.26" in repr(grader.check("q1_2_1"))
    assert otter.asked == ["q1_2_1"] and grader.extra == Recorded.extra


def test_otters_test_fails_with_our_words_and_hidden_values_stay_hidden():
    with pytest.raises(Failed) as public:
        passes("attn_scaled", "public", {"attn_scaled": lambda A, n_embd, n_heads: A / n_embd**0.5})
    assert "You divide by √n_embd" in str(public.value) and "yours [1.73 2.31]" in str(public.value)
    with pytest.raises(Failed) as hidden:
        passes("attn_scaled", "hidden", {"attn_scaled": lambda A, n_embd, n_heads: A / n_embd**0.5})
    assert "You divide by √n_embd" in str(hidden.value) and "yours" not in str(hidden.value)
    passes("attn_scaled", "hidden", {"attn_scaled": lambda A, n_embd, n_heads: A / (n_embd / n_heads) ** 0.5})
    with pytest.raises(Failed, match="query121: not started"):
        passes("query121", "public", {"query121": None})
