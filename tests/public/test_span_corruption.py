"""Public checks of span corruption: its form exactly, its randomness over many examples."""

from autograder import spans

SENTENCES = spans.Corpus(
    "Ada Lovelace wrote the first program.\n"
    "Born in Vienna, Hedy Lamarr was an inventor and a film star.\n"
    "Grace Hopper found a moth.\n"
    "ab\n",  # and the final newline makes an empty last document
    block_size=24,
)


def test_span_corruption_form(submission):
    """an example is prefix MASK suffix MASK span and PADs, and y is x moved by one"""
    spans.draw(submission, SENTENCES, [0, 2] * 12)


def test_span_corruption_keeps_every_length(submission):
    """every kept length from 4 to 7/8 of the block size is possible"""
    spans.every_length_is_possible(spans.sample(submission, SENTENCES, 1), SENTENCES, 190, 600)


def test_span_corruption_takes_a_quarter(submission):
    """the span takes a quarter of the kept text on average"""
    spans.span_is_a_quarter(spans.sample(submission, SENTENCES, 1), 190, 2500)


def test_span_corruption_varies(submission):
    """length and place of the span are random, with text on both sides"""
    spans.span_varies(spans.sample(submission, SENTENCES, 1), 190, 600)


def test_span_corruption_is_fresh(submission):
    """asked again, the same document gives another example"""
    spans.randomness_is_fresh(spans.sample(submission, SENTENCES, 1)(40))


def test_span_corruption_short_documents(submission):
    """documents of 0 to 3 characters give an example, not a crash"""
    spans.short_documents_survive(submission, SENTENCES, [3, 4])
