"""Public checks of attn_scaled."""

from autograder.checks import matches_reference


def test_attn_scaled_matches_reference(submission, reference, tolerance):
    """scores are divided by the square root of the head size"""
    matches_reference(submission, reference, tolerance)
