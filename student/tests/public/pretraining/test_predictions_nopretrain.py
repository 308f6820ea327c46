"""Public checks of the predictions without pretraining: the files; nothing is run."""

from autograder.checking import predictions
from autograder.checking.claims import core

SLUG = "predictions_nopretrain"


@core
def test_predictions_nopretrain_are_all_there(submission, course, answers):
    """the files are there, with one prediction for each question"""
    predictions.are_in_order(submission, SLUG, course, answers)


@core
def test_predictions_nopretrain_have_plain_parameters(submission, course):
    """the parameters are tensors and nothing else"""
    predictions.parameters_are_plain(submission, SLUG, course)
