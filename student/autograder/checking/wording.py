"""Words for outcomes: what a student reads, in the terminal, on Gradescope and on a page alike."""

from __future__ import annotations

import textwrap
import unicodedata
from dataclasses import dataclass

from autograder.checking.engine import OUT_OF_TIME, Outcome
from autograder.judging.findings import SPOKEN

_ACTIVE = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}  # controls, direction and zero-width marks, surrogates, separators
LINES = 8  # a message is never longer
WIDTH = 80  # of a line, unless a terminal is narrower
LONGEST = 300  # characters of one fact, before it is laid out in lines


@dataclass(frozen=True)
class Message:
    """What one failed check says. Only `headline` and `evidence` may hold text that student code chose."""

    headline: str
    evidence: tuple[str, ...] = ()
    says: str = ""  # the known mistake, in a sentence
    look: str = ""  # where to look

    def lines(self, width: int = WIDTH) -> list[str]:
        """At most eight lines of at most `width`; what does not fit is left out from the end of the evidence."""
        evidence = list(self.evidence)
        while True:
            lines = _wrapped(self.headline, width, "")
            lines += [line for fact in evidence for line in _wrapped(fact, width, "  ")]
            lines += [line for fact in (self.says, self.look) if fact for line in _wrapped(fact, width, "  ")]
            if len(lines) <= LINES or not evidence:
                return lines
            evidence.pop()


def message(outcome: Outcome, handout: str, files: tuple[str, ...]) -> Message | None:
    """The message of one failed check. Hidden checks give claim and cause, never values."""
    if outcome.verdict == "could not check" and outcome.trouble == OUT_OF_TIME:
        return Message(
            f"{outcome.exercise}: not checked, because {OUT_OF_TIME}",
            ("The checks before this one took too long. Is there a loop that takes one number at a time?",),
        )
    if outcome.unrecognised:
        return Message(
            f"{outcome.exercise}: not graded yet",
            (f"{_short(outcome.trouble)}.", "To be sure, hand it in again under the name that the handout gives."),
        )
    if outcome.verdict == "could not check":
        return Message(
            f"{outcome.exercise}: this could not be checked; the fault is ours, not yours",
            ("Please tell the course staff. Your points are not final.",),
        )
    finding = outcome.finding
    if finding is None:
        return None
    if outcome.part == "hidden" and not finding.open:
        headline = f"{outcome.exercise}: {SPOKEN[finding.kind]}"
        evidence = [f"Asked for: {outcome.claim}."]
        if finding.where:
            evidence.append(finding.where)
    else:
        headline, evidence = finding.headline, [fact for fact in finding.evidence if fact]
    look = f"→ {files[0]}, handout {handout}"
    return Message(_short(headline), tuple(_short(fact) for fact in evidence), outcome.says, look)


def _short(fact: str) -> str:
    fact = inert(fact)
    return fact if len(fact) <= LONGEST else fact[: LONGEST - 1] + "…"


def _wrapped(fact: str, width: int, indent: str) -> list[str]:
    if len(indent) + len(fact) <= width:  # as it stands: the caret below a line of code keeps its place
        return [indent + fact]
    return textwrap.wrap(fact, width, initial_indent=indent, subsequent_indent=indent + "  ") or [indent]


def inert(text: str) -> str:
    """Text that comes from a submission, with nothing left that a terminal or a reader's eye would obey."""
    if text.isprintable():  # as nearly all is, which takes no look at each letter
        return text
    return "".join("�" if unicodedata.category(character) in _ACTIVE else character for character in text)
