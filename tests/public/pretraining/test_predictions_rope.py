"""Public checks of the predictions with RoPE, after pretraining: the files; nothing is run."""

from autograder.checking import predictions
from autograder.checking.claims import core

SLUG = "predictions_rope"


@core
def test_predictions_rope_are_all_there(submission, course, answers):
    """the files are there, with one prediction for each question"""
    predictions.are_in_order(submission, SLUG, course, answers)


@core
def test_predictions_rope_have_plain_parameters(submission, course):
    """the parameters are tensors and nothing else"""
    predictions.parameters_are_plain(submission, SLUG, course)
