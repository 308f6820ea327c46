"""Right but unusual: span corruption with other generators and other ways to draw. Each must keep full marks."""

import random

import torch
from dataset import MASK_CHAR, PAD_CHAR, encode

from autograder.mistakes import variant


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
