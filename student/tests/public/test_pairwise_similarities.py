"""Public checks of pairwise_similarities."""

from autograder.checks import matches_reference


def test_pairwise_similarities_matches_reference(submission, reference, tolerance):
    """entry [i, j] is the dot product of query i and key j"""
    matches_reference(submission, reference, tolerance)
