"""Public checks of compute_outputs."""

from autograder.checks import matches_reference


def test_compute_outputs_matches_reference(submission, reference, tolerance):
    """each output is the weighted sum of all values"""
    matches_reference(submission, reference, tolerance)
