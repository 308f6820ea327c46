"""Words for outcomes: what a student reads, in the terminal and on Gradescope alike."""

from __future__ import annotations

import unicodedata

from autograder.engine import Outcome
from autograder.findings import SPOKEN

_ACTIVE = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}  # controls, direction and zero-width marks, surrogates, separators
LINES = 8  # a message is never longer
WIDTH = 100  # of a line


def message(outcome: Outcome, handout: str, files: tuple[str, ...]) -> list[str]:
    """The message of one failed check. Hidden checks give claim and cause, never values."""
    look = f"→ {files[0]}, handout {handout}"
    if outcome.verdict == "could not check":
        return [
            f"{outcome.exercise}: this could not be checked; the fault is ours, not yours",
            "  Please tell the course staff. Your points are not final.",
        ]
    finding = outcome.finding
    if finding is None:
        return []
    if outcome.part == "hidden":
        lines = [f"{outcome.exercise}: {SPOKEN[finding.kind]}", f"  Asked for: {outcome.claim}."]
        if finding.where:
            lines.append(f"  {finding.where}")
    else:
        lines = [finding.headline, *(f"  {line}" for line in finding.evidence)]
    room = LINES - 1 - bool(outcome.says)
    lines = lines[:room]
    if outcome.says:
        lines.append(f"  {outcome.says}")
    lines.append(f"  {look}")
    return [inert(line if len(line) <= WIDTH else line[: WIDTH - 1] + "…") for line in lines]


def inert(text: str) -> str:
    """Text that comes from a submission, with nothing left that a terminal or a reader's eye would obey."""
    return "".join("�" if unicodedata.category(character) in _ACTIVE else character for character in text)
