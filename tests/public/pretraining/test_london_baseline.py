"""Public check of the London baseline: all that it takes is in data/birth_dev.tsv."""

from autograder.checking import predictions
from autograder.checking.claims import core


@core
def test_london_baseline_is_right(submission, course, answers):
    """the file holds the accuracy of answering London to every dev question"""
    predictions.london_is_right(submission, "london_baseline", course, answers)
