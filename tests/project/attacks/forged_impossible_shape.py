"""THREATS 14, 30: answer with an empty tensor whose shape overflows when it is multiplied out

Reached: attn_scaled: the reply of your code could not be read
"""

import json

from autograder.workers import protocol, wire


def forged(reply, number):
    tensor = {"t": ["float32", [2**26] * 11 + [0], list(range(12))]}
    fields = [["number", number], ["value", tensor], ["arguments", {"p": []}], ["gradients", {"d": []}]]
    header = json.dumps({"d": fields}).encode()
    return protocol.PREFIX.pack(len(header), 0) + header


def attn_scaled(A, n_embd, n_heads):
    wire.pack_reply = forged
