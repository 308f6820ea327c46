"""Public checks of causal_self_attention."""

from autograder.checks import (
    evaluation_is_deterministic,
    future_changes_nothing,
    gradients_flow,
    leaves_inputs_unchanged,
    matches_reference,
)


def test_causal_self_attention_matches_reference(submission, reference, tolerance):
    """the module gives the reference's output"""
    matches_reference(submission, reference, tolerance)


def test_causal_self_attention_cannot_see_the_future(submission, reference):
    """later tokens change nothing in the output of earlier ones"""
    future_changes_nothing(submission, reference, ("x",))


def test_causal_self_attention_leaves_its_inputs_alone(submission, reference):
    """the tensors that were passed in are unchanged afterwards"""
    leaves_inputs_unchanged(submission, reference)


def test_causal_self_attention_lets_gradients_flow(submission, reference, tolerance):
    """gradients reach the input and every layer"""
    gradients_flow(submission, reference, tolerance, 2)


def test_causal_self_attention_is_the_same_twice(submission, reference):
    """in evaluation mode, two calls give the same output"""
    evaluation_is_deterministic(submission, reference)
