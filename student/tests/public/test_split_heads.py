"""Public checks of split_heads."""

from autograder.checks import matches_reference


def test_split_heads_matches_reference(submission, reference, tolerance):
    """each head gets its own slice of every token's features"""
    matches_reference(submission, reference, tolerance)
