"""What staff know of span_corruption: its cases, its known mistakes and right but unusual variants."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import torch

from autograder.proving.cases import Cases, Draw, Inputs
from autograder.proving.mistakes import mistake, variant

if TYPE_CHECKING:  # what stands around a body in the solution
    from dataset import MASK_CHAR, PAD_CHAR, encode


def cases(public: bool, draw: Draw) -> Cases:
    """Documents, what each is used for, and how many examples of one are drawn where few leave a doubt."""

    def case(text: str, block_size: int, document: int, use: str, **counts: int) -> Inputs:
        named = {name.replace("_", " "): count for name, count in counts.items()}
        return {"text": text, "block_size": block_size, "document": document, "use": use, **named}

    if public:
        sentences = (
            "Lovelace wrote the first program, long before there was a machine.\n"
            "Born in Vienna, Hedy Lamarr was an inventor and a film star.\n"
            "Hopper found a moth.\n"  # shorter than 35 characters, the most that may be kept
            "  Sophie Kowalski             \n"
            "ab\n"  # and the final newline makes an empty last document
        )
        return {
            "a long document": case(sentences, 40, 0, "form", examples=12),
            "another long one": case(sentences, 40, 1, "usual", for_shares=2500, for_variety=600),
            "a shorter one": case(sentences, 40, 2, "shorter"),
            "spaces around it": case(sentences, 40, 3, "spacious"),
            "two characters": case(sentences, 40, 4, "short"),
            "no characters": case(sentences, 40, 5, "short"),
        }
    # Letters in an order without repetitions of length 4, so that a piece tells where it came from.
    long = (
        "Qx7bv neJ,orTl Wk.zu0iYp-aHd gMs4Fc!RtyDhE qLwGfB2K mPjS'UXo"
        "Ca9 NVr;ZeIu 5AtOb?lWy3 d(nG)k1 JxQ8 fMvH6zcTp/RsE:iB uDq"
    )
    both = f"{long}\n{long[::-1]}"
    small = f"{both}\nköln ü√∞é liegt nah!\n   Abc dEf gHi jKl            \n\nx\nyz\nabc"
    return {
        "long": case(small, 50, 0, "form", examples=8),
        "backwards": case(small, 50, 1, "form"),
        "a larger block": case(both, 128, 0, "form"),
        "usual": case(both, 40, 0, "usual", for_shares=4000, for_variety=1500),
        "shorter": case(small, 50, 2, "shorter"),
        "spaces around it": case(small, 50, 3, "spacious"),
        **{f"{count} characters": case(small, 50, 4 + count, "short") for count in range(4)},
    }


# ── Known mistakes ─────────────────────────────────────────────────────────────────────


@mistake(replaces="text =")
def right_anchored(self, idx):
    """You keep the end of the document; the first t characters must stay."""
    text = self.data[idx][-random.randint(4, int(self.block_size * 7 / 8)) :]


@mistake(replaces="text =")
def random_window(self, idx):
    """You keep a window from inside the document; it must begin at the document's start."""
    document = self.data[idx]
    t = min(len(document), random.randint(4, int(self.block_size * 7 / 8)))
    first = random.randint(0, len(document) - t)
    text = document[first : first + t]


@mistake(replaces="text =", loses=("keeps_every_length",))
def shortest_excluded(self, idx):
    """The shortest length, 4, never occurs: an end is off by one."""
    text = self.data[idx][: random.randint(5, int(self.block_size * 7 / 8))]


@mistake(replaces="text =", loses=("varies", "keeps_every_length", "shorter_documents"))
def fixed_truncation(self, idx):
    """The kept length is always the same; it must be random."""
    text = self.data[idx][: int(self.block_size * 7 / 8)]


@mistake(replaces="text =")
def kept_too_long(self, idx):
    """More than int(7/8 * block_size) characters can be kept."""
    text = self.data[idx][: random.randint(4, self.block_size - 1)]


@mistake(replaces="text =")
def kept_too_short(self, idx):
    """Fewer than 4 characters can be kept."""
    text = self.data[idx][: random.randint(1, int(self.block_size * 7 / 8))]


@mistake(replaces="text =", loses=("short_documents",))
def crashes_on_short_documents(self, idx):
    """Documents of fewer than 4 characters crash your code; even an empty one must give an example."""
    text = self.data[idx][: random.randint(4, min(len(self.data[idx]), int(self.block_size * 7 / 8)))]


@mistake(replaces="length =", loses=("never_empty",))
def empty_span(text):
    """The span can be empty; take out at least one character."""
    length = random.randint(0, len(text) // 2)


@mistake(replaces="length =", loses=("takes_a_quarter",))
def span_of_half(text):
    """Your span takes half of the kept text on average; a quarter is asked for."""
    length = min(len(text), random.randint(1, max(1, len(text) - 1)))


@mistake(replaces="length =", loses=("takes_a_quarter",))
def span_of_an_eighth(text):
    """Your span takes an eighth of the kept text on average; a quarter is asked for."""
    length = min(len(text), random.randint(1, max(1, len(text) // 4 - 1)))


@mistake(replaces="length =", loses=("varies",))
def fixed_span_length(text):
    """The span's length follows from the kept length; it must be random."""
    length = min(len(text), max(1, len(text) // 4))


@mistake(replaces="start =", loses=("varies",))
def fixed_place(text, length):
    """The span always stands at the same place; choose the place at random."""
    start = (len(text) - length) // 2


@mistake(replaces="start =")
def nothing_before():
    """There is never any text before the span; choose an inner one."""
    start = 0


@mistake(replaces="start =")
def nothing_behind(text, length):
    """There is never any text behind the span; choose an inner one."""
    start = len(text) - length


@mistake(replaces="example =")
def wrong_order(prefix, span, suffix):
    """Your order is prefix MASK span MASK suffix; the span belongs last."""
    example = prefix + MASK_CHAR + span + MASK_CHAR + suffix


@mistake(replaces="example =")
def span_first(prefix, span, suffix):
    """Your example starts with the span; it must start with the beginning of the document."""
    example = span + MASK_CHAR + prefix + MASK_CHAR + suffix


@mistake(replaces="example =")
def span_left_in_place(self, text, start, span):
    """The span is still in the text that it should be taken out of."""
    example = (text[:start] + MASK_CHAR + text[start:] + MASK_CHAR + span)[: self.block_size + 1]


@mistake(replaces="example =")
def one_mask(prefix, span, suffix):
    """One MASK stands for the hole; a second one must announce the span."""
    example = prefix + MASK_CHAR + suffix + span


@mistake(replaces="numbers =")
def pads_in_front(self, example):
    """Your PADs stand in front; they belong behind the span."""
    numbers = encode(example.rjust(self.block_size + 1, PAD_CHAR), self.stoi)


@mistake(replaces="return")
def not_shifted(numbers):
    """x and y are the same; y must be x moved by one: the next character."""
    return numbers[:-1], numbers[:-1]


@mistake(replaces="text =", loses=("varies", "keeps_every_length", "takes_a_quarter", "shorter_documents"))
def frozen(self, idx):
    """Asked twice, you give the same example: the random generator is seeded on each call."""
    random.seed(idx)
    text = self.data[idx][: random.randint(4, int(self.block_size * 7 / 8))]


@mistake(replaces="return")
def not_long(numbers):
    """x and y must be Long (int64) tensors."""
    return numbers[:-1].to(torch.int32), numbers[1:].to(torch.int32)


@mistake(replaces="return")
def shifted_the_wrong_way(numbers):
    """y is one character behind x; it must be one ahead: the next character."""
    return numbers[1:], numbers[:-1]


@mistake(replaces="example =")
def masks_around_the_hole(prefix, span, suffix):
    """Both MASKs stand at the hole; the second one belongs before the span."""
    example = prefix + MASK_CHAR + MASK_CHAR + suffix + span


@mistake(replaces="example =")
def span_forgotten(prefix, span, suffix):
    """The span is taken out, but never put at the end."""
    example = prefix + MASK_CHAR + suffix + MASK_CHAR


@mistake(replaces="example =")
def order_of_prefix_and_suffix(prefix, span, suffix):
    """Prefix and suffix have changed places."""
    example = suffix + MASK_CHAR + prefix + MASK_CHAR + span


@mistake(replaces="numbers =")
def masks_as_pads(self, example):
    """You fill up with MASKs; fill up with PADs."""
    numbers = encode(example.ljust(self.block_size + 1, MASK_CHAR), self.stoi)


@mistake(replaces="length =")
def span_always_empty(text):
    """Your span is empty: nothing is taken out."""
    length = 0


@mistake(replaces="prefix, span, suffix =")
def loses_characters(text, start, length):
    """A character is lost where two pieces meet: each piece begins right where the one before it ends."""
    prefix, span, suffix = text[:start], text[start : start + length], text[start + length + 1 :]


@mistake(replaces="prefix, span, suffix =")
def repeats_characters(text, start, length):
    """A character stands in two pieces at once: each piece begins right where the one before it ends."""
    prefix, span, suffix = text[: start + 1], text[start : start + length], text[start + length :]


@mistake(replaces="text =")
def another_document(self, idx):
    """Your text comes from another document than the one that was asked for."""
    text = self.data[(idx + 1) % len(self.data)][: random.randint(4, int(self.block_size * 7 / 8))]


@mistake(replaces="text =")
def letters_changed(self, idx):
    """You change the letters themselves (upper or lower case); keep the text as it is."""
    text = self.data[idx][: random.randint(4, int(self.block_size * 7 / 8))]
    text = "".join(c.lower() if c.lower() in self.stoi else c for c in text)


@mistake(replaces="return")
def targets_of_minus_100(self, numbers):
    """Your y holds -100 where text stands; here y is x moved by one, and the loss ignores PADs by itself."""
    y = numbers[1:].clone()
    y[: int((numbers == 1).nonzero()[-1])] = -100
    return numbers[:-1], y


@mistake(replaces="return")
def targets_of_the_span_only(self, numbers):
    """Your y holds PADs where text stands, as in NameDataset; here y is all of x moved by one."""
    y = numbers[1:].clone()
    y[: int((numbers == 1).nonzero()[-1])] = 0
    return numbers[:-1], y


@mistake(replaces="return")
def not_cut(numbers):
    """x and y are one number too long: x is all but the last, y all but the first."""
    return numbers, torch.cat((numbers[1:], numbers[:1] * 0))


@mistake(replaces="example =")
def no_mask(prefix, span, suffix):
    """There is no MASK in your example; one stands for the hole, a second one announces the span."""
    example = prefix + suffix + span


@mistake(replaces="text =", loses=("shorter_documents",))
def cuts_only_long_documents(self, idx):
    """You cut only documents that are longer than the limit; t may be any length for the others, too."""
    text, limit = self.data[idx], int(self.block_size * 7 / 8)
    if len(text) > limit:
        text = text[: random.randint(4, limit)]


@mistake(loses=("never_empty",))
def span_beyond_the_end(self, idx):
    """You choose the span from t characters, but a short document has fewer: the span can lie beyond its end."""
    t = random.randint(4, int(self.block_size * 7 / 8))
    length = random.randint(1, max(1, t // 2 - 1))
    start = random.randint(0, t - length)
    text = self.data[idx][:t]
    prefix, span, suffix = text[:start], text[start : start + length], text[start + length :]
    numbers = encode((prefix + MASK_CHAR + suffix + MASK_CHAR + span).ljust(self.block_size + 1, PAD_CHAR), self.stoi)
    return numbers[:-1], numbers[1:]


@mistake(replaces="text =", loses=("keeps_spaces",))
def strips_spaces(self, idx):
    """You strip spaces from the document; they are characters like others."""
    text = self.data[idx].strip()[: random.randint(4, int(self.block_size * 7 / 8))]


# ── Right but unusual ──────────────────────────────────────────────────────────────────


@variant()
def numpy_and_a_third_mask(self, idx):
    """numpy's generator, t drawn up to the document's length, and a third MASK at the end."""
    import numpy as np

    doc = self.data[idx]
    limit = min(int(self.block_size * 7 / 8), max(len(doc), 4))
    text = doc[: np.random.randint(4, limit + 1)]
    n = len(text)
    k = min(int(np.random.randint(1, max(2, n // 2))) if n else 0, n)
    s = int(np.random.randint(0, n - k + 1))
    out = text[:s] + MASK_CHAR + text[s + k :] + MASK_CHAR + text[s : s + k] + MASK_CHAR
    out = out[: self.block_size + 1] + PAD_CHAR * (self.block_size + 1 - len(out))
    ids = [self.stoi[c] for c in out]
    return torch.tensor(ids[:-1], dtype=torch.long), torch.tensor(ids[1:], dtype=torch.long)


@variant()
def torch_randomness(self, idx):
    """torch's generator."""
    doc = self.data[idx]
    t = int(torch.randint(4, int(self.block_size * 7 / 8) + 1, (1,)))
    text = doc[:t]
    n = len(text)
    length = min(n, max(1, round(n / 4 + float(torch.rand(1) - 0.5) * n / 4)))
    start = int(torch.randint(0, n - length + 1, (1,)))
    example = text[:start] + MASK_CHAR + text[start + length :] + MASK_CHAR + text[start : start + length]
    numbers = encode(example.ljust(self.block_size + 1, PAD_CHAR), self.stoi)
    return numbers[:-1].clone(), numbers[1:].clone()


@variant()
def normal_lengths(self, idx):
    """The span's length is normally distributed around a quarter."""
    text = self.data[idx][: random.randrange(4, int(self.block_size * 7 / 8) + 1)]
    n = len(text)
    length = min(n, max(1, int(round(random.gauss(n / 4, n / 16)))))
    start = random.randint(0, max(0, n - length))
    pieces = [text[:start], MASK_CHAR, text[start + length :], MASK_CHAR, text[start : start + length]]
    example = "".join(pieces)
    example += PAD_CHAR * (self.block_size + 1 - len(example))
    x = torch.tensor([self.stoi[c] for c in example[:-1]])
    y = torch.tensor([self.stoi[c] for c in example[1:]])
    return x, y


@variant()
def inner_spans_only(self, idx):
    """There is always text on both sides of the span, where the text is long enough."""
    import numpy as np

    rng = np.random.default_rng()
    text = self.data[idx][: int(rng.integers(4, int(self.block_size * 7 / 8), endpoint=True))]
    n = len(text)
    length = min(max(n - 2, min(n, 1)), int(rng.integers(1, max(1, n // 2 - 1), endpoint=True)))
    start = int(rng.integers(1, n - length)) if n - length >= 2 else 0
    example = text[:start] + MASK_CHAR + text[start + length :] + MASK_CHAR + text[start : start + length]
    numbers = encode(example.ljust(self.block_size + 1, PAD_CHAR), self.stoi)
    return numbers[:-1], numbers[1:]


@variant(replaces="text =")
def longest_never_drawn(self, idx):
    """randrange leaves out the longest length."""
    text = self.data[idx][: random.randrange(4, int(self.block_size * 7 / 8))]


@variant(replaces="text =")
def up_to_the_documents_length(self, idx):
    """t is drawn up to the limit or the document's length, whichever is smaller."""
    document = self.data[idx]
    text = document[: random.randint(4, max(4, min(len(document), int(self.block_size * 7 / 8))))]


@variant(replaces="return")
def closed_by_a_mask(self, numbers, example):
    """A third MASK closes the span."""
    numbers = encode((example + MASK_CHAR).ljust(self.block_size + 1, PAD_CHAR), self.stoi)
    return numbers[:-1], numbers[1:]


# As students of the original write it: full marks there, if not everywhere in ours


@variant(courses=("cs224n",))
def spans_that_may_be_empty(self, idx):
    """int() of a random share, which is 0 for short texts; no care for short lines."""
    doc = self.data[idx]
    trunc_len = random.randint(4, min(len(doc), int(self.block_size * 7 / 8)))
    trunc = doc[:trunc_len]
    masked_len = int(random.random() * trunc_len / 2)
    start = random.randint(0, trunc_len - masked_len)
    masked = trunc[:start] + MASK_CHAR + trunc[start + masked_len :] + MASK_CHAR + trunc[start : start + masked_len]
    masked = masked + PAD_CHAR * (self.block_size + 1 - len(masked))
    x = torch.tensor([self.stoi[c] for c in masked[:-1]], dtype=torch.long)
    y = torch.tensor([self.stoi[c] for c in masked[1:]], dtype=torch.long)
    return x, y


@variant(courses=("cs224n",))
def one_number_less(self, idx):
    """Filled up to block_size, so that x and y have block_size - 1 numbers, as in other years."""
    doc = self.data[idx][: random.randint(4, int(7 * self.block_size / 8))]
    k = max(1, int(random.gauss(len(doc) / 4, len(doc) / 16)))
    i = random.randint(0, max(0, len(doc) - k))
    s = doc[:i] + MASK_CHAR + doc[i + k :] + MASK_CHAR + doc[i : i + k] + MASK_CHAR
    s += PAD_CHAR * (self.block_size - len(s))
    return torch.tensor([self.stoi[c] for c in s[:-1]]), torch.tensor([self.stoi[c] for c in s[1:]])


@variant(courses=("cs224n",))
def length_of_the_document_ignored(self, idx):
    """t is drawn up to the limit, and the span from t characters, whatever the document's length."""
    t = random.randint(4, int(self.block_size * 7 / 8))
    n = random.randint(1, t // 2 - 1)
    p = random.randint(0, t - n)
    doc = self.data[idx][:t]
    s = doc[:p] + MASK_CHAR + doc[p + n :] + MASK_CHAR + doc[p : p + n]
    s = s + (self.block_size + 1 - len(s)) * PAD_CHAR
    ids = torch.tensor([self.stoi[c] for c in s], dtype=torch.long)
    return ids[:-1], ids[1:]


@variant(courses=("cs224n",))
def stripped_and_rounded(self, idx):
    """Spaces are stripped, lengths come from numpy and are rounded; always text on both sides."""
    import numpy as np

    doc = self.data[idx].strip()
    t = np.random.randint(4, int(self.block_size * 7 / 8))
    doc = doc[:t]
    n = int(np.clip(np.round(np.random.normal(len(doc) / 4, len(doc) / 12)), 1, len(doc) - 2))
    p = np.random.randint(1, len(doc) - n)
    s = doc[:p] + MASK_CHAR + doc[p + n :] + MASK_CHAR + doc[p : p + n] + MASK_CHAR
    s = s.ljust(self.block_size + 1, PAD_CHAR)
    return torch.LongTensor([self.stoi[c] for c in s[:-1]]), torch.LongTensor([self.stoi[c] for c in s[1:]])


@variant(courses=("cs224n",))
def between_a_fifth_and_three_tenths(self, idx):
    """The share of the span is uniform in a narrow range."""
    doc = self.data[idx]
    doc = doc[: random.randint(4, min(len(doc), int(self.block_size * 7 / 8)))]
    n = max(1, int(len(doc) * random.uniform(0.2, 0.33)))
    p = random.randrange(len(doc) - n + 1)
    s = doc[:p] + MASK_CHAR + doc[p + n :] + MASK_CHAR + doc[p : p + n]
    s += PAD_CHAR * (self.block_size + 1 - len(s))
    x = torch.tensor([self.stoi[c] for c in s[:-1]], dtype=torch.long)
    return x, torch.tensor([self.stoi[c] for c in s[1:]], dtype=torch.long)
