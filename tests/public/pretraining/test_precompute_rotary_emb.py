"""Public checks of precompute_rotary_emb."""

from autograder.checking.claims import core
from autograder.judging.checks import first_row_is_unrotated, matches_reference


@core
def test_precompute_rotary_emb_matches_reference(submission, reference, tolerance):
    """the cache holds cos and sin of position times θ"""
    matches_reference(submission, reference, tolerance)


@core
def test_precompute_rotary_emb_starts_unrotated(submission):
    """position 0 is not rotated: cos 1, sin 0"""
    first_row_is_unrotated(submission, dim=4, max_positions=6)
