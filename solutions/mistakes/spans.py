"""Known mistakes in span corruption. They are random, so the checks recognise them by rules."""

import random

import torch
from dataset import MASK_CHAR, PAD_CHAR, encode

from autograder.mistakes import mistake


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


@mistake("span_corruption", replaces="text =")
def limit_excluded(self, idx):
    """The longest length, int(7/8 * block_size), never occurs: an end is off by one."""
    text = self.data[idx][: random.randrange(4, int(self.block_size * 7 / 8))]


@mistake("span_corruption", replaces="text =")
def shortest_excluded(self, idx):
    """The shortest length, 4, never occurs: an end is off by one."""
    text = self.data[idx][: random.randint(5, int(self.block_size * 7 / 8))]


@mistake("span_corruption", replaces="text =")
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


@mistake("span_corruption", replaces="text =")
def crashes_on_short_documents(self, idx):
    """Documents of fewer than 4 characters crash your code; even an empty one must give an example."""
    text = self.data[idx][: random.randint(4, min(len(self.data[idx]), int(self.block_size * 7 / 8)))]


@mistake("span_corruption", replaces="length =")
def empty_span(text):
    """The span can be empty; take out at least one character."""
    length = random.randint(0, len(text) // 2)


@mistake("span_corruption", replaces="length =")
def span_of_half(text):
    """Your span takes half of the kept text on average; a quarter is asked for."""
    length = min(len(text), random.randint(1, max(1, len(text) - 1)))


@mistake("span_corruption", replaces="length =")
def span_of_an_eighth(text):
    """Your span takes an eighth of the kept text on average; a quarter is asked for."""
    length = min(len(text), random.randint(1, max(1, len(text) // 4 - 1)))


@mistake("span_corruption", replaces="length =")
def fixed_span_length(text):
    """The span's length follows from the kept length; it must be random."""
    length = min(len(text), max(1, len(text) // 4))


@mistake("span_corruption", replaces="start =")
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


@mistake("span_corruption", replaces="text =")
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
