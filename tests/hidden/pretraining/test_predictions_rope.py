"""Hidden checks of the predictions with RoPE, after pretraining: computed from the parameters, and counted."""

from autograder.checking.claims import core
from autograder.grading import reproduction

SLUG = "predictions_rope"


@core
def test_predictions_rope_are_reproduced(submission, course, answers):
    """your parameters, computed by the grader, give these predictions"""
    reproduction.are_reproduced(submission, SLUG, course, answers)


@core
def test_predictions_rope_are_right(submission, course, answers):
    """the accuracy on test reaches the threshold"""
    reproduction.reach_the_threshold(submission, SLUG, course, answers)
