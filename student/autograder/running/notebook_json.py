"""The code cells of a notebook's JSON, read without building the rest of it in memory.

Notebooks hold megabytes of pictures, and hostile ones hold brackets without end. What is not code is skipped by a
regular expression: nothing is built, nothing recurses, and the number of steps is bounded. So the grader can do it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

LARGEST = 64 << 20  # characters of a notebook that is opened
MOST_PARTS = 2_000_000  # strings and brackets that are passed; a thousand pages of output have fewer
MOST_CODE = 2 << 20  # characters of code; nobody writes so much, and it must be parsed
MOST_CELLS = 10_000

_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_NEXT = re.compile(r'[^"\[\]{}]*+(?:"(?:[^"\\]++|\\.)*+"|(?P<opens>[\[{])|(?P<closes>[\]}]))', re.DOTALL)
_SPACE = re.compile(r"[ \t\r\n]*+")
_SCALAR = re.compile(r'[^\s,:"\[\]{}]++')


class Unreadable(Exception):
    """Not a notebook that can be read; says why, in one line."""


def code_cells(text: str) -> list[str]:
    """The source of every code cell, in order. Raises Unreadable and nothing else."""
    if len(text) > LARGEST:
        raise Unreadable(f"it is larger than {LARGEST >> 20} million characters; clear its outputs")
    if not text.strip():
        raise Unreadable("it is empty")
    reader = _Reader(text)
    found: list[str] | None = None
    if reader.peek() != "{":
        raise reader.broken()
    for key in reader.members():
        if key == "cells" and reader.peek() == "[":
            found = list(_cells(reader, "source"))
        elif key == "worksheets" and reader.peek() == "[":  # notebooks of before 2015
            found = [source for _ in reader.items() for source in _worksheet(reader)]
        else:
            reader.skip()
    reader.end()
    if found is None:
        raise Unreadable("it is JSON, but has no list of cells")
    if sum(map(len, found)) > MOST_CODE:
        raise Unreadable(f"it holds more than {MOST_CODE >> 20} million characters of code")
    return found


def _worksheet(reader: _Reader) -> Iterator[str]:
    if reader.peek() != "{":
        raise Unreadable("one of its worksheets is not one")
    for key in reader.members():
        if key == "cells" and reader.peek() == "[":
            yield from _cells(reader, "input")
        else:
            reader.skip()


def _cells(reader: _Reader, holds: str) -> Iterator[str]:
    for number, _ in enumerate(reader.items(), 1):
        if number > MOST_CELLS:
            raise Unreadable(f"it has more than {MOST_CELLS:,} cells")
        if reader.peek() != "{":
            raise Unreadable(f"its cell {number} is not a cell")
        kind, source = "", ""
        for key in reader.members():
            if key == "cell_type" and reader.peek() == '"':
                kind = reader.string()
            elif key == holds:
                source = _source(reader, number)
            else:
                reader.skip()
        if kind == "code":
            # A half of a character pair can stand in JSON, but nowhere else.
            yield source.encode("utf-8", "replace").decode().replace("\r\n", "\n").replace("\r", "\n")


def _source(reader: _Reader, number: int) -> str:
    """Text, or a list of lines."""
    match reader.peek():
        case '"':
            return reader.string()
        case "[":
            lines = []
            for _ in reader.items():
                if reader.peek() != '"':
                    raise Unreadable(f"the text of its cell {number} is not text")
                lines.append(reader.string())
            return "".join(lines)
    raise Unreadable(f"the text of its cell {number} is not text")


class _Reader:
    """A place in JSON text. Whoever is given a key or an item must read or skip it."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.parts = text, 0, 0

    def peek(self) -> str:
        """The next character that is not space, or nothing."""
        space = _SPACE.match(self.text, self.at)
        assert space is not None
        self.at = space.end()
        return self.text[self.at : self.at + 1]

    def take(self, character: str) -> None:
        if self.peek() != character:
            raise self.broken()
        self.at += 1

    def members(self) -> Iterator[str]:
        """The keys of an object."""
        self.take("{")
        if self.peek() != "}":
            while True:
                key = self.string()
                self.take(":")
                yield key
                if self.peek() != ",":
                    break
                self.at += 1
        self.take("}")

    def items(self) -> Iterator[None]:
        """Once for each item of a list."""
        self.take("[")
        if self.peek() != "]":
            while True:
                yield None
                if self.peek() != ",":
                    break
                self.at += 1
        self.take("]")

    def string(self) -> str:
        self.peek()
        found = _STRING.match(self.text, self.at)
        if found is None:
            raise self.broken()
        self._passed(found)
        try:
            return str(json.loads(found[0], strict=False))
        except ValueError:
            raise self.broken() from None

    def skip(self) -> None:
        """Pass a value of any kind, without a look at what is in it."""
        if self.peek() not in ("{", "[", '"'):
            scalar = _SCALAR.match(self.text, self.at)
            if scalar is None:
                raise self.broken()
            self.at = scalar.end()
            return
        depth = 0
        while True:
            found = _NEXT.match(self.text, self.at)
            if found is None:
                raise self.broken()
            self._passed(found)
            depth += bool(found["opens"]) - bool(found["closes"])
            if depth <= 0:
                return

    def end(self) -> None:
        if self.peek():
            raise self.broken()

    def _passed(self, found: re.Match[str]) -> None:
        self.at = found.end()
        self.parts += 1
        if self.parts > MOST_PARTS:
            raise Unreadable("there is too much in it; clear its outputs")

    def broken(self) -> Unreadable:
        return Unreadable(f"its JSON is broken in line {self.text.count(chr(10), 0, self.at) + 1}")
