"""What the tensors of the course's transformer are called, and which sizes they must have to belong together.

The model that we give out and the one of the original course use the same names. A file may hold them below a prefix
(`module.`, `_orig_mod.`, `model.`), beside an optimiser's state, and with buffers, which follow from the sizes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from autograder.judging.parameters import View

FLOATS = ("F64", "F32", "F16", "BF16")
MOST_LAYERS = 64
FIRST = "tok_emb.weight"
# Last parts of names of buffers: masks and tables of angles. They hold nothing that was learnt, and are not read.
_BUFFERS = frozenset(
    {"mask", "causal_mask", "casual_mask", "tril", "rope_cache", "rope", "inv_freq", "freqs_cis", "cos", "sin"}
    | {"cos_cached", "sin_cached", "theta", "masked_bias"}
)
_LAYER = re.compile(r"blocks\.(\d{1,3})\.")
_SHOWN = 60


class Unlike(Exception):
    """These are not the tensors of the course's model; says in what they differ."""


@dataclass(frozen=True)
class Architecture:
    """Sizes, all of them read from the tensors; `names` are those in the file, by our own."""

    layers: int
    width: int
    room: int | None  # positions that were learnt; None with RoPE, which has as many as are asked for
    names: Mapping[str, str]


def architecture_of(tensors: Mapping[str, View], characters: int, *, rotary: bool) -> Architecture:
    """Raises Unlike."""
    prefix = _prefix(tensors)
    own = {name.removeprefix(prefix): view for name, view in tensors.items() if name.startswith(prefix)}
    width = _axis(own, FIRST, 1)
    hidden = _axis(own, "blocks.0.mlp.0.weight", 0)
    room = None if rotary else _axis(own, "pos_emb", 1)
    layers = 1 + max((int(found[1]) for name in own if (found := _LAYER.match(name))), default=0)
    if layers > MOST_LAYERS:
        raise Unlike(f"it has {layers} blocks")
    wanted = _shapes(layers, width, hidden, characters, room)
    for name, shape in wanted.items():
        view = own.get(name)
        if view is None:
            raise Unlike(f"it has no {name}")
        if view.kind not in FLOATS:
            raise Unlike(f"{name} is not made of fractions")
        if view.sizes != shape:
            raise Unlike(f"{name} is {_said(view.sizes)}, expected {_said(shape)}")
    for name, view in own.items():
        if name not in wanted and view.kind in FLOATS and name.rpartition(".")[2] not in _BUFFERS:
            raise Unlike(f"the model has no {name[:_SHOWN]}")
    return Architecture(layers, width, room, {name: f"{prefix}{name}" for name in wanted})


def _prefix(tensors: Mapping[str, View]) -> str:
    found = [name.removesuffix(FIRST) for name in tensors if name == FIRST or name.endswith(f".{FIRST}")]
    if len(found) != 1:
        raise Unlike(f"it has no {FIRST}" if not found else f"it has {len(found)} tensors called {FIRST}")
    return found[0]


def _axis(own: Mapping[str, View], name: str, axis: int) -> int:
    view = own.get(name)
    if view is None or len(view.sizes) <= axis:
        raise Unlike(f"it has no {name}" if view is None else f"{name} is {_said(view.sizes)}")
    return view.sizes[axis]


def _shapes(layers: int, width: int, hidden: int, characters: int, room: int | None) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {FIRST: (characters, width), "head.weight": (characters, width)}
    if room is not None:
        found["pos_emb"] = (1, room, width)
    linear = {f"attn.{name}": (width, width) for name in ("key", "query", "value", "proj")}
    linear |= {"mlp.0": (hidden, width), "mlp.2": (width, hidden)}
    norms = ["ln_f", *(f"blocks.{n}.{name}" for n in range(layers) for name in ("ln1", "ln2"))]
    for name in norms:
        found |= {f"{name}.weight": (width,), f"{name}.bias": (width,)}
    for layer in range(layers):
        for name, shape in linear.items():
            found |= {f"blocks.{layer}.{name}.weight": shape, f"blocks.{layer}.{name}.bias": shape[:1]}
    return found


def _said(sizes: tuple[int, ...]) -> str:
    return " x ".join(map(str, sizes)) or "a single number"
