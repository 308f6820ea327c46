"""Requests and replies as plain data, so that they fit into frames; and frames on a socket."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Any, get_args

from torch import Tensor

from autograder.running import room
from autograder.running.perform import Reply, Request, Told, Trouble
from autograder.running.plain import Plain
from autograder.workers import protocol
from autograder.workers.protocol import Malformed

AT_ONCE = 1 << 16  # bytes that are read, or sent before anything is read; a socket holds more


def _mapping(values: Mapping[str, Plain]) -> dict[str | int, Plain]:
    return dict(values.items())


def pack_request(request: Request, number: int) -> bytes:
    """What is asked for, and of the rest only what is not as usual.

    A request may be one that goes to every submission of a class; then all but its number is packed once.
    """
    if not request.packed:
        fields: dict[str | int, Plain] = {"do": request.do, "target": request.target}
        if request.method:
            fields["method"] = request.method
        if request.arguments:
            fields["arguments"] = request.arguments
        if request.options:
            fields["options"] = _mapping(request.options)
        if request.state is not None:
            fields["state"] = _mapping(request.state)
        if request.cotangent is not None:
            fields["cotangent"] = request.cotangent
        if request.members:
            fields["members"] = request.members
        if request.give_back:
            fields["give_back"] = True
        request.packed["header"], request.packed["body"] = protocol.described(fields)
    return protocol.frame(request.packed["header"], request.packed["body"], number)


def unpack_request(value: Plain) -> tuple[Request, int]:
    """The grader's own frames; the worker has no reason to doubt them."""
    fields: Any = value
    number = fields.pop("number")
    return Request(**fields), number


def pack_reply(reply: Reply | Trouble, number: int) -> bytes:
    if isinstance(reply, Trouble):
        told: dict[str | int, Plain] = {
            "trouble": reply.kind,
            "type": reply.type_name,
            "text": reply.text,
            "frames": [tuple(frame) for frame in reply.frames[-20:]],
            "column": reply.column,
        }
    else:
        told = {"value": reply.value}
        if reply.arguments:
            told["arguments"] = reply.arguments
        if reply.gradients:
            told["gradients"] = _mapping(reply.gradients)
    if reply.noticed:
        told["noticed"] = reply.noticed
    return protocol.frame(*protocol.described(told), number)


# What a worker may say went wrong; the grader finds the rest out by itself.
_TOLD = get_args(Told)


def unpack_reply(value: Plain, number: int) -> Reply | Trouble:
    """A reply from a worker, believed in nothing: form, number and types are checked."""
    if not isinstance(value, dict) or type(value.get("number")) is not int or value["number"] != number:
        raise Malformed("not a reply to this request")
    noticed = _noticed(value.pop("noticed")) if "noticed" in value else ()
    if "value" in value and value.keys() <= {"number", "value", "arguments", "gradients"}:
        arguments, gradients = value.get("arguments", ()), value.get("gradients", {})
        if not isinstance(arguments, tuple) or not isinstance(gradients, dict):
            raise Malformed("not a reply")
        found: dict[str, Tensor | None] = {}
        for name, gradient in gradients.items():
            if not isinstance(name, str) or not (gradient is None or isinstance(gradient, Tensor)):
                raise Malformed("not a reply")
            found[name] = gradient
        return Reply(value["value"], arguments, found, noticed)
    if value.keys() == {"number", "trouble", "type", "text", "frames", "column"}:
        match [value[key] for key in ("trouble", "type", "text", "frames", "column")]:
            case [str() as kind, str() as type_name, str() as text, list() as frames, int() as column] if kind in _TOLD:
                places = tuple(_frame(frame) for frame in frames)
                return Trouble(kind, type_name[:100], text[:2000], places, column, noticed)  # type: ignore[arg-type]
    raise Malformed("not a reply")


def _noticed(words: Plain) -> tuple[str, ...]:
    """Words of a fixed list, each once: nothing else could be told by them."""
    if not isinstance(words, tuple) or not all(isinstance(word, str) and word in room.WORDS for word in words):
        raise Malformed("not what can be noticed")
    return tuple(sorted({str(word) for word in words}))


def _frame(value: Plain) -> tuple[str, int, str]:
    match value:
        case (str() as file, int() as line, str() as source):
            return file, line, source[:200]
    raise Malformed("not a place in a file")


class Incoming:
    """Frames from a socket, waiting as long as it takes. As much is read at a time as there is."""

    def __init__(self, channel: socket.socket) -> None:
        self.channel = channel
        self.received = bytearray()
        self.decoder = protocol.Decoder()

    def frame(self) -> Plain:
        """One whole frame. EOFError if the other side is gone."""
        self._wait_for(protocol.PREFIX.size)
        header, body = protocol.sizes(self.received)
        self._wait_for(protocol.PREFIX.size + header + body)
        return self.decoder.decode(*protocol.taken(self.received, header, body))

    def _wait_for(self, count: int) -> None:
        while len(self.received) < count:
            chunk = self.channel.recv(max(AT_ONCE, count - len(self.received)))
            if not chunk:
                raise EOFError
            self.received += chunk
