"""Given code: split_heads_qkv."""

from autograder.checking.claims import core
from autograder.judging.given import splits_each_alike


@core
def test_split_heads_qkv_is_as_given(submission):
    """split_heads_qkv splits Q, K and V alike"""
    splits_each_alike(submission, shape=(2, 3, 8), n_heads=4)
