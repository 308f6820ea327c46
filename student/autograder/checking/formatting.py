"""Results as text and as Markdown, for Gradescope and for terminals. Both are made from the same data as the page."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from autograder.checking.wording import WIDTH, Message

Check = Mapping[str, Any]  # one entry of extra_data.checks


class Renderer(Protocol):
    def checks(self, checks: Sequence[Check], file: str = "") -> str:
        """What was checked, and, if all is right, from which of several files it was taken."""
        ...

    def summary(self, lines: Sequence[str], advice: Sequence[str]) -> str: ...


# What is the same is told once


@dataclass(frozen=True)
class Told:
    """Checks that did not pass for one and the same reason, and the one message that tells it."""

    checks: tuple[Check, ...]
    said: Message | None
    before: str = ""  # the exercise at which this report has told the reason already


@dataclass(frozen=True)
class Reason:
    """What makes one message the same as another. `bare`: it says no more than its claim does."""

    key: tuple[str, ...]
    bare: bool = False

    @property
    def anywhere(self) -> bool:
        """A named mistake, or an exception at a line: the same one wherever it shows."""
        return self.key[0] in ("mistake", "raised")


class Memory:
    """What one report has told so far, and at which exercise: built on one step, five exercises fail alike."""

    def __init__(self) -> None:
        self._first: dict[tuple[str, ...], str] = {}

    def told(self, reason: Reason, exercise: str) -> str:
        """The other exercise at which this was told, if any; from now on it is told here, if nowhere else."""
        first = self._first.setdefault(reason.key, exercise) if reason.anywhere else exercise
        return first if first != exercise else ""


def told_once(checks: Sequence[Check], exercise: str = "", memory: Memory | None = None) -> list[Told]:
    """Checks that did not pass, those of one reason together. Public checks come first: they tell more."""
    memory = memory or Memory()
    groups: list[tuple[Reason, list[Check], Message | None]] = []
    for check in checks:
        said = revived(check["message"])
        reason = _reason(check, said)
        for known, members, _ in groups:
            if known.key == reason.key or (reason.bare and _same_claim(check, members)):
                members.append(check)
                break
        else:
            groups.append((reason, [check], said))
    return [
        Told(tuple(members), said, memory.told(reason, exercise) if said else "") for reason, members, said in groups
    ]


def _same_claim(check: Check, members: Sequence[Check]) -> bool:
    """A hidden check says of its claim only that it fails: what a public one said of the same claim explains it."""
    return any((check["claim"], check["kind"]) == (other["claim"], other["kind"]) for other in members)


def _reason(check: Check, said: Message | None) -> Reason:
    if said is None:
        return Reason(("claim", check["claim"]))
    if said.says:  # whatever the example was
        return Reason(("mistake", check.get("cause") or said.says))
    if raised := _raised(said):
        return Reason(("raised", check["kind"], *raised))
    told = facts(check, said)
    happened = said.headline.partition(": ")[2] or said.headline  # the same for each name that is called
    return Reason(("said", happened, *told), bare=not told)


_PLACE = re.compile(r"at (.+? line \d+): ")  # "at src/attention.py line 12: return x": of a public check
_WHERE = re.compile(r"(\w+), (.+ line \d+)")  # "TypeError, src/attention.py line 12": of a hidden one
_SYNTAX = re.compile(r".+?: (.+) has a syntax error in (line \d+)")


def _raised(said: Message) -> tuple[str, str] | None:
    """The kind of an exception, and its line."""
    for before, fact in zip(("", *said.evidence), said.evidence, strict=False):
        if where := _WHERE.fullmatch(fact):
            return where[1], where[2]
        if place := _PLACE.match(fact):
            return before.partition(":")[0], place[1]
    if found := _SYNTAX.fullmatch(said.headline):
        return said.evidence[0].partition(":")[0] if said.evidence else "", f"{found[1]} {found[2]}"
    return None


def facts(check: Check, said: Message) -> list[str]:
    """The evidence, without the claim: that stands above it."""
    return [fact for fact in said.evidence if fact != f"Asked for: {check['claim']}."]


def revived(message: Mapping[str, Any] | None) -> Message | None:
    return None if message is None else Message(**{**message, "evidence": tuple(message["evidence"])})


# What a claim is worth


def is_note(check: Check) -> bool:
    """It costs nothing, whatever became of it."""
    return bool(check.get("counts") == "note")


def sorted_out(checks: Sequence[Check]) -> tuple[list[Check], list[Check], list[Check]]:
    """Those that passed, those that failed, and notes: what did not hold and costs nothing."""
    passed = [check for check in checks if check["verdict"] == "passed"]
    wrong = [check for check in checks if check["verdict"] != "passed"]
    return passed, [one for one in wrong if not is_note(one)], [one for one in wrong if is_note(one)]


class Worths:
    """' · 1 point' for each claim of a row, in turn; what all core claims earn together is said at the first."""

    def __init__(self) -> None:
        self._said = False

    def of(self, check: Check) -> str:
        worth = check.get("worth", "")
        if check.get("counts") == "core" and worth.endswith("together"):
            worth, self._said = "core" if self._said else worth, True
        return f" · {worth}" if worth else ""


def noted(check: Check) -> str:
    """What a check that passed has to tell: " (error 0.0231 ≤ 0.05)"."""
    return f" ({check['note']})" if check.get("note") else ""


NOTE = "note, no points: "
ELSEWHERE = "told at {}; look here again when that is right"


class Text:
    """Plain text of a width. `right`: also what passed."""

    def __init__(self, width: int = WIDTH, *, right: bool = True) -> None:
        self.width = width
        self.right = right

    def checks(self, checks: Sequence[Check], file: str = "", exercise: str = "", memory: Memory | None = None) -> str:
        passed, failed, notes = sorted_out(checks)
        worths = Worths()
        lines = []
        for check in passed:
            told = f"✓ {check['claim']}{noted(check)}{worths.of(check)}"
            lines += self._wrapped(told) if self.right else []
        for told_now in told_once(failed, exercise, memory):
            for check in told_now.checks:
                sign = "?" if check["verdict"] == "could not check" else "✗"
                lines += self._wrapped(f"{sign} {check['claim']}{worths.of(check)}")
            lines += self._message(told_now)
        for told_now in told_once(notes, exercise, memory):
            for check in told_now.checks:
                lines += self._wrapped(f"– {NOTE}{check['claim']}")
            lines += self._message(told_now)
        lines += [f"Taken from {file}."] if file else []
        return "\n".join(lines)

    def _wrapped(self, line: str) -> list[str]:
        return textwrap.wrap(line, self.width, subsequent_indent="  ", break_on_hyphens=False)

    def _message(self, told: Told) -> list[str]:
        if told.before:
            return [f"  {line}" for line in textwrap.wrap(ELSEWHERE.format(told.before), self.width - 2)]
        return [f"  {line}" for line in (told.said.lines(self.width - 2) if told.said else [])]

    def summary(self, lines: Sequence[str], advice: Sequence[str]) -> str:
        first = [f"Fix first: {advice[0]}", *(f"Then: {one}" for one in advice[1:THEN])] if advice else []
        return "\n".join([*first, *_rest(advice), *lines])


THEN = 4  # pieces of advice at the top; the exercises themselves say the others


def _rest(advice: Sequence[str]) -> list[str]:
    left = len(advice) - THEN
    return [f"And {left} more, told at the exercise{'s' * (left > 1)} below."] if left > 0 else []


class Markdown:
    """Markdown that Gradescope renders. What a submission may have chosen stands in code blocks only."""

    def checks(self, checks: Sequence[Check], file: str = "") -> str:
        passed, failed, notes = sorted_out(checks)
        worths = Worths()
        right = [f"- ✓ {escaped(check['claim'] + noted(check) + worths.of(check))}" for check in passed]
        blocks = ["\n".join(right)] if right else []
        for told in told_once(failed):
            claims = [f"**✗ {escaped(check['claim'])}**{escaped(worths.of(check))}" for check in told.checks]
            blocks += ["\n\n".join(claims), *self._message(told)]
        for told in told_once(notes):
            claims = [f"– {NOTE}{escaped(check['claim'])}" for check in told.checks]
            blocks += ["\n\n".join(claims), *self._message(told)]
        blocks += [f"Taken from {escaped(file)}."] if file else []
        return "\n\n".join(blocks)

    def _message(self, told: Told) -> list[str]:
        said = told.said
        if said is None:
            return []
        blocks = [fenced(Message(said.headline, said.evidence).lines())]
        blocks += [f"**{escaped(said.says)}**"] if said.says else []
        return [*blocks, escaped(said.look)] if said.look else blocks

    def summary(self, lines: Sequence[str], advice: Sequence[str]) -> str:
        blocks = []
        if advice:
            blocks.append(f"**Fix first:** {escaped(advice[0])}")
            blocks += [f"Then: {escaped(one)}" for one in advice[1:THEN]]
            blocks += _rest(advice)
        blocks.append(fenced(lines) if len(lines) > 1 else escaped("".join(lines)))
        return "\n\n".join(blocks)


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
