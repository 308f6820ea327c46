"""Public check of key142: all there is to know is in the handout, so nothing is hidden."""

from autograder.checking.claims import core
from autograder.judging.queries import close_enough


@core
def test_key142_is_close_enough(submission, reference, course):
    """with key142, query132 brings out the value of token 2"""
    close_enough(submission, reference, course.thresholds["query_error"])
