"""Public check of query131: all there is to know is in the handout, so nothing is hidden."""

from autograder.checking.claims import core
from autograder.judging.queries import close_enough


@core
def test_query131_is_close_enough(submission, reference, course):
    """query131 brings out the mean of all four values"""
    close_enough(submission, reference, course.thresholds["query_error"])
