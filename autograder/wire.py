"""Requests and replies as plain data, so that they fit into frames; and frames on a socket."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Any, get_args

from torch import Tensor

from autograder import protocol
from autograder.perform import Reply, Request, Told, Trouble
from autograder.plain import Plain
from autograder.protocol import Malformed


def _mapping(values: Mapping[str, Plain]) -> dict[str | int, Plain]:
    return dict(values.items())


def pack_request(request: Request, number: int) -> bytes:
    return protocol.encode(
        {
            "number": number,
            "do": request.do,
            "target": request.target,
            "method": request.method,
            "arguments": request.arguments,
            "options": _mapping(request.options),
            "state": None if request.state is None else _mapping(request.state),
            "cotangent": request.cotangent,
            "members": request.members,
            "give_back": request.give_back,
        }
    )


def unpack_request(value: Plain) -> tuple[Request, int]:
    """The grader's own frames; the worker has no reason to doubt them."""
    fields: Any = value
    number = fields.pop("number")
    return Request(**fields), number


def pack_reply(reply: Reply | Trouble, number: int) -> bytes:
    if isinstance(reply, Trouble):
        told: dict[str | int, Plain] = {
            "number": number,
            "trouble": reply.kind,
            "type": reply.type_name,
            "text": reply.text,
            "frames": [tuple(frame) for frame in reply.frames[-20:]],
            "column": reply.column,
        }
        return protocol.encode(told)
    return protocol.encode(
        {
            "number": number,
            "value": reply.value,
            "arguments": reply.arguments,
            "gradients": _mapping(reply.gradients),
        }
    )


# What a worker may say went wrong; the grader finds the rest out by itself.
_TOLD = get_args(Told)


def unpack_reply(value: Plain, number: int) -> Reply | Trouble:
    """A reply from a worker, believed in nothing: form, number and types are checked."""
    if not isinstance(value, dict) or type(value.get("number")) is not int or value["number"] != number:
        raise Malformed("not a reply to this request")
    if value.keys() == {"number", "value", "arguments", "gradients"}:
        arguments, gradients = value["arguments"], value["gradients"]
        if not isinstance(arguments, tuple) or not isinstance(gradients, dict):
            raise Malformed("not a reply")
        found: dict[str, Tensor | None] = {}
        for name, gradient in gradients.items():
            if not isinstance(name, str) or not (gradient is None or isinstance(gradient, Tensor)):
                raise Malformed("not a reply")
            found[name] = gradient
        return Reply(value["value"], arguments, found)
    if value.keys() == {"number", "trouble", "type", "text", "frames", "column"}:
        match [value[key] for key in ("trouble", "type", "text", "frames", "column")]:
            case [str() as kind, str() as type_name, str() as text, list() as frames, int() as column] if kind in _TOLD:
                places = tuple(_frame(frame) for frame in frames)
                return Trouble(kind, type_name[:100], text[:2000], places, column)  # type: ignore[arg-type]
    raise Malformed("not a reply")


def _frame(value: Plain) -> tuple[str, int, str]:
    match value:
        case (str() as file, int() as line, str() as source):
            return file, line, source[:200]
    raise Malformed("not a place in a file")


def receive(channel: socket.socket) -> Plain:
    """One whole frame, waiting as long as it takes. EOFError if the other side is gone."""
    header, body = protocol.sizes(_exactly(channel, protocol.PREFIX.size))
    return protocol.decode(_exactly(channel, header), _exactly(channel, body))


def _exactly(channel: socket.socket, count: int) -> bytes:
    received = bytearray()
    while len(received) < count:
        chunk = channel.recv(min(count - len(received), 1 << 20))
        if not chunk:
            raise EOFError
        received.extend(chunk)
    return bytes(received)
