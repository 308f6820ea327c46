"""Hidden checks of span corruption: own corpora, more examples, other block sizes."""

from autograder import spans

# Letters in an order without repetitions of length 4, so that a piece tells where it came from.
LONG = (
    "Qx7 vbneJ,orTl Wk.zu0iYp-aHd gMs4Fc!RtyDhE qLwGfB2K mPjS'UXo"
    "Ca9 NVr;ZeIu 5AtOb?lWy3 d(nG)k1 JxQ8 fMvH6zcTp/RsE:iB uDq"
)
SMALL = spans.Corpus(f"{LONG}\n{LONG[::-1]}\nabcdefghij\nIgor\n\nx\nyz\nabc", block_size=50)
LARGE = spans.Corpus(f"{LONG}\n{LONG[::-1]}", block_size=128)
MIDDLE = spans.Corpus(f"{LONG}\n{LONG[::-1]}", block_size=40)
TINY = spans.Corpus(f"{LONG}\nköln ü√∞é", block_size=18)


def test_span_corruption_form(submission):
    """an example is prefix MASK suffix MASK span and PADs, and y is x moved by one"""
    spans.draw(submission, SMALL, [0, 1] * 8 + [2, 3] * 24)
    spans.draw(submission, TINY, [1] * 16)
    spans.draw(submission, LARGE, [0, 1] * 8)


def test_span_corruption_keeps_every_length(submission):
    """every kept length from 4 to 7/8 of the block size is possible"""
    spans.every_length_is_possible(spans.sample(submission, TINY, 0), TINY, 100, 500)


def test_span_corruption_takes_a_quarter(submission):
    """the span takes a quarter of the kept text on average"""
    spans.span_is_a_quarter(spans.sample(submission, MIDDLE, 0), 160, 4000)


def test_span_corruption_varies(submission):
    """length and place of the span are random, with text on both sides"""
    spans.span_varies(spans.sample(submission, MIDDLE, 0), 160, 1500)


def test_span_corruption_is_fresh(submission):
    """asked again, the same document gives another example"""
    spans.randomness_is_fresh(spans.sample(submission, MIDDLE, 0)(40))


def test_span_corruption_short_documents(submission):
    """documents of 0 to 3 characters give an example, not a crash"""
    spans.short_documents_survive(submission, SMALL, [4, 5, 6, 7])
