"""A student of the original course: its model, saved by torch.save with its buffers, and its evaluation, one question
at a time, in which everything is computed anew for every character. It is written from what is known of the original.

`submission(world, ...)` trains the three models for a few steps and predicts with them.
"""

from __future__ import annotations

import io
import random
from collections.abc import Mapping
from typing import Any

import torch
from torch.nn.functional import cross_entropy

MODEL = """
import math

import torch
import torch.nn as nn
from torch.nn import functional as F


class GPTConfig:
    embd_pdrop = resid_pdrop = attn_pdrop = 0.1
    rope = False

    def __init__(self, vocab_size, block_size, **kwargs):
        self.vocab_size, self.block_size = vocab_size, block_size
        for k, v in kwargs.items():
            setattr(self, k, v)


class CausalSelfAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.key = nn.Linear(config.n_embd, config.n_embd)
        self.query = nn.Linear(config.n_embd, config.n_embd)
        self.value = nn.Linear(config.n_embd, config.n_embd)
        self.rope = config.rope
        size = config.n_embd // config.n_head
        if self.rope:
            t = torch.arange(config.block_size)[:, None] * 10000.0 ** (-torch.arange(0, size, 2) / size)
            self.register_buffer("rope_cache", torch.stack((t.cos(), t.sin()), -1))
        self.attn_drop = nn.Dropout(config.attn_pdrop)
        self.resid_drop = nn.Dropout(config.resid_pdrop)
        self.proj = nn.Linear(config.n_embd, config.n_embd)
        self.register_buffer(
            "mask", torch.tril(torch.ones(config.block_size, config.block_size)).view(1, 1, config.block_size, -1)
        )
        self.n_head = config.n_head

    def turn(self, x):
        c, s = self.rope_cache[: x.size(2)].unbind(-1)
        a, b = x[..., ::2], x[..., 1::2]
        return torch.stack((a * c - b * s, a * s + b * c), -1).flatten(3)

    def forward(self, x):
        B, T, C = x.size()
        k, q, v = (f(x).view(B, T, self.n_head, -1).transpose(1, 2) for f in (self.key, self.query, self.value))
        if self.rope:
            q, k = self.turn(q), self.turn(k)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.mask[:, :, :T, :T] == 0, -1e10)
        y = self.attn_drop(F.softmax(att, dim=-1)) @ v
        return self.resid_drop(self.proj(y.transpose(1, 2).contiguous().view(B, T, C)))


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.ln1 = nn.LayerNorm(config.n_embd)
        self.ln2 = nn.LayerNorm(config.n_embd)
        self.attn = CausalSelfAttention(config)
        self.mlp = nn.Sequential(
            nn.Linear(config.n_embd, 4 * config.n_embd),
            nn.GELU(),
            nn.Linear(4 * config.n_embd, config.n_embd),
            nn.Dropout(config.resid_pdrop),
        )

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.tok_emb = nn.Embedding(config.vocab_size, config.n_embd)
        if not config.rope:
            self.pos_emb = nn.Parameter(torch.zeros(1, config.block_size, config.n_embd))
        self.drop = nn.Dropout(config.embd_pdrop)
        self.blocks = nn.Sequential(*[Block(config) for _ in range(config.n_layer)])
        self.ln_f = nn.LayerNorm(config.n_embd)
        self.head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.block_size, self.rope = config.block_size, config.rope

    def forward(self, idx):
        x = self.tok_emb(idx)
        if not self.rope:
            x = x + self.pos_emb[:, : idx.size(1), :]
        return self.head(self.ln_f(self.blocks(self.drop(x))))


@torch.no_grad()
def sample(model, x, steps):
    model.eval()
    for _ in range(steps):
        logits = model(x[:, -model.block_size :])[:, -1, :]
        x = torch.cat((x, F.softmax(logits, dim=-1).topk(1)[1]), dim=1)
    return x


def predict(model, stoi, line):
    itos = list(stoi)
    x = torch.tensor([stoi[s] for s in line.split("\\t")[0] + "\\u2047"])[None]
    return "".join(itos[int(i)] for i in sample(model, x, 32)[0]).split("\\u2047")[1]


def vocabulary(text):
    return {ch: i for i, ch in enumerate(["\\u25A1", "\\u2047", *sorted(set(text))])}
"""
RUN = """
import argparse

import torch
from tqdm import tqdm

from model import GPT, GPTConfig, predict, vocabulary

argp = argparse.ArgumentParser()
for name in ("function", "variant", "pretrain_corpus_path"):
    argp.add_argument(name)
for name in ("reading_params_path", "eval_corpus_path", "outputs_path"):
    argp.add_argument(f"--{name}")
args = argp.parse_args()
stoi = vocabulary(open(args.pretrain_corpus_path, encoding="utf-8").read())
config = GPTConfig(len(stoi), BLOCK, n_layer=LAYERS, n_head=HEADS, n_embd=WIDTH, rope=args.variant == "rope")
model = GPT(config)
model.load_state_dict(torch.load(args.reading_params_path))
with open(args.outputs_path, "w", encoding="utf-8") as fout:
    for line in tqdm(open(args.eval_corpus_path, encoding="utf-8")):
        fout.write(predict(model, stoi, line) + "\\n")
"""
VARIANTS = {
    "vanilla.model": "vanilla.nopretrain",
    "vanilla.finetune": "vanilla.pretrain",
    "rope.finetune": "rope.pretrain",
}


def code() -> dict[str, Any]:
    """The names of src/model.py."""
    names: dict[str, Any] = {}
    exec(MODEL, names)
    return names


def trained(world: Mapping[str, Any], steps: int, seed: int, **sizes: Any) -> Any:
    """A model that has seen some of the answers a few times."""
    student = code()
    torch.manual_seed(seed)
    stoi = student["vocabulary"](world["vocabulary"])
    model = student["GPT"](student["GPTConfig"](len(stoi), **sizes))
    known = [*((f"{q}\u2047", place) for q, place in world["dev"]), *((f"{q}\n\u2047", p) for q, p in world["test"])]
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3)
    draw = random.Random(seed)
    for _ in range(steps):
        texts = [(q, f"{place}\u2047") for q, place in draw.sample(known, 16)]
        longest = max(len(q + a) for q, a in texts)
        codes = torch.tensor([[stoi[c] for c in (q + a).ljust(longest, "\u25a1")] for q, a in texts])
        targets = codes[:, 1:].clone()
        for row, (q, _) in enumerate(texts):
            targets[row, : len(q) - 1] = 0
        loss = cross_entropy(model(codes[:, :-1]).flatten(0, 1), targets.flatten(), ignore_index=0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()


def saved(state: Mapping[str, Any]) -> bytes:
    content = io.BytesIO()
    torch.save(state, content)
    return content.getvalue()


def submission(
    world: Mapping[str, Any], steps: int = 60, width: int = 64, layers: int = 2, heads: int = 8, block: int = 128
) -> dict[str, bytes]:
    """All that is handed in, made as the original's own code does it."""
    student = code()
    stoi = student["vocabulary"](world["vocabulary"])
    run = RUN.replace("BLOCK", str(block)).replace("LAYERS", str(layers)).replace("HEADS", str(heads))
    files = {"src/model.py": MODEL.encode(), "src/run.py": run.replace("WIDTH", str(width)).encode()}
    lines = {"dev": [f"{q}\t{p}\n" for q, p in world["dev"]], "test": [f"{q}\n" for q, _ in world["test"]]}
    for number, (params, predictions) in enumerate(VARIANTS.items()):
        sizes = {"block_size": block, "n_layer": layers, "n_head": heads, "n_embd": width, "rope": "rope" in params}
        model = trained(world, steps, number, **sizes)
        files[f"{params}.params"] = saved(model.state_dict())
        for split, questions in lines.items():
            made = "".join(f"{student['predict'](model, stoi, line)}\n" for line in questions)
            files[f"{predictions}.{split}.predictions"] = made.encode()
    return files
