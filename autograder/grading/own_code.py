"""The student's own run.py makes predictions again, from parameters that only it can use.

It answers all questions that count, in parts of equal size and random order, each in a worker of its own that sees
neither the corpus nor the predictions. One more part is answered from the same numbers in another order: what comes out
right all the same was not learnt. Nothing that the code wrote is shown to anybody, and no number that depends on it.
"""

from __future__ import annotations

import math
import re
import secrets
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from autograder.checking.courses import PARAMS, Item
from autograder.checking.predictions import (
    DATA,
    ENDINGS,
    Files,
    is_right,
    lines_of,
    normalised,
    parameters_of,
    say,
)
from autograder.grading.agreement import compared
from autograder.judging.exercises import PREDICTIONS
from autograder.judging.findings import MISSING, CheckFailed
from autograder.judging.held_out import HeldOut, Question, Split
from autograder.judging.submission import THERE, Submission
from autograder.running.perform import Reply, Script

SCRIPT, CORPUS = "src/run.py", "wiki.txt"
MAX_CODE = 1 << 20  # bytes of all modules in src/ together
PART = 100  # questions at most that one worker answers
UNLEARNT = 0.25  # of the right answers may come out of scrambled parameters,
CHANCE = 1e-5  # or more, if that is chance:
LUCK = 0.1  # the least that an answer may be right by chance
NAMED = 4  # modules that are missing

Code = Mapping[str, Path | bytes]


@dataclass(frozen=True)
class Part:
    """Some of the questions, and what was handed in for them."""

    split: Split
    questions: list[Question]
    lines: list[str]

    def text(self) -> str:
        """As in the file that students have, but for the answers: code may treat a line with a tab otherwise."""
        mark = "\t?" if self.split == "dev" else ""
        return "".join(f"{question.text}{mark}\n" for question in self.questions)

    @property
    def right(self) -> list[bool]:
        return list(map(is_right, self.lines, self.questions))


def makes_them_again(submission: Submission, item: Item, found: Files) -> None:
    """Those of the split that counts, as they were handed in; or the check fails."""
    split = PREDICTIONS[item.slug][1]
    if len(found.lines[split]) != len(found.known.of(split)):
        say("shape", item, f"{item.file(ENDINGS[split])} has more lines than there are questions: one line for each")
    parameters = parameters_of(item, found.params)
    code = code_of(submission, item)
    parts = in_parts(split, found.known.of(split), found.lines[split])
    again: Part | None = max(parts, key=lambda part: sum(part.right))
    if again is not None and not could_be_refused(again):
        again = None
    runs: list[tuple[Part, bool]] = [(part, False) for part in parts] + ([(again, True)] if again else [])
    secrets.SystemRandom().shuffle(runs)  # so that code cannot count which one it is in
    asked = sum(len(part.questions) for part, _ in runs)
    replies: dict[tuple[int, bool], Reply | CheckFailed] = {}
    for part, scrambled in runs:
        # Made anew each time: a container has no room for several of these.
        seed = secrets.randbits(64)
        numbers = parameters.scrambled(seed) if scrambled else parameters.nudged(seed)
        script = _script(item, code, numbers, part, found.known)
        seconds = max(1, item.deadline * len(part.questions) // asked)
        reply = submission.run(script, seconds)
        if isinstance(reply, CheckFailed) and not scrambled:  # with nonsense it may fail, but not with its own numbers
            _say_what_is_not_there(item, code, reply)
            raise reply
        replies[parts.index(part), scrambled] = reply
    # Judged in one order, so that the same submission is told the same.
    made = [_lines(item, part, replies[place, False]) for place, part in enumerate(parts)]
    _judge(item, parts, made)
    if again is not None:
        refuse_unlearnt(item, again, replies[parts.index(again), True])


def in_parts(split: Split, questions: Sequence[Question], lines: Sequence[str]) -> list[Part]:
    """All questions, in random order, in parts whose sizes differ by one at most."""
    order = list(range(len(questions)))
    secrets.SystemRandom().shuffle(order)
    count = math.ceil(len(order) / PART)
    chosen = [order[start::count] for start in range(count)]
    return [Part(split, [questions[n] for n in some], [lines[n] for n in some]) for some in chosen]


def code_of(submission: Submission, item: Item) -> Code:
    """The modules that may be imported, under the names that they have in the submission; nothing else of it."""
    script = submission.handed_in(SCRIPT)
    if script is None:
        say(
            "missing",
            item,
            f"{SCRIPT} is not in your submission",
            f"{item.file(PARAMS)} does not fit the model of the handout, so your own code must make your predictions.",
        )
    root = submission.root
    modules = {path.relative_to(root).as_posix(): path for path in sorted(script.parent.rglob("*.py"))}
    if sum(path.stat().st_size for path in modules.values()) > MAX_CODE:
        say("shape", item, f"src/ holds more than {MAX_CODE >> 20} MiB of code; tables belong elsewhere")
    return {**modules}


_IMPORTED = re.compile(r"^(?:from[ \t]++(\w++)[\w.]*+[ \t]++import\b|import[ \t]++(\w++))", re.MULTILINE)


def _say_what_is_not_there(item: Item, code: Code, stopped: CheckFailed) -> None:
    """Python stops at the first module that is missing. If it did, all of them are named, by what the files say."""
    if "ModuleNotFoundError" not in f"{stopped.finding.headline} {stopped.finding.where}":
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


def _script(item: Item, code: Code, content: bytes, part: Part, known: HeldOut) -> Script:
    """The command line of the handout, in a folder that has nothing but what is named on it."""
    params, questions, output = item.file(PARAMS), DATA[part.split], item.file(ENDINGS[part.split])
    options = ("--reading_params_path", params, "--eval_corpus_path", questions, "--outputs_path", output)
    return Script(
        next(name for name in code if f"/{name}".endswith(f"/{SCRIPT}")),
        ("evaluate", PREDICTIONS[item.slug][0], CORPUS, *options),
        output,
        {**code, CORPUS: known.vocabulary.encode(), questions: part.text().encode(), params: content},
    )


def _lines(item: Item, part: Part, reply: Reply | CheckFailed) -> list[str]:
    value = reply.value if isinstance(reply, Reply) else None
    lines = lines_of(value) if isinstance(value, str) else []
    if len(lines) != len(part.lines):
        say("values", item, f"your {SCRIPT} does not write one line for each question of {part.split}")
    return lines


def _judge(item: Item, parts: Sequence[Part], again: Sequence[Sequence[str]]) -> None:
    """Some may come out otherwise, which may be rounding."""
    questions = [question for part in parts for question in part.questions]
    handed_in = [line for part in parts for line in part.lines]
    if not compared(questions, handed_in, [line for lines in again for line in lines]).holds:
        made = item.file(ENDINGS[parts[0].split])
        say(
            "values",
            item,
            f"your own {SCRIPT} does not make {made} again",
            f"Did {item.file(PARAMS)} and your src/ make it? Hand in what belongs together.",
        )


def refuse_unlearnt(item: Item, part: Part, scrambled: Reply | CheckFailed) -> None:
    """Some right answers come by chance, above all those that are frequent; more of them must come from the numbers."""
    value = scrambled.value if isinstance(scrambled, Reply) else None  # to fail with nonsense is only right
    again = lines_of(value) if isinstance(value, str) else []
    if len(again) != len(part.lines):
        again = [""] * len(part.lines)
    still = [
        is_right(other, question)
        for question, other, right in zip(part.questions, again, part.right, strict=True)
        if right
    ]
    places = Counter(normalised(line) for line, right in zip(part.lines, part.right, strict=True) if right)
    share = max(places.values(), default=0) / max(1, len(still))
    if sum(still) > UNLEARNT * len(still) and by_chance(sum(still), len(still), share) < CHANCE:
        say(
            "property",
            item,
            "these answers do not come from the parameters",
            f"With other numbers in {item.file(PARAMS)}, right answers come out all the same.",
        )


def could_be_refused(part: Part) -> bool:
    """Are there enough right answers that it could not be chance, if all of them came out of scrambled parameters?"""
    right = sum(part.right)
    return by_chance(right, right, LUCK) < CHANCE


def by_chance(still: int, count: int, share: float) -> float:
    """How probable it is that so many of `count` are hit by who hits each with probability `share`, or LUCK."""
    share = max(share, LUCK)
    return sum(math.comb(count, n) * share**n * (1 - share) ** (count - n) for n in range(still, count + 1))
