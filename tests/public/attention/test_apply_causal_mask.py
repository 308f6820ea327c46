"""What apply_causal_mask must do: on public references, and on hidden ones."""

from autograder.checking.claims import core, further
from autograder.judging.checks import matches_reference
from autograder.judging.robustness import every_kind_of_mask, keeps_dtype_and_layout


@core
def test_apply_causal_mask_matches_reference(submission, reference, tolerance):
    """forbidden scores get no weight, allowed ones stay"""
    matches_reference(submission, reference, tolerance)


@further(hidden=1)
def test_apply_causal_mask_keeps_dtype_and_layout(submission, reference, tolerance):
    """float64 stays float64, and the layout in memory does not matter"""
    keeps_dtype_and_layout(submission, reference, tolerance)


@further(hidden=1)
def test_apply_causal_mask_takes_every_kind_of_mask(submission, reference, tolerance):
    """a mask of booleans works, and so does one of 0s and 1s"""
    every_kind_of_mask(submission, reference, tolerance)
