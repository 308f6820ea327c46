"""What a submitted checkpoint predicts, computed by the grader from its numbers alone. No code of a student's runs.

Staff only: this is in no student release, and workers can neither read nor import it. The numbers go into a transformer
of the course's architecture, which continues `question MASK` by its likeliest characters, many questions at once. What
stands before the second MASK is the prediction. Three things that a checkpoint does not say are tried out on a few
questions, and what agrees best with the predictions that were handed in is used for all: how many heads there are,
which features RoPE pairs, and whether the newline of a test question is read along, as in the original course's code.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict

import torch
from torch import Tensor
from torch.nn import functional

from autograder.checking.predictions import PAD, aligned, alike
from autograder.grading.checkpoint_names import Architecture, architecture_of
from autograder.judging.held_out import Split
from autograder.judging.parameters import Parameters, View

MASK = "\u2047"
STEPS = 32  # characters of an answer
HEADS = (8, 4, 16, 2, 1, 12, 6, 3)  # in the order in which they are tried
TRIED, ENOUGH = 24, 23  # questions on which a way is tried, and how many must agree to look no further
KEPT = 48 << 20  # bytes of keys and values that are kept at one time
_TYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}


class Decoded(TypedDict):
    """One prediction for each question."""

    dev: list[str]
    test: list[str]


@dataclass(frozen=True)
class Way:
    """How numbers are meant, as far as their shapes do not say it."""

    heads: int
    halves: bool = False  # RoPE turns feature i with feature i + half, not with its neighbour
    newline: bool = False  # test questions end in a newline before the MASK


def decode(
    parameters: Parameters,
    vocabulary: str,
    questions: Mapping[Split, Sequence[str]],
    handed_in: Mapping[Split, Sequence[str]],
    *,
    rotary: bool,
) -> Decoded:
    """Predictions for all questions. Raises Unlike if this is not the course's architecture."""
    characters = [PAD, MASK, *sorted(set(vocabulary))]
    architecture = architecture_of(parameters.tensors, len(characters), rotary=rotary)
    torch.set_num_threads(1)
    model = Transformer(architecture, numbers_of(parameters, architecture), characters)

    def agreeing(way: Way, split: Split) -> int:
        places = _telling(handed_in[split], len(questions[split]))
        texts = model.answers(_prompts([questions[split][n] for n in places], split, way), way)
        return sum(map(alike, texts, aligned([handed_in[split][n] for n in places], texts)))

    way = _best([*_ways(architecture)], lambda one: agreeing(one, "dev"))
    if "\n" in vocabulary:
        way = _best([way, replace(way, newline=True)], lambda one: agreeing(one, "test"))
    return Decoded(
        dev=model.answers(_prompts(questions["dev"], "dev", way), way),
        test=model.answers(_prompts(questions["test"], "test", way), way),
    )


def _telling(lines: Sequence[str], count: int) -> list[int]:
    """A few questions by which ways can be told apart: those with rare answers. Any way may come to a frequent one."""
    if len(lines) != count:  # line breaks have moved them; the first are where they belong
        return list(range(min(TRIED, count)))
    often = Counter(lines)
    return sorted(sorted(range(count), key=lambda place: often[lines[place]])[:TRIED])


def _prompts(questions: Iterable[str], split: Split, way: Way) -> list[str]:
    end = "\n" if way.newline and split == "test" else ""
    return [f"{question}{end}{MASK}" for question in questions]


def _ways(architecture: Architecture) -> Iterable[Way]:
    for heads in HEADS:
        size, rest = divmod(architecture.width, heads)
        if rest or not size:
            continue
        if architecture.room is not None:
            yield Way(heads)
        elif size % 2 == 0:
            yield from (Way(heads), Way(heads, halves=True))


def _best(ways: Sequence[Way], agreeing: Callable[[Way], int]) -> Way:
    """The first that agrees enough, or the one that agrees most."""
    found: dict[Way, int] = {}
    for way in ways:
        found[way] = agreeing(way)
        if found[way] >= ENOUGH:
            return way
    return max(found, key=lambda way: found[way]) if found else Way(1)


def numbers_of(parameters: Parameters, architecture: Architecture) -> dict[str, Tensor]:
    """The tensors that the architecture names, in float32; nothing else of the file is looked at."""
    return {ours: _tensor(parameters, parameters.tensors[theirs]) for ours, theirs in architecture.names.items()}


def _tensor(parameters: Parameters, view: View) -> Tensor:
    kind = _TYPES[view.kind]
    reach = 1 + sum((size - 1) * stride for size, stride in zip(view.sizes, view.strides, strict=True))
    content = bytearray(memoryview(parameters.parts[view.part])[view.start : view.start + reach * kind.itemsize])
    return torch.frombuffer(content, dtype=kind).as_strided(view.sizes, view.strides).float().contiguous()


class Transformer:
    """Numbers, and how they are used."""

    def __init__(self, architecture: Architecture, numbers: Mapping[str, Tensor], characters: Sequence[str]) -> None:
        self.architecture, self.numbers, self.characters = architecture, dict(numbers), characters
        self.places = {character: place for place, character in enumerate(characters)}
        for layer in range(architecture.layers):  # three matrices that read the same are quicker as one
            for end in ("weight", "bias"):
                three = [self.numbers.pop(f"blocks.{layer}.attn.{name}.{end}") for name in ("query", "key", "value")]
                self.numbers[f"blocks.{layer}.attn.{end}"] = torch.cat(three)

    @torch.inference_mode()
    def answers(self, prompts: Sequence[str], way: Way) -> list[str]:
        """What comes after each prompt, up to a MASK."""
        codes = [[self.places.get(character, 0) for character in prompt] for prompt in prompts]
        found: dict[int, list[int]] = {}
        limit = self.architecture.room or math.inf
        short = sorted((n for n, code in enumerate(codes) if len(code) + STEPS <= limit), key=lambda n: len(codes[n]))
        for some in self._batches(short, codes):
            found |= zip(some, self._continued([codes[n] for n in some], way), strict=True)
        for n in range(len(codes)):
            if n not in found:
                found[n] = self._slid(codes[n], way)
        return ["".join(self.characters[one] for one in found[n]).rstrip(PAD) for n in range(len(codes))]

    def _batches(self, order: Sequence[int], codes: Sequence[Sequence[int]]) -> Iterable[Sequence[int]]:
        if order:
            each = 8 * self.architecture.layers * self.architecture.width * (len(codes[order[-1]]) + STEPS)
            count = max(1, KEPT // each)
            yield from (order[start : start + count] for start in range(0, len(order), count))

    def _continued(self, codes: Sequence[Sequence[int]], way: Way) -> list[list[int]]:
        """All at once. Keys and values of what has been read are kept; rows that are done leave."""
        lengths = torch.tensor([len(code) for code in codes])
        longest = int(lengths.max())
        shared = _shared(codes)  # the beginning that all questions have in common is read once
        kept = Kept(self.architecture, way.heads, longest + STEPS)
        self._read(torch.tensor([codes[0][:shared]]), kept, way)
        kept.repeat(len(codes))
        rest = torch.tensor([[*code, *[0] * (longest - len(code))][shared:] for code in codes])
        hidden = self._read(rest, kept, way)[torch.arange(len(codes)), lengths - 1 - shared]
        found: list[list[int]] = [[] for _ in codes]
        rows = torch.arange(len(codes))
        stop = self.places[MASK]
        for _ in range(STEPS):
            chosen = (hidden @ self.numbers["head.weight"].T).argmax(dim=-1)
            for row, one in zip(rows.tolist(), chosen.tolist(), strict=True):
                if one != stop:
                    found[row].append(one)
            going_on = chosen != stop
            if not going_on.all():
                rows, chosen, lengths = rows[going_on], chosen[going_on], lengths[going_on]
                kept.keep_only(going_on)
            if not len(rows):
                break
            hidden = self._read(chosen[:, None], kept, way, lengths)[:, 0]
            lengths = lengths + 1
        return found

    def _slid(self, code: Sequence[int], way: Way) -> list[int]:
        """A text that outgrows the positions: the model reads its end alone, as in the original."""
        room = self.architecture.room or 1
        text = list(code)
        for _ in range(STEPS):
            hidden = self._read(torch.tensor([text[-room:]]), Kept(self.architecture, way.heads, room), way)[0, -1]
            one = int((self.numbers["head.weight"] @ hidden).argmax())
            if one == self.places[MASK]:
                break
            text.append(one)
        return text[len(code) :]

    def _read(self, codes: Tensor, kept: Kept, way: Way, positions: Tensor | None = None) -> Tensor:
        """What the last block makes of new characters (rows, new); they stand after all that was read, or at
        `positions` (rows,), one of each row."""
        count, new = codes.shape
        if not new:
            return torch.empty(count, 0, self.architecture.width)
        places = kept.read + torch.arange(new) if positions is None else positions[:, None]  # (new,) or (rows, 1)
        x = functional.embedding(codes, self.numbers["tok_emb.weight"])
        if self.architecture.room is not None:
            x = x + self.numbers["pos_emb"][0, places]
        until = int(places.max()) + 1
        may_see = torch.arange(until) <= places[..., None]  # (new, until) or (rows, 1, until)
        may_see = may_see if positions is None else may_see[:, None]
        turned = None if self.architecture.room is not None else angles(places, self.architecture.width // way.heads)
        for layer in range(self.architecture.layers):
            normed = self._normed(x, f"blocks.{layer}.ln1")
            each = self._linear(normed, f"blocks.{layer}.attn").view(count, new, 3, way.heads, -1)
            asked, key, value = each.permute(2, 0, 3, 1, 4)  # (rows, heads, new, head size)
            if turned is not None:
                asked, key = rotated(asked, turned, way), rotated(key, turned, way)
            keys, values = kept.add(layer, key, value, places, until)
            seen = functional.scaled_dot_product_attention(asked, keys, values, attn_mask=may_see)
            x = x + self._linear(seen.transpose(1, 2).flatten(2), f"blocks.{layer}.attn.proj")
            inner = functional.gelu(self._linear(self._normed(x, f"blocks.{layer}.ln2"), f"blocks.{layer}.mlp.0"))
            x = x + self._linear(inner, f"blocks.{layer}.mlp.2")
        kept.read = max(kept.read, until)
        return self._normed(x, "ln_f")

    def _linear(self, x: Tensor, name: str) -> Tensor:
        return functional.linear(x, self.numbers[f"{name}.weight"], self.numbers[f"{name}.bias"])

    def _normed(self, x: Tensor, name: str) -> Tensor:
        weight, bias = self.numbers[f"{name}.weight"], self.numbers[f"{name}.bias"]
        return functional.layer_norm(x, weight.shape, weight, bias)


class Kept:
    """Keys and values of what has been read, for each block: (2, rows, heads, positions, head size)."""

    def __init__(self, architecture: Architecture, heads: int, room: int) -> None:
        size = architecture.width // heads
        self.blocks = [torch.zeros(2, 1, heads, room, size) for _ in range(architecture.layers)]
        self.read = 0  # positions

    def repeat(self, rows: int) -> None:
        self.blocks = [block.expand(-1, rows, -1, -1, -1).contiguous() for block in self.blocks]

    def keep_only(self, rows: Tensor) -> None:
        self.blocks = [block[:, rows] for block in self.blocks]

    def add(self, layer: int, key: Tensor, value: Tensor, places: Tensor, until: int) -> tuple[Tensor, Tensor]:
        block = self.blocks[layer]
        if places.dim() == 1:
            block[0, :, :, places[0] : until], block[1, :, :, places[0] : until] = key, value
        else:
            rows, at = torch.arange(len(key)), places[:, 0]
            block[0, rows, :, at], block[1, rows, :, at] = key[:, :, 0], value[:, :, 0]
        return block[0, :, :, :until], block[1, :, :, :until]


def _shared(codes: Sequence[Sequence[int]]) -> int:
    """How many characters all begin with; at least one of each is left."""
    count = next((n for n, together in enumerate(zip(*codes, strict=False)) if len(set(together)) > 1), len(codes[0]))
    return min(count, min(map(len, codes)) - 1)


def angles(places: Tensor, size: int) -> Tensor:
    """Unit numbers of the complex plane, for each place and each pair of features: (..., places, size / 2)."""
    turns = torch.exp(torch.arange(size // 2, dtype=torch.float64) * (-2 * math.log(10000) / size))
    angle = places[..., None].double() * turns
    return torch.polar(torch.ones_like(angle), angle).to(torch.complex64)


def rotated(x: Tensor, turned: Tensor, way: Way) -> Tensor:
    """Pairs of features, turned by their place; x is (rows, heads, new, head size)."""
    turned = turned if turned.dim() == 2 else turned[:, None]  # (new, pairs), or (rows, 1, 1, pairs)
    one, other = x.chunk(2, dim=-1) if way.halves else x.unfold(-1, 2, 2).unbind(dim=-1)
    found = torch.complex(one, other) * turned
    both = found.real, found.imag
    return torch.cat(both, dim=-1) if way.halves else torch.stack(both, dim=-1).flatten(-2)
