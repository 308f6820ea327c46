"""Public check of key141: all there is to know is in the handout, so nothing is hidden."""

from autograder.checking.claims import core
from autograder.judging.queries import close_enough


@core
def test_key141_is_close_enough(submission, reference, course):
    """with key141, query132 brings out the mean of values 0, 1 and 2"""
    close_enough(submission, reference, course.thresholds["query_error"])
