"""Comparison: the order of questions, scale, and what never passes."""

from __future__ import annotations

import pytest
import torch

from autograder.judging.compare import SHOWN, Tolerance, compare_values, difference, numbers, spoken
from autograder.running.plain import Other, plain

EXPECTED = torch.arange(24.0).reshape(2, 3, 4) + 1
AXES = ("batch", "token", "feature")


def found(actual, expected=EXPECTED):
    return compare_values("f", actual, expected, Tolerance(), AXES)


def test_equal_passes():
    assert found(EXPECTED.clone()) is None


@pytest.mark.parametrize(
    ("actual", "kind", "headline"),
    [
        (None, "type", "f: returned None"),
        (Other("numpy.ndarray"), "type", "f: returned numpy.ndarray, expected a torch.Tensor"),
        ([1.0], "type", "f: returned list, expected a torch.Tensor"),
        (EXPECTED.mT, "shape", "f: shape (2, 4, 3), expected (2, 3, 4)"),
        (torch.tensor(1.0), "shape", "f: shape (), expected (2, 3, 4)"),
        (EXPECTED[:1], "shape", "f: shape (1, 3, 4), expected (2, 3, 4)"),
        (EXPECTED.double(), "dtype", "f: dtype float64, expected float32"),
        (EXPECTED.long(), "dtype", "f: dtype int64, expected float32"),
        (EXPECTED * torch.nan, "non-finite", "f: NaN at batch 0, token 0, feature 0"),
        (EXPECTED * torch.inf, "non-finite", "f: infinity at batch 0, token 0, feature 0"),
        (torch.zeros(2, 3, 4), "values", "f: right shape (2, 3, 4), wrong values"),
    ],
)
def test_questions_come_in_order(actual, kind, headline):
    finding = found(actual)
    assert (finding.kind, finding.headline) == (kind, headline)


def test_none_asks_for_the_return():
    assert found(None).evidence == ("Did you forget the return?",)


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1.0, 1e6])
def test_zeros_never_pass_whatever_the_scale(scale):
    assert found(torch.zeros(2, 3, 4), EXPECTED * scale) is not None
    assert found(EXPECTED * scale * (1 + 1e-6), EXPECTED * scale) is None


def test_infinity_must_match_infinity():
    expected = torch.tensor([[1.0, -torch.inf]])
    assert compare_values("f", expected.clone(), expected, Tolerance(), ()) is None
    assert compare_values("f", torch.tensor([[1.0, torch.inf]]), expected, Tolerance(), ()) is not None
    assert compare_values("f", torch.tensor([[1.0, 0.0]]), expected, Tolerance(), ()) is not None


def test_evidence_names_the_index_and_both_rows():
    actual = EXPECTED.clone()
    actual[1, 2, 3] = 0
    finding = found(actual)
    assert finding.evidence[0] == "batch 1, token 2: yours [21 22 23 0], expected [21 22 23 24]"
    assert finding.evidence[1] == "Batch 0 is right, the others are not."


def test_long_rows_are_cut():
    assert numbers(torch.arange(9.0)) == "[0 1 2 3 …]" and SHOWN == 4
    assert numbers(torch.arange(9.0), start=5) == "[… 5 6 7 8]"


def test_a_difference_is_shown_with_as_many_digits_as_it_takes():
    expected = torch.tensor([[1.0, 2.0]])
    assert difference(expected + 1e-4, expected, (0, 0), ("token", "feature")).endswith(
        "[1.0001 2.0001], expected [1 2]"
    )


def test_unnamed_axes_are_batch_and_heads():
    assert spoken((0, 1, 2), ("token",)) == "batch 0, head 1, token 2"
    assert spoken((0, 1), ("query",)) == "batch 0, query 1"


@pytest.mark.parametrize(
    ("shape", "hint"),
    [
        ((3, 2, 4), "The sizes are right, their order is not: yours are those of token, batch, feature."),
        ((3, 4), "The first axis (batch) is missing."),
        ((2, 1, 3, 4), "There is an axis of size 1 too many."),
        ((1, 1, 2, 3, 4), "There are 2 axes of size 1 too many."),
        ((3, 8), "As many entries as expected, but other axes."),
        ((2, 12), "As many entries as expected, but axes are merged."),
        ((2, 3, 2, 2), "As many entries as expected, but axes are split."),
        ((2, 4, 5), "Expected axes: batch, token, feature."),
    ],
)
def test_wrong_shapes_have_a_hint(shape, hint):
    assert hint in found(torch.zeros(shape)).evidence[0]


def test_axes_are_told_apart_by_their_numbers_and_sizes():
    (moved, _) = found(EXPECTED.permute(1, 0, 2)).evidence
    assert moved == "The axes are right, their order is not: yours are token, batch, feature."
    square = torch.randn(
        2, 3, 3, generator=torch.Generator().manual_seed(0)
    )  # (batch, token, feature): 3 = 3 by chance
    assert "yours" not in found(square.permute(1, 2, 0), square).evidence[0]
    same = torch.randn(3, 3, 4)
    assert found(same[0], same).evidence == ("Expected axes: batch, token, feature.",)  # which 3 is missing?


def test_a_row_of_nan_is_recognised():
    actual = EXPECTED.clone()
    actual[0, 1] = torch.nan
    finding = found(actual)
    assert finding.headline == "f: NaN at batch 0, token 1, feature 0"
    assert finding.evidence[0] == "4 of 24 entries are not finite; the first is at batch 0, token 1, feature 0."
    assert finding.evidence[1].startswith("The whole row is NaN")


class Liar(torch.Tensor):
    def __eq__(self, other):
        return torch.ones(1, dtype=torch.bool)


def test_plain_strips_or_refuses_everything_that_could_lie():
    honest = torch.ones(2)
    honest.numpy = lambda: "lie"  # an attribute on a plain tensor does not survive the copy
    assert "numpy" not in plain(honest).__dict__
    assert isinstance(plain(torch.ones(2).as_subclass(Liar)), Other)
    assert type(plain(torch.nn.Parameter(torch.ones(2)))) is torch.Tensor
    assert isinstance(plain(torch.ones(2).to_sparse()), Other)
    assert plain({"a": (1, [2.0, None])}) == {"a": (1, [2.0, None])}
    assert isinstance(plain({(1, 2): 3}), Other)
    assert isinstance(plain(object()), Other)
    assert isinstance(plain(type("int", (int,), {})(3)), Other)
    assert plain([10**3000, 10**5000]) == [10**3000, Other("whole number that is too large")]  # cannot be written down
