"""What apply_rotary_emb must do: on public references, and on hidden ones."""

from autograder.checking.claims import core, further
from autograder.judging.checks import (
    gradients_flow,
    leaves_inputs_unchanged,
    matches_reference,
    rotation_is_relative,
    rotation_keeps_lengths,
)
from autograder.judging.robustness import keeps_dtype_and_layout


@core
def test_apply_rotary_emb_matches_reference(submission, reference, tolerance):
    """neighbouring features rotate by their position's angle"""
    matches_reference(submission, reference, tolerance)


@further(hidden=1)
def test_apply_rotary_emb_leaves_its_inputs_alone(submission, reference):
    """the tensors that were passed in are unchanged afterwards"""
    leaves_inputs_unchanged(submission, reference)


@further(hidden=1)
def test_apply_rotary_emb_lets_gradients_flow(submission, reference, tolerance):
    """gradients reach every input"""
    gradients_flow(submission, reference, tolerance)


@core
def test_apply_rotary_emb_keeps_lengths(submission, reference):
    """a rotation changes no length, and position 0 stays"""
    for case in reference.usual:
        rotation_keeps_lengths(submission, case)


@core
def test_apply_rotary_emb_is_relative(submission, reference):
    """query · key depends only on how far apart they stand"""
    for case in reference.usual[1:2] if reference.part == "public" else reference.usual[:3]:
        query, key = case.tensor("x").flatten(0, -2)[:2]
        rotation_is_relative(submission, query, key, case.tensor("rope_cache"))


@further(hidden=1)
def test_apply_rotary_emb_keeps_dtype_and_layout(submission, reference, tolerance):
    """float64 stays float64, and the layout in memory does not matter"""
    keeps_dtype_and_layout(submission, reference, tolerance)
