"""Evidence in words: each sentence is true of the tensors it is said of, and nothing is said without cause."""

from __future__ import annotations

import math

import pytest
import torch

from autograder.judging.evidence import can_be_weights, of_weights, sentences
from autograder.judging.pictures import Bars, maps, revived

AXES = ("batch", "head", "token", "feature")
EXPECTED = torch.randn(2, 3, 5, 4, generator=torch.Generator().manual_seed(1))


def said(actual, expected=EXPECTED, axes=AXES):
    return sentences(actual, expected, axes, 1e-5)


@pytest.mark.parametrize(
    ("actual", "sentence"),
    [
        (EXPECTED * math.sqrt(3), "Right up to a factor of 1.732 ≈ √3."),
        (EXPECTED / math.sqrt(8), "Right up to a factor of 0.3536 ≈ 1/√8."),
        (EXPECTED * 3, "Right up to a factor of 3."),
        (EXPECTED / 4, "Right up to a factor of 0.25 = 1/4."),
        (EXPECTED * 0.777, "Right up to a factor of 0.777."),
        (-EXPECTED, "Right but for the sign."),
        (EXPECTED + 2, "Right up to a constant: every entry of yours is 2 too large."),
        (torch.zeros_like(EXPECTED), "Every entry of yours is 0."),
        (EXPECTED.flip(1), "Right, but the heads stand in reverse order."),
        (
            EXPECTED[:, [0, 2, 1]],
            "Right up to the order of the heads: yours hold those of heads 0, 2, 1.",
        ),
        (EXPECTED.flatten()[torch.randperm(120)].view_as(EXPECTED), "All the right numbers, but at the wrong places."),
    ],
)
def test_what_explains_everything_is_said_alone(actual, sentence):
    assert said(actual) == [sentence]


def test_swapped_axes_of_one_size():
    square = torch.randn(2, 4, 4)
    assert sentences(square.mT, square, ("query", "key"), 1e-5) == [
        "Right but for two axes: queries and keys have changed places."
    ]


def test_moved_tokens():
    moved = torch.cat((EXPECTED[:, :, :1] * 5, EXPECTED[:, :, :-1]), dim=2)
    assert said(moved) == ["Right, but the tokens are 1 place too late."]


def test_an_error_that_grows_with_the_position():
    growing = EXPECTED + torch.arange(5.0)[:, None] * (0.1 + EXPECTED.abs() * 0)
    assert "Token 0 is right, and the error grows from token to token." in said(growing)


def test_some_slices_right():
    actual = EXPECTED.clone()
    actual[1] += torch.randn(3, 5, 4)
    assert said(actual)[0] == "Batch 0 is right, the others are not."
    actual = EXPECTED.clone()
    actual[..., 1::2] *= torch.rand(2, 3, 5, 2) + 1.1
    assert said(actual)[0].startswith("Feature 0 and 2 ") or "0, 2" in said(actual)[0]


def test_nearly_right_says_how_near():
    near = EXPECTED + 1e-3 * torch.randn(EXPECTED.shape)
    assert said(near)[-1].startswith("Close: the largest error is ")


def test_unrelated_numbers_say_nothing_that_is_not_so():
    generator = torch.Generator().manual_seed(5)
    for _ in range(200):
        other = torch.randn(EXPECTED.shape, generator=generator)
        assert said(other) in ([], ["1 % of the entries are right."])


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        (torch.full((1, 4, 4), 0.25), "Rows sum to 1, but query 0 attends to key 1, which comes later."),
        (torch.full((1, 4, 4), 0.25).tril(), "Nobody looks ahead, but the weights of query 0 sum to 0.25, not 1."),
        (torch.eye(4)[None], ""),
        (torch.tensor([[[1.0, 0.5], [0.0, 0.5]]]), "Columns sum to 1, rows do not and query 0 attends to key 1"),
    ],
)
def test_attention_maps_speak(weights, sentence):
    assert of_weights(weights, causal=True).startswith(sentence) and (sentence or not of_weights(weights, causal=True))


def test_pictures_survive_json_and_hold_odd_numbers_as_words():
    actual, expected = torch.tensor([[1.0, torch.nan], [-torch.inf, 2.0]]), torch.zeros(2, 2)
    picture = maps("f", actual, expected, ("query", "key"))
    assert picture.panels[0].values == ((1.0, "nan"), ("-inf", 2.0))
    from dataclasses import asdict

    assert revived(asdict(picture)) == picture
    bars = Bars("c", "x", ("1", "2"), (3, 0), (True, True))
    assert revived(asdict(bars)) == bars and revived(None) is None


def test_the_picture_is_of_the_worst_matrix_and_never_large():
    actual = EXPECTED.clone()
    actual[1, 2, 0, 0] += 100
    picture = maps("f", actual, EXPECTED, AXES)
    assert picture.caption == "f, batch 1, head 2" and picture.rows == "token"
    assert maps("f", torch.zeros(2, 17, 17), torch.ones(2, 17, 17), ()) is None


def test_one_number_is_no_factor():
    """Whatever stands at a single place is right up to a factor."""
    expected = torch.zeros(2, 3, 5, 4)
    expected[0, 1, 2, 3] = 4.0
    assert not any("factor" in sentence for sentence in said(expected * 2, expected))
    assert not any("factor" in sentence for sentence in said(torch.full((2, 3), 3.0).triu(), torch.ones(2, 3).triu()))


def test_a_small_factor_needs_a_good_fit():
    """A thousandth of the right numbers, and noise as large as that: no factor of anything."""
    noise = torch.randn(EXPECTED.shape, generator=torch.Generator().manual_seed(3))
    assert not any("factor" in sentence for sentence in said(1e-3 * EXPECTED + 1e-5 * noise))


def test_an_error_that_stays_does_not_grow():
    constant = EXPECTED + (torch.arange(5) > 0).float()[:, None]
    assert said(constant) == ["Token 0 is right, the others are not."]


def test_every_second_goes_to_the_end():
    wide = torch.randn(2, 3, 5, 10, generator=torch.Generator().manual_seed(2))
    actual = wide + torch.rand(2, 3, 5, 10) + 0.5
    actual[..., [0, 2, 4]] = wide[..., [0, 2, 4]]
    assert said(actual, wide) == ["Feature 0, 2, 4 are right, the others are not."]
    actual[..., [6, 8]] = wide[..., [6, 8]]
    assert said(actual, wide) == ["Feature 0, 2, … (every second) are right, the others are not."]
    actual[..., 9] = wide[..., 9]
    assert said(actual, wide)[0].startswith("6 of 10 features are right")


def test_what_is_right_by_nature_is_not_told():
    """The expected feature is 0 throughout, as where no token has a value: to have it right is no news."""
    expected = EXPECTED.clone()
    expected[..., 3] = 0
    actual = expected + torch.rand(EXPECTED.shape) + 0.5
    actual[..., 3] = 0
    assert said(actual, expected) == ["30 of 120 entries are right (25 %)."]


def test_axes_of_one_size_by_chance_tell_no_story():
    """Three heads and three tokens: who could say which of them were swapped?"""
    expected = torch.randn(2, 3, 3, 4, generator=torch.Generator().manual_seed(4))
    for actual in (expected.transpose(1, 2), expected.flip(1)):
        assert said(actual, expected) == ["All the right numbers, but at the wrong places."]


def test_slices_that_are_alike_are_in_no_order():
    alike = EXPECTED[:, :1].expand(2, 3, 5, 4) + torch.tensor([0.0, 0.0, 1.0])[:, None, None]
    assert not any("order" in sentence for sentence in said(alike.flip(1), alike))


def test_the_sum_that_is_told_is_the_one_that_is_wrong():
    """Of two heads, the first is right."""
    weights = torch.stack((torch.eye(4), torch.eye(4) * torch.tensor([1.0, 1.0, 0.5, 1.0])))[None]
    assert of_weights(weights, causal=True) == "Nobody looks ahead, but the weights of query 2 sum to 0.5, not 1."


@pytest.mark.parametrize(
    ("weights", "rest", "can"),
    [
        (torch.eye(4), torch.zeros(4, 1), True),
        (torch.eye(4) - 1e-6, torch.zeros(4, 0), True),
        (torch.eye(4) * 1.5, torch.zeros(4, 1), False),
        (-torch.eye(4), torch.zeros(4, 1), False),
        (torch.eye(4) * math.nan, torch.zeros(4, 1), False),
        (torch.eye(4), torch.ones(4, 1), False),
    ],
)
def test_weights_are_shares_of_the_whole(weights, rest, can):
    assert can_be_weights(weights, rest) is can
