"""Hidden checks of the predictions without pretraining: made again from the parameters, and counted."""

from autograder import predictions, reproduction
from autograder.claims import core

SLUG = "predictions_nopretrain"


@core
def test_predictions_nopretrain_are_reproduced(submission, course, answers):
    """src/run.py evaluate, with your parameters, gives these predictions again"""
    reproduction.are_reproduced(submission, SLUG, course, answers)


@core
def test_predictions_nopretrain_are_right(submission, course, answers):
    """the accuracy on dev and on test is counted"""
    predictions.reach_the_threshold(submission, SLUG, course, answers)
