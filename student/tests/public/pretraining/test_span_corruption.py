"""Public checks of span corruption: its form exactly, its randomness over many examples."""

from autograder.checking.claims import core, further, note
from autograder.judging import span_claims
from autograder.judging.spans import Corpus, sample

SENTENCES = Corpus(
    "Lovelace wrote the first program, long before there was a machine.\n"
    "Born in Vienna, Hedy Lamarr was an inventor and a film star.\n"
    "Hopper found a moth.\n"  # shorter than 35 characters, the most that may be kept
    "  Sophie Kowalski             \n"
    "ab\n",  # and the final newline makes an empty last document
    block_size=40,
)


@core
def test_span_corruption_form(submission):
    """an example is prefix MASK suffix MASK span and PADs, and y is x moved by one"""
    usual = [(sample(submission, SENTENCES, 0), 12), (sample(submission, SENTENCES, 1), 180)]
    later = [(2, span_claims.SHORTER), (3, span_claims.SPACIOUS), (4, span_claims.SHORT), (5, span_claims.SHORT)]
    span_claims.form(usual, 1500, [(sample(submission, SENTENCES, index), count) for index, count in later])


@further(public=1, hidden=1)
def test_span_corruption_takes_a_quarter(submission):
    """the span takes a quarter of the kept text on average"""
    span_claims.span_is_a_quarter(sample(submission, SENTENCES, 1), 180, 2500)


@further(public=1, hidden=1)
def test_span_corruption_varies(submission):
    """kept length, span and place are random, and a second call gives another example"""
    span_claims.examples_vary(sample(submission, SENTENCES, 1), 180, 600)


@further(hidden=1)
def test_span_corruption_keeps_every_length(submission):
    """every kept length from 4 to 7/8 of the block size is possible"""
    span_claims.every_length_is_possible(sample(submission, SENTENCES, 1), SENTENCES, 180, 1100)


@further(hidden=1)
def test_span_corruption_never_empty(submission):
    """the span is never empty where 8 characters or more are kept"""
    span_claims.span_is_never_empty(sample(submission, SENTENCES, 1), 180, sample(submission, SENTENCES, 2))


@further(hidden=1)
def test_span_corruption_shorter_documents(submission):
    """documents shorter than the limit are well formed, and sometimes cut"""
    span_claims.shorter_documents(sample(submission, SENTENCES, 1), 180, sample(submission, SENTENCES, 2))


@further(hidden=1)
def test_span_corruption_short_documents(submission):
    """documents of 0 to 3 characters give an example, not a crash"""
    short = [sample(submission, SENTENCES, index) for index in (4, 5)]
    span_claims.short_documents_survive(sample(submission, SENTENCES, 1), 180, short)


@further(hidden=1)
def test_span_corruption_keeps_spaces(submission):
    """spaces at the beginning and at the end of a document are kept"""
    span_claims.spaces_are_kept(sample(submission, SENTENCES, 1), 180, sample(submission, SENTENCES, 3))


@note
def test_span_corruption_full_length(submission):
    """x and y have block_size numbers"""
    span_claims.full_length(sample(submission, SENTENCES, 1))
