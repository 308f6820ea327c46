"""A GPT over characters: embeddings, blocks of attention and MLP, and a head for the next character. (Given.)"""

from __future__ import annotations

from dataclasses import dataclass

import look_back
import torch
from attention import CausalSelfAttention
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

PAD = 0  # the number of PAD_CHAR in every vocabulary; never counts in the loss


@dataclass(frozen=True)
class GPTConfig:
    """What a model looks like. CausalSelfAttention reads n_embd, n_head, block_size, the dropouts and rope."""

    vocab_size: int
    block_size: int
    n_layer: int
    n_head: int
    n_embd: int
    attn_pdrop: float = 0.0
    resid_pdrop: float = 0.0
    embd_pdrop: float = 0.0
    rope: bool = False  # turn queries and keys by their position, instead of learning a vector for each position


class Block(nn.Module):
    """Attention, then an MLP; each reads a normalised copy of x and adds to x."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.ln1 = nn.LayerNorm(config.n_embd)
        self.attn = CausalSelfAttention(config)
        self.ln2 = nn.LayerNorm(config.n_embd)
        self.mlp = nn.Sequential(
            nn.Linear(config.n_embd, 4 * config.n_embd),
            nn.GELU(),
            nn.Linear(4 * config.n_embd, config.n_embd),
            nn.Dropout(config.resid_pdrop),
        )

    def forward(self, x: Tensor) -> Tensor:  # (batch, tokens, n_embd), in and out
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    """Reads characters, and says for each which one follows."""

    pos_emb: nn.Parameter | None

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.config = config
        self.tok_emb = nn.Embedding(config.vocab_size, config.n_embd)
        # With RoPE, positions enter in the attention alone.
        self.pos_emb = None if config.rope else nn.Parameter(torch.empty(1, config.block_size, config.n_embd))
        self.drop = nn.Dropout(config.embd_pdrop)
        self.blocks = nn.Sequential(*(Block(config) for _ in range(config.n_layer)))
        self.ln_f = nn.LayerNorm(config.n_embd)
        self.head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        for name, parameter in self.named_parameters():
            if parameter.ndim >= 2:
                nn.init.normal_(parameter, std=0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)
        look_back.begin(self)

    def embed(self, idx: Tensor, start: int | Tensor = 0) -> Tensor:
        """Vectors for characters that stand at positions start, start + 1, ...: (batch, tokens, n_embd)."""
        x = self.tok_emb(idx)
        if self.pos_emb is not None:
            positions = torch.arange(idx.size(1), device=idx.device) + start  # (tokens,), or (batch, tokens)
            x = x + self.pos_emb[0, positions]
        return self.drop(x)

    def hidden(self, idx: Tensor) -> Tensor:
        """What the last block makes of each character: (batch, tokens, n_embd)."""
        if idx.size(1) > self.config.block_size:
            raise ValueError(f"{idx.size(1)} characters, but the model has room for {self.config.block_size}")
        return self.ln_f(self.blocks(self.embed(idx)))

    def forward(self, idx: Tensor) -> Tensor:
        """(batch, tokens) numbers of characters -> (batch, tokens, vocab_size) scores for what follows each."""
        return self.head(self.hidden(idx))

    def loss(self, idx: Tensor, targets: Tensor) -> Tensor:
        """The mean surprise at the targets that are not PAD; scores are computed for those alone."""
        counts = targets != PAD
        return cross_entropy(self.head(self.hidden(idx)[counts]), targets[counts])
