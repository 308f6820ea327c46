"""Given code: NameDataset."""

from autograder.checking.claims import core
from autograder.judging.given import answers_are_taught
from autograder.judging.spans import Corpus


@core
def test_name_dataset_is_as_given(submission):
    """only the answer is taught: y is PAD while the question is asked"""
    corpus = Corpus("Where was Ada born? London\n", block_size=40)
    answers_are_taught(submission, corpus, "Where was Ada born?", "London")
