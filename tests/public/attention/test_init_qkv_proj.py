"""Given code: init_qkv_proj."""

from autograder.checking.claims import core
from autograder.judging.given import three_linear_layers


@core
def test_init_qkv_proj_is_as_given(submission):
    """init_qkv_proj makes three Linear layers with bias"""
    three_linear_layers(submission, n_embd=6)
