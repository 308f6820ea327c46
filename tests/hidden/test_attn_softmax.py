"""Hidden checks of attn_softmax."""

from autograder.checks import matches_reference, rows_are_weights


def test_attn_softmax_matches_reference(submission, reference, tolerance):
    """scores become weights, row by row"""
    matches_reference(submission, reference, tolerance)


def test_attn_softmax_rows_sum_to_1(submission, reference):
    """every row is a set of weights, also for large scores"""
    for case in reference.cases:
        rows_are_weights(submission, case)
