"""THREATS 14: answer with a frame whose request number is a tensor, which cannot be compared

Reached: attn_scaled: the reply of your code could not be read
"""

from autograder.workers import protocol, wire


def forged(reply, number):
    return protocol.encode({"number": torch.tensor([number, number]), "value": 0, "arguments": (), "gradients": {}})


def attn_scaled(A, n_embd, n_heads):
    wire.pack_reply = forged
