"""Hidden checks of the predictions after pretraining: computed from the parameters, and counted."""

from autograder.checking.claims import core
from autograder.grading import reproduction

SLUG = "predictions_vanilla"


@core
def test_predictions_vanilla_are_reproduced(submission, course, answers):
    """your parameters, computed by the grader, give these predictions"""
    reproduction.are_reproduced(submission, SLUG, course, answers)


@core
def test_predictions_vanilla_are_right(submission, course, answers):
    """the accuracy on dev reaches the threshold"""
    reproduction.reach_the_threshold(submission, SLUG, course, answers)
