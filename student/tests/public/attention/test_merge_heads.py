"""What merge_heads must do: on public references, and on hidden ones."""

from autograder.checking.claims import core, further
from autograder.judging.checks import matches_reference, merge_undoes_split
from autograder.judging.robustness import keeps_dtype_and_layout


@core
def test_merge_heads_matches_reference(submission, reference, tolerance):
    """the heads stand side by side again"""
    matches_reference(submission, reference, tolerance)


@core
def test_merge_heads_undoes_split(submission, reference):
    """merging undoes splitting, exactly"""
    merge_undoes_split(submission, reference.usual[1])  # three heads


@further(hidden=1)
def test_merge_heads_keeps_dtype_and_layout(submission, reference, tolerance):
    """float64 stays float64, and the layout in memory does not matter"""
    keeps_dtype_and_layout(submission, reference, tolerance)
