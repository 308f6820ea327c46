"""Predictions that were handed in: are they all there, and how many are right?

One prediction a line, in the order of the questions. A prediction is right if it is the place, letter for letter;
space around it or repeated within it does not count, nor how accents are encoded (Unicode NFC). Case does.
Whatever a file holds, reading it takes no longer than its size allows.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from autograder.checking.courses import DEV_LINES, PARAMS, TEST_LINES, Course, Item
from autograder.judging.checks import fail
from autograder.judging.exercises import PREDICTIONS
from autograder.judging.findings import MISSING, Kind
from autograder.judging.held_out import DEV, SPLITS, TEST, Answers, HeldOut, Question, Split
from autograder.judging.parameters import Parameters, Unfit, read_parameters
from autograder.judging.submission import Submission

LONGEST = 1 << 20  # bytes of a file of predictions
SHORT = 1000  # characters of a file that holds one number: patterns try every beginning, and every end for each
PLACE = 256  # characters of a line that may be a place: to put a long row of accents in order takes for ever
BROKEN = 0.1  # so many more lines than questions may come from line breaks within predictions
PAD = "\u25a1"  # what models write behind an answer when they have nothing to say
LONDON = "London"
CLOSE = 0.001  # how far the London baseline may be off: a tenth of a percentage point
ENDINGS: dict[Split, str] = {"dev": DEV_LINES, "test": TEST_LINES}
DATA: dict[Split, str] = {"dev": DEV, "test": TEST}
_SHARE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:out of|of|/)\s*(\d+(?:\.\d+)?)", re.IGNORECASE)
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*%")
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e-?\d+)?", re.IGNORECASE)


@dataclass(frozen=True)
class Files:
    """What was handed in for one exercise, in order."""

    params: Path
    lines: dict[Split, list[str]]  # one for each question; more, if predictions hold line breaks
    known: HeldOut  # what they are about


def normalised(text: str) -> str:
    words = " ".join(text.split())
    return unicodedata.normalize("NFC", words) if len(words) <= PLACE else words


def alike(one: str, other: str) -> bool:
    """Are these the same prediction?"""
    return normalised(one.rstrip(PAD)) == normalised(other.rstrip(PAD))


def aligned(lines: Sequence[str], texts: Sequence[str]) -> list[str]:
    """For each text, what a file of lines has for it. A text with line breaks may take several lines there."""
    found, at = [], 0
    for text in texts:
        count = 1 + text.count("\n")
        together = "\n".join(lines[at : at + count])
        if not alike(together, text):  # another prediction, or one that was written in a single line
            count, together = 1, "".join(lines[at : at + 1])
        found.append(together)
        at += count
    return found


def is_right(line: str, question: Question) -> bool:
    return question.place is not None and normalised(line) == normalised(question.place)


def accuracy(lines: Sequence[str], questions: Sequence[Question]) -> float:
    return sum(map(is_right, lines, questions)) / len(questions)


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def say(kind: Kind, item: Item, headline: str, *evidence: str) -> NoReturn:
    """Fail, in words that may be read whatever the check: what was handed in is the student's own."""
    fail(kind, f"{item.slug}: {headline}", *evidence, open=True)


def files_of(submission: Submission, item: Item, answers: Answers) -> Files:
    """All files of an exercise, each with a line for every question; or the check fails."""
    _all_there(submission, item, item.files)
    known = answers()
    lines: dict[Split, list[str]] = {}
    for split in SPLITS:
        path = submission.handed_in(item.file(ENDINGS[split]))
        assert path is not None
        lines[split] = lines_of(_text(item, path))
    wrong = {
        split: f"{split}: {len(lines[split]):,} lines, {len(known.of(split)):,} expected: one prediction per question, "
        f"in the order of data/{DATA[split]}"
        for split in SPLITS
        if not 0 <= len(lines[split]) - len(known.of(split)) <= BROKEN * len(known.of(split))
    }
    if wrong:
        first, *others = wrong.values()
        names = " and ".join(item.file(ENDINGS[split]) for split in wrong)
        say("shape", item, first, *others, f"{'This is' if not others else 'These are'} {names}.")
    params = submission.handed_in(item.file(PARAMS))
    assert params is not None
    return Files(params, lines, known)


def _all_there(submission: Submission, item: Item, names: Sequence[str]) -> None:
    """Or the check fails, and says of each file whether it is there."""
    missing = [name for name in names if submission.handed_in(name) is None]
    if not missing:
        return
    kind: Kind = "not started" if len(missing) == len(names) else "missing"
    each = [f"{MISSING if name in missing else 'handed in: '}{name}" for name in names]
    if len(missing) == 1:
        say(kind, item, f"not handed in: {missing[0]} is missing", *(each if len(names) > 1 else []))
    count = f"all {len(names)}" if len(missing) == len(names) else f"{len(missing)} of {len(names)}"
    say(kind, item, f"not handed in: {count} files are missing", *each)


def _text(item: Item, path: Path) -> str:
    if path.stat().st_size > LONGEST:
        say("shape", item, f"{path.name} has more than {LONGEST >> 20} MiB; it should hold a few thousand letters")
    content = path.read_bytes()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def lines_of(text: str) -> list[str]:
    """One prediction a line; the newline at the end is not the beginning of another."""
    text = text.replace("\r\n", "\n").removesuffix("\n")
    return text.split("\n") if text else []


def parameters_of(item: Item, path: Path) -> Parameters:
    try:
        return read_parameters(path)
    except Unfit as unfit:
        say("type", item, str(unfit))


# What the test files call


def are_in_order(submission: Submission, slug: str, course: Course, answers: Answers) -> None:
    """Every file is there, with one line per question; the dev accuracy is told."""
    item = course.items[slug]
    found = files_of(submission, item, answers)
    dev, questions = found.lines["dev"], found.known.dev
    if len(dev) == len(questions):
        told = f"dev {percent(accuracy(dev, questions))}"
        if item.threshold is not None and PREDICTIONS[slug][1] == "dev":
            told += f", {percent(item.threshold)} asked for"
        submission.note(told)
    for split in SPLITS:
        if (more := len(found.lines[split]) - len(found.known.of(split))) > 0:
            submission.note(f"{split}: {more} lines more than questions; do predictions hold line breaks?")


def parameters_are_plain(submission: Submission, slug: str, course: Course) -> None:
    """The parameters are numbers, and no program."""
    item = course.items[slug]
    name = item.file(PARAMS)
    path = submission.handed_in(name)
    if path is None:
        _all_there(submission, item, item.files)
    else:
        parameters_of(item, path)


def london_is_right(submission: Submission, slug: str, course: Course, answers: Answers) -> None:
    """The file holds the share of dev questions to which London is the answer."""
    item = course.items[slug]
    _all_there(submission, item, item.files)
    path = submission.handed_in(item.files[0])
    assert path is not None
    text = _text(item, path).strip()
    candidates = _shares(text) if len(text) <= SHORT else []
    if not candidates:
        say("type", item, f"{path.name} must hold one number, the accuracy in percent", f"It says: {text[:60]!r}.")
    dev = answers().dev
    share = accuracy([LONDON] * len(dev), dev)
    if not any(abs(candidate - share) <= CLOSE for candidate in candidates):
        asked = f"how many of the {len(dev):,} questions in data/{DEV} are right if the answer is always"
        say("values", item, f"{percent(candidates[0])} is not its accuracy", f"Asked for: {asked} {LONDON}.")
    submission.note(percent(share))


def _shares(text: str) -> list[float]:
    """What a text may mean as a share: 5.0, 5.0%, 0.05, or a sentence with one percentage."""
    if percents := {float(found) for found in _PERCENT.findall(text)}:
        return [percents.pop() / 100] if len(percents) == 1 else []
    if found := _SHARE.findall(text):
        right, total = map(float, found[0])
        return [right / total] if len(found) == 1 and total else []
    numbers = [float(found) for found in _NUMBER.findall(text)]
    return [numbers[0] / 100, numbers[0]] if len(numbers) == 1 else []
