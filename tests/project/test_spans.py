"""Span corruption: false-alarm rates, and examples taken apart by hand."""

from __future__ import annotations

import math
import random

import pytest
import torch

from autograder.judging import span_claims, spans
from autograder.judging.findings import CheckFailed, Finding
from autograder.judging.span_claims import ALARM, mean_slack, missed_length_alarm, share_slack, unvaried_alarm
from autograder.judging.span_stories import PAD
from autograder.judging.spans import Corpus, Example

DOCUMENT = "Ada Lovelace wrote the first program."
CORPUS = Corpus(f"{DOCUMENT}\nGrace Hopper found a moth.", block_size=24)


def item(text, block_size=24, shift=1):
    numbers = torch.tensor([CORPUS.vocabulary.index(c) for c in text.ljust(block_size + 1, PAD)])
    return numbers[:block_size], numbers[shift : block_size + shift]


def take_apart(value):
    return spans.take_apart(spans._as_text(value, CORPUS), CORPUS, DOCUMENT)


def cause(value):
    with pytest.raises(CheckFailed) as error:
        take_apart(value)
    return error.value.finding.cause.removeprefix("span_corruption.") or error.value.finding.headline


def test_example_by_hand():
    assert take_apart(item("Ada ⁇lace⁇Love")) == Example("Ada ", "lace", "Love")


def test_third_mask_and_empty_sides_are_fine():
    assert take_apart(item("Ada ⁇lace⁇Love⁇")).kept == 12
    assert take_apart(item("⁇ Lo⁇Ada")).prefix == ""
    assert take_apart(item("Ada ⁇⁇Love")).suffix == ""


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Ada ⁇Love⁇lace", "wrong_order"),
        ("Love⁇Ada ⁇lace", "span_first"),
        ("Ada ⁇Lovelace⁇Love", "span_left_in_place"),
        ("pro⁇m.⁇gra", "right_anchored"),
        ("wrote⁇ first⁇ the", "random_window"),
        ("Ada ⁇laceLove", "one_mask"),
        ("□□Ada ⁇lace⁇Love", "pads_in_front"),
        ("Ada□⁇lace⁇Love", "span_corruption: PADs may stand only at the end"),
        ("Ada ⁇la⁇ce⁇Love⁇", "span_corruption: an example has two MASKs (or three), yours has 4"),
        ("Ada Lovelace ⁇e the⁇wrot", "kept_too_long"),
        ("A⁇a⁇d", "kept_too_short"),
        ("Ada ⁇oveL⁇ ace", "span_corruption: prefix + span + suffix is not the beginning of the document"),
        ("Ada ⁇ace⁇Love", "loses_characters"),
        ("Ada L⁇lace⁇Love", "repeats_characters"),
        ("ada ⁇lace⁇love", "letters_changed"),
        ("Grace ⁇per⁇Hop", "another_document"),
        ("Ada Lovelace", "no_mask"),
    ],
)
def test_mistakes_are_recognised(text, named):
    assert cause(item(text)) == named


def test_form_is_judged_before_text():
    x, y = item("Ada ⁇lace⁇Love")
    assert cause((x, x)) == "not_shifted"
    assert cause((x, y.flip(0))) == "span_corruption: y must be x moved by one character"
    assert cause((x.int(), y.int())) == "not_long"
    assert "shape (22,), expected (24,)" in cause((x[2:], y[2:]))
    assert "x has 24 numbers and y has 23" in cause((x, y[:-1]))
    assert cause((torch.cat((x, x[:1])), torch.cat((y, y[:1])))) == "not_cut"
    assert cause((x, y.masked_fill(torch.arange(24) < 6, -100))) == "targets_of_minus_100"
    assert cause((x, y.masked_fill(torch.arange(24) < 6, 0))) == "targets_of_the_span_only"
    assert "must be a pair" in cause([x, y])
    assert "x is list, expected a torch.Tensor" in cause((x.tolist(), y))
    assert "outside the vocabulary" in cause((x + 100, y + 100))


def test_one_number_less_is_accepted():
    """Other years of the original fill up to block_size, so that x and y are one shorter."""
    x, y = item("Ada ⁇lace⁇Love")
    assert take_apart((x[:-1], y[:-1])) == Example("Ada ", "lace", "Love")


def test_what_was_made_of_the_document_stands_beside_it():
    with pytest.raises(CheckFailed) as error:
        take_apart(item("Ada ⁇ace⁇Love"))
    assert error.value.finding.evidence[1:] == (
        "put together again: Ada Loveace",
        f"the document:       {DOCUMENT}",
    )


def test_false_alarm_rate_of_missing_lengths():
    lengths, draws = int(40 * 7 / 8) - 4, 1100  # as both test files ask for
    assert missed_length_alarm(lengths, draws) <= ALARM


def test_false_alarm_rate_of_empty_spans():
    """With a true share of one in five, the bound is exceeded less than once in a million times (exact tail)."""
    n, p = 1400, 0.2
    most = math.floor((p + share_slack(n)) * n)
    log = [math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) for k in range(n + 1)]
    tail = sum(math.exp(log[k] + k * math.log(p) + (n - k) * math.log(1 - p)) for k in range(most + 1, n + 1))
    assert tail <= ALARM


def test_false_alarm_rate_of_no_variation():
    assert unvaried_alarm(span_claims.ENOUGH) <= ALARM


def test_mean_slack_is_the_bound_it_says_and_tells_a_third_from_a_quarter():
    n = 3600  # of 4,000 examples in the hidden check, nine in ten are long enough
    shares = [random.Random(1).uniform(0, 0.5) for _ in range(n)]
    variance = 0.25 / 12
    by_hand = math.sqrt(2 * variance * math.log(4 / ALARM) / n) + 7 * math.log(4 / ALARM) / (3 * (n - 1))
    shares = [random.Random(i).uniform(0, 0.5) for i in range(n)]
    assert mean_slack(shares) == pytest.approx(by_hand, rel=0.1)
    assert 0.30 + mean_slack(shares) < 1 / 3 and 0.20 - mean_slack(shares) > 1 / 6


def test_empirical_false_alarms_of_the_mean_are_none_at_the_edge_of_what_is_allowed():
    """A solution whose mean share is 0.30, the most that is allowed, must still pass."""
    generator = random.Random(7)
    for _ in range(50):
        examples = []
        for _ in range(1000):
            kept = generator.randint(12, 43)
            share = generator.uniform(0.1, 0.5)
            span = max(1, math.floor(kept * share + generator.random()))
            examples.append(Example("x", "x" * (kept - span - 1), "y" * span))
        span_claims.span_is_a_quarter(lambda count: examples[:count], 400, 1000)  # noqa: B023


def test_too_few_long_texts_fail_instead_of_breaking():
    with pytest.raises(CheckFailed, match="hardly ever are 12 characters kept"):
        span_claims.span_is_a_quarter(lambda _: [Example("ab", "cd", "e"), Example("a", "cd", "e")] * 100, 1, 1)


class Counted:
    """Examples that a generator makes, and how many were asked for."""

    def __init__(self, make, seed=3):
        self.generator, self.make, self.examples = random.Random(seed), make, []

    def __call__(self, count):
        while len(self.examples) < count:
            self.examples.append(self.make(self.generator))
        return self.examples[:count]


def right(generator, longest=21):
    kept = generator.randint(4, longest)
    span = generator.randint(1, max(1, kept // 2 - 1))
    start = generator.randint(0, kept - span)
    return Example("p" * start, "s" * (kept - span - start), "x" * span)


def test_a_few_examples_are_enough_for_what_is_seen_in_them():
    sample = Counted(right)
    span_claims.every_length_is_possible(sample, CORPUS, 160, 600)
    span_claims.examples_vary(sample, 160, 600)
    span_claims.span_is_a_quarter(sample, 160, 2500)
    assert len(sample.examples) == 160


def test_what_a_few_examples_do_not_show_is_looked_for_in_many():
    rare = Counted(lambda generator: right(generator, longest=21 if generator.random() < 0.1 else 19))
    span_claims.every_length_is_possible(rare, CORPUS, 20, 5000)
    assert len(rare.examples) == 5000
    never = Counted(lambda generator: right(generator, longest=19))
    with pytest.raises(CheckFailed, match="every kept length") as error:
        span_claims.every_length_is_possible(never, CORPUS, 160, 600)
    assert "Never seen in 600 examples: 20." in error.value.finding.evidence and len(never.examples) == 600


def test_the_longest_length_may_be_missing():
    span_claims.every_length_is_possible(Counted(lambda generator: right(generator, longest=20)), CORPUS, 160, 600)


def test_spans_may_be_empty_in_a_fifth_of_long_texts_and_in_short_ones():
    def often(share):
        def make(generator):
            one = right(generator, longest=40)
            return Example(one.prefix + one.span, one.suffix, "") if generator.random() < share else one

        return Counted(make)

    span_claims._span_is_seldom_empty(often(0.18), 200, 1500)
    with pytest.raises(CheckFailed, match="empty too often") as error:
        span_claims._span_is_seldom_empty(often(0.4), 200, 1500)
    assert error.value.finding.cause == "span_corruption.empty_span"


def test_how_examples_are_spread_is_judged_once_their_form_is_right():
    always_in_front = Counted(lambda generator: Example("", "s" * generator.randint(10, 20), "x" * 5))
    for claim in (span_claims.span_is_a_quarter, span_claims.examples_vary):
        with pytest.raises(CheckFailed) as error:
            claim(always_in_front, 160, 600)
        assert error.value.finding.kind == "waiting"


def test_a_few_garbled_examples_do_not_hide_the_rest(monkeypatch):
    drawing = spans.Drawing(None, CORPUS, 0)
    drawing.drawn = [Example("a", "b", "c")] * 95 + [Finding("property", "garbled")] * 5
    assert len(drawing(100)) == 95
    drawing.drawn = drawing.drawn[:30] + [Finding("property", "garbled")] * 10
    with pytest.raises(CheckFailed, match="once the form"):
        drawing(40)


def of_share(share):
    return Example("s", "s" * 59, "x" * round(60 / (1 / share - 1)))


@pytest.mark.parametrize("share", [1 / 3, 1 / 6])
def test_a_third_and_a_sixth_do_not_pass_by_a_few(share):
    for seed in range(30):
        sample = Counted(lambda generator: of_share(share * generator.uniform(0.4, 1.6)), seed)
        with pytest.raises(CheckFailed, match="a quarter"):
            span_claims.span_is_a_quarter(sample, 160, 4000)


def test_one_example_again_and_again_is_no_quarter_on_average():
    always = Counted(lambda _: Example("aaaaaa", "bbbbbb", "cccc"))
    with pytest.raises(CheckFailed) as error:
        span_claims.span_is_a_quarter(always, 160, 600)
    assert error.value.finding.cause == "span_corruption.frozen"
