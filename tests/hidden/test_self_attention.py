"""Hidden checks of self_attention."""

from autograder.checks import (
    few,
    future_changes_nothing,
    gradients_flow,
    leaves_inputs_unchanged,
    matches_reference,
    order_of_keys_is_irrelevant,
)
from autograder.exercises import EXERCISES


def test_self_attention_matches_reference(submission, reference, tolerance):
    """all steps together give the reference's output"""
    matches_reference(submission, reference, tolerance)


def test_self_attention_cannot_see_the_future(submission, reference):
    """later tokens change nothing in the output of earlier ones"""
    for case in few(reference):
        if case.arguments["causal"] and case.tensor("Q").shape[1] > 1:
            future_changes_nothing(submission, EXERCISES["self_attention"], case, ("Q", "K", "V"))


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
    gradients_flow(submission, reference, tolerance)
