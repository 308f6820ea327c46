"""What staff know of query121: its known mistakes and right but unusual variants."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from autograder.proving.mistakes import mistake, variant

if TYPE_CHECKING:  # what stands around a body in the solution
    from A2S1 import K, V


# ── Known mistakes ─────────────────────────────────────────────────────────────────────


@mistake()
def query121_too_short():
    """The direction is good, but the query is too short: the softmax stays too even."""
    query121 = K[0]


# Directions


@mistake(alone=True)
def query121_from_values():
    """Your query points along a value; it is compared with keys, so build it from a key."""
    query121 = 10 * V[0]


@mistake(alone=True)
def query121_points_away():
    """Your query points away from key 0: drop the minus sign."""
    query121 = -10 * K[0]


@mistake(alone=True)
def query121_another_token():
    """Your query chooses another token; the goal is the value of token 0."""
    query121 = 10 * K[1]


@mistake(alone=True)
def query121_a_matrix():
    """You give four queries; one is asked for."""
    query121 = 10 * K


# ── Right but unusual ──────────────────────────────────────────────────────────────────


@variant()
def as_a_list():
    """Plain numbers."""
    query121 = (10 * K[0]).tolist()


@variant()
def as_an_array():
    """A numpy array."""
    query121 = (10 * K[0]).numpy()


@variant()
def as_a_row():
    """A matrix of one row, in float64."""
    query121 = (10 * K[0]).double().unsqueeze(0)


@variant()
def as_a_parameter():
    """A parameter that still wants a gradient."""
    query121 = torch.nn.Parameter(10 * K[0])


@variant()
def as_a_list_of_tensors():
    """A list of tensors of one number each."""
    query121 = [10 * value for value in K[0]]


@variant()
def optimised():
    """Found by gradient descent."""
    query121 = torch.zeros(3, requires_grad=True)
    adam = torch.optim.Adam([query121], lr=0.5)
    for _ in range(400):
        adam.zero_grad()
        ((torch.softmax(query121 @ K.T, dim=-1) @ V - V[0]) ** 2).sum().backward()
        adam.step()
