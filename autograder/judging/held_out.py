"""The held-out answers: the questions that predictions are made for, and the places that are right."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from autograder.errors import UserError

HELD_OUT, ANSWERS = "held_out", "answers.json"  # only instructors have them
PLACE = f"data/{HELD_OUT}/{ANSWERS}"  # below the repository, and in a bundle
MAKE = "python -m autograder data --term NAME"
DEV, TEST = "birth_dev.tsv", "birth_test_inputs.tsv"  # what students have
Split = Literal["dev", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)


class Question(NamedTuple):
    text: str
    place: str | None  # None where it is not known: students have no answers to the test questions


@dataclass(frozen=True)
class HeldOut:
    """All questions of a term."""

    dev: tuple[Question, ...]
    test: tuple[Question, ...]
    vocabulary: str = ""  # every character of the corpus, once, in order
    term: str = ""

    def of(self, split: Split) -> tuple[Question, ...]:
        return self.dev if split == "dev" else self.test


Answers = Callable[[], HeldOut]  # raises UserError where there are none


def read_answers(path: Path) -> HeldOut:
    """Read answers.json; whatever is wrong with it is one line."""
    try:
        data = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise UserError(f"{PLACE} is missing, so that predictions cannot be graded; run: {MAKE}") from None
    except (OSError, ValueError) as error:
        raise _broken(f"is not JSON ({error})") from None
    if not isinstance(data, dict) or not isinstance(data.get("vocabulary"), str) or not data["vocabulary"]:
        raise _broken("has no 'vocabulary', the characters of the corpus")
    dev, test = (_questions(data.get(split), split) for split in SPLITS)
    return HeldOut(dev, test, data["vocabulary"], str(data.get("term", "")))


def _questions(pairs: Any, split: str) -> tuple[Question, ...]:
    if not isinstance(pairs, list) or not pairs:
        raise _broken(f"has no questions in '{split}'")
    for number, pair in enumerate(pairs, start=1):
        right = isinstance(pair, list) and len(pair) == 2 and all(isinstance(part, str) and part for part in pair)
        if not right or any(mark in part for part in pair for mark in "\t\n\r"):
            raise _broken(f"'{split}' entry {number} is not a pair of question and place, each in one line")
    return tuple(Question(*pair) for pair in pairs)


def _broken(what: str) -> UserError:
    return UserError(f"{PLACE} {what}; make it again: {MAKE}")


def unknown() -> HeldOut:
    raise UserError("no held-out answers were given, so that predictions cannot be graded")


def supplied(path: Path | None) -> Answers:
    """The answers, read now; if they cannot be had, whoever asks for them is told why."""
    if path is None:
        return unknown
    try:
        found = read_answers(path)
    except UserError as error:
        why = str(error)

        def refuse() -> HeldOut:
            raise UserError(why)

        return refuse
    return lambda: found


def of_students(data: Path) -> Answers:
    """What students have themselves: the dev questions with answers, the test questions without."""

    def read() -> HeldOut:
        dev = [line.split("\t") for line in _lines(data / DEV)]
        if any(len(parts) != 2 for parts in dev):
            raise UserError(f"data/{DEV} is not as it was given: each line holds a question, a tab and a place")
        return HeldOut(
            tuple(Question(question, place) for question, place in dev),
            tuple(Question(question, None) for question in _lines(data / TEST)),
        )

    return read


def question_lines(text: str) -> list[str]:
    """The lines of a file of questions. Only a newline ends one: splitlines() knows others, which names may hold."""
    return [line for line in text.split("\n") if line.strip()]


def _lines(path: Path) -> Sequence[str]:
    try:
        return question_lines(path.read_text(encoding="utf-8"))
    except OSError:
        raise UserError(f"data/{path.name} is missing; take it from the student release") from None
    except UnicodeDecodeError:
        raise UserError(f"data/{path.name} is not as it was given: it is not UTF-8") from None
