"""Frames: everything plain survives, everything else is Malformed and nothing worse."""

from __future__ import annotations

import json
import random
import struct

import pytest
import torch

from autograder.running.perform import Reply, Request, Trouble
from autograder.running.plain import Config, Handle, Other
from autograder.workers import protocol, wire
from autograder.workers.protocol import Malformed, TooLarge

VALUES = [
    None,
    True,
    -3,
    2.5,
    "text ⁇",
    [],
    [1, -2, 10**30],
    (3,),
    [True, 2],
    (1, [2.0, (None,)]),
    {"a": 1, 7: "b"},
    Other("numpy.ndarray"),
    Handle(4),
    Config({"n": 3, "p": 0.1, "rope": True}),
    torch.arange(6.0).reshape(2, 3),
    torch.arange(6.0, dtype=torch.float64).reshape(2, 3).T,
    torch.tensor(3),
    torch.arange(24).reshape(2, 3, 4).transpose(0, 1),
    torch.tensor([1, 0], dtype=torch.uint16),
    torch.tensor([True, False]),
    torch.empty(0, 4),
    torch.tensor([1 + 2j]),
    torch.tensor([1.5], dtype=torch.bfloat16),
    torch.tensor([float("nan"), float("-inf")]),
]


def decoded(frame: bytes):
    header, body = protocol.sizes(frame[:8])
    if len(frame) != 8 + header + body:
        raise Malformed("length")
    return protocol.decode(frame[8 : 8 + header], frame[8 + header :])


def same(one, other) -> bool:
    if isinstance(one, torch.Tensor):
        return (
            one.dtype == other.dtype and one.stride() == other.stride()
            and torch.equal(one.nan_to_num(nan=7.0), other.nan_to_num(nan=7.0))
        )  # fmt: skip
    return type(one) is type(other) and one == other


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize("value", VALUES, ids=[str(n) for n in range(len(VALUES))])
def test_plain_values_survive(value, quick, monkeypatch):
    monkeypatch.setattr(protocol, "SIMPLE", 8192 if quick else 0)
    assert same(value, decoded(protocol.encode(value)))


def test_floats_keep_every_bit():
    for value in (0.1, -0.0, 5e-324, float("inf"), 1e308):
        assert decoded(protocol.encode(value)).hex() == value.hex()


def frame(header: object, body: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<II", len(text), len(body)) + text + body


@pytest.mark.parametrize(
    "bad",
    [
        frame(b"not json"),
        frame(b"NaN"),
        frame(b"1.5"),
        frame(b"\xff\xfe"),
        frame({"x": 1}),
        frame({"t": ["float32", [2], [0]]}),
        frame({"t": ["float32", [1, 1], [0, 0]]}, b"1234"),
        frame({"t": ["float32", [1], [True]]}, b"1234"),
        frame({"t": ["float32", [1], "0"]}, b"1234"),
        frame({"t": ["float32", [0, *[1 << 26] * 11], list(range(12))]}),
        frame({"t": ["float32", [1], [0]]}, b"12345678"),
        frame({"t": ["float32", [-1], [0]]}, b"1234"),
        frame({"t": ["float32", [10**12], [0]]}, b"1234"),
        frame({"t": ["float32", [2**31, 2**31, 0], [0, 1, 2]]}),
        frame({"t": ["object", [1], [0]]}, b"12345678"),
        frame({"t": ["float32", [True], [0]]}, b"1234"),
        frame({"t": ["float32", ["1"], [0]]}, b"1234"),
        frame({"t": ["bool", [1], [0]]}, b"\x02"),
        frame({"t": ["float32", [1] * 13, list(range(13))]}, b"1234"),
        frame({"h": -1}),
        frame({"h": True}),
        frame({"c": {"d": [["n", "text"]]}}),
        frame({"d": [[1.5, 2]]}),
        frame({"d": [["a"]]}),
        frame({"d": [[2**61 - 1, 0]]}),  # such keys can all have the same hash
        frame({"d": 3}),
        frame({"f": "zz"}),
        frame({"f": "0x1p99999"}),
        frame({"o": "x" * 201}),
        frame({"a": 1, "b": 2}),
        frame(b"[" * 5000 + b"]" * 5000),
        frame(b"[" * 100_000),
        frame(b"[" * 130 + b"]" * 130),
        frame(b"1" * 5000),
        frame("x" * 100_001),
        frame([0] * 200_001),
        struct.pack("<II", 1 << 31, 0),
        struct.pack("<II", 2, 1 << 31) + b"{}",
    ],
)
@pytest.mark.parametrize("quick", [True, False])
def test_wrong_frames_are_malformed(bad, quick, monkeypatch):
    monkeypatch.setattr(protocol, "SIMPLE", 8192 if quick else 0)
    with pytest.raises(Malformed):
        decoded(bad)


def test_long_headers_odd_texts_and_many_brackets_are_read_the_careful_way():
    for value in ("x" * 9000, "\u2047", [[]] * 130):
        header, _ = protocol.described({"value": value})
        assert not protocol._is_simple(header) and decoded(protocol.frame(header, b"", 3)) == {
            "number": 3,
            "value": value,
        }


def test_lone_surrogates_are_made_harmless():
    assert decoded(frame(b'"\\ud800"')).encode("utf-8")


def test_too_large_is_said_before_it_is_built():
    with pytest.raises(TooLarge, match="too large to be returned"):
        protocol.encode(torch.zeros(1).expand(10**12))
    with pytest.raises(TooLarge, match="a value of 9,437,188 bytes"):
        protocol.encode(["x" * (9 << 20)])


REQUESTS = [
    Request("call", "f", arguments=(torch.ones(2), 3), options={"n": True}, cotangent=torch.ones(1)),
    Request("call", Handle(2), "forward", arguments=(torch.ones(2),), state={"key.weight": torch.ones(2, 2)}),
    Request("create", "C", arguments=(Config({"n": 1}),), state={}),
]


@pytest.mark.parametrize("request_", REQUESTS)
def test_requests_survive(request_):
    again, number = wire.unpack_request(decoded(wire.pack_request(request_, 9)))
    assert number == 9
    assert repr(again) == repr(request_)


REPLIES = [
    Reply(torch.ones(2), (1, torch.zeros(3)), {"0": torch.ones(1), "1": None}),
    Trouble("exception", "ValueError", "no", (("src/a.py", 3, "x = 1"),)),
]


@pytest.mark.parametrize("reply", REPLIES)
def test_replies_survive(reply):
    assert repr(wire.unpack_reply(decoded(wire.pack_reply(reply, 5)), 5)) == repr(reply)


@pytest.mark.parametrize(
    "value",
    [
        None,
        {"number": torch.tensor([5, 5]), "value": 1, "arguments": (), "gradients": {}},
        {"number": 4, "value": 1, "arguments": (), "gradients": {}},
        {"number": True, "value": 1, "arguments": (), "gradients": {}},
        {"number": 5, "value": 1, "arguments": [], "gradients": {}},
        {"number": 5, "value": 1, "arguments": (), "gradients": {"x": 1}},
        {"number": 5, "value": 1, "arguments": (), "gradients": {}, "verdict": "passed"},
        {"number": 5, "arguments": (), "gradients": {}},
        {"number": 5, "trouble": "passed", "type": "", "text": "", "frames": []},
        {"number": 5, "trouble": "timeout", "type": "", "text": "", "frames": []},
        {"number": 5, "trouble": "exception", "type": 1, "text": "", "frames": []},
        {"number": 5, "trouble": "exception", "type": "", "text": "", "frames": [("a", "1", "b")]},
    ],
)
def test_wrong_replies_are_malformed(value):
    with pytest.raises(Malformed):
        wire.unpack_reply(value, 1 if isinstance(value, dict) and value["number"] is True else 5)


def test_100_000_mutated_frames_are_malformed_or_plain():
    """Bytes flipped, cut, doubled, inserted, lengths changed: never anything but a value or Malformed."""
    generator = random.Random(20)
    seeds = [wire.pack_reply(reply, 5) for reply in REPLIES]
    seeds += [protocol.encode(value) for value in VALUES] + [wire.pack_request(r, 1) for r in REQUESTS]
    malformed = 0
    for _ in range(100_000):
        mutant = bytearray(generator.choice(seeds))
        for _ in range(generator.randint(1, 4)):
            where = generator.randrange(len(mutant))
            match generator.randrange(5):
                case 0:
                    mutant[where] ^= 1 << generator.randrange(8)
                case 1:
                    mutant[where] = generator.choice(b'{}[]",:0123456789-etrufalsn\x00\xff')
                case 2:
                    del mutant[where : where + generator.randint(1, 4)]
                case 3:
                    mutant[where:where] = mutant[max(0, where - 8) : where]
                case 4:
                    mutant[0:8] = struct.pack("<II", generator.randrange(200), generator.randrange(200))
            if len(mutant) < 9:
                mutant = bytearray(seeds[0])
        try:
            value = decoded(bytes(mutant))
            wire.unpack_reply(value, 5)
        except Malformed:
            malformed += 1
    assert 50_000 < malformed < 100_000
