"""Are predictions those of the submitted parameters? The student's own code makes a sample of them again.

It runs where neither the corpus nor the predictions are, twice for each file: with the parameters, and with the same
numbers in another order. With the first, what was handed in must come out; with the second, it must not: answers
that do not depend on the parameters were not learnt. Where too few are right to tell, the second is not done.
"""

from __future__ import annotations

import math
import re
import secrets
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from autograder.course import PARAMS, Course, Item
from autograder.exercises import PREDICTIONS
from autograder.findings import MISSING, CheckFailed, Measure
from autograder.held_out import SPLITS, Answers, HeldOut, Question, Split
from autograder.perform import Reply, Script
from autograder.predictions import (
    DATA,
    ENDINGS,
    accuracy,
    files_of,
    is_right,
    lines_of,
    normalised,
    parameters_of,
    say,
)
from autograder.submission import THERE, Submission

SCRIPT, CORPUS = "src/run.py", "wiki.txt"
MAX_CODE = 1 << 20  # bytes of all modules in src/ together
RUNS = 4  # two files, two kinds of parameters
UNLIKE = 0.05  # of the sample may differ, for rounding; and one in any case
LOST = 0.02  # of the sample may be right as handed in, and wrong when made again; and one in any case
UNLEARNT = 0.25  # of the right answers may come out of scrambled parameters,
CHANCE = 1e-5  # or more, if that is chance:
LUCK = 0.1  # the least that an answer may be right by chance
SHOWN = 40  # letters of a prediction
NAMED = 4  # modules that are missing


@dataclass(frozen=True)
class _Sampled:
    """Some of the lines of one file, and what they answer."""

    split: Split
    questions: list[Question]
    lines: list[str]

    def text(self) -> str:
        """As in the file that students have, but for the answers: code may treat a line with a tab otherwise."""
        mark = "\t?" if self.split == "dev" else ""
        return "".join(f"{question.text}{mark}\n" for question in self.questions)


def are_reproduced(submission: Submission, slug: str, course: Course, answers: Answers) -> None:
    """With the submitted parameters, the submitted code predicts again what was handed in."""
    item = course.items[slug]
    found = files_of(submission, item, answers)
    known = found.known
    parameters = parameters_of(item, found.params)
    code = _code(submission, item)
    sampled = {split: _sampled(split, found.lines[split], slug, course, known) for split in SPLITS}
    kinds = (False, True) if _could_be_refused(sampled.values()) else (False,)
    runs = [(split, scrambled) for split in SPLITS for scrambled in kinds]
    secrets.SystemRandom().shuffle(runs)  # so that code cannot count which one it is in
    replies: dict[tuple[Split, bool], Reply | CheckFailed] = {}
    for split, scrambled in runs:
        # Made anew each time: a container has no room for several of these.
        numbers = (parameters.scrambled if scrambled else parameters.nudged)(known.seed(f"{slug} {scrambled}"))
        script = _script(item, code, numbers, sampled[split], known)
        replies[split, scrambled] = submission.run(script, max(1, item.deadline // RUNS))
    # Judged in one order, so that the same submission is told the same.
    _say_what_is_not_there(item, code, [replies[split, False] for split in SPLITS])
    differing = sum(_differing(item, sampled[split], _lines(replies[split, False])) for split in SPLITS)
    right = [one for split in SPLITS if True in kinds for one in _right(sampled[split], replies[split, True])]
    for group in (*SPLITS, "all"):
        _refuse_unlearnt(item, [one for one in right if group in (one.split, "all")])
    total = sum(len(one.lines) for one in sampled.values())
    submission.note(f"{total - differing} of {total} sampled predictions reproduced", always=True)
    submission.measured(Measure(accuracy(found.lines["test"], known.test)))  # now that it is known to be theirs


def _code(submission: Submission, item: Item) -> dict[str, Path | bytes]:
    """The modules that may be imported, under the names that they have in the submission; nothing else of it."""
    script = submission.handed_in(SCRIPT)
    if script is None:
        say("missing", item, f"{SCRIPT} is not in your submission; your own code is to make your predictions again")
    root = submission.root
    modules = {path.relative_to(root).as_posix(): path for path in sorted(script.parent.rglob("*.py"))}
    if sum(path.stat().st_size for path in modules.values()) > MAX_CODE:
        say("shape", item, f"src/ holds more than {MAX_CODE >> 20} MiB of code; tables belong elsewhere")
    return {**modules}


_IMPORTED = re.compile(r"^(?:from[ \t]+(\w+)[\w.]*[ \t]+import\b|import[ \t]+(\w+))", re.MULTILINE)


def _say_what_is_not_there(item: Item, code: dict[str, Path | bytes], replies: Sequence[Reply | CheckFailed]) -> None:
    """Python stops at the first module that is missing. If it did, all of them are named, by what the files say."""
    stopped = [reply.finding for reply in replies if isinstance(reply, CheckFailed)]
    if not any("ModuleNotFoundError" in f"{one.headline} {one.where}" for one in stopped):
        return
    there = {Path(name).stem for name in code} | {Path(name).parent.name for name in code} | sys.stdlib_module_names
    missing: dict[str, str] = {}
    for name, source in code.items():
        text = source.read_text(errors="replace") if isinstance(source, Path) else ""
        for found in _IMPORTED.finditer(text):
            module = found[1] or found[2]
            if module not in there and not module.startswith("_") and find_spec(module) is None:
                missing.setdefault(module, name)
    if missing:
        each = [f"{MISSING}{module}, which {user} imports" for module, user in missing.items()]
        more = [f"and {len(each) - NAMED} more; see the imports in your files"] if len(each) > NAMED else []
        count = "a module is" if len(each) == 1 else f"{len(each)} modules are"
        say("missing", item, f"{SCRIPT} could not be run: {count} missing", *each[:NAMED], *more, *THERE)


def _sampled(split: Split, lines: list[str], slug: str, course: Course, known: HeldOut) -> _Sampled:
    questions = known.of(split)
    places = known.sample(f"{slug} {split}", len(questions), course.sample)
    return _Sampled(split, [questions[n] for n in places], [lines[n] for n in places])


def _script(item: Item, code: dict[str, Path | bytes], content: bytes, sampled: _Sampled, known: HeldOut) -> Script:
    """The command line of the handout, in a folder that has nothing but what is named on it."""
    params, questions, output = item.file(PARAMS), DATA[sampled.split], item.file(ENDINGS[sampled.split])
    options = ("--reading_params_path", params, "--eval_corpus_path", questions, "--outputs_path", output)
    return Script(
        next(name for name in code if f"/{name}".endswith(f"/{SCRIPT}")),
        ("evaluate", PREDICTIONS[item.slug][0], CORPUS, *options),
        output,
        code | {CORPUS: known.vocabulary.encode(), questions: sampled.text().encode(), params: content},
    )


def _differing(item: Item, sampled: _Sampled, again: list[str]) -> int:
    """How many came out otherwise, if that may be rounding; else the check fails."""
    count, what = len(sampled.lines), f"{sampled.split} predictions"
    if len(again) != count:
        say("values", item, f"your {SCRIPT} wrote {len(again):,} lines for {count} questions of {sampled.split}")
    pairs = list(zip(sampled.questions, sampled.lines, again, strict=True))
    unlike = [pair for pair in pairs if normalised(pair[1]) != normalised(pair[2])]
    lost = [pair for pair in unlike if is_right(pair[1], pair[0])]
    if len(unlike) > max(1, int(UNLIKE * count)) or len(lost) > max(1, int(LOST * count)):
        evidence = []
        if sampled.split == "dev":  # of the test, nobody is to learn which questions are in the sample
            question, mine, other = (lost or unlike)[0]
            evidence = [f"{question.text} Handed in: {mine[:SHOWN]!r}, made again: {other[:SHOWN]!r}."]
        made = item.file(ENDINGS[sampled.split])
        evidence.append(f"Did {item.file(PARAMS)} and your src/ make {made}? Hand in what belongs together.")
        say("values", item, f"{len(unlike)} of {count} sampled {what} came out otherwise when made again", *evidence)
    return len(unlike)


@dataclass(frozen=True)
class _Right:
    """A right answer, as handed in; did it come out of other numbers, too?"""

    split: Split
    place: str
    still: bool


def _right(sampled: _Sampled, scrambled: Reply | CheckFailed) -> list[_Right]:
    again = [] if isinstance(scrambled, CheckFailed) else _lines(scrambled)  # to fail with nonsense is only right
    if len(again) != len(sampled.lines):
        again = [""] * len(sampled.lines)
    return [
        _Right(sampled.split, normalised(line), is_right(other, question))
        for question, line, other in zip(sampled.questions, sampled.lines, again, strict=True)
        if is_right(line, question)
    ]


def _refuse_unlearnt(item: Item, right: Sequence[_Right]) -> None:
    """Some right answers come by chance, above all those that are frequent; more of them must come from the numbers."""
    still = sum(one.still for one in right)
    frequent = max(Counter(one.place for one in right).values(), default=0)
    if still > UNLEARNT * len(right) and by_chance(still, len(right), frequent / len(right)) < CHANCE:
        splits = " and ".join(dict.fromkeys(one.split for one in right))
        say(
            "property",
            item,
            "these answers do not come from the parameters",
            f"With other numbers in {item.file(PARAMS)}, {still} of {len(right)} right {splits} answers came out all "
            "the same.",
        )


def _could_be_refused(sampled: Iterable[_Sampled]) -> bool:
    """Are there enough right answers that it could not be chance, if all of them came out of scrambled parameters?"""
    right = sum(
        is_right(line, question) for one in sampled for line, question in zip(one.lines, one.questions, strict=True)
    )
    return by_chance(right, right, LUCK) < CHANCE


def by_chance(still: int, count: int, share: float) -> float:
    """How probable it is that so many of `count` are hit by who hits each with probability `share`, or LUCK."""
    share = max(share, LUCK)
    return sum(math.comb(count, n) * share**n * (1 - share) ** (count - n) for n in range(still, count + 1))


def _lines(reply: Reply | CheckFailed) -> list[str]:
    if isinstance(reply, CheckFailed):
        raise reply
    return lines_of(reply.value) if isinstance(reply.value, str) else []
