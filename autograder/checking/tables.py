"""TOML files with good complaints: each names the file, the line, the key and what the key belongs to."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from autograder.errors import UserError


class TomlFile:
    """A file that was read, and its text: TOML parsers forget lines, so complaints look for them again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.text = path.read_text(encoding="utf-8")
            self.data = tomllib.loads(self.text)
        except UnicodeDecodeError as error:
            raise UserError(f"{path}: not UTF-8 text ({error.reason})") from None
        except tomllib.TOMLDecodeError as error:
            raise UserError(f"{path}: {error}") from None

    def wrong(self, key: str, what: str, near: str = "") -> UserError:
        """A complaint about a key: behind the name that it belongs to, or wherever it stands."""
        lines = self.text.splitlines()
        named = re.compile(rf"(?<![\w-])\[*{re.escape(key)}\b\s*[=\].]")
        owner = re.compile(rf'"{re.escape(near)}"|^\s*(?:\[?change\.)?{re.escape(near)}\s*[=\].]')
        around = [n for n, line in enumerate(lines, 1) if near and owner.search(line)]
        exact = [n for n in around if named.search(lines[n - 1])]
        anywhere = [n for n, line in enumerate(lines, 1) if named.search(line)]
        after = [n for n in anywhere if around and n >= around[-1]]
        line = next(iter([*exact[-1:], *(around[-1:] if key == "slug" or near else []), *after, *anywhere]), 1)
        about = f" of '{near}'" if near and key != "slug" else ""
        return UserError(f"{self.path}:{line}: '{key}'{about} {what}")


class Table:
    """What one file, or several of which the first that says something wins, say of one thing.

    `near` is the name of that thing. The last file is its home: there, a key that nobody gives is missing.
    """

    def __init__(self, near: str, *layers: tuple[TomlFile, Mapping[str, Any]]) -> None:
        self.near, self.layers = near, layers

    def __contains__(self, key: str) -> bool:
        return any(key in values for _, values in self.layers)

    def file(self, key: str) -> TomlFile:
        """The file that says it."""
        return next((file for file, values in self.layers if key in values), self.layers[-1][0])

    def paths(self) -> dict[str, Path]:
        """Of every key, the file that says it."""
        return {key: self.file(key).path for _, values in self.layers for key in values}

    def get(self, key: str, kind: type, *usual: Any) -> Any:
        value = next((values[key] for _, values in self.layers if key in values), None)
        if value is None:
            if usual:
                return usual[0]
            raise self.wrong(key, "is missing")
        if type(value) is not kind:
            names = {str: "text", int: "a whole number", float: "a decimal number", bool: "true or false"}
            raise self.wrong(key, f"must be {names.get(kind, 'a ' + kind.__name__)}, is {value!r}")
        return value

    def choice(self, key: str, choices: tuple[str, ...], usual: str) -> Any:
        value = self.get(key, str, usual)
        if value not in choices:
            raise self.wrong(key, f"is '{value}', must be one of {', '.join(choices)}")
        return value

    def texts(self, key: str, what: str) -> list[str]:
        """A list of texts; empty if there is none."""
        values: Any = next((values[key] for _, values in self.layers if key in values), [])
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise self.wrong(key, f"must be a list of {what}")
        return values

    def known(self, *keys: str) -> None:
        """Refuse all other keys."""
        for _, values in self.layers:
            for key in values:
                if key not in keys:
                    raise self.wrong(key, f"is not known here; known are {', '.join(keys)}")

    def wrong(self, key: str, what: str) -> UserError:
        return self.file(key).wrong(key, what, self.near)
