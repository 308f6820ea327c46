"""Results as text and as Markdown, for Gradescope. Both are made from the same data as the page."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from autograder.report import WIDTH, Message

Check = Mapping[str, Any]  # one entry of extra_data.checks


class Renderer(Protocol):
    def checks(self, checks: Sequence[Check], file: str = "") -> str:
        """What was checked, and, if all is right, from which of several files it was taken."""
        ...

    def summary(self, lines: Sequence[str], advice: Sequence[str]) -> str: ...


def told_once(checks: Sequence[Check]) -> list[tuple[Check, Message | None]]:
    """Every check with its message, or with None if the same was told before: one exception, five checks."""
    told: set[tuple[str, ...]] = set()
    paired: list[tuple[Check, Message | None]] = []
    for check in checks:
        said = revived(check["message"])
        if said is not None and _words(said) in told:
            said = None
        if said is not None:
            told.add(_words(said))
        paired.append((check, said))
    return paired


def _words(said: Message) -> tuple[str, ...]:
    """What makes a message the same as another: a known mistake is told once, whatever the example was."""
    if said.says:
        return said.headline, said.says
    return said.headline, *(fact for fact in said.evidence if not fact.startswith("Asked for: "))


def revived(message: Mapping[str, Any] | None) -> Message | None:
    return None if message is None else Message(**{**message, "evidence": tuple(message["evidence"])})


class Text:
    """Plain text of a width."""

    def __init__(self, width: int = WIDTH) -> None:
        self.width = width

    def checks(self, checks: Sequence[Check], file: str = "") -> str:
        lines = [f"✓ {check['claim']}{noted(check)}" for check in checks if check["verdict"] == "passed"]
        for check, said in told_once([check for check in checks if check["verdict"] != "passed"]):
            lines.append(f"✗ {check['claim']}")
            lines += [f"  {line}" for line in (said.lines(self.width - 2) if said else [])]
        lines += [f"Taken from {file}."] if file else []
        return "\n".join(lines)

    def summary(self, lines: Sequence[str], advice: Sequence[str]) -> str:
        first = [f"Fix first: {advice[0]}", *(f"Then: {one}" for one in advice[1:4])] if advice else []
        return "\n".join([*first, *lines])


class Markdown:
    """Markdown that Gradescope renders. What a submission may have chosen stands in code blocks only."""

    def checks(self, checks: Sequence[Check], file: str = "") -> str:
        passed = [f"- ✓ {escaped(check['claim'] + noted(check))}" for check in checks if check["verdict"] == "passed"]
        blocks = ["\n".join(passed)] if passed else []
        for check, said in told_once([check for check in checks if check["verdict"] != "passed"]):
            blocks.append(f"**✗ {escaped(check['claim'])}**")
            if said is not None:
                blocks.append(fenced(Message(said.headline, said.evidence).lines()))
                if said.says:
                    blocks.append(f"**{escaped(said.says)}**")
                if said.look:
                    blocks.append(escaped(said.look))
        blocks += [f"Taken from {escaped(file)}."] if file else []
        return "\n\n".join(blocks)

    def summary(self, lines: Sequence[str], advice: Sequence[str]) -> str:
        blocks = []
        if advice:
            blocks.append(f"**Fix first:** {escaped(advice[0])}")
            blocks += [f"Then: {escaped(one)}" for one in advice[1:4]]
        blocks.append(fenced(lines) if len(lines) > 1 else escaped("".join(lines)))
        return "\n\n".join(blocks)


def noted(check: Check) -> str:
    """What a check that passed has to tell: " (error 0.0231 ≤ 0.05)"."""
    return f" ({check['note']})" if check.get("note") else ""


def fenced(lines: Sequence[str]) -> str:
    """A code block whose fence is longer than any that the lines could hold."""
    text = "\n".join(lines)
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def escaped(text: str) -> str:
    """Text in which Markdown and HTML find nothing to do."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|~$])", r"\\\1", text)  # no link without its brackets


RENDER: Mapping[str, Renderer] = {"text": Text(), "md": Markdown()}
