"""Hidden checks of the predictions without pretraining: computed from the parameters, and counted."""

from autograder.checking.claims import core
from autograder.grading import reproduction

SLUG = "predictions_nopretrain"


@core
def test_predictions_nopretrain_are_reproduced(submission, course, answers):
    """your parameters, computed by the grader, give these predictions"""
    reproduction.are_reproduced(submission, SLUG, course, answers)


@core
def test_predictions_nopretrain_are_right(submission, course, answers):
    """the accuracy on dev and on test is counted"""
    reproduction.reach_the_threshold(submission, SLUG, course, answers)
