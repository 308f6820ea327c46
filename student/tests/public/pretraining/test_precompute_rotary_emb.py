"""What precompute_rotary_emb must do: on public references, and on hidden ones."""

from autograder.checking.claims import core
from autograder.judging.checks import first_row_is_unrotated, matches_reference


@core
def test_precompute_rotary_emb_matches_reference(submission, reference, tolerance):
    """the cache holds cos and sin of position times θ"""
    matches_reference(submission, reference, tolerance)


@core
def test_precompute_rotary_emb_starts_unrotated(submission, reference):
    """position 0 is not rotated: cos 1, sin 0"""
    first_row_is_unrotated(submission, reference.usual[0])
