"""Hidden checks of the predictions with RoPE, after pretraining: made again from the parameters, and counted."""

from autograder import predictions, reproduction
from autograder.claims import core

SLUG = "predictions_rope"


@core
def test_predictions_rope_are_reproduced(submission, course, answers):
    """src/run.py evaluate, with your parameters, gives these predictions again"""
    reproduction.are_reproduced(submission, SLUG, course, answers)


@core
def test_predictions_rope_are_right(submission, course, answers):
    """the accuracy on test reaches the threshold"""
    predictions.reach_the_threshold(submission, SLUG, course, answers)
