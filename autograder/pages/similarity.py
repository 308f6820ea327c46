"""Pairs of submissions that have much in common which was not given. It says where to look, and concludes nothing.

A submission becomes tokens without what a disguise changes at no cost: layout, comments, docstrings, type hints, names
of one's own. Every run of K tokens is a piece. Pieces of the given code do not count; the share of a pair is how many
of the smaller one's pieces the other has, too. Winnowing would thin the pieces out; so short a homework needs them all.
Nor do pieces count that a third of the class has: they come from a lecture, a tutor, or from how everybody writes it.
"""

from __future__ import annotations

import builtins
import contextlib
import keyword
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from zlib import crc32

from autograder.running.cells import Unreadable, code_of

K = 8  # tokens to a piece
# Measured on five made-up classes of 300: two who did none of the five long exercises in the same words have at most
# 0.50 in common, one 0.68, two 0.83. Disguised copies have 0.97, with an idle line before every second statement 0.83.
# No class of real students has been measured: how often honest ones write a long exercise in the same words is unknown.
THRESHOLD = 0.75
FEWEST = 250  # pieces in common: all short exercises, done in the most obvious way, have 219
COMMON = 3  # what one in so many has is nobody's own,
CLASS = 12  # in a class of at least so many: in a smaller one, a third are three friends, whom one looks for
MOST_PAIRS = 200  # are returned; if a whole class is alike, more would say no more
READ = 100_000  # characters of a submission are looked at, short files first, so that no bulk hides the others
REPEATS = 8  # places of one piece are told apart


@dataclass(frozen=True)
class Place:
    """Lines that are alike, first and last, counted from 1; of a notebook, lines of its code."""

    one_file: str
    one_lines: tuple[int, int]
    other_file: str
    other_lines: tuple[int, int]


@dataclass(frozen=True)
class Pair:
    """Two submissions, `one` sorted before `other`. `share`: how much of the smaller one the other has, too."""

    one: str
    other: str
    share: float
    places: tuple[Place, ...]


@dataclass(frozen=True)
class Alike:
    """The pairs of a class, most alike first, and what was left out because so many have it."""

    pairs: tuple[Pair, ...]
    submissions: int
    holders: int = 0  # so many must have a piece, that it is nobody's own; 0 if the class is too small to tell
    left_out: float = 0.0  # share of all that was not given

    @property
    def note(self) -> str:
        """What was left out, in a sentence; '' if nothing was."""
        if not self.left_out:
            return ""
        share = f"{100 * self.left_out:.0f} %" if self.left_out >= 0.005 else "less than 1 %"
        who = f"{self.holders} or more of the {self.submissions} submissions have"
        return f"Code that {who} was left out as nobody's own: {share} of all that was not given."


@dataclass(frozen=True)
class _Unit:
    """A function, or what stands between two: functions can be put in another order. A character is a token."""

    file: str
    tokens: str
    lines: Sequence[int]

    def pieces(self) -> Iterator[tuple[int, str]]:
        for start in range(max(1, len(self.tokens) - K + 1)):
            yield start, self.tokens[start : start + K]

    def span(self, first: int, last: int) -> tuple[int, int]:
        """First and last line of a run of pieces."""
        return self.lines[first], self.lines[min(last + K, len(self.lines)) - 1]


def similar(submissions: Mapping[str, Mapping[str, str]], given: Iterable[str], threshold: float = THRESHOLD) -> Alike:
    """Pairs of at least this share. `submissions`: from id to file name to text; `given` are texts."""
    known = {piece for text in given for unit in _units("", code(text)) for _, piece in unit.pieces()}
    read = {
        name: [unit for file, text in seen(submissions[name]).items() for unit in _units(file, text)]
        for name in sorted(submissions)
    }
    own = {name: {piece for unit in units for _, piece in unit.pieces()} - known for name, units in read.items()}
    holders = max(1, ceil(len(own) / COMMON)) if len(own) >= CLASS else 0
    common = _common(own, holders)
    before = sum(map(len, own.values()))
    own = {name: pieces - common for name, pieces in own.items()}
    left_out = 1 - sum(map(len, own.values())) / before if before else 0.0
    found = sorted((-share, one, other) for one, other, share in _pairs(own, threshold))[:MOST_PAIRS]
    pairs = (
        Pair(one, other, -share, tuple(_places(read[one], read[other], own[one] & own[other])))
        for share, one, other in found
    )
    return Alike(tuple(pairs), len(own), holders, left_out)


def _common(own: Mapping[str, set[str]], holders: int) -> set[str]:
    """The pieces that so many have."""
    if not holders:
        return set()
    counts = Counter(piece for pieces in own.values() for piece in pieces)
    return {piece for piece, count in counts.items() if count >= holders}


def _pairs(own: Mapping[str, set[str]], threshold: float) -> Iterator[tuple[str, str, float]]:
    """Every pair of the share, though few are compared.

    If two share enough, they share at least one of the smaller one's rarest pieces: of n pieces, all but the share can
    differ. So each submission looks up the others of its rarest pieces only.
    """
    order = sorted(own, key=lambda name: (len(own[name]), name))
    holders: dict[str, list[int]] = {}
    for rank, name in enumerate(order):
        for piece in own[name]:
            holders.setdefault(piece, []).append(rank)
    bit = {piece: number for number, piece in enumerate(piece for piece, ranks in holders.items() if len(ranks) > 1)}
    bits = [_bits(bit[piece] for piece in own[name] if piece in bit) for name in order]
    for rank, name in enumerate(order):
        size = len(own[name])
        least = max(FEWEST, ceil(threshold * size))
        rarest = sorted(own[name], key=lambda piece: len(holders[piece]))[: max(0, size - least + 1)]
        for other in set().union(*(holders[piece] for piece in rarest)):
            if other > rank and (common := (bits[rank] & bits[other]).bit_count()) >= least:
                one, two = sorted((name, order[other]))
                yield one, two, common / size


def _bits(numbers: Iterable[int]) -> int:
    """A set of numbers as one long number: what two of them have in common is counted in no time."""
    found = bytearray()
    for number in numbers:
        if number >> 3 >= len(found):
            found.extend(bytes((number >> 3) + 1 - len(found)))
        found[number >> 3] |= 1 << (number & 7)
    return int.from_bytes(found, "little")


# Where the common pieces stand


def _places(one: Sequence[_Unit], other: Sequence[_Unit], common: set[str]) -> list[Place]:
    """Runs of common pieces, from the top of `one`; runs that overlap or touch on both sides are one place."""
    where: dict[str, list[tuple[int, int]]] = {piece: [] for piece in common}
    for number, unit in enumerate(other):
        for start, piece in unit.pieces():
            if piece in common and len(where[piece]) < REPEATS:
                where[piece].append((number, start))
    places: list[Place] = []
    for unit in one:
        pieces, at = [piece for _, piece in unit.pieces()], 0
        while at < len(pieces):
            found = [
                (_run(pieces, at, other[number], there, common), number, there)
                for number, there in where.get(pieces[at], ())
            ]
            length, number, there = max(found, key=lambda one: one[0], default=(0, 0, 0))
            if length:
                _add(places, unit, at, other[number], there, length)
            at += max(1, length)
    return places


def _run(pieces: Sequence[str], at: int, unit: _Unit, there: int, common: set[str]) -> int:
    """How many common pieces in a row are the same, here and there."""
    length = 0
    while at + length < len(pieces) and pieces[at + length] in common:
        if unit.tokens[there + length : there + length + K] != pieces[at + length]:
            break
        length += 1
    return length


def _add(places: list[Place], here: _Unit, at: int, there: _Unit, start: int, length: int) -> None:
    more = length - 1
    new = Place(here.file, here.span(at, at + more), there.file, there.span(start, start + more))
    old = places[-1] if places else new
    one, other = _joined(old.one_lines, new.one_lines), _joined(old.other_lines, new.other_lines)
    if places and one and other and (old.one_file, old.other_file) == (new.one_file, new.other_file):
        places[-1] = Place(new.one_file, one, new.other_file, other)
    else:
        places.append(new)


def _joined(old: tuple[int, int], new: tuple[int, int]) -> tuple[int, int] | None:
    touch = new[0] <= old[1] + 1 and old[0] <= new[1] + 1
    return (min(old[0], new[0]), max(old[1], new[1])) if touch else None


# What is read


def seen(texts: Mapping[str, str]) -> dict[str, str]:
    """What is compared of a submission: the code of its Python files and notebooks, up to a limit."""
    sources = {name: code(texts[name]) for name in sorted(texts) if name.casefold().endswith((".py", ".ipynb"))}
    left = READ
    for name in sorted(sources, key=lambda name: (len(sources[name]), name)):
        sources[name] = sources[name][:left]
        left -= len(sources[name])
    return sources


def cut(texts: Mapping[str, str]) -> list[str]:
    """A sentence for each file that is not compared as a whole, for whoever relies on it."""
    return [
        f"{name}: only the first {len(read):,} characters of its code were compared."
        if read
        else f"{name}: nothing was compared; it is too large, or has no code."
        for name, read in seen(texts).items()
        if texts[name] and (not read or len(read) < len(code(texts[name])))
    ]


def code(text: str) -> str:
    """The text itself, or the code of a notebook."""
    if text[:100].lstrip("\ufeff \t\r\n").startswith("{"):
        with contextlib.suppress(Unreadable):  # it is odd code, then
            text = code_of(text.removeprefix("\ufeff"))
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _units(file: str, text: str) -> list[_Unit]:
    units: list[_Unit] = []
    tokens: list[str] = []
    lines: list[int] = []
    for opens, statement in _statements(text):
        if opens and tokens:
            units.append(_Unit(file, "".join(tokens), lines))
            tokens, lines = [], []
        for token, line in _bare(statement):
            tokens.append(_character(token))
            lines.append(line)
    return [*units, _Unit(file, "".join(tokens), lines)] if tokens else units


@lru_cache(maxsize=10_000)
def _character(token: str) -> str:
    """A character for each token, the same on every machine; that two get the same one is rare, and harmless."""
    return chr(crc32(token.encode("utf-8", "replace")) % 0x10FFFF)


# From text to tokens. Not Python's own tokenizer: that one stops at errors, and splits f-strings from 3.12 on.

Token = tuple[str, int]  # and its line
_LEXEME = re.compile(
    r"""
      (?P<skipped>\#[^\n]*+|\\\n)
    | (?P<string>[rRbBuUfF]{0,2}(?:
          \"{3}(?:[^"\\]++|\\.|"(?!""))*+(?:\"{3}|\Z) | '{3}(?:[^'\\]++|\\.|'(?!''))*+(?:'{3}|\Z)
        | "(?:[^"\\\n]++|\\.)*+"? | '(?:[^'\\\n]++|\\.)*+'?))
    | (?P<number>\.?[0-9](?:[eE][+-]|[\w.])*+)
    | (?P<name>(?:\.\s*+)?[^\W\d]\w*+)
    | (?P<line>\n[ \t\f]*+)
    | (?P<other>->|:=|\*\*=?|//=?|<<=?|>>=?|[-+*/%@&|^=<>!]=|\S)
    """,
    re.VERBOSE | re.DOTALL,
)
_BUILTINS = frozenset(name for name in dir(builtins) if name.islower() and not name.startswith("_"))
_KEPT = _BUILTINS | frozenset(keyword.kwlist)
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_CALLED = _CLOSING | {"N", "S"}  # a parenthesis behind one of these is a call's
_NEVER_INSIDE = frozenset(("def", "class", "return", "import", "while", "with", "try", "raise", "assert", "del"))


def _statements(text: str) -> Iterator[tuple[bool, list[Token]]]:
    """Logical lines, each with whether a new unit begins there."""
    statement: list[Token] = []
    depth, indent, line, inside, fresh = 0, 0, 1, False, True
    for found in _LEXEME.finditer(text):
        kind, lexeme = found.lastgroup, found[0]
        if kind == "line":
            if depth <= 0 and statement:
                yield _opens(statement, indent, inside), statement
                inside, statement = indent > 0, []
            indent = indent if statement else len(lexeme) - 1
            fresh = True
        elif kind != "skipped":
            if fresh and statement and lexeme in _NEVER_INSIDE:  # a bracket was left open
                yield _opens(statement, indent, inside), statement
                inside, statement, depth = indent > 0, [], 0
            if not statement:
                depth = 0
            if kind == "other":
                depth += (lexeme in _OPENING) - (lexeme in _CLOSING)
            statement.append((_token(kind, lexeme), line))
            fresh = False
        line += lexeme.count("\n")
    if statement:
        yield _opens(statement, indent, inside), statement


def _opens(statement: list[Token], indent: int, inside: bool) -> bool:
    return statement[0][0] in ("def", "class", "async", "@") or (indent == 0 and inside)


def _token(kind: str | None, lexeme: str) -> str:
    """Names of one's own are all alike; a method's name or a function's of the language can hardly be changed."""
    if kind == "name":
        return "." + lexeme[1:].strip() if lexeme[0] == "." else lexeme if lexeme in _KEPT else "N"
    return "S" if kind == "string" else lexeme


def _bare(statement: list[Token]) -> list[Token]:
    """A statement without docstring, signature, hints and loose commas; imports are nobody's own."""
    words = [token for token, _ in statement]
    if words[0] in ("import", "from") or set(words) == {"S"}:
        return []
    if words[0] in ("def", "class", "async"):
        statement = statement[_end(words, ":") + 1 :]
    elif words[0] == "N":
        hint = next((at for at, word in enumerate(words[1:], 1) if word[0] != "." or word == "."), 0)
        if hint and words[hint] == ":":
            statement = statement[:hint] + statement[_end(words, "=") :]
    return _unwrapped(statement)


def _unwrapped(statement: list[Token]) -> list[Token]:
    """Without semicolons, commas before a closing bracket, and parentheses that only group."""
    kept: list[Token] = []
    calls: list[bool] = []  # for each open bracket, whether it is kept
    for token, line in statement:
        before = kept[-1][0] if kept else ""
        if token in _OPENING:
            calls.append(token != "(" or before in _CALLED or before[:1] == "." or before in _BUILTINS)
        if token in _CLOSING and before == ",":
            kept.pop()
        if token == ";" or (token in "()" and calls and not calls[-1]):
            pass
        else:
            kept.append((token, line))
        if token in _CLOSING and calls:
            calls.pop()
    return kept


def _end(words: list[str], wanted: str) -> int:
    """Where the first such token outside of all brackets stands, or the end."""
    depth = 0
    for at, word in enumerate(words):
        if word == wanted and not depth:
            return at
        depth += (word in _OPENING) - (word in _CLOSING)
    return len(words)
