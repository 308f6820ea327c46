"""How large the model is and how it is trained. (Given.)

`fast` suits the people of this course's own corpus, `long` a larger corpus such as the original course's, both on a
laptop. `original` is what the original course trains on a GPU.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor
from torch.utils.data import Dataset

LARGE = 250_000  # characters of a corpus from which on `fast` learns too little of it


@dataclass(frozen=True)
class Phase:
    """One training: how often it sees the data, in how large pieces, and how fast it learns."""

    epochs: int
    batch_size: int
    lr: float
    warmup: float = 0.05  # the share of the training in which the rate rises
    steady: float = 0.4  # the share after which it falls
    optimizer: str = "adamw"  # or "muon", for the matrices inside the blocks
    trimmed: bool = True  # batches hold texts of about the same length, and are no wider than the longest of them


@dataclass(frozen=True)
class Recipe:
    name: str
    n_layer: int
    n_head: int
    n_embd: int
    dropout: float
    pretrain: Phase
    finetune: Phase
    finetune_only: Phase  # without pretraining
    block_size: int
    speed: int  # characters a second in training, measured on two cores; PADs count

    def minutes(self, phase: Phase, dataset: Dataset[tuple[Tensor, Tensor]]) -> float:
        """About how long a phase takes on two cores. Every tenth text tells how long the others are."""
        total = len(dataset)  # type: ignore[arg-type]
        some = [dataset[index][0] for index in range(0, total, 10)]
        length = sum(int((x != 0).sum()) if phase.trimmed else len(x) for x in some) / max(1, len(some))
        return phase.epochs * total * length / self.speed / 60


RECIPES = {
    "fast": Recipe(
        name="fast",
        n_layer=3,
        n_head=4,
        n_embd=128,
        dropout=0.0,
        block_size=256,  # longer than any biography, so that most of them are read to their end
        pretrain=Phase(epochs=40, batch_size=32, lr=4e-3, optimizer="muon"),
        finetune=Phase(epochs=15, batch_size=64, lr=1.5e-4),
        finetune_only=Phase(epochs=40, batch_size=64, lr=1e-3),
        speed=14_000,
    ),
    "long": Recipe(
        name="long",
        n_layer=3,
        n_head=6,
        n_embd=192,
        dropout=0.0,
        block_size=128,  # most birthplaces stand near the beginning
        pretrain=Phase(epochs=200, batch_size=32, lr=4e-3, optimizer="muon"),
        finetune=Phase(epochs=15, batch_size=64, lr=1.5e-4),
        finetune_only=Phase(epochs=40, batch_size=64, lr=1e-3),
        speed=9_500,
    ),
    "original": Recipe(
        name="original",
        n_layer=4,
        n_head=8,
        n_embd=256,
        dropout=0.1,
        block_size=128,
        pretrain=Phase(epochs=650, batch_size=128, lr=6e-3, trimmed=False),
        finetune=Phase(epochs=10, batch_size=256, lr=6e-4, trimmed=False),
        finetune_only=Phase(epochs=75, batch_size=256, lr=6e-4, trimmed=False),
        speed=4_000,
    ),
}


def recipe_for(corpus: str) -> Recipe:
    """The recipe that learns a corpus of this size on a laptop."""
    return RECIPES["fast" if len(corpus) < LARGE else "long"]
