"""THREATS 14: replies whose fields have the wrong types: tensors for texts, texts for tensors, none, too many"""

from autograder import protocol, wire
from autograder.plain import Config, Handle, Other

two = torch.zeros(2)
tries = iter(range(10_000))
odd = [None, True, 7, 1.5, "LEAK", two, [two], (two,), {"a": two}, Other("LEAK"), Config({"a": 1}), Handle(3)]


def pack_reply(reply, number):
    count = next(tries)
    value = odd[count % len(odd)]
    forms = [
        {"number": number, "value": value, "arguments": value, "gradients": {}},
        {"number": number, "value": value, "arguments": (), "gradients": value},
        {"number": number, "value": value, "arguments": (), "gradients": {"0": value}},
        {"number": number, "trouble": value, "type": "LEAK", "text": "LEAK", "frames": []},
        {"number": number, "trouble": "exception", "type": value, "text": "LEAK", "frames": []},
        {"number": number, "trouble": "exception", "type": "LEAK", "text": value, "frames": []},
        {"number": number, "trouble": "exception", "type": "LEAK", "text": "LEAK", "frames": value},
        {"number": number, "trouble": "exception", "type": "LEAK", "text": "LEAK", "frames": [value]},
        {"number": number, "trouble": "exception", "type": "LEAK", "text": "", "frames": [(value, value, value)]},
        {"number": number, "trouble": "timeout", "type": "", "text": "LEAK", "frames": []},
        {"number": number, "trouble": "crash", "type": "", "text": "LEAK", "frames": []},
        {"number": value, "value": value, "arguments": (), "gradients": {}},
        value,
    ]
    return protocol.encode(forms[count // len(odd) % len(forms)])


def attempt(*_):
    wire.pack_reply = pack_reply


pairwise_similarities = attn_scaled = attn_softmax = compute_outputs = make_causal_mask = apply_causal_mask = attempt
split_heads = merge_heads = self_attention = precompute_rotary_emb = apply_rotary_emb = attempt
