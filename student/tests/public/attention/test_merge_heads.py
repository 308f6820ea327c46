"""Public checks of merge_heads."""

from autograder.checking.claims import core, further
from autograder.judging.checks import matches_reference, merge_undoes_split
from autograder.judging.robustness import keeps_dtype_and_layout


@core
def test_merge_heads_matches_reference(submission, reference, tolerance):
    """the heads stand side by side again"""
    matches_reference(submission, reference, tolerance)


@core
def test_merge_heads_undoes_split(submission):
    """merging undoes splitting, exactly"""
    merge_undoes_split(submission, batch=2, heads=3, tokens=5, size=4)


@further(hidden=1)
def test_merge_heads_keeps_dtype_and_layout(submission, reference, tolerance):
    """float64 stays float64, and the layout in memory does not matter"""
    keeps_dtype_and_layout(submission, reference, tolerance)
