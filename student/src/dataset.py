"""Text as training examples: span corruption for pretraining, birthplaces for finetuning."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import torch
from torch import Tensor
from torch.utils.data import Dataset

MASK_CHAR = "\u2047"  # ⁇ stands for text to be found, and closes an answer
PAD_CHAR = "\u25a1"  # □ fills an example up to its full length


def encode(text: str, stoi: dict[str, int]) -> Tensor:
    """Turn characters into a Long tensor of their numbers. (Given.)

    Example: encode("ba", {"a": 2, "b": 3}) gives tensor([3, 2]).
    """
    return torch.tensor([stoi[character] for character in text], dtype=torch.long)


class CharCorruptionDataset(Dataset[tuple[Tensor, Tensor]]):
    """Documents with a hole in them; the text of the hole follows at the end.

    data: the whole text, one document a line. An example is
    prefix MASK suffix MASK span PAD PAD ..., as numbers; y is x moved by one.

    Example: the document "Ada Lovelace" with the span "Love" taken out, block_size 16:
    "Ada ⁇lace⁇Love□□□" has 17 characters; x is the first 16, y the last 16.
    """

    def __init__(self, data: str, block_size: int) -> None:
        characters = sorted(set(data))
        assert MASK_CHAR not in characters and PAD_CHAR not in characters
        vocabulary = [PAD_CHAR, MASK_CHAR, *characters]
        self.stoi = {character: number for number, character in enumerate(vocabulary)}
        self.itos = dict(enumerate(vocabulary))
        self.vocab_size = len(vocabulary)
        self.block_size = block_size
        self.data = data.split("\n")  # a final newline makes an empty last document

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, idx: int) -> tuple[Tensor, Tensor]:
        """Make one fresh example from document idx: two Long tensors of length block_size.

        Example: two calls with the same idx hardly ever give the same example.
        """
        # TODO(span_corruption): in this order:
        # 1. keep the first t characters of the document, t random from 4 to int(7/8 * block_size);
        # 2. choose a random inner span whose length is random, a quarter of the kept text on average;
        # 3. put together prefix, MASK, suffix, MASK, span, then PADs up to block_size + 1 characters;
        # 4. encode it as numbers; x is all but the last, y all but the first.
        # Documents of fewer than 4 characters, even empty ones, must not crash.
        raise NotImplementedError("span_corruption is not started yet")


class NameDataset(Dataset[tuple[Tensor, Tensor]]):
    """Questions and answers: "Where was NAME born?<TAB>PLACE", one a line. (Given.)

    x is `question MASK place MASK` and PADs. y is x moved by one, with PAD wherever
    the question is still being asked, so that the loss sees the answer only.

    Example: "Where was Ada born?\\tLondon" teaches the eight characters ⁇London⁇ alone.
    """

    def __init__(self, pretraining_dataset: CharCorruptionDataset, data: str) -> None:
        self.stoi = pretraining_dataset.stoi
        self.itos = pretraining_dataset.itos
        self.block_size = pretraining_dataset.block_size
        self.data = [line for line in data.split("\n") if line]

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, idx: int) -> tuple[Tensor, Tensor]:
        question, place = self.data[idx].split("\t")
        example = question + MASK_CHAR + place + MASK_CHAR
        x = example.ljust(self.block_size, PAD_CHAR)
        y = PAD_CHAR * (len(question) - 1) + x[len(question) :]
        return encode(x[:-1], self.stoi), encode(y, self.stoi)


def main(arguments: list[str]) -> None:
    """python src/dataset.py namedata|charcorruption: print a few examples. (Given.)"""
    if arguments not in (["namedata"], ["charcorruption"]):
        sys.exit("dataset.py: say what to show: python src/dataset.py namedata, or charcorruption")
    for name in ("wiki.txt", "birth_places_train.tsv"):
        if not Path("data", name).is_file():
            sys.exit(f"dataset.py: data/{name} is missing; run this from the folder that holds src/ and data/")
    corpus = CharCorruptionDataset(Path("data/wiki.txt").read_text(encoding="utf-8"), block_size=128)
    pairs = Path("data/birth_places_train.tsv").read_text(encoding="utf-8")
    dataset = corpus if arguments == ["charcorruption"] else NameDataset(corpus, pairs)
    for index in range(4):
        for label, numbers in zip("xy", dataset[index], strict=True):
            print(f"{label}: {''.join(corpus.itos[int(number)] for number in numbers)}")


if __name__ == "__main__":
    main(sys.argv[1:])
