"""What self_attention must do: on public references, and on hidden ones."""

from autograder.checking.claims import core, further
from autograder.judging.checks import (
    evaluation_is_deterministic,
    future_changes_nothing,
    gradients_flow,
    leaves_inputs_unchanged,
    matches_reference,
    order_of_keys_is_irrelevant,
)
from autograder.judging.robustness import defaults_and_keywords, keeps_dtype_and_layout


@core
def test_self_attention_matches_reference(submission, reference, tolerance):
    """all steps together give the reference's output"""
    matches_reference(submission, reference, tolerance)


@core
def test_self_attention_cannot_see_the_future(submission, reference):
    """later tokens change nothing in the output of earlier ones"""
    future_changes_nothing(submission, reference, ("Q", "K", "V"))


@core
def test_self_attention_without_mask_ignores_order(submission, reference):
    """without a mask, the order of the keys and values does not matter"""
    for case in reference.usual:
        if not case.arguments["causal"]:
            order_of_keys_is_irrelevant(submission, case)


@core
def test_self_attention_is_the_same_twice(submission, reference):
    """two calls with the same tensors give the same output"""
    evaluation_is_deterministic(submission, reference)


@further(hidden=1)
def test_self_attention_leaves_its_inputs_alone(submission, reference):
    """the tensors that were passed in are unchanged afterwards"""
    leaves_inputs_unchanged(submission, reference)


@further(hidden=1)
def test_self_attention_lets_gradients_flow(submission, reference, tolerance):
    """gradients reach every input"""
    gradients_flow(submission, reference, tolerance)


@further(hidden=1)
def test_self_attention_keeps_dtype_and_layout(submission, reference, tolerance):
    """float64 stays float64, and the layout in memory does not matter"""
    keeps_dtype_and_layout(submission, reference, tolerance)


@further(hidden=1)
def test_self_attention_has_defaults_and_keywords(submission, reference, tolerance):
    """n_heads=1 and causal=True are the defaults, and both can be given by name"""
    defaults_and_keywords(submission, reference, tolerance)
