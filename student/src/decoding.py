"""Answers from a model: many questions at once, character by character, nothing computed twice. (Given.)

Attention needs the keys and values of all earlier characters, and these never change. `Remembering` layers take the
place of `key`, `query` and `value` for a while: they project new characters only and remember the rest, and your own
`CausalSelfAttention.forward` runs on top of them as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from dataset import MASK_CHAR, PAD_CHAR, CharCorruptionDataset, encode
from model import GPT, PAD, Block
from torch import Tensor, nn
from torch.nn.functional import linear, pad

LONGEST_ANSWER = 32  # characters


@dataclass
class Cursor:
    """Which character of each text is new: text rows[i], position positions[i]. At first, all of them are."""

    rows: Tensor
    room: int  # how long the texts may become
    positions: Tensor | None = None
    inputs: dict[nn.Module, Tensor] = field(default_factory=dict)  # of each attention, for all characters so far


class Remembering(nn.Module):
    """A linear layer that projects what is new, and remembers what it projected before."""

    def __init__(self, layer: nn.Linear, cursor: Cursor) -> None:
        super().__init__()
        self.weight, self.bias = layer.weight, layer.bias
        self.cursor = cursor
        self.kept: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:  # (texts, tokens, n_embd)
        new, length = self.cursor, x.size(1)
        if new.positions is None or self.kept is None:
            self.kept = pad(linear(x, self.weight, self.bias), (0, 0, 0, new.room - length))
        else:
            self.kept[new.rows, new.positions] = linear(x[new.rows, new.positions], self.weight, self.bias)
        return self.kept[:, :length]


@contextmanager
def remembering(model: GPT, cursor: Cursor) -> Iterator[None]:
    """Within this, the model's attention layers remember."""
    names = ("key", "query", "value")
    layers = [(block.attn, name, getattr(block.attn, name)) for block in model.blocks for name in names]
    try:
        for attention, name, layer in layers:
            setattr(attention, name, Remembering(layer, cursor))
        yield
    finally:
        for attention, name, layer in layers:
            setattr(attention, name, layer)


@torch.no_grad()
def complete(model: GPT, prompts: Sequence[Tensor], most: int, stop: int) -> list[list[int]]:
    """Continue each prompt by its likeliest next characters until `stop`, or for so many at most."""
    device = next(model.parameters()).device
    lengths = torch.tensor([len(prompt) for prompt in prompts], device=device)
    room = min(int(lengths.max()) + most, model.config.block_size)
    texts = nn.utils.rnn.pad_sequence(list(prompts), batch_first=True, padding_value=PAD).to(device)
    texts = pad(texts, (0, room - texts.size(1)), value=PAD)  # (texts, room)
    rows = torch.arange(len(prompts), device=device)
    cursor = Cursor(rows, room)
    was_training = model.training
    model.eval()
    with remembering(model, cursor):
        hidden = _read(model, texts[:, : int(lengths.max())], cursor)[rows, lengths - 1]  # (texts, n_embd)
        done = torch.zeros(len(prompts), dtype=torch.bool, device=device)
        for step in range(most):
            done |= lengths + step >= room
            if done.all():
                break
            positions = (lengths + step).clamp(max=room - 1)
            chosen = model.head(hidden).argmax(-1).masked_fill(done, PAD)
            texts[rows[~done], positions[~done]] = chosen[~done]
            done |= chosen == stop
            cursor.positions = positions
            hidden = _read(model, texts[:, : int(positions.max()) + 1], cursor)[:, 0]
    model.train(was_training)
    return [text[length:] for text, length in zip(texts.tolist(), lengths.tolist(), strict=True)]


def _read(model: GPT, texts: Tensor, cursor: Cursor) -> Tensor:
    """The model's last hidden vectors for what is new in the texts."""
    if cursor.positions is None:
        x = model.embed(texts)
    else:
        new = texts[cursor.rows, cursor.positions][:, None]  # (texts, 1)
        x = model.embed(new, cursor.positions[:, None])
    for block in model.blocks:
        x = x + _attend(block, block.ln1(x), cursor, texts.size(1))
        x = x + block.mlp(block.ln2(x))
    return model.ln_f(x)


def _attend(block: Block, x: Tensor, cursor: Cursor, length: int) -> Tensor:
    if cursor.positions is None:
        cursor.inputs[block] = pad(x, (0, 0, 0, cursor.room - length))
        return block.attn(x)
    cursor.inputs[block][cursor.rows, cursor.positions] = x[:, 0]
    return block.attn(cursor.inputs[block][:, :length])[cursor.rows, cursor.positions][:, None]


def answer(model: GPT, dataset: CharCorruptionDataset, questions: Sequence[str], at_once: int = 256) -> list[str]:
    """What the model puts between the first two MASKs: `question MASK answer MASK`."""
    answers = []
    for start in range(0, len(questions), at_once):
        prompts = [encode(question + MASK_CHAR, dataset.stoi) for question in questions[start : start + at_once]]
        for numbers in complete(model, prompts, LONGEST_ANSWER, dataset.stoi[MASK_CHAR]):
            text = "".join(dataset.itos[number] for number in numbers)
            answers.append(text.split(MASK_CHAR)[0].rstrip(PAD_CHAR))
    return answers
