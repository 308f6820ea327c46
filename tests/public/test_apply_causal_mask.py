"""Public checks of apply_causal_mask."""

from autograder.checks import matches_reference


def test_apply_causal_mask_matches_reference(submission, reference, tolerance):
    """forbidden scores get no weight, allowed ones stay"""
    matches_reference(submission, reference, tolerance)
