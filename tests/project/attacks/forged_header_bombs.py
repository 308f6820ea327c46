"""THREATS 14, 30: headers made to hurt a JSON reader: nesting, digits, constants, lying shapes, no JSON at all

Reached: make_causal_mask: the reply of your code could not be read
"""

from autograder.workers import protocol, wire

HEADERS = {
    "pairwise_similarities": b"[" * 1_000_000,
    "attn_scaled": b"9" * 1_000_000,
    "compute_outputs": b'"\xff\xfe\\ud800"',
    "make_causal_mask": b'{"t":["float32",[1000000000000],[0]]}',
    "attn_softmax": b'{"c":{"d":[["LEAK",{"t":["bool",[],[]]}]]}}',
}


def attempting(header):
    def attempt(*_):
        wire.pack_reply = lambda reply, number: protocol.PREFIX.pack(len(header), 0) + header

    return attempt


globals().update({name: attempting(header) for name, header in HEADERS.items()})
