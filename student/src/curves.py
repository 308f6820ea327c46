"""Pictures of a training and of what a model knows. (Given.)"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # files only: there may be no screen
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from trainer import History

INK, ACCENT = "#4c72b0", "#c44e52"


def draw_training(path: Path, history: History, title: str) -> None:
    """The loss of every step, smoothed, and the accuracy after each epoch if it was measured."""
    figure, left = plt.subplots(figsize=(7, 4), layout="constrained")
    left.plot(_smooth(history.loss), color=INK)
    left.set(xlabel="step", ylabel="loss", title=title)
    left.set_ylim(bottom=0)
    left.yaxis.label.set_color(INK)
    if history.accuracy:
        per_epoch = len(history.loss) / history.accuracy[-1][0]
        right = left.twinx()
        steps = [epoch * per_epoch for epoch, _ in history.accuracy]
        right.plot(steps, [100 * accuracy for _, accuracy in history.accuracy], "o-", color=ACCENT)
        right.set_ylabel("dev accuracy, %", color=ACCENT)
        right.set_ylim(bottom=0)
    _save(figure, path)


def draw_knowledge(path: Path, predictions: Sequence[str], places: Sequence[str]) -> None:
    """Accuracy by how often a place is the answer: does the model know people, or only frequent places?"""
    often = Counter(places)
    right: dict[str, list[int]] = defaultdict(list)
    for prediction, place in zip(predictions, places, strict=True):
        count = often[place]
        lower = 2 ** (count.bit_length() - 1)
        right[f"{lower}" if lower == 1 else f"{lower}-{2 * lower - 1}"].append(prediction == place)
    groups = sorted(right, key=lambda label: int(label.split("-")[0]))
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    bars = axes.bar(groups, [100 * sum(right[group]) / len(right[group]) for group in groups], color=INK)
    axes.bar_label(bars, [f"{sum(right[group])} of {len(right[group])}" for group in groups])
    axes.set(xlabel="how often the place is an answer", ylabel="accuracy, %", title="What the model knows")
    axes.set_ylim(0, 105)
    _save(figure, path)


def _smooth(values: Sequence[float]) -> list[float]:
    """Each value with a share of those before it."""
    smooth: list[float] = []
    for value in values:
        smooth.append(value if not smooth else 0.95 * smooth[-1] + 0.05 * value)
    return smooth


def _save(figure: Figure, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)
