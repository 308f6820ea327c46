"""The training loop: batches, learning rate, progress, logs, and checkpoints to go on from. (Given.)"""

from __future__ import annotations

import math
import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from checkpoints import Mistake, replacing
from model import GPT, PAD
from muon import Muon
from recipes import Phase
from torch import Tensor
from torch.utils.data import Dataset

POOL = 16  # batches that are sorted by length together
SAVE_EVERY = 60  # seconds
Batch = tuple[Tensor, Tensor]


def best_device() -> torch.device:
    """A GPU if there is one."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def batches(dataset: Dataset[Batch], size: int, trimmed: bool) -> Iterator[Batch]:
    """All examples in random order. Trimmed ones stand with others of their length, and lose their common PADs."""
    order = torch.randperm(len(dataset)).tolist()  # type: ignore[arg-type]
    pool = size * (POOL if trimmed else 1)
    for start in range(0, len(order), pool):
        examples = [dataset[index] for index in order[start : start + pool]]
        if trimmed:
            lengths = [int((x != PAD).sum()) for x, _ in examples]
            by_length = sorted(range(len(examples)), key=lengths.__getitem__)
        else:
            lengths, by_length = [len(x) for x, _ in examples], list(range(len(examples)))
        together = [by_length[i : i + size] for i in range(0, len(by_length), size)]
        random.shuffle(together)
        for indices in together:
            width = max(1, max(lengths[i] for i in indices))
            x, y = zip(*((examples[i][0][:width], examples[i][1][:width]) for i in indices), strict=True)
            if any((row != PAD).any() for row in y):  # else there is nothing to learn
                yield torch.stack(x), torch.stack(y)


def optimizers(model: GPT, phase: Phase) -> list[torch.optim.Optimizer]:
    """AdamW for everything; or Muon for the matrices of the blocks, and AdamW at half its rate for the rest."""

    def adamw(parameters: Iterable[Tensor], lr: float) -> torch.optim.Optimizer:
        return torch.optim.AdamW(parameters, lr=lr, betas=(0.9, 0.95), weight_decay=0.0)

    if phase.optimizer == "adamw":
        found = [adamw(model.parameters(), phase.lr)]
    else:
        matrices = [parameter for parameter in model.blocks.parameters() if parameter.ndim == 2]
        inside = {id(parameter) for parameter in matrices}
        rest = [parameter for parameter in model.parameters() if id(parameter) not in inside]
        found = [Muon(matrices, lr=phase.lr), adamw(rest, phase.lr / 2)]
    for group in [group for optimizer in found for group in optimizer.param_groups]:
        group["initial_lr"] = group["lr"]  # the highest, of which pace() takes a share
    return found


def pace(phase: Phase, done: float) -> float:
    """The learning rate's share of its highest value, when this share of the training is done."""
    rising = min(1.0, (done + 1e-3) / phase.warmup)
    falling = min(1.0, (1 - done) / (1 - phase.steady))
    return rising * falling


@dataclass
class History:
    """What happened: loss by step, and accuracy (if asked for) by epoch."""

    loss: list[float] = field(default_factory=list)
    accuracy: list[tuple[int, float]] = field(default_factory=list)


@dataclass
class Trainer:
    """Trains a model for one phase. Interrupted, it can go on: the same command gives the same parameters.

    saved: where to keep what is needed to go on; whoever keeps the parameters removes it then.
    identity: what must be the same for going on.
    log: takes (name, value, step), for TensorBoard. judge: the accuracy after an epoch, for the curve.
    """

    model: GPT
    dataset: Dataset[Batch]
    phase: Phase
    seed: int
    saved: Path
    identity: str
    log: Callable[[str, float, int], None] = lambda name, value, step: None
    judge: Callable[[], float] | None = None
    history: History = field(default_factory=History)

    def train(self) -> History:
        optimizing = optimizers(self.model, self.phase)
        random.seed(self.seed)
        torch.manual_seed(self.seed)
        first = self._resume(optimizing)
        examples = len(self.dataset)  # type: ignore[arg-type]
        progress = _Progress(self.phase.epochs, first)
        written = time.monotonic()
        self.model.train()
        for epoch in range(first, self.phase.epochs):
            snapshot = self._snapshot(epoch, optimizing)  # so that an epoch is done wholly, or not at all
            seen = epoch * examples
            try:
                for x, y in batches(self.dataset, self.phase.batch_size, self.phase.trimmed):
                    self._step(x, y, optimizing, pace(self.phase, seen / (self.phase.epochs * examples)))
                    seen += len(x)
                    progress.show(epoch, seen / examples, self.history.loss, x.numel())
                self._judged(epoch)
                if time.monotonic() - written > SAVE_EVERY:
                    _write(self._snapshot(epoch + 1, optimizing), self.saved)
                    written = time.monotonic()
            except KeyboardInterrupt:
                _write(snapshot, self.saved)
                progress.close()
                raise Mistake(f"stopped in epoch {epoch + 1}; the same command goes on from there") from None
        progress.close()
        return self.history

    def _step(self, x: Tensor, y: Tensor, optimizing: list[torch.optim.Optimizer], share: float) -> None:
        """Learn from one batch, at this share of the highest rate."""
        device = next(self.model.parameters()).device
        loss = self.model.loss(x.to(device), y.to(device))
        self._note(loss.item())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        for optimizer in optimizing:
            for group in optimizer.param_groups:
                group["lr"] = group["initial_lr"] * share
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

    def _note(self, loss: float) -> None:
        if not math.isfinite(loss):
            raise Mistake("the loss is no longer a number; try a smaller learning rate, and check your attention")
        self.history.loss.append(loss)
        self.log("loss", loss, len(self.history.loss))

    def _judged(self, epoch: int) -> None:
        if self.judge is not None:
            accuracy = self.judge()
            self.history.accuracy.append((epoch + 1, accuracy))
            self.log("accuracy", accuracy, epoch + 1)

    def _snapshot(self, epoch: int, optimizing: list[torch.optim.Optimizer]) -> dict[str, Any]:
        def copied(value: Any) -> Any:
            if isinstance(value, Tensor):
                return value.detach().clone()
            if isinstance(value, dict):
                return {key: copied(inner) for key, inner in value.items()}
            return [copied(inner) for inner in value] if isinstance(value, list) else value

        return {
            "identity": self.identity,
            "epoch": epoch,
            "model": copied(dict(self.model.state_dict())),
            "optimizers": [copied(optimizer.state_dict()) for optimizer in optimizing],
            "random": random.getstate(),
            "torch": torch.get_rng_state(),
            "history": copied(asdict(self.history)),
        }

    def _resume(self, optimizing: list[torch.optim.Optimizer]) -> int:
        """Take up what was saved, if it belongs to this training; the epoch to begin with."""
        if not self.saved.is_file():
            return 0
        try:
            saved = torch.load(self.saved, weights_only=True, map_location="cpu")
            if saved["identity"] != self.identity:
                print(f"{self.saved} belongs to another training; beginning anew", file=sys.stderr)
                return 0
        except Exception:  # cut short by whatever ended the last run
            print(f"{self.saved} cannot be read; beginning anew", file=sys.stderr)
            return 0
        self.model.load_state_dict(saved["model"])
        for optimizer, state in zip(optimizing, saved["optimizers"], strict=True):
            optimizer.load_state_dict(state)
        random.setstate(saved["random"])
        torch.set_rng_state(saved["torch"])
        self.history = History(saved["history"]["loss"], [tuple(pair) for pair in saved["history"]["accuracy"]])
        print(f"going on from epoch {saved['epoch'] + 1} ({self.saved})", file=sys.stderr)
        return int(saved["epoch"])


def _write(snapshot: dict[str, Any], path: Path) -> None:
    with replacing(path) as unfinished:
        torch.save(snapshot, unfinished)


class _Progress:
    """One line that is written over and over; without a terminal, a line per tenth."""

    def __init__(self, epochs: int, first: int) -> None:
        self.epochs, self.first = epochs, first
        self.began = self.shown = time.monotonic()
        self.tokens, self.tenth = 0, -1
        self.live = sys.stderr.isatty()

    def show(self, epoch: int, done: float, losses: list[float], tokens: int) -> None:
        """`done` is in epochs, with its fraction."""
        self.tokens += tokens
        now, tenth = time.monotonic(), int(10 * done / self.epochs)
        if (now - self.shown < 0.5 and done < self.epochs) if self.live else tenth == self.tenth:
            return
        self.shown, self.tenth = now, tenth
        seconds = max(now - self.began, 1e-9)
        left = seconds / max(done - self.first, 1e-9) * (self.epochs - done)
        recent = losses[-50:]
        bar = "#" * (2 * tenth) + "." * (20 - 2 * tenth)
        line = (
            f"epoch {epoch + 1}/{self.epochs} [{bar}] loss {sum(recent) / len(recent):.3f}, "
            f"{self.tokens / seconds:,.0f} tokens/s, {_time(left)} left"
        )
        print(f"\r\x1b[K{line}" if self.live else line, end="" if self.live else "\n", file=sys.stderr, flush=True)

    def close(self) -> None:
        if self.live:
            print(file=sys.stderr)


def _time(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
