"""How large the model is and how it is trained: `fast` for a laptop, `original` for a GPU and an afternoon. (Given.)"""

from __future__ import annotations

from dataclasses import dataclass


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


RECIPES = {
    "fast": Recipe(
        name="fast",
        n_layer=3,
        n_head=4,
        n_embd=128,
        dropout=0.0,
        block_size=256,  # longer than any biography, so that most of them are read to their end
        pretrain=Phase(epochs=60, batch_size=32, lr=4e-3, optimizer="muon"),
        finetune=Phase(epochs=15, batch_size=64, lr=5e-4),
        finetune_only=Phase(epochs=40, batch_size=64, lr=1e-3),
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
    ),
}
