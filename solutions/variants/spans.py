"""Right but unusual: span corruption with other generators and other ways to draw.

Each must keep full marks, in ours or in the courses that it names.
"""

import random

import torch
from dataset import MASK_CHAR, PAD_CHAR, encode

from autograder.proving.mistakes import variant


@variant("span_corruption")
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


@variant("span_corruption")
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


@variant("span_corruption")
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


@variant("span_corruption")
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


@variant("span_corruption", replaces="text =")
def longest_never_drawn(self, idx):
    """randrange leaves out the longest length."""
    text = self.data[idx][: random.randrange(4, int(self.block_size * 7 / 8))]


@variant("span_corruption", replaces="text =")
def up_to_the_documents_length(self, idx):
    """t is drawn up to the limit or the document's length, whichever is smaller."""
    document = self.data[idx]
    text = document[: random.randint(4, max(4, min(len(document), int(self.block_size * 7 / 8))))]


@variant("span_corruption", replaces="return")
def closed_by_a_mask(self, numbers, example):
    """A third MASK closes the span."""
    numbers = encode((example + MASK_CHAR).ljust(self.block_size + 1, PAD_CHAR), self.stoi)
    return numbers[:-1], numbers[1:]


# ── as students of the original write it: full marks there, if not everywhere in ours ──


@variant("span_corruption", courses=("cs224n",))
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


@variant("span_corruption", courses=("cs224n",))
def one_number_less(self, idx):
    """Filled up to block_size, so that x and y have block_size - 1 numbers, as in other years."""
    doc = self.data[idx][: random.randint(4, int(7 * self.block_size / 8))]
    k = max(1, int(random.gauss(len(doc) / 4, len(doc) / 16)))
    i = random.randint(0, max(0, len(doc) - k))
    s = doc[:i] + MASK_CHAR + doc[i + k :] + MASK_CHAR + doc[i : i + k] + MASK_CHAR
    s += PAD_CHAR * (self.block_size - len(s))
    return torch.tensor([self.stoi[c] for c in s[:-1]]), torch.tensor([self.stoi[c] for c in s[1:]])


@variant("span_corruption", courses=("cs224n",))
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


@variant("span_corruption", courses=("cs224n",))
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


@variant("span_corruption", courses=("cs224n",))
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
