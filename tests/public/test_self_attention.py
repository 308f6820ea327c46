"""Public checks of self_attention."""

from autograder.checks import (
    future_changes_nothing,
    gradients_flow,
    leaves_inputs_unchanged,
    matches_reference,
    order_of_keys_is_irrelevant,
)


def test_self_attention_matches_reference(submission, reference, tolerance):
    """all steps together give the reference's output"""
    matches_reference(submission, reference, tolerance)


def test_self_attention_cannot_see_the_future(submission, reference):
    """later tokens change nothing in the output of earlier ones"""
    future_changes_nothing(submission, reference, ("Q", "K", "V"))


def test_self_attention_without_mask_ignores_order(submission, reference):
    """without a mask, the order of the keys and values does not matter"""
    for case in reference.cases:
        if not case.arguments["causal"]:
            order_of_keys_is_irrelevant(submission, case)


def test_self_attention_leaves_its_inputs_alone(submission, reference):
    """the tensors that were passed in are unchanged afterwards"""
    leaves_inputs_unchanged(submission, reference)


def test_self_attention_lets_gradients_flow(submission, reference, tolerance):
    """gradients reach every input"""
    gradients_flow(submission, reference, tolerance, 2)
