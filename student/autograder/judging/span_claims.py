"""What is claimed of many examples of span corruption: their form, and how they are spread.

Statistical checks state their false-alarm rate: the probability that a right solution, with
whatever generator, fails once. Each is at most 1e-6, and the arithmetic stands beside it.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace

from autograder.judging.checks import fail
from autograder.judging.findings import CheckFailed
from autograder.judging.pictures import Bars
from autograder.judging.spans import SHORTEST, Corpus, Drawing, Example, draw_ahead, shown, wrong

ALARM = 1e-6  # no statistical check may exceed this
Sample = Callable[[int], Sequence[Example]]  # so many examples of one document

# What is seen in a few examples is possible, and that settles most questions. What is not seen is not
# therefore impossible: only after many examples is a submission blamed for it.
ENOUGH = 150  # of many examples, so many must be long enough to judge
SHORTER = 50  # examples of a document that is shorter than the limit,
SPACIOUS = 36  # of one with spaces around it,
SHORT = 6  # and of one of a few characters
OFTEN_EMPTY = 0.2  # of the examples that keep 16 characters or more, so many may have an empty span


def form(drawings: Sequence[tuple[Drawing, int]], many: int, later: Sequence[tuple[Drawing, int]] = ()) -> None:
    """So many examples of each document are well formed; their sides and spans are not always empty.

    later: what other checks will ask for, and is drawn along with the rest.
    """
    draw_ahead(drawings[0][0].submission, [*drawings, *later])
    for drawing, count in drawings:
        drawing.require_form(count)
    drawing, count = max(drawings, key=lambda one: one[1])
    _text_on_both_sides(drawing, count, many)
    _span_is_seldom_empty(drawing, count, many)


def _require_form(usual: Sample, count: int) -> None:
    """What else is claimed is judged once the core is right. What is wrong with that, its own check says."""
    if isinstance(usual, Drawing) and usual.sound:
        return
    try:
        _text_on_both_sides(usual, count, 2 * count)
        _span_is_seldom_empty(usual, count, count)
    except CheckFailed as failed:
        if failed.finding.kind != "property":
            raise
        fail("waiting", "span_corruption: this is checked once the form of the examples is right")
    if isinstance(usual, Drawing):
        usual.sound = True


def _text_on_both_sides(sample: Sample, few: int, many: int) -> None:
    """A right solution leaves text on a side in a tenth of its examples at least: 0.9^n is the alarm's rate."""
    for count in (few, many):
        examples = _long(sample(count))
        sides = {"before": any(one.prefix for one in examples), "behind": any(one.suffix for one in examples)}
        if all(sides.values()):
            return
    if unvaried_alarm(len(examples)) > ALARM:
        return  # too few are long; the check of lengths says so
    never = next(name for name, seen in sides.items() if not seen)
    wrong("property", f"there is never any text {never} the span", cause=f"nothing_{never}")


def _span_is_seldom_empty(sample: Sample, few: int, many: int) -> None:
    """Of examples that keep 16 characters or more, a fifth at most has an empty span."""
    for count in (few, many):
        examples = [example for example in sample(count) if example.kept >= 16]
        empty = [example for example in examples if not example.span]
        if not examples or len(empty) <= OFTEN_EMPTY * len(examples):
            return
    if len(empty) > (OFTEN_EMPTY + share_slack(len(examples))) * len(examples):
        often = f"In {len(empty)} of {len(examples)} examples of 16 characters or more it is."
        cause = "empty_span" if len(empty) < len(examples) else "span_always_empty"
        wrong("property", "the span is empty too often", often, _of(empty[0]), cause=cause)


def share_slack(count: int) -> float:
    """How far a share of so many examples may stray upwards; exceeded with probability below ALARM (Hoeffding)."""
    return math.sqrt(math.log(1 / ALARM) / (2 * count))


def _of(example: Example) -> str:
    return shown(f"{example.prefix}⁇{example.suffix}⁇{example.span}")


def full_length(drawing: Drawing) -> None:
    """x and y have as many numbers as our handout says."""
    drawing(1)
    block = drawing.corpus.block_size
    if drawing.length != block:
        wrong("shape", f"x and y have {drawing.length} numbers; our handout says {block}, the block size")


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


def every_length_is_possible(sample: Sample, corpus: Corpus, few: int, many: int) -> None:
    """All lengths from 4 to the limit occur; the limit itself may be missing, because that is an end off by one."""
    _require_form(sample, few)
    lengths = range(SHORTEST, corpus.limit)
    for count in (few, 2 * few):
        if {example.kept for example in sample(count)} >= set(lengths):
            return
    examples = sample(many)
    _require_fresh(examples)
    assert missed_length_alarm(len(lengths), len(examples)) <= ALARM or len(examples) < many
    seen = {example.kept for example in examples}
    missing = [length for length in lengths if length not in seen]
    if not missing:
        return
    cause = ""
    if len(seen) == 1:
        cause = "fixed_truncation"
    elif missing == [SHORTEST]:
        cause = "shortest_excluded"
    shown_lengths = ", ".join(map(str, missing[:8])) + (" and more" if len(missing) > 8 else "")
    wrong(
        "property",
        f"every kept length from {SHORTEST} to {corpus.limit} must be possible",
        f"Never seen in {len(examples)} examples: {shown_lengths}.",
        cause=cause,
        picture=histogram(
            f"how often each length was kept, in {len(examples)} examples",
            "characters kept",
            [example.kept for example in examples],
            range(SHORTEST, corpus.limit + 1),
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
        wrong("property", f"hardly ever are 12 characters kept ({len(long)} of {of} times)")
    return long


def span_is_a_quarter(sample: Sample, few: int, many: int) -> None:
    """For kept texts of 12 or more, the mean share of the span lies between 0.20 and 0.30.

    A few examples whose mean is near a quarter are enough to pass: with a true mean of 1/3 or 1/6 they are so
    less than once in 1,000 times. To fail, the mean of many must be out of bounds beyond what chance can do.
    """
    _require_form(sample, few)
    _require_fresh(sample(few))  # one example again and again may take a quarter by design
    for count in (few, 4 * few):
        shares = _shares(_long(sample(count)))
        if len(shares) >= 80 and 0.215 <= sum(shares) / len(shares) <= 0.285:
            return
    examples = sample(many)
    shares = _shares(_enough(_long(examples), len(examples)))
    mean = sum(shares) / len(shares)
    slack = mean_slack(shares)
    if 0.20 - slack <= mean <= 0.30 + slack:
        return
    cause = ""
    if abs(mean - 1 / 2) <= 0.06:
        cause = "span_of_half"
    elif abs(mean - 1 / 8) <= 0.03:
        cause = "span_of_an_eighth"
    wrong(
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


def examples_vary(sample: Sample, few: int, many: int) -> None:
    """The kept length varies; for one kept length, the span's length does; for one length, its place does.

    A choice that always falls the same way is told from a random one whose likeliest value
    has probability at most 0.9: over k repetitions that shows no variation with probability
    at most 0.9^k, see `unvaried_alarm`.
    """
    _require_form(sample, few)
    _require_fresh(sample(few))
    long = _long(sample(few))
    kept = {example.kept for example in sample(few)}
    if len(kept) > 1 and _varies(_lengths(long)) and _varies(_places(long)):
        return
    if len(kept) == 1:
        wrong("property", "the kept length never varies", f"It is always {min(kept)}.", cause="fixed_truncation")
    examples = sample(many)
    long = _enough(_long(examples), len(examples))
    assert unvaried_alarm(len(long)) <= ALARM
    if not _repeats(_lengths(long)):
        picture = histogram(
            f"length of the span, in {len(long)} examples",
            "characters in the span",
            [len(example.span) for example in long],
            range(1, 1 + max(len(example.span) for example in long)),
            all_needed=False,
        )
        wrong("property", "the length of the span never varies", cause="fixed_span_length", picture=picture)
    if not _repeats(_places(long)):
        wrong("property", "the place of the span never varies", cause="fixed_place")


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
    """For each kept length and length of the span, where it begins; an empty one is at no place."""
    groups: defaultdict[Hashable, list[int]] = defaultdict(list)
    for example in examples:
        if example.span:
            groups[example.kept, len(example.span)].append(len(example.prefix))
    return groups


def _varies(groups: Groups) -> bool:
    """Is any group seen with two different values?"""
    return any(len(set(values)) > 1 for values in groups.values())


def _repeats(groups: Groups) -> bool:
    """The same, where a no needs enough repetitions to tell chance from design."""
    if unvaried_alarm(sum(len(values) - 1 for values in groups.values())) > ALARM:  # hardly by chance
        wrong("property", "hardly any two examples keep as many characters")
    return _varies(groups)


def _require_fresh(examples: Sequence[Example]) -> None:
    """Asked again for the same document, the dataset gives another example.

    Examples of one long document coincide with probability below 1/2, so that n in a row do
    with probability below 2^-(n-1).
    """
    if len(set(examples)) == 1 and 2.0 ** -(len(examples) - 1) <= ALARM:
        wrong("property", "the same document always gives the same example", cause="frozen")


def span_is_never_empty(usual: Sample, count: int, shorter: Sample) -> None:
    """Where 8 characters or more are kept, at least one is taken out, of a document shorter than the limit, too."""
    _require_form(usual, count)
    for examples, cause in ((usual(count), "empty_span"), (shorter(SHORTER), "span_beyond_the_end")):
        long = [example for example in examples if example.kept >= 8]
        empty = [example for example in long if not example.span]
        if empty:
            often = f"In {len(empty)} of {len(long)} examples of 8 characters or more it is."
            wrong("property", "the span can be empty", often, _of(empty[0]), cause=cause)


def shorter_documents(usual: Sample, count: int, shorter: Drawing) -> None:
    """A document shorter than the limit gives well-formed examples, and is sometimes cut.

    Half of a right solution's examples of it are cut at least: all of them whole has probability below 2^-SHORTER.
    """
    _require_form(usual, count)
    document, limit = shorter.corpus.documents[shorter.index], shorter.corpus.limit
    assert 20 <= len(document) <= limit - 5 and 2.0**-SHORTER <= ALARM
    shorter.require_form(SHORTER)
    if len({example.kept for example in usual(count)}) == 1:
        fail("waiting", "span_corruption: this is checked once the kept length varies")
    if all(example.kept == len(document) for example in shorter(SHORTER)):
        wrong(
            "property",
            f"a document of {len(document)} characters was never cut in {SHORTER} examples",
            f"At most {limit} characters may be kept, and any number from {SHORTEST} on may be drawn.",
            cause="cuts_only_long_documents",
        )


def short_documents_survive(usual: Sample, count: int, short: Sequence[Drawing]) -> None:
    """Documents of 0 to 3 characters give a well-formed example."""
    _require_form(usual, count)
    for drawing in short:
        try:
            drawing.require_form(SHORT)
        except CheckFailed as failed:
            if failed.finding.kind != "exception":
                # So short a text looks like many mistakes at once; the other checks name the one that it is.
                raise CheckFailed(replace(failed.finding, cause="")) from None
            characters = len(drawing.corpus.documents[drawing.index])
            what = f"span_corruption: your code crashes on a document of {characters} characters"
            cause = "span_corruption.crashes_on_short_documents"
            raise CheckFailed(replace(failed.finding, headline=what, cause=cause)) from None


def spaces_are_kept(usual: Sample, count: int, spacious: Drawing) -> None:
    """Spaces at the beginning and at the end of a document are part of it.

    The document ends in so many spaces that some are kept in a third of a right solution's examples at least:
    none of them in all has probability below (2/3)^SPACIOUS.
    """
    _require_form(usual, count)
    document = spacious.corpus.documents[spacious.index]
    inner = document.rstrip()
    assert document.startswith(" ") and len(document) <= spacious.corpus.limit and (2 / 3) ** SPACIOUS <= ALARM
    try:
        spacious.require_form(SPACIOUS)
    except CheckFailed as failed:
        if failed.finding.kind != "property":
            raise
        if any(text.startswith(" ") for text, _ in spacious.seen):  # they are kept; another thing is wrong
            fail("waiting", "span_corruption: this is checked once the form of all examples is right")
        headline = "span_corruption: spaces at the beginning of a document are lost"
        raise CheckFailed(replace(failed.finding, headline=headline, cause="span_corruption.strips_spaces")) from None
    if all(example.kept <= len(inner) for example in spacious(SPACIOUS)):
        spaces = len(document) - len(inner)
        seen = f"None was kept in {SPACIOUS} examples of a document that ends in {spaces} spaces."
        wrong("property", "spaces at the end of a document are lost", seen, cause="strips_spaces")
