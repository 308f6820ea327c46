"""Given code: the vocabulary and the documents of CharCorruptionDataset."""

from autograder.checking.claims import core
from autograder.judging.given import vocabulary_is_intact
from autograder.judging.spans import Corpus


@core
def test_char_vocabulary_is_as_given(submission):
    """the vocabulary is PAD, MASK, then the sorted characters"""
    vocabulary_is_intact(submission, Corpus("Zoë met Bob.\n\nBob left.\n", block_size=20))
