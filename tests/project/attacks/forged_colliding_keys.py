"""THREATS 14, 21: answer with a dict of numbers that all have the same hash, so that decoding is quadratic

Reached: attn_scaled: the reply of your code could not be read
"""

import json

from autograder.workers import protocol, wire

honest = wire.pack_reply


def forged(reply, number):
    wire.pack_reply = honest
    collisions = [[k * (2**61 - 1), 0] for k in range(12_000)]  # 200,000 would fit, and take seven minutes
    fields = [["number", number], ["value", {"d": collisions}], ["arguments", {"p": []}], ["gradients", {"d": []}]]
    header = json.dumps({"d": fields}, separators=(",", ":")).encode()
    return protocol.PREFIX.pack(len(header), 0) + header


def attn_scaled(A, n_embd, n_heads):
    wire.pack_reply = forged
