"""How attention begins: the heads of the first block look 1, 2, 3, ... characters back. (Given.)

A new model does not know where anything stands, and finds out slowly. This start saves it that time. Learned positions
and RoPE get the same one, so that comparing them is fair.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from model import GPT

STRENGTH = 4.0
SLOWEST = 0.03  # slower angles hardly tell neighbours apart
AMPLITUDE = 0.04  # of the positions, beside characters of 0.02


def _turned(theta: Tensor, steps: Tensor | int) -> Tensor:
    """cos and sin of every angle, side by side as pairs: (..., size)."""
    angle = torch.as_tensor(steps)[..., None] * theta
    return torch.stack((angle.cos(), angle.sin()), dim=-1).flatten(-2)


@torch.no_grad()
def begin(model: GPT) -> None:
    """Queries and keys whose scores depend on the distance alone, highest d characters back in head d - 1.

    With RoPE, constant queries and keys (their biases) are turned by their positions. With learned positions, the
    positions begin as the same turned pairs, and the projections of queries and keys read them.
    """
    config, attention = model.config, model.blocks[0].attn
    size = config.n_embd // config.n_head
    theta = 10000 ** (-torch.arange(0, size, 2) / size)  # (size / 2,)
    heard = (theta > SLOWEST).float().repeat_interleave(2)  # (size,)
    if model.pos_emb is not None:
        positions = _turned(theta, torch.arange(config.block_size))  # (block_size, size)
        model.pos_emb[0, :, :size] = AMPLITUDE * positions
        model.pos_emb[0, :, size:] = 0
        model.tok_emb.weight[:, :size] = 0  # characters begin in the other features
        share = size / config.n_embd
        spread = (0.02**2 * (1 - share) + AMPLITUDE**2 / 2 * share) ** 0.5  # by which the first LayerNorm divides
        gain = STRENGTH * spread / AMPLITUDE
    for head in range(config.n_head):
        rows = slice(head * size, (head + 1) * size)
        back = -(head + 1)
        if config.rope:
            unturned = _turned(theta, 0)
            attention.key.bias[rows] = STRENGTH * heard * unturned
            attention.query.bias[rows] = STRENGTH * heard * _turned(theta, back)
        else:
            cos, sin = (_turned(theta, back).unflatten(0, (-1, 2))).unbind(-1)  # of each pair
            turn = torch.block_diag(*(torch.tensor([[c, -s], [s, c]]) for c, s in zip(cos, sin, strict=True)))
            attention.key.weight[rows, :size] = gain * torch.diag(heard)
            attention.query.weight[rows, :size] = gain * heard[:, None] * turn
