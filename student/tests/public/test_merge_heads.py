"""Public checks of merge_heads."""

from autograder.checks import matches_reference, merge_undoes_split


def test_merge_heads_matches_reference(submission, reference, tolerance):
    """the heads stand side by side again"""
    matches_reference(submission, reference, tolerance)


def test_merge_heads_undoes_split(submission):
    """merging undoes splitting, exactly"""
    merge_undoes_split(submission, batch=2, heads=3, tokens=5, size=4)
