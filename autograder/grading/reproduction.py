"""Are predictions those of the submitted parameters? And how many of them are right?

The grader computes them from the numbers alone (see `evaluator`), all of them; what was handed in must agree, and the
accuracy is that of what was computed. No code of a student's runs for this.
Parameters of another architecture cannot be computed with, and a model with the course's names may still compute
otherwise. Then the student's own run.py makes the predictions that count once more (see `own_code`), which shows that
code and parameters belong together, but not that anything was learnt: a person must look, and until then no points
are given for what the grader could not compute.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, cast
from weakref import WeakKeyDictionary

from autograder.checking.courses import PARAMS, Course, Item
from autograder.checking.predictions import ENDINGS, Files, accuracy, aligned, files_of, percent, say
from autograder.grading import own_code
from autograder.grading.agreement import compared
from autograder.grading.checkpoint_names import Unlike
from autograder.grading.evaluator import Decoded, decode
from autograder.isolation.forks import TooMuch, run_limited
from autograder.judging.exercises import PREDICTIONS
from autograder.judging.findings import CheckFailed, Measure
from autograder.judging.held_out import SPLITS, Answers, Split
from autograder.judging.parameters import Unfit, read_parameters
from autograder.judging.submission import Submission

SECONDS = 180  # of processor time that computing may take: a large model, twice as large as the original's, takes 30
MEMORY = 1 << 30  # bytes that computing may take: a file of 64 MiB, several times, and what is kept of the texts
SHOWN = 40  # letters of a prediction


@dataclass(frozen=True)
class Judged:
    """What was found out about one exercise: the accuracies that count, or why a person must look."""

    accuracy: Mapping[Split, float]
    own: str = ""  # in what the architecture is another one


_JUDGED: WeakKeyDictionary[Submission, dict[str, Judged]] = WeakKeyDictionary()


def are_reproduced(submission: Submission, slug: str, course: Course, answers: Answers) -> None:
    """The submitted parameters give the predictions that were handed in."""
    item, judged = course.items[slug], _JUDGED.setdefault(submission, {})
    judged.pop(slug, None)
    found = files_of(submission, item, answers)
    computed = _computed(item, found)
    if isinstance(computed, str):
        submission.note(f"an architecture of its own ({computed}): a person must look at src/", always=True)
        own_code.makes_them_again(submission, item, found)
        handed_in = {split: accuracy(found.lines[split], found.known.of(split)) for split in SPLITS}
        judged[slug] = Judged(handed_in, own=computed)
        return
    try:
        differing = sum(_differing(item, split, found, computed[split]) for split in SPLITS)
    except CheckFailed as differ:
        _say_whose_they_are(submission, item, found, differ)
    judged[slug] = Judged({split: accuracy(computed[split], found.known.of(split)) for split in SPLITS})
    total = sum(len(found.known.of(split)) for split in SPLITS)
    submission.note(f"{total - differing} of {total} predictions agree with the parameters", always=True)
    submission.measured(Measure(judged[slug].accuracy["test"]))


def reach_the_threshold(submission: Submission, slug: str, course: Course, answers: Answers) -> None:
    """Enough of what was computed is right; both accuracies are told."""
    item, split = course.items[slug], PREDICTIONS[slug][1]
    files_of(submission, item, answers)  # says what is missing, if anything is
    judged = _JUDGED.get(submission, {}).get(slug)
    if judged is None:
        say("waiting", item, "not counted, because the predictions are not those of the parameters")
    told = f"dev {percent(judged.accuracy['dev'])}, test {percent(judged.accuracy['test'])}"
    if item.threshold is not None and judged.accuracy[split] < item.threshold:
        wanted = f"{split} accuracy {percent(judged.accuracy[split])}, {percent(item.threshold)} asked for"
        say("values", item, wanted, f"{told}.")
    if item.threshold is not None and judged.own:
        say(
            "waiting",
            item,
            "the course staff decide about these points",
            f"{item.file(PARAMS)} does not fit the model of the handout: {judged.own}. So the grader cannot compute "
            f"your accuracy from the parameters.",
            f"The files that you handed in say {told}. The staff have been told to read your code.",
        )
    submission.note(told, always=True)


def _say_whose_they_are(submission: Submission, item: Item, found: Files, differ: CheckFailed) -> NoReturn:
    """The parameters give other predictions. Those of the student's own code may still be honest work."""
    try:
        own_code.makes_them_again(submission, item, found)
    except CheckFailed:
        raise differ from None
    submission.note(
        "its own code computes otherwise than the model of the course: a person must look at src/", always=True
    )
    say(
        "waiting",
        item,
        "the course staff decide about these points",
        "Your own code makes the predictions that you handed in, but the model of the handout does not make them from "
        f"{item.file(PARAMS)}. Does your model compute something else?",
        "The staff have been told to read your code.",
    )


def _computed(item: Item, found: Files) -> Decoded | str:
    """What the parameters predict; or in what they are not those of the course's architecture."""
    answer = _in_a_child(item, found)
    if "unfit" in answer:
        say("type", item, answer["unfit"])
    return str(answer["unlike"]) if "unlike" in answer else cast(Decoded, answer)


def _in_a_child(item: Item, found: Files) -> dict[str, Any]:
    questions = {split: [question.text for question in found.known.of(split)] for split in SPLITS}

    def work() -> dict[str, Any]:
        try:
            parameters = read_parameters(found.params)
            rotary = PREDICTIONS[item.slug][0] == "rope"
            return {**decode(parameters, found.known.vocabulary, questions, found.lines, rotary=rotary)}
        except Unfit as unfit:
            return {"unfit": str(unfit)}
        except Unlike as unlike:
            return {"unlike": str(unlike)}

    seconds = min(SECONDS, item.deadline)
    try:
        return cast(dict[str, Any], run_limited(work, seconds=seconds, memory=MEMORY))
    except TooMuch as much:
        say(
            "property",
            item,
            f"computing the predictions of {item.file(PARAMS)} {much}",
            "A model of the size in the handout takes a few seconds.",
        )


def _differing(item: Item, split: Split, found: Files, computed: Sequence[str]) -> int:
    """How many were handed in otherwise, if that may be rounding; else the check fails."""
    questions, lines = found.known.of(split), found.lines[split]
    if len(lines) not in (len(questions), sum(1 + text.count("\n") for text in computed)):
        say(
            "shape",
            item,
            f"{item.file(ENDINGS[split])} has {len(lines):,} lines for {len(questions):,} questions",
            "One prediction a line, in the order of the questions.",
        )
    agreement = compared(questions, aligned(lines, computed), computed)
    if not agreement.holds:
        evidence = []
        if split == "dev":  # which test predictions differ would tell which of them are right
            question, mine, other = (agreement.lost or agreement.unlike)[0]
            evidence = [f"{question.text} Handed in: {mine[:SHOWN]!r}, computed: {other[:SHOWN]!r}."]
        made = item.file(ENDINGS[split])
        evidence.append(
            f"Did {item.file(PARAMS)} make {made}, with the model of the handout? Hand in what belongs together."
        )
        headline = (
            f"{len(agreement.unlike)} of {agreement.count} {split} predictions differ from what your parameters give"
        )
        say("values", item, headline, *evidence)
    return len(agreement.unlike)
