"""What attn_scaled must do: on public references, and on hidden ones."""

from autograder.checking.claims import core, further
from autograder.judging.checks import matches_reference
from autograder.judging.robustness import keeps_dtype_and_layout


@core
def test_attn_scaled_matches_reference(submission, reference, tolerance):
    """scores are divided by the square root of the head size"""
    matches_reference(submission, reference, tolerance)


@further(hidden=1)
def test_attn_scaled_keeps_dtype_and_layout(submission, reference, tolerance):
    """float64 stays float64, and the layout in memory does not matter"""
    keeps_dtype_and_layout(submission, reference, tolerance)
