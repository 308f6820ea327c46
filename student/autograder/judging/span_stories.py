"""What an example looks like that is not prefix MASK suffix MASK span: known mistakes, told by the texts they make."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

MASK, PAD = "\u2047", "\u25a1"
WIDTH = 44  # characters of a text that fit behind its label
NEAR = 3  # characters that a slip at a joint may lose or repeat

# Mistakes that show in every example that they make. How much was kept is counted only in examples that have none.
FORMS = ("pads_in_front", "no_mask", "one_mask", "masks_as_pads")
TEXTS = (
    *("span_forgotten", "wrong_order", "span_first", "order_of_prefix_and_suffix", "span_left_in_place"),
    *("masks_around_the_hole", "right_anchored", "another_document", "loses_characters", "repeats_characters"),
    *("letters_changed", "random_window"),
)
COUNTED = ("kept_too_long", "kept_too_short")  # seen in some examples, and not in others
_ANYWHERE = ("right_anchored", "random_window", "another_document", "loses_characters", "repeats_characters")


def pieces_of(text: str) -> list[str]:
    """What stands between the MASKs; a third MASK may close the span."""
    pieces = text.rstrip(PAD).split(MASK)
    return pieces[:3] if len(pieces) == 4 and not pieces[3] else pieces


def story_of(text: str, document: str, others: Sequence[str]) -> str:
    """The first known mistake that could have made a text which is not the beginning of its document, or ''."""
    return next((cause for cause in TEXTS if looks_like(cause, text, document, others)), "")


def explains(slug: str, causes: Sequence[str], seen: Sequence[tuple[str, str]]) -> bool:
    """Does a mistake explain everything that was seen? `causes` are what examples were called one by one."""
    if slug in (*COUNTED, *_ANYWHERE):
        pieces = [pieces_of(text) for text, _ in seen]
        if not all(any(piece[side : side + 1] != [""] for piece in pieces) for side in (0, 1)):
            return False  # a part is never there: what is left says nothing of how much was kept, and from where
    if slug == "not_cut":
        return not seen and all(cause.endswith(slug) for cause in causes)  # none has the right length
    if slug == "another_document":  # by chance, another's beginning may be one's own
        return all(cause.endswith(slug) for cause in causes) and 4 * len(causes) >= len(seen)
    if slug in ("loses_characters", "repeats_characters", "letters_changed"):
        others: Sequence[str] = ()
        return all(
            document.startswith(_kept(text)) or looks_like(slug, text, document, others) for text, document in seen
        )
    if slug in (*FORMS, *TEXTS):
        return all(looks_like(slug, text, document, ()) for text, document in seen)
    return slug in COUNTED or all(cause.endswith(slug) for cause in causes)


def _kept(text: str) -> str:
    pieces = [*pieces_of(text), "", ""]
    return pieces[0] + pieces[2] + pieces[1]


def looks_like(cause: str, text: str, document: str, others: Sequence[str]) -> bool:
    """Could this mistake have made the example? `others` are all documents."""
    match cause, pieces_of(text):
        case "pads_in_front", _:
            return PAD not in text.lstrip(PAD)
        case "masks_as_pads", _:
            return PAD not in text and text.rstrip(MASK).count(MASK) == 2
        case "no_mask", [whole]:
            return bool(whole)
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
        case "another_document", [prefix, suffix, span]:
            kept = prefix + span + suffix
            return len(kept) >= 4 and any(other != document and other.startswith(kept) for other in others)
        case "loses_characters", [prefix, suffix, span]:
            return _joined(document, prefix, span, suffix, range(NEAR + 1))
        case "repeats_characters", [prefix, suffix, span]:
            return _joined(document, prefix, span, suffix, range(0, -NEAR - 1, -1))
        case "letters_changed", [prefix, suffix, span]:
            kept = prefix + span + suffix
            return document.casefold().startswith(kept.casefold()) and kept.casefold() != ""
        case "random_window", [prefix, suffix, span]:
            return prefix + span + suffix in document
    return False


def _joined(document: str, prefix: str, span: str, suffix: str, gaps: range) -> bool:
    """Do the three pieces stand in the document in this order, with such gaps (or overlaps) at the two joints?"""
    if not document.startswith(prefix):
        return False
    for first in gaps:
        begin = len(prefix) + first
        if begin < 0 or not document.startswith(span, begin):
            continue
        for second in gaps:
            then = begin + len(span) + second
            if (first or second) and then >= 0 and document.startswith(suffix, then):
                return True
    return False


def _turned(prefix: str, rest: str, document: str) -> bool:
    """Is the rest a suffix with its span behind it?"""
    return any(document.startswith(prefix + rest[cut:] + rest[:cut]) for cut in range(len(rest) + 1))


def rebuilt(kept: str, document: str) -> tuple[str, str]:
    """The text that an example gives when it is put together again, and the document, from where they part."""
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(kept, document, strict=False)))
    start = max(0, same - WIDTH // 2)
    return (
        f"put together again: {_cut(kept, start)}",
        f"the document:       {_cut(document, start)}",
    )


def _cut(text: str, start: int) -> str:
    before, after = "…" if start else "", "…" if len(text) > start + WIDTH else ""
    return f"{before}{text[start : start + WIDTH]}{after}"
