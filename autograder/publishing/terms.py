"""A term's data on disk: what students get in data/, and what only instructors have in data/held_out/."""

from __future__ import annotations

import json
import os
import re
import secrets
from pathlib import Path

from autograder.errors import UserError
from autograder.files import write_atomically
from autograder.judging.held_out import ANSWERS, DEV, HELD_OUT, TEST, question_lines
from autograder.publishing import world

DEMO = "demo"  # comes with the repository; its secret is its name, so it is for trying out, not for a course
LISTS = "world.toml"
CORPUS = "wiki.txt"
PUBLIC = (CORPUS, "birth_places_train.tsv", DEV, TEST)


def make_term(data: Path, term: str) -> world.World:
    """Write a term's files. Its secret is drawn the first time and kept, so that the same term is the same world."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", term):
        raise UserError(f"'{term}' is no name for a term; use small letters, digits and hyphens, as in fall-2026")
    made = world.make(_secret(data, term), world.Lists.read(data / LISTS))
    for name, text in made.files().items():
        write_atomically(data / name, text.encode())
    _write_answers(data, term, made.answers())
    return made


def use_own(data: Path, answers: Path) -> int:
    """Take the files that stand in data/ already, such as the original course's; how many test answers there are."""
    for name in PUBLIC:
        if not (data / name).is_file():
            raise UserError(f"{data / name} is missing; put {', '.join(PUBLIC)} into {data} first")
    try:
        text = answers.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{answers} cannot be read: {error}") from None
    asked = [line.split("\t")[0] for line in _lines(data / TEST)]
    pairs = [line.split("\t") for line in question_lines(text)]
    if any(len(pair) != 2 for pair in pairs) or [pair[0] for pair in pairs] != asked:
        raise UserError(
            f"{answers} must hold the {len(asked)} questions of {TEST} in their order, each with a tab and its answer"
        )
    _write_answers(data, "own", text)
    return len(pairs)


def answers_file(data: Path) -> Path:
    """Where the held-out answers are. Those of the demo are made if need be; others cannot be made from here."""
    path = data / HELD_OUT / ANSWERS
    try:
        if not path.exists() and (data / LISTS).is_file():
            demo = world.make(DEMO.encode(), world.Lists.read(data / LISTS))
            if all((data / name).is_file() and _text(data / name) == text for name, text in demo.files().items()):
                _write_answers(data, DEMO, demo.answers())
    except OSError as error:
        raise UserError(f"{path} is closed to you ({error.strerror}); use a copy of this repository") from None
    return path


def _secret(data: Path, term: str) -> bytes:
    if term == DEMO:
        return DEMO.encode()
    path = data / HELD_OUT / f"{term}.secret"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_hex(32) + "\n")
    return path.read_text(encoding="utf-8").strip().encode()


def _write_answers(data: Path, term: str, test: str) -> None:
    content = {
        "term": term,
        "dev": [line.split("\t") for line in _lines(data / DEV)],
        "test": [line.split("\t") for line in question_lines(test)],
        "vocabulary": "".join(sorted(set(_text(data / CORPUS)))),
    }
    path = data / HELD_OUT / ANSWERS
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_atomically(path, (json.dumps(content, ensure_ascii=False, indent=0) + "\n").encode())
    path.chmod(0o600)


def _lines(path: Path) -> list[str]:
    return question_lines(_text(path))


def _text(path: Path) -> str:
    """As run.py reads it: every kind of newline is one, or the vocabularies would differ."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UserError(f"{path} is not UTF-8 text") from None
