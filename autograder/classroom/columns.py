"""Text in columns of a terminal, where some characters take two places and some none."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

CUT = "…"


def width(text: str) -> int:
    """Places that a terminal gives it: Chinese characters take two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(map(_places, text))


def _places(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def shortened(text: str, places: int) -> str:
    """Without its middle, if it does not fit: what tells two ids apart is often at the end."""
    if width(text) <= places:
        return text
    letters = list(_letters(text))
    head = _fitting(letters, (places - 1) // 2)
    tail = _fitting(letters[::-1], places - 1 - width("".join(head)))
    return "".join([*head, CUT, *tail[::-1]])


def filled(text: str, places: int) -> str:
    """Exactly so wide."""
    short = shortened(text, places)
    return short + " " * (places - width(short))


def lines(text: str, places: int) -> list[str]:
    """Broken between words where possible, each line at most so wide."""
    found, line = [], ""
    for word in text.split():
        if width(f"{line} {word}") <= places and line:
            line = f"{line} {word}"
            continue
        found += [line] if line else []
        letters = list(_letters(word))
        while width("".join(letters)) > places:  # longer than a line
            part = _fitting(letters, places) or letters[:1]
            found.append("".join(part))
            letters = letters[len(part) :]
        line = "".join(letters)
    return [*found, line] if line else found


def _letters(text: str) -> Iterator[str]:
    """Characters, each with its combining marks."""
    letter = ""
    for character in text:
        if letter and _places(character):
            yield letter
            letter = ""
        letter += character
    if letter:
        yield letter


def _fitting(letters: Sequence[str], places: int) -> list[str]:
    """The first of them that fit."""
    found: list[str] = []
    left = places
    for letter in letters:
        left -= width(letter)
        if left < 0:
            break
        found.append(letter)
    return found
