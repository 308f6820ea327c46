"""Is it a results.json? By the JSON Schema beside this module, and by what a schema cannot say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema

SCHEMA = Path(__file__).with_name("results.schema.json")


def complaints(content: bytes) -> list[str]:
    """What is wrong with a results.json, one line each; empty if nothing is."""
    try:
        data = json.loads(content, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        return [f"not JSON: {error}"]
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    found = sorted(jsonschema.Draft202012Validator(schema).iter_errors(data), key=lambda error: error.json_path)
    return [f"{error.json_path}: {error.message[:200]}" for error in found] or _sums(data)


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number in JSON")


def _sums(data: dict[str, Any]) -> list[str]:
    wrong = [
        f"$.tests[{index}]: {test['score']} points of {test['max_score']}"
        for index, test in enumerate(data["tests"])
        if test["score"] > test["max_score"]
    ]
    total = sum(test["score"] for test in data["tests"])
    if data["score"] != total:
        wrong.append(f"$.score: is {data['score']}, but the tests add up to {total}")
    return wrong
