"""Span corruption: take examples apart, and judge their form and their distribution.

Statistical checks state their false-alarm rate: the probability that a right solution, with
whatever generator, fails once. Each is at most 1e-6, and the arithmetic stands beside it.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NoReturn
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from autograder.checks import fail
from autograder.compare import type_name
from autograder.findings import CheckFailed, Finding, Kind
from autograder.pictures import Bars
from autograder.plain import Plain
from autograder.submission import Instance, Submission

MASK, PAD = "\u2047", "\u25a1"
SHORTEST = 4
ALARM = 1e-6  # no statistical check may exceed this


@dataclass(frozen=True)
class Example:
    """One example, taken apart."""

    prefix: str
    suffix: str
    span: str

    @property
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

    def dataset(self, submission: Submission) -> Instance:
        known_as = f"CharCorruptionDataset {self.block_size} {self.text}"
        return submission.create("CharCorruptionDataset", self.text, self.block_size, known_as=known_as)


Sample = Callable[[int], Sequence[Example]]  # so many examples of one document


def sample(submission: Submission, corpus: Corpus, index: int) -> Sample:
    """Examples of one document. Checks of one submission share them, because drawing is what takes time."""
    drawn = _SAMPLES.setdefault(submission, {}).setdefault((corpus, index), [])

    def examples(count: int) -> Sequence[Example]:
        if len(drawn) < count:
            drawn.extend(draw(submission, corpus, [index] * (count - len(drawn))))
        return drawn[:count]

    return examples


_SAMPLES: WeakKeyDictionary[Submission, dict[tuple[Corpus, int], list[Example]]] = WeakKeyDictionary()

# What is seen in a few examples is possible, and that settles most questions. What is not seen is not
# therefore impossible: only after many examples is a submission blamed for it.
ENOUGH = 150  # of many examples, so many must be long enough to judge


def draw(submission: Submission, corpus: Corpus, indices: Sequence[int]) -> list[Example]:
    """Draw one example per index; each must be well formed."""
    items = corpus.dataset(submission).items(list(indices))
    examples: list[Example] = []
    seen: list[tuple[str, str]] = []  # every example that is a text, right or wrong, and its document
    wrong: list[Finding] = []
    texts = _all_texts(items.columns, corpus) if items.columns is not None else None
    for item, index in zip(texts or items.each(), indices, strict=True):
        try:
            text = item if isinstance(item, str) and texts else _as_text(item, corpus)
            seen.append((text, corpus.documents[index]))
            examples.append(take_apart(text, corpus, corpus.documents[index]))
        except CheckFailed as failed:
            wrong.append(failed.finding)
    if wrong:
        raise CheckFailed(_one_for_all(wrong, seen))
    return examples


def _one_for_all(wrong: Sequence[Finding], seen: Sequence[tuple[str, str]]) -> Finding:
    """What to tell of many examples. One alone may look like another mistake: a cause must explain all of them."""
    garbled = [finding for finding in wrong if finding.cause.split(".")[-1] not in COUNTED]
    told = garbled or wrong  # how much was kept says nothing while other text than the document's is in examples
    for cause, _ in Counter(finding.cause for finding in told).most_common():
        if _explains(cause.split(".")[-1], told, seen):
            return next(finding for finding in told if finding.cause == cause)
    return replace(told[0], cause="")


def _explains(slug: str, wrong: Sequence[Finding], seen: Sequence[tuple[str, str]]) -> bool:
    if slug in (*COUNTED, "right_anchored", "random_window"):
        pieces = [_pieces(text) for text, _ in seen]
        if not all(any(piece[side : side + 1] != [""] for piece in pieces) for side in (0, 1)):
            return False  # a part is never there: what is left says nothing of how much was kept, and from where
    if slug in LOOKS:
        return all(_looks(slug, text, document) for text, document in seen)
    return slug in COUNTED or all(finding.cause.endswith(slug) for finding in wrong)


def _all_texts(columns: tuple[Tensor, ...], corpus: Corpus) -> list[str] | None:
    """All examples as text at once, if nothing is wrong with their form; a class has millions of them."""
    if len(columns) != 2:
        return None
    x, y = columns
    form = (len(x), corpus.block_size)
    if any(tuple(column.shape) != form or column.dtype != torch.int64 for column in columns):
        return None
    if not torch.equal(x[:, 1:], y[:, :-1]) or not _in_vocabulary(x, corpus) or not _in_vocabulary(y, corpus):
        return None
    spell = corpus.vocabulary.__getitem__
    return ["".join(map(spell, row)) for row in torch.cat((x, y[:, -1:]), dim=1).tolist()]


def _in_vocabulary(numbers: Tensor, corpus: Corpus) -> bool:
    return numbers.numel() > 0 and int(numbers.min()) >= 0 and int(numbers.max()) < len(corpus.vocabulary)


def take_apart(text: str, corpus: Corpus, document: str) -> Example:
    """Check that an example has all its parts, and holds the beginning of its document."""
    example = _split(text, document, corpus)
    kept = example.prefix + example.span + example.suffix
    if not document.startswith(kept):
        _not_the_beginning(text, document)
    if example.kept > corpus.limit:
        _fail(
            text,
            f"{example.kept} characters were kept, at most {corpus.limit} may be (7/8 of {corpus.block_size})",
            "kept_too_long",
        )
    least = min(SHORTEST, len(document))
    if example.kept < least:
        _fail(text, f"only {example.kept} characters were kept, at least {least} must be", "kept_too_short")
    if len(document) >= SHORTEST and not example.span:
        _fail(text, "the span is empty", "empty_span")
    return example


def _as_text(item: Plain, corpus: Corpus) -> str:
    if not (isinstance(item, tuple) and len(item) == 2):
        _wrong("type", f"an example must be a pair (x, y), yours is {type_name(item)}")
    x, y = item
    for name, value in (("x", x), ("y", y)):
        if not isinstance(value, Tensor):
            _wrong("type", f"{name} is {type_name(value)}, expected a torch.Tensor")
        if tuple(value.shape) != (corpus.block_size,):
            _wrong("shape", f"{name} has shape {tuple(value.shape)}, expected ({corpus.block_size},), the block size")
        if value.dtype != torch.int64:
            found = str(value.dtype).removeprefix("torch.")
            _wrong("dtype", f"{name} is {found}, expected Long (int64)", cause="span_corruption.not_long")
    assert isinstance(x, Tensor) and isinstance(y, Tensor)
    if not torch.equal(x[1:], y[:-1]):
        cause = "span_corruption.not_shifted" if torch.equal(x, y) else ""
        if torch.equal(x[:-1], y[1:]):
            cause = "span_corruption.shifted_the_wrong_way"
        _wrong("property", "y must be x moved by one character", cause=cause)
    if not _in_vocabulary(x, corpus) or not _in_vocabulary(y, corpus):
        _wrong("values", f"an example holds a number outside the vocabulary (0 to {len(corpus.vocabulary) - 1})")
    return "".join(map(corpus.vocabulary.__getitem__, [*x.tolist(), int(y[-1])]))


def _split(text: str, document: str, corpus: Corpus) -> Example:
    full = text
    text = text.rstrip(PAD)
    if PAD in text:
        cause = ""
        if full.startswith(PAD):
            cause = "span_corruption.pads_in_front"
        _wrong("property", "PADs may stand only at the end", _shown(full), cause=cause)
    pieces = _pieces(full)
    if len(pieces) != 3:
        count = len(pieces) - 1
        cause = ""
        if count == 1:
            cause = "span_corruption.one_mask"
        elif count > 3 and text == full and text.endswith(2 * MASK):
            cause = "span_corruption.masks_as_pads"
        _wrong("property", f"an example has two MASKs (or three), yours has {count}", _shown(full), cause=cause)
    return Example(*pieces)


def _pieces(text: str) -> list[str]:
    """What stands between the MASKs; a third MASK may close the span."""
    pieces = text.rstrip(PAD).split(MASK)
    return pieces[:3] if len(pieces) == 4 and not pieces[3] else pieces


def _not_the_beginning(text: str, document: str) -> NoReturn:
    what = "prefix + span + suffix is not the beginning of the document"
    _fail(text, what, next((cause for cause in LOOKS[3:] if _looks(cause, text, document)), ""))


# Mistakes that show in every example that they make. How much was kept is counted only in examples that have none.
LOOKS = (
    *("pads_in_front", "one_mask", "masks_as_pads"),
    *("span_forgotten", "wrong_order", "span_first", "order_of_prefix_and_suffix", "span_left_in_place"),
    *("masks_around_the_hole", "right_anchored", "random_window"),
)
COUNTED = ("kept_too_long", "kept_too_short", "empty_span")


def _looks(cause: str, text: str, document: str) -> bool:
    """Could this mistake have made the example?"""
    pieces = _pieces(text)
    match cause, pieces:
        case "pads_in_front", _:
            return PAD not in text.lstrip(PAD)
        case "masks_as_pads", _:
            return PAD not in text and text.rstrip(MASK).count(MASK) == 2
        case "one_mask", [prefix, rest]:
            return _turned(prefix, rest, document)
        case "span_forgotten", [prefix, suffix, ""]:
            return document.startswith(prefix) and suffix in document[len(prefix) :]
        case "wrong_order", [prefix, suffix, span]:
            return document.startswith(prefix + suffix + span)
        case "span_first", [prefix, suffix, span]:
            return document.startswith(suffix + prefix + span)
        case "order_of_prefix_and_suffix", [prefix, suffix, span]:
            return document.startswith(suffix + span + prefix)
        case "span_left_in_place", [prefix, suffix, span]:
            return span != "" and suffix.startswith(span) and document.startswith(prefix + suffix)
        case "masks_around_the_hole", [prefix, "", rest]:
            return _turned(prefix, rest, document)
        case "right_anchored", [prefix, suffix, span]:
            return document.endswith(prefix + span + suffix)
        case "random_window", [prefix, suffix, span]:
            return prefix + span + suffix in document
    return False


def _turned(prefix: str, rest: str, document: str) -> bool:
    """Is the rest a suffix with its span behind it?"""
    return any(document.startswith(prefix + rest[cut:] + rest[:cut]) for cut in range(len(rest) + 1))


def _fail(text: str, what: str, cause: str = "") -> NoReturn:
    _wrong("property", what, _shown(text), cause=cause and f"span_corruption.{cause}")


def _wrong(kind: Kind, what: str, *evidence: str, cause: str = "", picture: Bars | None = None) -> NoReturn:
    fail(kind, f"span_corruption: {what}", *evidence, cause=cause, picture=picture)


def histogram(caption: str, x: str, values: Sequence[int], possible: range, *, all_needed: bool) -> Bars:
    """How often each possible value occurs; `all_needed` says that each of them must."""
    counts = Counter(values)
    return Bars(
        caption,
        x,
        tuple(str(value) for value in possible),
        tuple(counts[value] for value in possible),
        tuple(all_needed for _ in possible),
    )


def _shown(text: str) -> str:
    return "one example: " + (text if len(text) <= 60 else text[:57] + "...")


def every_length_is_possible(sample: Sample, corpus: Corpus, few: int, many: int) -> None:
    """All lengths from 4 to the limit occur."""
    lengths = range(SHORTEST, corpus.limit + 1)
    if {example.kept for example in sample(few)} >= set(lengths):
        return
    examples = sample(many)
    randomness_is_fresh(examples)
    assert missed_length_alarm(len(lengths), len(examples)) <= ALARM
    seen = {example.kept for example in examples}
    missing = [length for length in lengths if length not in seen]
    if not missing:
        return
    cause = ""
    if missing == [corpus.limit]:
        cause = "span_corruption.limit_excluded"
    elif missing == [SHORTEST]:
        cause = "span_corruption.shortest_excluded"
    elif len(seen) == 1:
        cause = "span_corruption.fixed_truncation"
    shown = ", ".join(map(str, missing[:8])) + (" and more" if len(missing) > 8 else "")
    _wrong(
        "property",
        f"every kept length from {SHORTEST} to {corpus.limit} must be possible",
        f"Never seen in {len(examples)} examples: {shown}.",
        cause=cause,
        picture=histogram(
            f"how often each length was kept, in {len(examples)} examples",
            "characters kept",
            [example.kept for example in examples],
            lengths,
            all_needed=True,
        ),
    )


def missed_length_alarm(lengths: int, draws: int) -> float:
    """False-alarm rate of `every_length_is_possible`.

    If each of n lengths has at least half of its even share, 1 / 2n, a given one is missed by
    all draws with probability at most (1 - 1/2n)^draws, and any of them with n times that.
    """
    return lengths * (1 - 1 / (2 * lengths)) ** draws


def _long(examples: Sequence[Example]) -> list[Example]:
    """The examples with 12 kept characters or more: below that, whole numbers blur a quarter."""
    return [example for example in examples if example.kept >= 12]


def _enough(long: list[Example], of: int) -> list[Example]:
    if len(long) < ENOUGH:
        _wrong("property", f"hardly ever are 12 characters kept ({len(long)} of {of} times)")
    return long


def span_is_a_quarter(sample: Sample, few: int, many: int) -> None:
    """For kept texts of 12 or more, the mean share of the span lies between 0.20 and 0.30.

    A few examples whose mean is near a quarter are enough to pass: with a true mean of 1/3 or 1/6 they are so
    less than once in 1,000 times. To fail, the mean of many must be out of bounds beyond what chance can do.
    """
    for count in (few, 4 * few):
        shares = _shares(_long(sample(count)))
        if len(shares) >= 80 and 0.215 <= sum(shares) / len(shares) <= 0.285:
            return
    examples = sample(many)
    randomness_is_fresh(examples)
    shares = _shares(_enough(_long(examples), len(examples)))
    mean = sum(shares) / len(shares)
    slack = mean_slack(shares)
    if 0.20 - slack <= mean <= 0.30 + slack:
        return
    cause = ""
    if abs(mean - 1 / 2) <= 0.06:
        cause = "span_corruption.span_of_half"
    elif abs(mean - 1 / 8) <= 0.03:
        cause = "span_corruption.span_of_an_eighth"
    _wrong(
        "property",
        "the span must take a quarter of the kept text on average",
        f"Over {len(shares)} examples it takes {mean:.3f} of it.",
        cause=cause,
        picture=histogram(
            f"the span's share of the kept text, in {len(shares)} examples; 25 on average is asked for",
            "per cent, in steps of 5",
            [5 * int(20 * share) for share in shares],
            range(0, 105, 5),
            all_needed=False,
        ),
    )


def _shares(examples: Sequence[Example]) -> list[float]:
    return [len(example.span) / example.kept for example in examples]


def mean_slack(shares: Sequence[float]) -> float:
    """How far a sample mean may stray from the true one; exceeded with probability below ALARM.

    The empirical Bernstein bound of Maurer and Pontil (2009), which holds for every
    distribution on [0, 1], with ALARM / 2 for each side.
    """
    n = len(shares)
    mean = sum(shares) / n
    variance = sum((share - mean) ** 2 for share in shares) / (n - 1)
    log = math.log(2 / (ALARM / 2))
    return math.sqrt(2 * variance * log / n) + 7 * log / (3 * (n - 1))


def span_varies(sample: Sample, few: int, many: int) -> None:
    """For one kept length, the span's length varies; for one length, its place does.

    A choice that always falls the same way is told from a random one whose likeliest value
    has probability at most 0.9: over k repetitions that shows no variation with probability
    at most 0.9^k, see `unvaried_alarm`.
    """
    long = _long(sample(few))
    on_both_sides = any(example.prefix for example in long) and any(example.suffix for example in long)
    if on_both_sides and _varies(_lengths(long)) and _varies(_places(long)):
        return
    examples = sample(many)
    randomness_is_fresh(examples)
    long = _enough(_long(examples), len(examples))
    assert unvaried_alarm(len(long)) <= ALARM
    for name, parts in (("before", [e.prefix for e in long]), ("behind", [e.suffix for e in long])):
        if not any(parts):
            _wrong("property", f"there is never any text {name} the span", cause=f"span_corruption.nothing_{name}")
    if not _repeats(_lengths(long)):
        picture = histogram(
            f"length of the span, in {len(long)} examples",
            "characters in the span",
            [len(example.span) for example in long],
            range(1, 1 + max(len(example.span) for example in long)),
            all_needed=False,
        )
        cause = "span_corruption.fixed_span_length"
        _wrong("property", "the length of the span never varies", cause=cause, picture=picture)
    if not _repeats(_places(long)):
        _wrong("property", "the place of the span never varies", cause="span_corruption.fixed_place")


def unvaried_alarm(repetitions: int) -> float:
    """Probability that a random choice shows no variation in so many repetitions."""
    return 0.9**repetitions


Groups = Mapping[Hashable, Sequence[int]]  # what was chosen, for each of what was given


def _lengths(examples: Sequence[Example]) -> Groups:
    """For each kept length, the lengths of the span."""
    groups: defaultdict[Hashable, list[int]] = defaultdict(list)
    for example in examples:
        groups[example.kept].append(len(example.span))
    return groups


def _places(examples: Sequence[Example]) -> Groups:
    """For each kept length and length of the span, where it begins."""
    groups: defaultdict[Hashable, list[int]] = defaultdict(list)
    for example in examples:
        groups[example.kept, len(example.span)].append(len(example.prefix))
    return groups


def _varies(groups: Groups) -> bool:
    """Is any group seen with two different values?"""
    return any(len(set(values)) > 1 for values in groups.values())


def _repeats(groups: Groups) -> bool:
    """The same, where a no needs enough repetitions to tell chance from design."""
    if unvaried_alarm(sum(len(values) - 1 for values in groups.values())) > ALARM:  # hardly by chance
        _wrong("property", "hardly any two examples keep as many characters")
    return _varies(groups)


def randomness_is_fresh(examples: Sequence[Example]) -> None:
    """Asked again for the same document, the dataset gives another example.

    Examples of one long document coincide with probability below 1/2, so that n in a row do
    with probability below 2^-(n-1).
    """
    assert 2.0 ** -(len(examples) - 1) <= ALARM
    if len(set(examples)) == 1:
        _wrong("property", "the same document always gives the same example", cause="span_corruption.frozen")


def short_documents_survive(submission: Submission, corpus: Corpus, indices: Sequence[int]) -> None:
    """Documents of 0 to 3 characters give a well-formed example."""
    for index in indices:
        try:
            draw(submission, corpus, [index] * 8)
        except CheckFailed as failed:
            if failed.finding.kind != "exception":
                # So short a text looks like many mistakes at once; the other checks name the one that it is.
                raise CheckFailed(replace(failed.finding, cause="")) from None
            if _crashes(submission, corpus, max(corpus.documents, key=len)):
                raise  # not because the document is short
            what = f"span_corruption: your code crashes on a document of {len(corpus.documents[index])} characters"
            cause = "span_corruption.crashes_on_short_documents"
            raise CheckFailed(replace(failed.finding, headline=what, cause=cause)) from None


def _crashes(submission: Submission, corpus: Corpus, document: str) -> bool:
    try:
        draw(submission, corpus, [corpus.documents.index(document)] * 20)
    except CheckFailed as failed:
        return failed.finding.kind == "exception"
    return False
