"""What causal_self_attention must do: on public references, and on hidden ones."""

from autograder.checking.claims import core, further
from autograder.judging.checks import (
    evaluation_is_deterministic,
    future_changes_nothing,
    gradients_flow,
    leaves_inputs_unchanged,
    matches_reference,
)
from autograder.judging.robustness import keeps_dtype_and_layout


@core
def test_causal_self_attention_matches_reference(submission, reference, tolerance):
    """the module gives the reference's output"""
    matches_reference(submission, reference, tolerance)


@core
def test_causal_self_attention_cannot_see_the_future(submission, reference):
    """later tokens change nothing in the output of earlier ones"""
    future_changes_nothing(submission, reference, ("x",))


@further(hidden=1)
def test_causal_self_attention_leaves_its_inputs_alone(submission, reference):
    """the tensors that were passed in are unchanged afterwards"""
    leaves_inputs_unchanged(submission, reference)


@further(hidden=1)
def test_causal_self_attention_lets_gradients_flow(submission, reference, tolerance):
    """gradients reach the input and every layer"""
    gradients_flow(submission, reference, tolerance)


@core
def test_causal_self_attention_is_the_same_twice(submission, reference):
    """in evaluation mode, two calls give the same output"""
    evaluation_is_deterministic(submission, reference)


@further(hidden=1)
def test_causal_self_attention_keeps_dtype_and_layout(submission, reference, tolerance):
    """float64 stays float64, and the layout in memory does not matter"""
    keeps_dtype_and_layout(submission, reference, tolerance)
