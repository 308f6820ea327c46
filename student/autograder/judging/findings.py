"""What a check found wrong, as data. Rendering decides who may see which part of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from autograder.judging.pictures import Picture

Kind = Literal[
    "not started",
    "missing",
    "import",
    "broken",
    "exception",
    "arguments",
    "layers",
    "timeout",
    "memory",
    "disk",
    "crash",
    "malformed",
    "type",
    "shape",
    "dtype",
    "non-finite",
    "values",
    "property",
    "random",
    "waiting",
]

# All that a hidden check tells of a failure, beside its claim and a matched mistake: these
# sentences hold no input, no expected value and no text that the student's code could choose.
SPOKEN: dict[Kind, str] = {
    "not started": "not started yet",
    "missing": "not found in your submission",
    "import": "the file could not be loaded",
    "broken": "the code that defines it failed when it was run",
    "exception": "your code raised an exception",
    "arguments": "it does not take the arguments that the handout names",
    "layers": "its layers are not those that the given __init__ makes",
    "timeout": "your code did not finish in time",
    "memory": "your code used too much memory",
    "disk": "your code wrote too much",
    "crash": "your code ended the Python process",
    "malformed": "the reply of your code could not be read",
    "type": "the result has the wrong type",
    "shape": "the result has the wrong shape",
    "dtype": "the result has the wrong dtype",
    "non-finite": "the result holds NaN or infinity where it should not",
    "values": "the values differ from the reference",
    "property": "this does not hold",
    "random": "two calls with the same tensors differ: something in it is random",
    "waiting": "not checked: the results are not right yet",
}

MISSING = "missing: "  # begins the evidence about one of several files


@dataclass(frozen=True)
class Finding:
    """One failure. Only `kind`, `cause` and `where` may be shown for hidden checks, unless it is `open`."""

    kind: Kind
    headline: str
    evidence: tuple[str, ...] = ()
    cause: str = ""  # the slug of a known mistake that explains everything that was seen
    also: tuple[str, ...] = ()  # mistakes in the steps below that would look the same from here
    where: str = ""  # "TypeError, src/attention.py line 12": never text chosen by the student's code
    places: tuple[tuple[str, int], ...] = ()  # of an exception: files and lines of the student's own, innermost last
    inside: str = ""  # of an exception: the exercise in whose lines it was raised, if another's
    picture: Picture | None = None  # of values; drawn for public checks only
    open: bool = False  # all of it may be shown, of a hidden check, too: it holds nothing that is hidden
    unsure: bool = False  # the cause explains results that never came: a step below that fails may be why they did not
    telling: bool = False  # only code that does the work gives what was seen; lazy answers do not
    fitted: str = ""  # a sentence with a number, of a public check, if it explains everything and no mistake does


@dataclass
class CheckFailed(Exception):
    """Raised by a check: the submission is wrong (any other exception is our own fault)."""

    finding: Finding = field()

    def __str__(self) -> str:
        return self.finding.headline


@dataclass(frozen=True)
class Measure:
    """A number that a check has found out, right or wrong: an error, an accuracy."""

    value: float
    smaller_is_better: bool = False
