"""Parameters on disk: numbers and their names, and what they belong to. Nothing that could run. (Given.)"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dataset import CharCorruptionDataset
from model import GPT, GPTConfig
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

NOTES = "made_by"


class Mistake(Exception):
    """Something that the person at the keyboard can put right; told in one line."""


def save(model: GPT, path: Path, recipe: str, dataset: CharCorruptionDataset) -> None:
    """Write a model's parameters."""
    notes = {"recipe": recipe, "config": asdict(model.config), "characters": characters(dataset)}
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in model.state_dict().items()}
    with replacing(path) as unfinished:
        save_file(tensors, unfinished, {NOTES: json.dumps(notes)})  # one entry: several have no fixed order


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A place to write a file; only when it is complete does it become `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".part")
    yield unfinished
    unfinished.replace(path)


def characters(dataset: CharCorruptionDataset) -> str:
    return "".join(dataset.itos[number] for number in range(dataset.vocab_size))


def recipe_of(path: Path) -> str:
    """The recipe by which a file was made, or "" if the file does not say."""
    return str(_notes(path).get("recipe", ""))


def load(model: GPT, path: Path, dataset: CharCorruptionDataset) -> None:
    """Fill a model with a file's parameters; if they do not fit, say why."""
    notes = _notes(path)
    if notes.get("characters", characters(dataset)) != characters(dataset):
        theirs = len(notes["characters"])
        raise Mistake(
            f"{path} was trained on a corpus with other characters ({theirs} of them; yours has {dataset.vocab_size}); "
            f"give the corpus that it was trained on"
        )
    if "config" in notes and (unlike := _unlike(GPTConfig(**notes["config"]), model.config)):
        raise Mistake(f"{path} holds another kind of model: {unlike}; check VARIANT and --recipe")
    with safe_open(path, "pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dictionary)
    try:
        model.load_state_dict(tensors)
    except RuntimeError as error:
        reason = str(error).splitlines()[1].strip()
        raise Mistake(f"{path} does not fit the model: {reason}") from None


def _unlike(theirs: GPTConfig, ours: GPTConfig) -> str:
    mine = asdict(ours)
    return ", ".join(
        f"{name} is {value}, expected {mine[name]}"
        for name, value in asdict(theirs).items()
        if value != mine[name] and not name.endswith("pdrop")
    )


def _notes(path: Path) -> dict[str, Any]:
    """What `save` noted; nothing, if another program wrote the file."""
    try:
        with safe_open(path, "pt") as file:
            return dict(json.loads((file.metadata() or {}).get(NOTES, "{}")))
    except FileNotFoundError:
        raise Mistake(f"{path} is missing; it is written by --writing_params_path of an earlier command") from None
    except SafetensorError:
        raise Mistake(f"{path} is no file of parameters, or is cut short; train again to write it anew") from None
