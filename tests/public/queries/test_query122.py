"""Public check of query122: all there is to know is in the handout, so nothing is hidden."""

from autograder.checking.claims import core
from autograder.judging.queries import close_enough


@core
def test_query122_is_close_enough(submission, reference, course):
    """query122 brings out V, row for row"""
    close_enough(submission, reference, course.thresholds["query_error"])
