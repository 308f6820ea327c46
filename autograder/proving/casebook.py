"""The inputs of all reference cases. Runs only when references are made; the files keep the results.

Sizes within a case are pairwise distinct wherever they can be, so that a swapped axis cannot
hide: batch, heads, tokens, head size and width are five different numbers.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from autograder.judging.exercises import MAP, WEIGHTS
from autograder.judging.references import Argument
from autograder.running.memory_layout import laid_out

Inputs = dict[str, Argument]
Cases = dict[str, Inputs]  # name -> inputs


FINE = 1 << 16  # steps to 1: half precision holds 1 in steps of 1/1024, float32 in steps of 2^-23
COARSE = 1 << 6  # products of these are exact in float32, so that large scores are the same everywhere


class Draw:
    """Random inputs, the same on every machine."""

    def __init__(self, label: str) -> None:
        self.generator = torch.Generator().manual_seed(zlib.crc32(label.encode()))

    def __call__(
        self, *shape: int, scale: float = 1.0, dtype: torch.dtype = torch.float32, steps: int = FINE
    ) -> Tensor:
        # Rounded, so that a value is the same in float32 and float64; but no half precision holds it.
        drawn = torch.randn(shape, generator=self.generator, dtype=torch.float64)
        return ((drawn * steps).round() / steps * scale).to(dtype)


DOUBLE = torch.float64


def strided(tensor: Tensor) -> Tensor:
    """The same values with the last two axes swapped in memory: not contiguous."""
    return tensor.mT.contiguous().mT


def not_contiguous(inputs: Inputs) -> Inputs:
    """The same inputs with those of three axes (sentences, not weights) swapped in memory."""
    return {
        name: strided(value) if isinstance(value, Tensor) and value.dim() == 3 else value
        for name, value in inputs.items()
    }


def counting(*shape: int) -> Tensor:
    """0, 1, 2, ...: a student sees at once what went where."""
    return torch.arange(float(torch.Size(shape).numel())).reshape(shape)


def one_hot(batch: int, tokens: int, heads: int, size: int) -> Tensor:
    """Values of which token t has a single 1, at place t of every head: mixing them shows the weights themselves."""
    return torch.eye(tokens, size).repeat(1, heads).expand(batch, -1, -1).contiguous()


def gappy(draw: Draw, *shape: int, size: float) -> Tensor:
    """Large scores whose order is clear: a row's entries differ by far more than rounding.

    Softmax of large numbers is sensitive to the last bit of their differences; with gaps of
    several per cent of `size`, every right way of computing it gives the same weights.
    """
    tokens = shape[-1]
    order = draw(*shape).argsort(-1).to(torch.float32)
    return (order / max(1, tokens - 1) * 2 - 1) * size


def _pairwise_similarities(public: bool, draw: Draw) -> Cases:
    if public:
        return {
            "two tokens by hand": {
                "Q": torch.tensor([[[1.0, 0.0], [0.0, 2.0]]]),
                "K": torch.tensor([[[3.0, 4.0], [5.0, 6.0]]]),
            },
            "three sentences": {"Q": draw(3, 5, 4), "K": draw(3, 5, 4)},
            "with heads": {"Q": draw(2, 3, 5, 4), "K": draw(2, 3, 5, 4)},
            "float64": {"Q": draw(2, 5, 3, dtype=DOUBLE), "K": draw(2, 5, 3, dtype=DOUBLE)},
            "not contiguous": {"Q": strided(draw(2, 4, 3)), "K": strided(draw(2, 4, 3))},
        }
    return {
        "3-d": {"Q": draw(2, 7, 3), "K": draw(2, 7, 3)},
        "4-d": {"Q": draw(2, 3, 6, 5), "K": draw(2, 3, 6, 5)},
        "one token": {"Q": draw(3, 2, 1, 5), "K": draw(3, 2, 1, 5)},
        "one head": {"Q": draw(2, 1, 6, 4), "K": draw(2, 1, 6, 4)},
        "size one": {"Q": draw(4, 5, 1), "K": draw(4, 5, 1)},
        "as wide as long": {"Q": draw(3, 4, 4), "K": draw(3, 4, 4)},
        "float64": {"Q": draw(3, 4, 7, dtype=DOUBLE), "K": draw(3, 4, 7, dtype=DOUBLE)},
        "not contiguous": {"Q": strided(draw(2, 3, 8, 5)), "K": strided(draw(2, 3, 8, 5))},
        "large": {"Q": draw(2, 5, 3, scale=100.0), "K": draw(2, 5, 3, scale=100.0)},
        "long": {"Q": draw(1, 2, 32, 16), "K": draw(1, 2, 32, 16)},
    }


def _attn_scaled(public: bool, draw: Draw) -> Cases:
    if public:
        return {
            "by hand": {"A": torch.tensor([[[6.0, 8.0], [2.0, -4.0]]]), "n_embd": 12, "n_heads": 3},
            "one head": {"A": draw(2, 5, 5), "n_embd": 7, "n_heads": 1},
            "four heads": {"A": draw(2, 4, 5, 5), "n_embd": 24, "n_heads": 4},
            "float64": {"A": draw(3, 4, 4, dtype=DOUBLE), "n_embd": 10, "n_heads": 2},
            "not contiguous": {"A": strided(draw(2, 5, 5)), "n_embd": 9, "n_heads": 3},
        }
    return {
        "3-d": {"A": draw(3, 6, 6), "n_embd": 10, "n_heads": 2},
        "4-d": {"A": draw(2, 3, 5, 5), "n_embd": 21, "n_heads": 3},
        "one head": {"A": draw(2, 1, 6, 6), "n_embd": 5, "n_heads": 1},
        "one token": {"A": draw(3, 2, 1, 1), "n_embd": 14, "n_heads": 2},
        "many heads": {"A": draw(1, 8, 3, 3), "n_embd": 40, "n_heads": 8},
        "head size one": {"A": draw(2, 6, 4, 4), "n_embd": 6, "n_heads": 6},
        "float64": {"A": draw(2, 4, 5, 5, dtype=DOUBLE), "n_embd": 28, "n_heads": 4},
        "not contiguous": {"A": strided(draw(2, 3, 7, 7)), "n_embd": 15, "n_heads": 3},
        "large": {"A": draw(2, 5, 5, scale=10000.0), "n_embd": 18, "n_heads": 3},
    }


def _attn_softmax(public: bool, draw: Draw) -> Cases:
    if public:
        return {
            "by hand": {"A": torch.tensor([[[0.0, 0.0], [0.0, -torch.inf]]])},
            "three sentences": {"A": draw(3, 5, 5)},
            "with heads": {"A": draw(2, 3, 4, 4)},
            "scores of 10000": {"A": gappy(draw, 2, 6, 6, size=1e4)},
            "float64": {"A": draw(3, 4, 4, dtype=DOUBLE)},
            "not contiguous": {"A": strided(draw(2, 5, 5))},
        }
    return {
        "3-d": {"A": draw(2, 7, 7)},
        "4-d": {"A": draw(3, 2, 5, 5)},
        "one token": {"A": draw(2, 3, 1, 1)},
        "one head": {"A": draw(4, 1, 6, 6)},
        "float64": {"A": draw(2, 3, 5, 5, dtype=DOUBLE)},
        "not contiguous": {"A": strided(draw(2, 3, 7, 7))},
        "large": {"A": gappy(draw, 3, 5, 5, size=1e4)},
        "large and negative": {"A": gappy(draw, 2, 4, 4, size=1e3) - 2e3},
        "masked": {"A": draw(2, 6, 6).masked_fill(torch.ones(6, 6).triu(1) == 1, -torch.inf)},
        "long": {"A": draw(2, 32, 32)},
    }


def _compute_outputs(public: bool, draw: Draw) -> Cases:
    def weights(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        drawn = draw(*shape).abs() + 0.125
        return (drawn / drawn.sum(-1, keepdim=True)).to(dtype)

    if public:
        return {
            "by hand": {
                "A": torch.tensor([[[0.5, 0.5], [1.0, 0.0]]]),
                "V": torch.tensor([[[2.0, 4.0], [6.0, 8.0]]]),
            },
            "three sentences": {"A": weights(3, 5, 5), "V": draw(3, 5, 4)},
            "with heads": {"A": weights(2, 3, 5, 5), "V": draw(2, 3, 5, 4)},
            "float64": {"A": weights(2, 4, 4, dtype=DOUBLE), "V": draw(2, 4, 3, dtype=DOUBLE)},
            "not contiguous": {"A": strided(weights(2, 5, 5)), "V": strided(draw(2, 5, 3))},
        }
    return {
        "3-d": {"A": weights(2, 7, 7), "V": draw(2, 7, 3)},
        "4-d": {"A": weights(3, 2, 6, 6), "V": draw(3, 2, 6, 5)},
        "as wide as long": {"A": weights(2, 5, 5), "V": draw(2, 5, 5)},
        "one token": {"A": weights(3, 2, 1, 1), "V": draw(3, 2, 1, 5)},
        "one head": {"A": weights(2, 1, 6, 6), "V": draw(2, 1, 6, 4)},
        "float64": {"A": weights(2, 4, 4, dtype=DOUBLE), "V": draw(2, 4, 3, dtype=DOUBLE)},
        "not contiguous": {"A": strided(weights(2, 3, 6, 6)), "V": strided(draw(2, 3, 6, 5))},
        "large": {"A": weights(2, 5, 5), "V": draw(2, 5, 3, scale=1000.0)},
        "long": {"A": weights(1, 2, 32, 32), "V": draw(1, 2, 32, 7)},
    }


def _make_causal_mask(public: bool, draw: Draw) -> Cases:
    sizes = (3, 1, 5) if public else (1, 2, 4, 6, 7, 9, 16, 32)
    return {f"{n} tokens" if n > 1 else "one token": {"n_tok": n} for n in sizes}


def _apply_causal_mask(public: bool, draw: Draw) -> Cases:
    def case(scores: Tensor) -> Inputs:
        tokens = scores.shape[-1]
        return {"mask": torch.ones(tokens, tokens, dtype=torch.bool).tril(), "A": scores}

    if public:
        return {
            "by hand": case(torch.tensor([[[1.0, 2.0], [3.0, 4.0]]])),
            "three sentences": case(draw(3, 5, 5)),
            "with heads": case(draw(2, 3, 4, 4)),
            "float64": case(draw(3, 4, 4, dtype=DOUBLE)),
            "not contiguous": case(strided(draw(2, 5, 5))),
        }
    return {
        "3-d": case(draw(2, 7, 7)),
        "4-d": case(draw(3, 2, 6, 6)),
        "one token": case(draw(2, 3, 1, 1)),
        "one head": case(draw(4, 1, 5, 5)),
        "float64": case(draw(2, 3, 5, 5, dtype=DOUBLE)),
        "not contiguous": case(strided(draw(2, 3, 7, 7))),
        "with zeros": case(draw(2, 4, 4).relu()),
        "scores of a million": case(gappy(draw, 2, 6, 6, size=1e6)),
        "all very negative": case(gappy(draw, 3, 5, 5, size=2e5) - 7e5),
        "long": case(draw(1, 2, 32, 32)),
    }


def _split_heads(public: bool, draw: Draw) -> Cases:
    if public:
        return {
            "two tokens by hand": {"x": counting(1, 2, 4) + 1, "n_heads": 2},
            "three heads": {"x": counting(2, 5, 12), "n_heads": 3},
            "one head": {"x": counting(2, 3, 4), "n_heads": 1},
            "not counting": {"x": draw(2, 3, 8), "n_heads": 2},
            "float64": {"x": draw(2, 3, 10, dtype=DOUBLE), "n_heads": 2},
            "not contiguous": {"x": strided(draw(2, 5, 6)), "n_heads": 3},
        }
    return {
        "two heads": {"x": draw(3, 5, 8), "n_heads": 2},
        "three heads": {"x": draw(2, 4, 15), "n_heads": 3},
        "as many heads as tokens": {"x": draw(2, 3, 12), "n_heads": 3},
        "head size one": {"x": draw(2, 3, 4), "n_heads": 4},
        "one head": {"x": draw(3, 4, 5), "n_heads": 1},
        "one token": {"x": draw(2, 1, 12), "n_heads": 3},
        "float64": {"x": draw(2, 7, 20, dtype=DOUBLE), "n_heads": 4},
        "not contiguous": {"x": strided(draw(3, 7, 10)), "n_heads": 2},
        "long": {"x": draw(2, 32, 24), "n_heads": 4},
    }


def _merge_heads(public: bool, draw: Draw) -> Cases:
    if public:
        return {
            "two heads by hand": {"y": torch.tensor([[[[1.0, 2.0], [5.0, 6.0]], [[3.0, 4.0], [7.0, 8.0]]]])},
            "three heads": {"y": counting(2, 3, 5, 4)},
            "one head": {"y": counting(2, 1, 3, 4)},
            "not counting": {"y": draw(2, 4, 3, 2)},
            "float64": {"y": draw(2, 3, 4, 5, dtype=DOUBLE)},
            "not contiguous": {"y": draw(2, 4, 3, 5).transpose(1, 2)},
        }
    return {
        "two heads": {"y": draw(3, 2, 5, 4)},
        "three heads": {"y": draw(2, 3, 4, 5)},
        "as many heads as tokens": {"y": draw(2, 3, 3, 4)},
        "head size one": {"y": draw(2, 4, 3, 1)},
        "one head": {"y": draw(3, 1, 4, 5)},
        "one token": {"y": draw(2, 3, 1, 4)},
        "float64": {"y": draw(2, 4, 7, 5, dtype=DOUBLE)},
        "not contiguous": {"y": draw(3, 7, 2, 5).transpose(1, 2)},
        "long": {"y": draw(2, 4, 32, 6)},
    }


def _self_attention(public: bool, draw: Draw) -> Cases:
    def case(batch: int, tokens: int, width: int, heads: int, causal: bool, **options: object) -> Inputs:
        scale = float(options.get("scale", 1.0))  # type: ignore[arg-type]
        dtype = options.get("dtype", torch.float32)
        assert isinstance(dtype, torch.dtype)
        steps = COARSE if scale > 1 else FINE
        q, k = (draw(batch, tokens, width, scale=scale, dtype=dtype, steps=steps) for _ in range(2))
        v = draw(batch, tokens, width, dtype=dtype)
        return {"Q": q, "K": k, "V": v, "n_heads": heads, "causal": causal}

    if public:
        return {
            "checkpoint 1: one head, no mask": case(2, 5, 12, 1, False),
            "checkpoint 2: one head, causal": case(2, 5, 12, 1, True),
            "checkpoint 3: three heads, causal": case(2, 5, 12, 3, True),
            "one token": case(2, 1, 12, 3, True),
            MAP: case(1, 4, 10, 2, True) | {"V": one_hot(1, 4, 2, 5)},
            f"{MAP}, three heads": case(1, 3, 12, 3, False) | {"V": one_hot(1, 3, 3, 4)},
            "float64": case(2, 3, 8, 2, True, dtype=DOUBLE),
            "not contiguous": not_contiguous(case(2, 4, 6, 2, True)),
        }
    return {
        "one head, no mask": case(2, 7, 5, 1, False),
        "one head, causal": case(3, 6, 4, 1, True),
        "two heads, causal": case(3, 5, 8, 2, True),
        "three heads, no mask": case(2, 4, 15, 3, False),
        "head size one": case(2, 3, 4, 4, True),
        "one token": case(4, 1, 6, 2, True),
        "two tokens": case(4, 2, 15, 3, True),
        "float64": case(2, 7, 20, 4, True, dtype=DOUBLE),
        "not contiguous": not_contiguous(case(3, 7, 10, 2, True)),
        "large": case(2, 6, 12, 3, True, scale=64.0),
        "long": case(2, 32, 24, 4, True),
    }


def _precompute_rotary_emb(public: bool, draw: Draw) -> Cases:
    sizes = (
        ((2, 4), (8, 5), (6, 11))
        if public
        else ((4, 7), (6, 1), (10, 33), (12, 64), (16, 9), (14, 128), (20, 3), (18, 512))
    )
    return {f"dim {dim}, {positions} positions": {"dim": dim, "max_positions": positions} for dim, positions in sizes}


def rotations(dim: int, positions: int, speed: float = 1.0) -> Tensor:
    """A cache like that of precompute_rotary_emb, turning at another speed."""
    theta = torch.tensor([10000.0 ** (-2 * i / dim) for i in range(dim // 2)], dtype=DOUBLE)
    angles = torch.outer(torch.arange(positions, dtype=DOUBLE), theta * speed)
    return torch.stack((angles.cos(), angles.sin()), dim=-1).float()


def _apply_rotary_emb(public: bool, draw: Draw) -> Cases:
    if public:
        return {
            "two tokens by hand": {"x": torch.tensor([[[[1.0, 0.0], [1.0, 0.0]]]]), "rope_cache": rotations(2, 2)},
            "three heads": {"x": draw(2, 3, 5, 8), "rope_cache": rotations(8, 5)},
            "a longer cache": {"x": draw(2, 3, 4, 6), "rope_cache": rotations(6, 9)},
            "float64": {"x": draw(2, 3, 4, 6, dtype=DOUBLE), "rope_cache": rotations(6, 4)},
            "not contiguous": {"x": laid_out(draw(2, 3, 4, 8), (0, 2, 1, 3)), "rope_cache": rotations(8, 5)},
        }

    def slower(dim: int, positions: int) -> Tensor:
        return rotations(dim, positions, speed=0.75)  # no hidden table may be found in a public file

    return {
        "4-d": {"x": draw(2, 3, 7, 4), "rope_cache": slower(4, 7)},
        "three pairs": {"x": draw(3, 2, 5, 6), "rope_cache": slower(6, 5)},
        "one pair": {"x": draw(3, 4, 5, 2), "rope_cache": slower(2, 5)},
        "one token": {"x": draw(3, 2, 1, 6), "rope_cache": slower(6, 1)},
        "one token, longer cache": {"x": draw(2, 3, 1, 8), "rope_cache": slower(8, 5)},
        "one head": {"x": draw(2, 1, 6, 4), "rope_cache": slower(4, 11)},
        "as many tokens as pairs": {"x": draw(2, 3, 4, 8), "rope_cache": slower(8, 4)},
        "float64": {"x": draw(2, 3, 5, 8, dtype=DOUBLE), "rope_cache": slower(8, 7)},
        "not contiguous": {"x": laid_out(draw(2, 3, 5, 10), (0, 2, 1, 3)), "rope_cache": slower(10, 5)},
        "far away": {"x": draw(1, 1, 512, 4), "rope_cache": slower(4, 512)},
    }


def _causal_self_attention(public: bool, draw: Draw) -> Cases:
    def case(
        batch: int,
        tokens: int,
        width: int,
        heads: int,
        block: int,
        rope: bool,
        dtype: torch.dtype = torch.float32,
    ) -> Inputs:
        inputs: Inputs = {"x": draw(batch, tokens, width, dtype=dtype)}
        for name in WEIGHTS:
            shape = (width, width) if name.endswith("weight") else (width,)
            inputs[name] = draw(*shape, scale=width**-0.5, dtype=dtype)
        return inputs | {"n_embd": width, "n_head": heads, "block_size": block, "rope": rope}

    def readable(inputs: Inputs) -> Inputs:
        """Tokens that only say where they stand, and values that are handed on as they are."""
        nothing = {name: torch.zeros(12) for name in WEIGHTS if name.endswith("bias")}
        sharp = {f"{name}.weight": draw(12, 12) for name in ("key", "query")}
        same = {f"{name}.weight": torch.eye(12) for name in ("value", "proj")}
        return inputs | nothing | sharp | same | {"x": one_hot(1, 5, 2, 6)}

    if public:
        return {
            "no rotation": case(2, 5, 12, 3, 7, rope=False),
            "with RoPE": case(2, 5, 12, 3, 7, rope=True),
            "one token": case(3, 1, 8, 2, 5, rope=True),
            MAP: readable(case(1, 5, 12, 2, 8, rope=True)),
            "float64": case(2, 4, 6, 3, 5, rope=True, dtype=DOUBLE),
            "not contiguous": not_contiguous(case(2, 4, 6, 3, 5, rope=True)),
        }
    return {
        "two heads": case(3, 4, 10, 2, 6, rope=False),
        "no rotation": case(2, 7, 12, 3, 9, rope=False),
        "RoPE": case(2, 5, 24, 3, 11, rope=True),
        "RoPE, full block": case(3, 7, 8, 2, 7, rope=True),
        "RoPE, one head": case(3, 5, 4, 1, 8, rope=True),
        "RoPE, many heads": case(3, 6, 10, 5, 16, rope=True),
        "one token": case(4, 1, 6, 3, 5, rope=False),
        "float64": case(2, 5, 12, 3, 8, rope=False, dtype=DOUBLE),
        "RoPE, float64": case(2, 6, 20, 5, 8, rope=True, dtype=DOUBLE),
        "not contiguous": not_contiguous(case(3, 5, 8, 2, 6, rope=True)),
        "long": case(2, 32, 24, 4, 40, rope=True),
    }


def _span_corruption(public: bool, draw: Draw) -> Cases:
    """Documents, what each is used for, and how many examples of one are drawn where few leave a doubt."""

    def case(text: str, block_size: int, document: int, use: str, **counts: int) -> Inputs:
        named = {name.replace("_", " "): count for name, count in counts.items()}
        return {"text": text, "block_size": block_size, "document": document, "use": use, **named}

    if public:
        sentences = (
            "Lovelace wrote the first program, long before there was a machine.\n"
            "Born in Vienna, Hedy Lamarr was an inventor and a film star.\n"
            "Hopper found a moth.\n"  # shorter than 35 characters, the most that may be kept
            "  Sophie Kowalski             \n"
            "ab\n"  # and the final newline makes an empty last document
        )
        return {
            "a long document": case(sentences, 40, 0, "form", examples=12),
            "another long one": case(sentences, 40, 1, "usual", for_shares=2500, for_variety=600),
            "a shorter one": case(sentences, 40, 2, "shorter"),
            "spaces around it": case(sentences, 40, 3, "spacious"),
            "two characters": case(sentences, 40, 4, "short"),
            "no characters": case(sentences, 40, 5, "short"),
        }
    # Letters in an order without repetitions of length 4, so that a piece tells where it came from.
    long = (
        "Qx7bv neJ,orTl Wk.zu0iYp-aHd gMs4Fc!RtyDhE qLwGfB2K mPjS'UXo"
        "Ca9 NVr;ZeIu 5AtOb?lWy3 d(nG)k1 JxQ8 fMvH6zcTp/RsE:iB uDq"
    )
    both = f"{long}\n{long[::-1]}"
    small = f"{both}\nköln ü√∞é liegt nah!\n   Abc dEf gHi jKl            \n\nx\nyz\nabc"
    return {
        "long": case(small, 50, 0, "form", examples=8),
        "backwards": case(small, 50, 1, "form"),
        "a larger block": case(both, 128, 0, "form"),
        "usual": case(both, 40, 0, "usual", for_shares=4000, for_variety=1500),
        "shorter": case(small, 50, 2, "shorter"),
        "spaces around it": case(small, 50, 3, "spacious"),
        **{f"{count} characters": case(small, 50, 4 + count, "short") for count in range(4)},
    }


CASEBOOK: Mapping[str, Callable[[bool, Draw], Cases]] = {
    "pairwise_similarities": _pairwise_similarities,
    "attn_scaled": _attn_scaled,
    "attn_softmax": _attn_softmax,
    "compute_outputs": _compute_outputs,
    "make_causal_mask": _make_causal_mask,
    "apply_causal_mask": _apply_causal_mask,
    "split_heads": _split_heads,
    "merge_heads": _merge_heads,
    "self_attention": _self_attention,
    "precompute_rotary_emb": _precompute_rotary_emb,
    "apply_rotary_emb": _apply_rotary_emb,
    "causal_self_attention": _causal_self_attention,
    "span_corruption": _span_corruption,
}

# Exercises through which gradients must flow, and to which inputs.
DIFFERENTIATED: Mapping[str, tuple[str, ...]] = {
    "self_attention": ("Q", "K", "V"),
    "apply_rotary_emb": ("x",),
    "causal_self_attention": ("x", "key.weight", "query.weight", "value.weight", "proj.weight"),
}


def cases_for(exercise: str, part: str) -> Cases:
    """All inputs of one exercise and part."""
    return CASEBOOK[exercise](part == "public", Draw(f"{exercise}/{part}"))
