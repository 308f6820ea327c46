"""Public check of query121: all there is to know is in the handout, so nothing is hidden."""

from autograder.checking.claims import core
from autograder.judging.queries import close_enough


@core
def test_query121_is_close_enough(submission, reference, course):
    """query121 brings out the value of token 0"""
    close_enough(submission, reference, course.thresholds["query_error"])
