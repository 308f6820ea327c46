"""What span corruption must do: its form exactly, its randomness over many examples.

The documents come from the references, each with what it is used for: "form" and "usual" ones are long, others are
shorter than what may be kept, have spaces around them, or only a few characters.
"""

from autograder.checking.claims import core, further, note
from autograder.judging import span_claims
from autograder.judging.spans import drawings

FEW = 180  # examples of the usual document; only if these leave a doubt are more drawn


def usual(submission, reference):
    (drawing,) = drawings(submission, reference, "usual")
    return drawing


def many(reference, question):
    """How many examples settle a question at last."""
    return next(case.number(question) for case in reference.cases if question in case.arguments)


@core
def test_span_corruption_form(submission, reference):
    """an example is prefix MASK suffix MASK span and PADs, and y is x moved by one"""
    long = [(drawing, many(reference, "examples")) for drawing in drawings(submission, reference, "form")]
    counts = {"shorter": span_claims.SHORTER, "spacious": span_claims.SPACIOUS, "short": span_claims.SHORT}
    later = [(drawing, n) for use, n in counts.items() for drawing in drawings(submission, reference, use)]
    span_claims.form([*long, (usual(submission, reference), FEW)], 1500, later)


@further(public=1, hidden=1)
def test_span_corruption_takes_a_quarter(submission, reference):
    """the span takes a quarter of the kept text on average"""
    span_claims.span_is_a_quarter(usual(submission, reference), FEW, many(reference, "for shares"))


@further(public=1, hidden=1)
def test_span_corruption_varies(submission, reference):
    """kept length, span and place are random, and a second call gives another example"""
    span_claims.examples_vary(usual(submission, reference), FEW, many(reference, "for variety"))


@further(hidden=1)
def test_span_corruption_keeps_every_length(submission, reference):
    """every kept length from 4 to 7/8 of the block size is possible"""
    drawing = usual(submission, reference)
    span_claims.every_length_is_possible(drawing, drawing.corpus, FEW, 1100)


@further(hidden=1)
def test_span_corruption_never_empty(submission, reference):
    """the span is never empty where 8 characters or more are kept"""
    (shorter,) = drawings(submission, reference, "shorter")
    span_claims.span_is_never_empty(usual(submission, reference), FEW, shorter)


@further(hidden=1)
def test_span_corruption_shorter_documents(submission, reference):
    """documents shorter than the limit are well formed, and sometimes cut"""
    (shorter,) = drawings(submission, reference, "shorter")
    span_claims.shorter_documents(usual(submission, reference), FEW, shorter)


@further(hidden=1)
def test_span_corruption_short_documents(submission, reference):
    """documents of 0 to 3 characters give an example, not a crash"""
    short = drawings(submission, reference, "short")
    span_claims.short_documents_survive(usual(submission, reference), FEW, short)


@further(hidden=1)
def test_span_corruption_keeps_spaces(submission, reference):
    """spaces at the beginning and at the end of a document are kept"""
    (spacious,) = drawings(submission, reference, "spacious")
    span_claims.spaces_are_kept(usual(submission, reference), FEW, spacious)


@note
def test_span_corruption_full_length(submission, reference):
    """x and y have block_size numbers"""
    span_claims.full_length(usual(submission, reference))
