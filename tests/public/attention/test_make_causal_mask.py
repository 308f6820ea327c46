"""What make_causal_mask must do: on public references, and on hidden ones."""

from autograder.checking.claims import core
from autograder.judging.checks import matches_reference


@core
def test_make_causal_mask_matches_reference(submission, reference, tolerance):
    """a token may attend to itself and to what came before it"""
    matches_reference(submission, reference, tolerance)
