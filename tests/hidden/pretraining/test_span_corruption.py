"""Hidden checks of span corruption: own corpora, more examples, other block sizes."""

from autograder.checking.claims import core, further
from autograder.judging import span_claims
from autograder.judging.spans import Corpus, sample

# Letters in an order without repetitions of length 4, so that a piece tells where it came from.
LONG = (
    "Qx7bv neJ,orTl Wk.zu0iYp-aHd gMs4Fc!RtyDhE qLwGfB2K mPjS'UXo"
    "Ca9 NVr;ZeIu 5AtOb?lWy3 d(nG)k1 JxQ8 fMvH6zcTp/RsE:iB uDq"
)
SMALL = Corpus(
    f"{LONG}\n{LONG[::-1]}\nköln ü√∞é liegt nah!\n   Abc dEf gHi jKl            \n\nx\nyz\nabc", block_size=50
)
LARGE = Corpus(f"{LONG}\n{LONG[::-1]}", block_size=128)
MIDDLE = Corpus(f"{LONG}\n{LONG[::-1]}", block_size=40)


@core
def test_span_corruption_form(submission):
    """an example is prefix MASK suffix MASK span and PADs, and y is x moved by one"""
    drawn = [(sample(submission, SMALL, 0), 8), (sample(submission, SMALL, 1), 8), (sample(submission, LARGE, 0), 8)]
    later = [
        (2, span_claims.SHORTER),
        (3, span_claims.SPACIOUS),
        *((index, span_claims.SHORT) for index in (4, 5, 6, 7)),
    ]
    others = [(sample(submission, SMALL, index), count) for index, count in later]
    span_claims.form([*drawn, (sample(submission, MIDDLE, 0), 180)], 1500, others)


@further(public=1, hidden=1)
def test_span_corruption_takes_a_quarter(submission):
    """the span takes a quarter of the kept text on average"""
    span_claims.span_is_a_quarter(sample(submission, MIDDLE, 0), 180, 4000)


@further(public=1, hidden=1)
def test_span_corruption_varies(submission):
    """kept length, span and place are random, and a second call gives another example"""
    span_claims.examples_vary(sample(submission, MIDDLE, 0), 180, 1500)


@further(hidden=1)
def test_span_corruption_keeps_every_length(submission):
    """every kept length from 4 to 7/8 of the block size is possible"""
    span_claims.every_length_is_possible(sample(submission, MIDDLE, 0), MIDDLE, 180, 1100)


@further(hidden=1)
def test_span_corruption_never_empty(submission):
    """the span is never empty where 8 characters or more are kept"""
    span_claims.span_is_never_empty(sample(submission, MIDDLE, 0), 180, sample(submission, SMALL, 2))


@further(hidden=1)
def test_span_corruption_shorter_documents(submission):
    """documents shorter than the limit are well formed, and sometimes cut"""
    span_claims.shorter_documents(sample(submission, MIDDLE, 0), 180, sample(submission, SMALL, 2))


@further(hidden=1)
def test_span_corruption_short_documents(submission):
    """documents of 0 to 3 characters give an example, not a crash"""
    short = [sample(submission, SMALL, index) for index in (4, 5, 6, 7)]
    span_claims.short_documents_survive(sample(submission, MIDDLE, 0), 180, short)


@further(hidden=1)
def test_span_corruption_keeps_spaces(submission):
    """spaces at the beginning and at the end of a document are kept"""
    span_claims.spaces_are_kept(sample(submission, MIDDLE, 0), 180, sample(submission, SMALL, 3))
