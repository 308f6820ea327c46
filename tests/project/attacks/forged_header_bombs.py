"""THREATS 14, 30: headers made to hurt a JSON reader: nesting, digits, constants, duplicates, no JSON at all"""

from autograder import protocol, wire

headers = iter(
    [
        b"[" * 1_000_000,
        b"9" * 1_000_000,
        b'{"d":' * 500_000,
        b"NaN",
        b'{"f":"1e999999999"}',
        b'"\\ud800"',
        b"\xff\xfe",
        b"",
        b'{"t":["float32",[-1],1]}',
        b'{"t":["float32",[1.5],1]}',
        b'{"t":["float32",[1000000000000],1]}',
        b'{"t":["float32",[0,0,0,0,0,0,0,0,0,0,0,0,0,0],1]}',
        b'{"h":-1}',
        b'{"c":{"d":[]}}',
        b'{"c":{"d":[["x",{"t":["bool",[],1]}]]}}',
        b'{"d":[[[1],2]]}',
        b'{"d":[[1]]}',
        b'{"p":{}}',
        b'{"number":1}',
    ]
    * 3
)


def attempt(*_):
    wire.pack_reply = pack_reply


def pack_reply(reply, number):
    header = next(headers)
    return protocol.PREFIX.pack(len(header), 0) + header


pairwise_similarities = attn_scaled = attn_softmax = compute_outputs = make_causal_mask = apply_causal_mask = attempt
split_heads = merge_heads = self_attention = precompute_rotary_emb = apply_rotary_emb = attempt
