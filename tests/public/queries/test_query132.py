"""Public check of query132: all there is to know is in the handout, so nothing is hidden."""

from autograder.checking.claims import core
from autograder.judging.queries import close_enough


@core
def test_query132_is_close_enough(submission, reference, course):
    """query132 brings out the mean of values 0 and 1"""
    close_enough(submission, reference, course.thresholds["query_error"])
