"""Public checks of the predictions with RoPE, after pretraining: the files; nothing is run."""

from autograder import predictions

SLUG = "predictions_rope"


def test_predictions_rope_are_all_there(submission, course, answers):
    """the files are there, with one prediction for each question"""
    predictions.are_in_order(submission, SLUG, course, answers)


def test_predictions_rope_have_plain_parameters(submission, course):
    """the parameters are tensors and nothing else"""
    predictions.parameters_are_plain(submission, SLUG, course)
