"""Span corruption: take examples apart, one by one.

What is asked of many of them is in `span_claims`; what a garbled one looks like, in `span_stories`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NoReturn
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from autograder.judging.checks import fail
from autograder.judging.compare import type_name
from autograder.judging.findings import CheckFailed, Finding, Kind
from autograder.judging.pictures import Bars
from autograder.judging.references import Case, Reference
from autograder.judging.span_stories import COUNTED, MASK, PAD, explains, pieces_of, rebuilt, story_of
from autograder.judging.submission import Instance, Items, Submission
from autograder.running.perform import Reply
from autograder.running.plain import Plain

SHORTEST = 4


@dataclass(frozen=True)
class Example:
    """One example, taken apart."""

    prefix: str
    suffix: str
    span: str

    @cached_property
    def kept(self) -> int:
        """How many characters of the document were kept (t in the handout)."""
        return len(self.prefix) + len(self.suffix) + len(self.span)


@dataclass(frozen=True)
class Corpus:
    """A text, and what the dataset must make of it."""

    text: str
    block_size: int

    @cached_property
    def documents(self) -> list[str]:
        return self.text.split("\n")

    @cached_property
    def vocabulary(self) -> list[str]:
        return [PAD, MASK, *sorted(set(self.text))]

    @property
    def limit(self) -> int:
        """The longest text that may be kept."""
        return int(self.block_size * 7 / 8)

    @property
    def lengths(self) -> tuple[int, int]:
        """That x and y may have: that of our handout, and one less, as in other years of the original."""
        return self.block_size, self.block_size - 1

    def dataset(self, submission: Submission) -> Instance:
        known_as = f"CharCorruptionDataset {self.block_size} {self.text}"
        return submission.create("CharCorruptionDataset", self.text, self.block_size, known_as=known_as)


class Drawing:
    """Examples of one document, drawn as they are needed. Checks of one submission share them: drawing takes time."""

    def __init__(self, submission: Submission, corpus: Corpus, index: int) -> None:
        self.submission, self.corpus, self.index = submission, corpus, index
        self.drawn: list[Example | Finding] = []  # what is wrong with an example stands in its place
        self.seen: list[tuple[str, str]] = []  # every example that is a text, right or wrong, and its document
        self.length = 0  # of the last x
        self.sound = False  # as far as is known, its form is right

    def draw(self, count: int) -> list[Example | Finding]:
        """The first so many, well formed or not."""
        if len(self.drawn) < count:
            indices = [self.index] * (count - len(self.drawn))
            self.take(self.corpus.dataset(self.submission).items(indices), indices)
        return self.drawn[:count]

    def take(self, items: Items, indices: Sequence[int]) -> None:
        """Examples that came."""
        drawn, seen, self.length = _taken_apart(items, self.corpus, indices)
        self.drawn += drawn
        self.seen += seen

    def require_form(self, count: int) -> None:
        """All of the first so many are well formed."""
        wrong = [one for one in self.draw(count) if isinstance(one, Finding)]
        if wrong:
            raise CheckFailed(_one_for_all(wrong, self.seen))

    def __call__(self, count: int) -> Sequence[Example]:
        """Those of the first so many that are well formed: how they are spread can be judged if nearly all are."""
        drawn = self.draw(count)
        examples = [one for one in drawn if isinstance(one, Example)]
        if len(examples) < 0.9 * len(drawn):
            fail("waiting", "span_corruption: this is checked once the form of all examples is right")
        return examples


_DRAWINGS: WeakKeyDictionary[Submission, dict[tuple[Corpus, int], Drawing]] = WeakKeyDictionary()


def sample(submission: Submission, corpus: Corpus, index: int) -> Drawing:
    """Examples of one document, the same for all checks of a submission."""
    known = _DRAWINGS.setdefault(submission, {})
    if (corpus, index) not in known:
        known[corpus, index] = Drawing(submission, corpus, index)
    return known[corpus, index]


def drawings(submission: Submission, reference: Reference, use: str) -> list[Drawing]:
    """Examples of the documents that a reference has for one use."""
    cases = [case for case in reference.cases if case.text("use") == use]
    return [sample(submission, case.kept("corpus", partial(_corpus, case)), case.number("document")) for case in cases]


def _corpus(case: Case) -> Corpus:
    return Corpus(case.text("text"), case.number("block_size"))


def draw_ahead(submission: Submission, wanted: Sequence[tuple[Drawing, int]]) -> None:
    """Have so many examples of each at hand, all asked for at once. What fails is asked for again by its own check."""
    datasets = {id(drawing.corpus): drawing.corpus.dataset(submission) for drawing, _ in wanted}
    asked = [(drawing, [drawing.index] * count) for drawing, count in wanted if not drawing.drawn]
    requests = [datasets[id(drawing.corpus)].items_request(indices) for drawing, indices in asked]
    replies = submission.ask_all(requests, "CharCorruptionDataset.__getitem__") if requests else []
    for (drawing, indices), reply in zip(asked, replies, strict=False):
        if isinstance(reply, Reply):
            drawing.take(datasets[id(drawing.corpus)].read_items(reply, len(indices)), indices)


def _taken_apart(
    items: Items, corpus: Corpus, indices: Sequence[int]
) -> tuple[list[Example | Finding], list[tuple[str, str]], int]:
    drawn: list[Example | Finding] = []
    seen: list[tuple[str, str]] = []
    texts = _all_texts(items.columns, corpus) if items.columns is not None else None
    length, documents = 0, corpus.documents
    for item, index in zip(texts or items.each(), indices, strict=True):
        try:
            text = item if isinstance(item, str) and texts else _as_text(item, corpus)
            length = len(text) - 1
            seen.append((text, documents[index]))
            drawn.append(take_apart(text, corpus, documents[index]))
        except CheckFailed as failed:
            drawn.append(failed.finding)
    return drawn, seen, length


def _one_for_all(wrong: Sequence[Finding], seen: Sequence[tuple[str, str]]) -> Finding:
    """What to tell of many examples. One alone may look like another mistake: a cause must explain all of them."""
    garbled = [finding for finding in wrong if finding.cause.split(".")[-1] not in COUNTED]
    told = garbled or wrong  # how much was kept says nothing while other text than the document's is in examples
    causes = [finding.cause for finding in told]
    for cause, _ in Counter(causes).most_common():
        if explains(cause.split(".")[-1], causes, seen):
            return next(finding for finding in told if finding.cause == cause)
    return replace(told[0], cause="")


def _all_texts(columns: tuple[Tensor, ...], corpus: Corpus) -> list[str] | None:
    """All examples as text at once, if nothing is wrong with their form; a class has millions of them."""
    if len(columns) != 2:
        return None
    x, y = columns
    if x.shape != y.shape or x.dim() != 2 or x.shape[1] not in corpus.lengths:
        return None
    if any(column.dtype != torch.int64 for column in columns):
        return None
    if not torch.equal(x[:, 1:], y[:, :-1]) or not _in_vocabulary(x, corpus) or not _in_vocabulary(y, corpus):
        return None
    spell = corpus.vocabulary.__getitem__
    return ["".join(map(spell, row)) for row in torch.cat((x, y[:, -1:]), dim=1).tolist()]


def _in_vocabulary(numbers: Tensor, corpus: Corpus) -> bool:
    return numbers.numel() > 0 and int(numbers.min()) >= 0 and int(numbers.max()) < len(corpus.vocabulary)


def take_apart(text: str, corpus: Corpus, document: str) -> Example:
    """Check that an example has all its parts, and holds the beginning of its document."""
    example = _split(text)
    kept = example.prefix + example.span + example.suffix
    if not document.startswith(kept):
        what = "prefix + span + suffix is not the beginning of the document"
        cause = story_of(text, document, corpus.documents)
        wrong("property", what, shown(text), *rebuilt(kept, document), cause=cause)
    if example.kept > corpus.limit:
        most = f"at most {corpus.limit} may be (7/8 of {corpus.block_size})"
        wrong("property", f"{example.kept} characters were kept, {most}", shown(text), cause="kept_too_long")
    least = min(SHORTEST, len(document))
    if example.kept < least:
        what = f"only {example.kept} characters were kept, at least {least} must be"
        wrong("property", what, shown(text), cause="kept_too_short")
    return example


def _as_text(item: Plain, corpus: Corpus) -> str:
    if not (isinstance(item, tuple) and len(item) == 2):
        wrong("type", f"an example must be a pair (x, y), yours is {type_name(item)}")
    x, y = item
    for name, value in (("x", x), ("y", y)):
        if not isinstance(value, Tensor):
            wrong("type", f"{name} is {type_name(value)}, expected a torch.Tensor")
        if value.dim() != 1 or len(value) not in corpus.lengths:
            what = f"{name} has shape {tuple(value.shape)}, expected ({corpus.block_size},), the block size"
            wrong("shape", what, cause="not_cut" if tuple(value.shape) == (corpus.block_size + 1,) else "")
        if value.dtype != torch.int64:
            found = str(value.dtype).removeprefix("torch.")
            wrong("dtype", f"{name} is {found}, expected Long (int64)", cause="not_long")
    assert isinstance(x, Tensor) and isinstance(y, Tensor)
    if len(x) != len(y):
        wrong("shape", f"x has {len(x)} numbers and y has {len(y)}; both must have as many")
    if not torch.equal(x[1:], y[:-1]):
        wrong("property", "y must be x moved by one character", cause=_unlike(x, y))
    if not _in_vocabulary(x, corpus) or not _in_vocabulary(y, corpus):
        wrong("values", f"an example holds a number outside the vocabulary (0 to {len(corpus.vocabulary) - 1})")
    return "".join(map(corpus.vocabulary.__getitem__, [*x.tolist(), int(y[-1])]))


def _unlike(x: Tensor, y: Tensor) -> str:
    """What y may be, if it is not x moved by one."""
    if torch.equal(x, y):
        return "not_shifted"
    if torch.equal(x[:-1], y[1:]):
        return "shifted_the_wrong_way"
    apart = x[1:] != y[:-1]
    if bool((y[:-1][apart] == -100).all()):
        return "targets_of_minus_100"
    if bool((y[:-1][apart] == 0).all()):  # PAD is number 0
        return "targets_of_the_span_only"
    return ""


def _split(text: str) -> Example:
    full = text
    text = text.rstrip(PAD)
    if PAD in text:
        cause = "pads_in_front" if full.startswith(PAD) else ""
        wrong("property", "PADs may stand only at the end", shown(full), cause=cause)
    pieces = pieces_of(full)
    if len(pieces) != 3:
        count = len(pieces) - 1
        cause = {0: "no_mask", 1: "one_mask"}.get(count, "")
        if count > 3 and text == full and text.endswith(2 * MASK):
            cause = "masks_as_pads"
        what = f"an example has two MASKs (or three), yours has {count}"
        if count == 3:
            what = "an example has two MASKs, and a third only where its text ends"
        wrong("property", what, shown(full), cause=cause)
    return Example(*pieces)


def wrong(kind: Kind, what: str, *evidence: str, cause: str = "", picture: Bars | None = None) -> NoReturn:
    """Fail the running check; `cause` is a known mistake, without the exercise's name."""
    named = cause and f"span_corruption.{cause}"
    fail(kind, f"span_corruption: {what}", *evidence, cause=named, picture=picture)


def shown(text: str) -> str:
    return "one example: " + (text if len(text) <= 60 else text[:57] + "...")
