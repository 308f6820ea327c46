"""Span corruption: the example that is shown, and examples of the mutant that are drawn here."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from benchmarks.truth.raised import crashes
from benchmarks.truth.said import Told, claims, shape_in
from benchmarks.truth.witness import MASK, PAD, Witness

SHORT = 60  # examples of a document that is shorter than the limit
LABELS = "put together again: ", "the document:       "


def limit(witness: Witness) -> int:
    return int(witness.material.block_size * 7 / 8)


def _pieces(text: str) -> list[str]:
    pieces = text.rstrip(PAD).split(MASK)
    return pieces[:-1] if len(pieces) == 4 and not pieces[3] else pieces


def is_well_formed(text: str, document: str, witness: Witness) -> bool:
    """Prefix MASK suffix MASK span and PADs, of a beginning of the document that is neither too long nor too short."""
    pieces = _pieces(text)
    if PAD in text.rstrip(PAD) or len(pieces) != 3 or "�" in text:
        return False
    kept = pieces[0] + pieces[2] + pieces[1]
    return document.startswith(kept) and min(4, len(document)) <= len(kept) <= limit(witness)


def _pairs_are_wrong(witness: Witness, index: int, count: int) -> str:
    """What is wrong with items before they are read as text: 'type', 'shape', 'dtype', 'moved', or ''."""
    size = witness.material.block_size
    for pair in witness.pairs(index, count):
        if not (isinstance(pair, tuple) and len(pair) == 2 and all(isinstance(one, Tensor) for one in pair)):
            return "type"
        x, y = pair
        if x.dim() != 1 or x.shape != y.shape or len(x) not in (size, size - 1):
            return "shape"
        if (x.dtype, y.dtype) != (torch.int64, torch.int64):
            return "dtype"
        if not torch.equal(x[1:], y[:-1]):
            return "moved"
    return ""


def _some_malformed(witness: Witness, index: int, count: int) -> bool:
    document = witness.documents[index]
    texts = witness.texts(index, count)
    return bool(_pairs_are_wrong(witness, index, count)) or any(
        not is_well_formed(text, document, witness) for text in texts
    )


def core_is_wrong(witness: Witness) -> bool:
    """Is some example malformed, one of its sides always empty, or its span empty too often?"""
    if _some_malformed(witness, witness.longest, 500):
        return True
    return _a_side_is_empty(witness) or _empty_share(witness, 16) > 0.2


def _a_side_is_empty(witness: Witness) -> bool:
    long = [one for one in witness.long_examples() if sum(map(len, one)) >= 12]
    return not all(any(one[side] for one in long) for side in (0, 1))


def _empty_share(witness: Witness, least: int, index: int | None = None) -> float:
    examples = witness.long_examples() if index is None else witness.parted(index, SHORT)
    spans = [one[2] for one in examples if sum(map(len, one)) >= least]
    return sum(not span for span in spans) / max(1, len(spans))


def _lengths(witness: Witness) -> set[int]:
    return {sum(map(len, one)) for one in witness.long_examples()}


def _is_frozen(witness: Witness) -> bool:
    return len(set(witness.texts(witness.longest, 100))) == 1


def _shorter(witness: Witness) -> int:
    """A document of 20 characters or more that is shorter than the limit."""
    return next(
        index for index, one in enumerate(witness.documents) if one == one.strip() and 20 <= len(one) < limit(witness)
    )


def _spacious(witness: Witness) -> int:
    return next(index for index, one in enumerate(witness.documents) if one.startswith(" "))


def _spaces_lost(witness: Witness) -> bool:
    index = _spacious(witness)
    inner = witness.documents[index].rstrip()
    kept = [prefix + span + suffix for prefix, suffix, span in witness.parted(index, SHORT)]
    return not any(one.startswith(" ") for one in kept) or not any(len(one) > len(inner) for one in kept)


def _never_cut(witness: Witness, index: int) -> bool:
    return all(sum(map(len, one)) == len(witness.documents[index]) for one in witness.parted(index, SHORT))


def _short_ones(witness: Witness) -> list[int]:
    return [index for index, document in enumerate(witness.documents) if len(document) < 4]


WAYS = "length", "place"

# What a check claims does not hold of a mutant. Hidden texts are other ones; a mistake shows in any text.
BROKEN: Mapping[str, Callable[[Witness], bool]] = {
    "form": core_is_wrong,
    "takes_a_quarter": lambda one: not 0.2 <= mean_share(one) <= 0.3 or _is_frozen(one) or len(_lengths(one)) == 1,
    "varies": lambda one: _is_frozen(one) or len(_lengths(one)) == 1 or any(unvaried(one, w) for w in WAYS),
    "is_fresh": _is_frozen,  # a claim of its own once
    "keeps_every_length": lambda one: not _lengths(one) >= set(range(4, limit(one))),
    "never_empty": lambda one: _empty_share(one, 8) > 0 or _empty_share(one, 8, _shorter(one)) > 0,
    "shorter_documents": lambda one: _never_cut(one, _shorter(one)) or _some_malformed(one, _shorter(one), SHORT),
    "short_documents": lambda one: any(_some_malformed(one, index, 20) for index in _short_ones(one)),
    "keeps_spaces": _spaces_lost,
}


def spoken(about: Told, words: str) -> bool:
    """What a hidden check says, of the mutant with the public text."""
    witness = about.witness
    wrong = {_pairs_are_wrong(witness, index, 50) for index in range(len(witness.documents))}
    match words:
        case "your code raised an exception":
            return bool(crashes(witness))
        case "this does not hold":
            sides = "text on both sides" in about.saying.claim and _a_side_is_empty(witness)  # as it was once claimed
            return sides or BROKEN[about.saying.check](witness)
        case "the result has the wrong shape":
            return "shape" in wrong
        case "the result has the wrong dtype":
            return "dtype" in wrong
        case "the result has the wrong type":
            return "type" in wrong
        case "not checked: the results are not right yet":
            return core_is_wrong(witness) or len(_lengths(witness)) == 1
    return False


def _example(about: Told) -> str:
    return next(
        fact.removeprefix("one example: ") for fact in about.saying.evidence if fact.startswith("one example: ")
    )


def _drawn(about: Told) -> list[tuple[str, str]]:
    """Texts of the mutant, with their documents: what is said of the one that is shown must be so of some of these."""
    return [
        (text, document)
        for index, document in enumerate(about.witness.documents)
        for text in about.witness.texts(index, 300 if index == about.witness.longest else SHORT)
    ]


@claims(r"one example: (?P<text>.*)")
def _one_example(about: Told, match: re.Match[str]) -> bool:
    """It could be the mutant's: as long as its texts, and of characters that stand in one of its texts."""
    lengths = {len(text) for text, _ in _drawn(about)}
    known = {character for text, _ in _drawn(about) for character in text}
    whole = len(match["text"]) in lengths or (MASK in match["text"] and len(match["text"]) <= max(lengths))
    return whole and set(match["text"]) <= known


@claims(r"span_corruption: prefix \+ span \+ suffix is not the beginning of the document")
def _not_the_beginning(about: Told, match: re.Match[str]) -> bool:
    shown = not any(document.startswith(_kept(_example(about))) for document in _said_documents(about))
    drawn = [(_kept(text), document) for text, document in _drawn(about) if len(_pieces(text)) == 3]
    return shown and any(not document.startswith(kept) for kept, document in drawn)


def _kept(text: str) -> str:
    prefix, suffix, span = _pieces(text)[:3]
    return prefix + span + suffix


def _said_documents(about: Told) -> list[str]:
    """Those that the shown text can be of, which is said in a line of its own."""
    for fact in about.saying.evidence:
        if fact.startswith(LABELS[1]):
            return [one for one in about.witness.documents if _is_part(fact.removeprefix(LABELS[1]), one)]
    return []  # as it was once: the texts of the mutant alone must tell


def _is_part(shown: str, whole: str) -> bool:
    inner = shown.removeprefix("…").removesuffix("…")
    return (
        inner in whole
        and (shown.startswith("…") or whole.startswith(inner))
        and (shown.endswith("…") or whole.endswith(inner))
    )


@claims(r"put together again: (?P<text>.*)|the document:       (?P<document>.*)")
def _rebuilt(about: Told, match: re.Match[str]) -> bool:
    if match["document"] is not None:
        return any(_is_part(match["document"], one) for one in about.witness.documents)
    return _is_part(match["text"], _kept(_example(about)))


@claims(r"span_corruption: an example has two MASKs \(or three\), yours has (?P<count>\d+)")
def _masks(about: Told, match: re.Match[str]) -> bool:
    count = int(match["count"])
    drawn = any(text.count(MASK) not in (2, 3) for text, _ in _drawn(about))
    return _example(about).count(MASK) == count and count not in (2, 3) and drawn


@claims(r"span_corruption: an example has two MASKs, and a third only where its text ends")
def _third_mask(about: Told, match: re.Match[str]) -> bool:
    texts = [_example(about), *(text for text, _ in _drawn(about))]
    early = [text.count(MASK) == 3 and not text.rstrip(PAD).endswith(MASK) for text in texts]
    return early[0] and any(early[1:])


@claims(r"span_corruption: PADs may stand only at the end")
def _pads(about: Told, match: re.Match[str]) -> bool:
    return PAD in _example(about).rstrip(PAD) and any(PAD in text.rstrip(PAD) for text, _ in _drawn(about))


@claims(r"span_corruption: the span is empty")
def _empty(about: Told, match: re.Match[str]) -> bool:
    return not _pieces(_example(about))[2]


@claims(r"span_corruption: the span (?:is empty too often|can be empty)")
def _can_be_empty(about: Told, match: re.Match[str]) -> bool:
    if "often" in match[0]:
        return _empty_share(about.witness, 16) > 0.2
    return BROKEN["never_empty"](about.witness)


@claims(r"In (?P<empty>\d+) of (?P<all>\d+) examples of (?P<least>\d+) characters or more it is\.")
def _how_often_empty(about: Told, match: re.Match[str]) -> bool:
    said, least = int(match["empty"]) / int(match["all"]), int(match["least"])
    shares = _empty_share(about.witness, least), _empty_share(about.witness, least, _shorter(about.witness))
    return any(abs(said - share) <= 2 / int(match["all"]) ** 0.5 and share > 0 for share in shares)


@claims(
    r"span_corruption: (?P<only>only )?(?P<kept>\d+) characters were kept, (?P<bound>at least|at most) (?P<by>\d+) .*"
)
def _kept_so_many(about: Told, match: re.Match[str]) -> bool:
    kept, bound = int(match["kept"]), int(match["by"])
    lengths = [sum(map(len, _pieces(text))) for text, _ in _drawn(about)]

    def outside(one: int) -> bool:
        return one > bound if match["bound"] == "at most" else one < bound

    fits = bound == (limit(about.witness) if match["bound"] == "at most" else bound <= 4 and bound)
    return fits and sum(map(len, _pieces(_example(about)))) == kept and outside(kept) and any(map(outside, lengths))


@claims(r"span_corruption: y must be x moved by one character")
def _moved(about: Told, match: re.Match[str]) -> bool:
    return _pairs_are_wrong(about.witness, about.witness.longest, 20) == "moved"


@claims(r"span_corruption: (?P<name>[xy]) is (?P<dtype>\w+), expected Long \(int64\)")
def _long(about: Told, match: re.Match[str]) -> bool:
    (pair,) = about.witness.pairs(about.witness.longest, 1)
    return str(pair["xy".index(match["name"])].dtype) == f"torch.{match['dtype']}"


@claims(
    r"span_corruption: (?:an example must be a pair \(x, y\), yours is (?P<item>[\w.]+)"
    r"|(?P<name>[xy]) is (?P<part>[\w.]+), expected a torch\.Tensor)"
)
def _no_pair(about: Told, match: re.Match[str]) -> bool:
    (item,) = about.witness.pairs(about.witness.longest, 1)
    seen = item if match["item"] else item["xy".index(match["name"])]
    return type(seen).__name__ == (match["item"] or match["part"]).rpartition(".")[2]


@claims(r"span_corruption: (?P<name>[xy]) has shape (?P<shape>\(.*\)), expected \((?P<size>\d+),\), the block size")
def _shape(about: Told, match: re.Match[str]) -> bool:
    shapes = {tuple(pair["xy".index(match["name"])].shape) for pair in about.witness.pairs(about.witness.longest, 100)}
    return int(match["size"]) == about.witness.material.block_size and shape_in(match["shape"]) in shapes


@claims(r"span_corruption: this is checked once the (?P<what>form of (?:all|the) examples is right|kept length varies)")
def _waits(about: Told, match: re.Match[str]) -> bool:
    return len(_lengths(about.witness)) == 1 if "varies" in match["what"] else core_is_wrong(about.witness)


@claims(r"span_corruption: every kept length from 4 to (?P<limit>\d+) must be possible")
def _lengths_missing(about: Told, match: re.Match[str]) -> bool:
    return not _lengths(about.witness) >= set(range(4, int(match["limit"]) + 1))


@claims(r"Never seen in (?P<count>\d+) examples: (?P<lengths>[\d, ]+)(?: and more)?\.")
def _never_seen(about: Told, match: re.Match[str]) -> bool:
    return not _lengths(about.witness) & {int(length) for length in match["lengths"].split(", ")}


@claims(r"span_corruption: the kept length never varies|It is always (?P<length>\d+)\.")
def _always(about: Told, match: re.Match[str]) -> bool:
    lengths = _lengths(about.witness)
    return len(lengths) == 1 and (match["length"] is None or lengths == {int(match["length"])})


@claims(r"span_corruption: a document of (?P<size>\d+) characters was never cut in (?P<count>\d+) examples")
def _whole(about: Told, match: re.Match[str]) -> bool:
    sizes = [len(document) for document in about.witness.documents]
    return _never_cut(about.witness, sizes.index(int(match["size"])))


@claims(r"At most (?P<limit>\d+) characters may be kept, and any number from 4 on may be drawn\.")
def _the_limit(about: Told, match: re.Match[str]) -> bool:
    return int(match["limit"]) == limit(about.witness)


@claims(r"span_corruption: spaces at the (?P<end>beginning|end) of a document are lost")
def _spaces(about: Told, match: re.Match[str]) -> bool:
    return _spaces_lost(about.witness)


@claims(r"None was kept in (?P<count>\d+) examples of a document that ends in (?P<spaces>\d+) spaces\.")
def _no_space(about: Told, match: re.Match[str]) -> bool:
    index = _spacious(about.witness)
    document = about.witness.documents[index]
    inner = len(document.rstrip())
    kept = [sum(map(len, one)) for one in about.witness.parted(index, SHORT)]
    return len(document) - inner == int(match["spaces"]) and not any(one > inner for one in kept)


@claims(r"span_corruption: the span must take a quarter of the kept text on average")
def _no_quarter(about: Told, match: re.Match[str]) -> bool:
    return not 0.22 <= mean_share(about.witness) <= 0.28


@claims(r"Over (?P<count>\d+) examples it takes (?P<share>\S+) of it\.")
def _quarter(about: Told, match: re.Match[str]) -> bool:
    return abs(mean_share(about.witness) - float(match["share"])) <= 0.03


def mean_share(witness: Witness) -> float:
    shares = [len(one[2]) / sum(map(len, one)) for one in witness.long_examples() if sum(map(len, one)) >= 12]
    return sum(shares) / max(1, len(shares))


@claims(r"span_corruption: the same document always gives the same example")
def _frozen(about: Told, match: re.Match[str]) -> bool:
    return _is_frozen(about.witness)


@claims(r"span_corruption: there is never any text (?P<where>before|behind) the span")
def _nothing(about: Told, match: re.Match[str]) -> bool:
    return not any(one[0 if match["where"] == "before" else 1] for one in about.witness.long_examples())


@claims(r"span_corruption: the (?P<what>length|place) of the span never varies")
def _never_varies(about: Told, match: re.Match[str]) -> bool:
    return unvaried(about.witness, match["what"])


def unvaried(witness: Witness, what: str) -> bool:
    groups: dict[object, set[int]] = {}
    for prefix, suffix, span in witness.long_examples():
        kept = len(prefix) + len(suffix) + len(span)
        if what == "length":
            groups.setdefault(kept, set()).add(len(span))
        else:
            groups.setdefault((kept, len(span)), set()).add(len(prefix))
    return all(len(group) == 1 for group in groups.values())


@claims(r"span_corruption: your code crashes on a document of (?P<count>\d+) characters")
def _crashes_short(about: Told, match: re.Match[str]) -> bool:
    lengths = {len(document) for document in about.witness.documents}
    return int(match["count"]) in lengths and bool(crashes(about.witness))
