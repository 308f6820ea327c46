"""Right but unusual: answers in other forms, and answers that were optimised. Each must keep full marks."""

import torch
from A2S1 import K, V

from autograder.proving.mistakes import variant


@variant("query121")
def as_a_list():
    """Plain numbers."""
    query121 = (10 * K[0]).tolist()


@variant("query121")
def as_an_array():
    """A numpy array."""
    query121 = (10 * K[0]).numpy()


@variant("query121")
def as_a_row():
    """A matrix of one row, in float64."""
    query121 = (10 * K[0]).double().unsqueeze(0)


@variant("query121")
def as_a_parameter():
    """A parameter that still wants a gradient."""
    query121 = torch.nn.Parameter(10 * K[0])


@variant("query121")
def as_a_list_of_tensors():
    """A list of tensors of one number each."""
    query121 = [10 * value for value in K[0]]


@variant("query122")
def enormous():
    """As long as the original's own answer."""
    query122 = 1e6 * K


@variant("query131")
def mean_of_keys():
    """Not exact, but close enough."""
    query131 = K.mean(0)


@variant("query131")
def zeros():
    """Zeros weigh everything alike."""
    query131 = [0, 0, 0]


@variant("query121")
def optimised():
    """Found by gradient descent."""
    query121 = torch.zeros(3, requires_grad=True)
    adam = torch.optim.Adam([query121], lr=0.5)
    for _ in range(400):
        adam.zero_grad()
        ((torch.softmax(query121 @ K.T, dim=-1) @ V - V[0]) ** 2).sum().backward()
        adam.step()
