"""A world of people who never lived, made from a term's secret.

The same secret and the same lists give the same world to the byte; another secret gives other people and answers.
"""

from __future__ import annotations

import hashlib
import hmac
import random
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.errors import UserError

MASK_AND_PAD = {"\u2047", "\u25a1"}


@dataclass(frozen=True)
class Person:
    name: str
    born: str
    biographies: tuple[str, ...]  # one line each

    @property
    def question(self) -> str:
        return f"Where was {self.name} born?"


@dataclass(frozen=True)
class World:
    """The people of one term. No person is in two groups."""

    train: tuple[Person, ...]
    dev: tuple[Person, ...]
    test: tuple[Person, ...]
    documents: tuple[str, ...]  # everybody's biographies, shuffled

    def files(self) -> dict[str, str]:
        """What students get, in the original's formats: every line ends in a newline."""
        return {
            "wiki.txt": _lines(self.documents),
            "birth_places_train.tsv": _pairs(self.train),
            "birth_dev.tsv": _pairs(self.dev),
            "birth_test_inputs.tsv": _lines([person.question for person in self.test]),
        }

    def answers(self) -> str:
        """What only instructors have: the test questions with their answers."""
        return _pairs(self.test)


@dataclass(frozen=True)
class Lists:
    """The lists that people are made of (data/world.toml)."""

    people: dict[str, int]
    names: dict[str, Any]
    places: dict[str, Any]
    facts: dict[str, Any]
    phrasings: dict[str, Any]

    @classmethod
    def read(cls, path: Path) -> Lists:
        try:
            return cls(**tomllib.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            raise UserError(f"{path} is missing: it holds the lists that a world is made of") from None
        except (tomllib.TOMLDecodeError, TypeError) as error:
            raise UserError(f"{path} cannot be used: {error}") from None


def make(secret: bytes, lists: Lists) -> World:
    """Draw everybody. Each kind of thing has a generator of its own, so that nothing about a name tells of a place."""
    groups = {group: lists.people[group] for group in ("train", "dev", "test")}
    names = _names(_generator(secret, "names"), lists.names, sum(groups.values()))
    facts, weights = _generator(secret, "facts"), shares(lists.places)
    people: dict[str, tuple[Person, ...]] = {}
    for group, count in groups.items():
        born = _birthplaces(_generator(secret, f"places of {group}"), lists.places, count)
        people[group] = tuple(_person(facts, lists, weights, *names.pop(), place) for place in born)
    documents = [line for group in people.values() for person in group for line in person.biographies]
    _generator(secret, "order").shuffle(documents)
    world = World(people["train"], people["dev"], people["test"], tuple(documents))
    _check_characters(world)
    return world


def _check_characters(world: World) -> None:
    """A model has the corpus's characters and two of its own; whatever else is in a question, it could not read."""
    corpus, *others = (set(text) for text in world.files().values())
    if forbidden := corpus & MASK_AND_PAD:
        raise UserError(f"the lists hold {min(forbidden)}, which stands for something else in every corpus")
    if missing := set[str]().union(*others) - corpus - {"\t"}:
        raise UserError(f"questions have characters that no biography has: {' '.join(sorted(missing))}; add a phrasing")


def _generator(secret: bytes, purpose: str) -> random.Random:
    return random.Random(hmac.digest(secret, purpose.encode(), hashlib.sha256))


def _names(generator: random.Random, lists: dict[str, Any], count: int) -> list[tuple[str, str]]:
    """So many different names, each with its pronoun. No two people share a surname."""
    surnames = [beginning + ending for beginning in lists["beginnings"] for ending in lists["endings"]]
    if count > len(surnames):
        raise UserError(f"{count} people need as many surnames, and the lists give only {len(surnames)}")
    named = []
    for surname in generator.sample(surnames, count):
        pronoun, given = generator.choice([("she", lists["women"]), ("he", lists["men"])])
        several = 2 if generator.random() < 0.1 else 1
        named.append((" ".join([*generator.sample(given, several), surname]), pronoun))
    return named


def shares(places: dict[str, Any]) -> list[float]:
    """How many of all people are born in each place: the first as the lists say, the others falling."""
    falling = [1 / (rank + places["slope"]) for rank in range(1, len(places["names"]))]
    rest = (1 - places["share_of_first"]) / sum(falling)
    return [places["share_of_first"], *(share * rest for share in falling)]


def _birthplaces(generator: random.Random, places: dict[str, Any], count: int) -> list[str]:
    """A place for each, in exactly the shares of the lists (by largest remainder), in random order."""
    exact = [share * count for share in shares(places)]
    counts = [int(number) for number in exact]
    by_remainder = sorted(range(len(exact)), key=lambda i: exact[i] - counts[i], reverse=True)
    for i in by_remainder[: count - sum(counts)]:
        counts[i] += 1
    born = [name for name, times in zip(places["names"], counts, strict=True) for _ in range(times)]
    generator.shuffle(born)
    return born


def _person(generator: random.Random, lists: Lists, weights: Sequence[float], name: str, he: str, born: str) -> Person:
    """One life, told in several phrasings. Other places are drawn as birthplaces are, so that none stands out."""
    others: list[str] = []
    while len(others) < 2:
        place = generator.choices(lists.places["names"], weights)[0]
        if place not in (born, *others):
            others.append(place)
    job = generator.choice(lists.facts["jobs"])
    life = {
        "name": name,
        "born": born,
        "home": others[0],
        "work": others[1],
        "job": job,
        "a_job": f"{'an' if job[0] in 'aeiou' else 'a'} {job}",
        "he": he,
        "He": he.capitalize(),
        "his": {"he": "his", "she": "her"}[he],
    }
    phrasings = generator.sample(lists.phrasings["sentences"], lists.people["documents"])
    return Person(name, born, tuple(f"{name}. {sentence.format(**life)}" for sentence in phrasings))


def _lines(texts: Sequence[str]) -> str:
    return "".join(f"{text}\n" for text in texts)


def _pairs(people: Sequence[Person]) -> str:
    return _lines([f"{person.question}\t{person.born}" for person in people])
