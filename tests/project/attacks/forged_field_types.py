"""THREATS 14: replies whose fields have the wrong types: tensors for texts, texts for tensors, too many, too few

Reached: split_heads: the reply of your code could not be read
"""

from autograder.workers import protocol, wire

two, deep = torch.zeros(2), {"a": [(None, torch.zeros(2))]}
REPLIES = {
    "pairwise_similarities": {"value": deep, "arguments": two, "gradients": {}, "score": 100},
    "attn_scaled": {"value": 0, "arguments": (two, "LEAK", deep), "gradients": two},
    "attn_softmax": {"value": 0, "arguments": (), "gradients": {"0": "LEAK"}},
    "compute_outputs": {"trouble": two, "type": two, "text": two, "frames": two},
    "make_causal_mask": {"trouble": "crash", "type": "", "text": "LEAK", "frames": []},
    "split_heads": {"trouble": "exception", "type": "LEAK", "text": "LEAK", "frames": [("LEAK", two, two)]},
}


def attempting(fields):
    def attempt(*_):
        wire.pack_reply = lambda reply, number: protocol.encode({"number": number} | fields)

    return attempt


globals().update({name: attempting(fields) for name, fields in REPLIES.items()})
