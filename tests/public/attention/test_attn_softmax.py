"""What attn_softmax must do: on public references, and on hidden ones."""

from autograder.checking.claims import core, further
from autograder.judging.checks import matches_reference, rows_are_weights
from autograder.judging.robustness import keeps_dtype_and_layout


@core
def test_attn_softmax_matches_reference(submission, reference, tolerance):
    """scores become weights, row by row"""
    matches_reference(submission, reference, tolerance)


@core
def test_attn_softmax_rows_sum_to_1(submission, reference):
    """every row is a set of weights, also for large scores"""
    for case in reference.usual:
        rows_are_weights(submission, case)


@further(hidden=1)
def test_attn_softmax_keeps_dtype_and_layout(submission, reference, tolerance):
    """float64 stays float64, and the layout in memory does not matter"""
    keeps_dtype_and_layout(submission, reference, tolerance)
