"""Known mistakes in span corruption. They are random, so the checks recognise them by rules."""

import random

import torch
from dataset import MASK_CHAR, PAD_CHAR, encode

from autograder.proving.mistakes import mistake


@mistake("span_corruption", replaces="text =")
def right_anchored(self, idx):
    """You keep the end of the document; the first t characters must stay."""
    text = self.data[idx][-random.randint(4, int(self.block_size * 7 / 8)) :]


@mistake("span_corruption", replaces="text =")
def random_window(self, idx):
    """You keep a window from inside the document; it must begin at the document's start."""
    document = self.data[idx]
    t = min(len(document), random.randint(4, int(self.block_size * 7 / 8)))
    first = random.randint(0, len(document) - t)
    text = document[first : first + t]


@mistake("span_corruption", replaces="text =", loses=("keeps_every_length",))
def shortest_excluded(self, idx):
    """The shortest length, 4, never occurs: an end is off by one."""
    text = self.data[idx][: random.randint(5, int(self.block_size * 7 / 8))]


@mistake("span_corruption", replaces="text =", loses=("varies", "keeps_every_length", "shorter_documents"))
def fixed_truncation(self, idx):
    """The kept length is always the same; it must be random."""
    text = self.data[idx][: int(self.block_size * 7 / 8)]


@mistake("span_corruption", replaces="text =")
def kept_too_long(self, idx):
    """More than int(7/8 * block_size) characters can be kept."""
    text = self.data[idx][: random.randint(4, self.block_size - 1)]


@mistake("span_corruption", replaces="text =")
def kept_too_short(self, idx):
    """Fewer than 4 characters can be kept."""
    text = self.data[idx][: random.randint(1, int(self.block_size * 7 / 8))]


@mistake("span_corruption", replaces="text =", loses=("short_documents",))
def crashes_on_short_documents(self, idx):
    """Documents of fewer than 4 characters crash your code; even an empty one must give an example."""
    text = self.data[idx][: random.randint(4, min(len(self.data[idx]), int(self.block_size * 7 / 8)))]


@mistake("span_corruption", replaces="length =", loses=("never_empty",))
def empty_span(text):
    """The span can be empty; take out at least one character."""
    length = random.randint(0, len(text) // 2)


@mistake("span_corruption", replaces="length =", loses=("takes_a_quarter",))
def span_of_half(text):
    """Your span takes half of the kept text on average; a quarter is asked for."""
    length = min(len(text), random.randint(1, max(1, len(text) - 1)))


@mistake("span_corruption", replaces="length =", loses=("takes_a_quarter",))
def span_of_an_eighth(text):
    """Your span takes an eighth of the kept text on average; a quarter is asked for."""
    length = min(len(text), random.randint(1, max(1, len(text) // 4 - 1)))


@mistake("span_corruption", replaces="length =", loses=("varies",))
def fixed_span_length(text):
    """The span's length follows from the kept length; it must be random."""
    length = min(len(text), max(1, len(text) // 4))


@mistake("span_corruption", replaces="start =", loses=("varies",))
def fixed_place(text, length):
    """The span always stands at the same place; choose the place at random."""
    start = (len(text) - length) // 2


@mistake("span_corruption", replaces="start =")
def nothing_before():
    """There is never any text before the span; choose an inner one."""
    start = 0


@mistake("span_corruption", replaces="start =")
def nothing_behind(text, length):
    """There is never any text behind the span; choose an inner one."""
    start = len(text) - length


@mistake("span_corruption", replaces="example =")
def wrong_order(prefix, span, suffix):
    """Your order is prefix MASK span MASK suffix; the span belongs last."""
    example = prefix + MASK_CHAR + span + MASK_CHAR + suffix


@mistake("span_corruption", replaces="example =")
def span_first(prefix, span, suffix):
    """Your example starts with the span; it must start with the beginning of the document."""
    example = span + MASK_CHAR + prefix + MASK_CHAR + suffix


@mistake("span_corruption", replaces="example =")
def span_left_in_place(self, text, start, span):
    """The span is still in the text that it should be taken out of."""
    example = (text[:start] + MASK_CHAR + text[start:] + MASK_CHAR + span)[: self.block_size + 1]


@mistake("span_corruption", replaces="example =")
def one_mask(prefix, span, suffix):
    """One MASK stands for the hole; a second one must announce the span."""
    example = prefix + MASK_CHAR + suffix + span


@mistake("span_corruption", replaces="numbers =")
def pads_in_front(self, example):
    """Your PADs stand in front; they belong behind the span."""
    numbers = encode(example.rjust(self.block_size + 1, PAD_CHAR), self.stoi)


@mistake("span_corruption", replaces="return")
def not_shifted(numbers):
    """x and y are the same; y must be x moved by one: the next character."""
    return numbers[:-1], numbers[:-1]


@mistake(
    "span_corruption", replaces="text =", loses=("varies", "keeps_every_length", "takes_a_quarter", "shorter_documents")
)
def frozen(self, idx):
    """Asked twice, you give the same example: the random generator is seeded on each call."""
    random.seed(idx)
    text = self.data[idx][: random.randint(4, int(self.block_size * 7 / 8))]


@mistake("span_corruption", replaces="return")
def not_long(numbers):
    """x and y must be Long (int64) tensors."""
    return numbers[:-1].to(torch.int32), numbers[1:].to(torch.int32)


@mistake("span_corruption", replaces="return")
def shifted_the_wrong_way(numbers):
    """y is one character behind x; it must be one ahead: the next character."""
    return numbers[1:], numbers[:-1]


@mistake("span_corruption", replaces="example =")
def masks_around_the_hole(prefix, span, suffix):
    """Both MASKs stand at the hole; the second one belongs before the span."""
    example = prefix + MASK_CHAR + MASK_CHAR + suffix + span


@mistake("span_corruption", replaces="example =")
def span_forgotten(prefix, span, suffix):
    """The span is taken out, but never put at the end."""
    example = prefix + MASK_CHAR + suffix + MASK_CHAR


@mistake("span_corruption", replaces="example =")
def order_of_prefix_and_suffix(prefix, span, suffix):
    """Prefix and suffix have changed places."""
    example = suffix + MASK_CHAR + prefix + MASK_CHAR + span


@mistake("span_corruption", replaces="numbers =")
def masks_as_pads(self, example):
    """You fill up with MASKs; fill up with PADs."""
    numbers = encode(example.ljust(self.block_size + 1, MASK_CHAR), self.stoi)


@mistake("span_corruption", replaces="length =")
def span_always_empty(text):
    """Your span is empty: nothing is taken out."""
    length = 0


@mistake("span_corruption", replaces="prefix, span, suffix =")
def loses_characters(text, start, length):
    """A character is lost where two pieces meet: each piece begins right where the one before it ends."""
    prefix, span, suffix = text[:start], text[start : start + length], text[start + length + 1 :]


@mistake("span_corruption", replaces="prefix, span, suffix =")
def repeats_characters(text, start, length):
    """A character stands in two pieces at once: each piece begins right where the one before it ends."""
    prefix, span, suffix = text[: start + 1], text[start : start + length], text[start + length :]


@mistake("span_corruption", replaces="text =")
def another_document(self, idx):
    """Your text comes from another document than the one that was asked for."""
    text = self.data[(idx + 1) % len(self.data)][: random.randint(4, int(self.block_size * 7 / 8))]


@mistake("span_corruption", replaces="text =")
def letters_changed(self, idx):
    """You change the letters themselves (upper or lower case); keep the text as it is."""
    text = self.data[idx][: random.randint(4, int(self.block_size * 7 / 8))]
    text = "".join(c.lower() if c.lower() in self.stoi else c for c in text)


@mistake("span_corruption", replaces="return")
def targets_of_minus_100(self, numbers):
    """Your y holds -100 where text stands; here y is x moved by one, and the loss ignores PADs by itself."""
    y = numbers[1:].clone()
    y[: int((numbers == 1).nonzero()[-1])] = -100
    return numbers[:-1], y


@mistake("span_corruption", replaces="return")
def targets_of_the_span_only(self, numbers):
    """Your y holds PADs where text stands, as in NameDataset; here y is all of x moved by one."""
    y = numbers[1:].clone()
    y[: int((numbers == 1).nonzero()[-1])] = 0
    return numbers[:-1], y


@mistake("span_corruption", replaces="return")
def not_cut(numbers):
    """x and y are one number too long: x is all but the last, y all but the first."""
    return numbers, torch.cat((numbers[1:], numbers[:1] * 0))


@mistake("span_corruption", replaces="example =")
def no_mask(prefix, span, suffix):
    """There is no MASK in your example; one stands for the hole, a second one announces the span."""
    example = prefix + suffix + span


@mistake("span_corruption", replaces="text =", loses=("shorter_documents",))
def cuts_only_long_documents(self, idx):
    """You cut only documents that are longer than the limit; t may be any length for the others, too."""
    text, limit = self.data[idx], int(self.block_size * 7 / 8)
    if len(text) > limit:
        text = text[: random.randint(4, limit)]


@mistake("span_corruption", loses=("never_empty",))
def span_beyond_the_end(self, idx):
    """You choose the span from t characters, but a short document has fewer: the span can lie beyond its end."""
    t = random.randint(4, int(self.block_size * 7 / 8))
    length = random.randint(1, max(1, t // 2 - 1))
    start = random.randint(0, t - length)
    text = self.data[idx][:t]
    prefix, span, suffix = text[:start], text[start : start + length], text[start + length :]
    numbers = encode((prefix + MASK_CHAR + suffix + MASK_CHAR + span).ljust(self.block_size + 1, PAD_CHAR), self.stoi)
    return numbers[:-1], numbers[1:]


@mistake("span_corruption", replaces="text =", loses=("keeps_spaces",))
def strips_spaces(self, idx):
    """You strip spaces from the document; they are characters like others."""
    text = self.data[idx].strip()[: random.randint(4, int(self.block_size * 7 / 8))]
