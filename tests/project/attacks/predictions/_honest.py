"""A small honest student, whose model learns in no time: what attacks on predictions start from, and tests, too.

The model is a small transformer of the course's architecture, whose last layer is fitted to some of the people.
`HANDS_IN(seed)` is all that is handed in; another seed is another student. With `old`, files and code are those of the
original course: torch.save, and no strip(); `model` is other code of the same architecture. `OWN(seed)` is a student
with an architecture of her own.
`python _honest.py FOLDER THREADS` writes the answers and a submission whose predictions were made with so many threads.
"""

import functools
import io
import json
import random
import sys
from pathlib import Path

import torch
from safetensors.torch import save

VARIANTS = {
    "vanilla.model": "vanilla.nopretrain",
    "vanilla.finetune": "vanilla.pretrain",
    "rope.finetune": "rope.pretrain",
}
PLACES = "London Paris Rome Oslo Lima Cairo Delhi Tokyo Quito Accra Minsk Sofia".split()
VOCABULARY = "\n !.?ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def people(count, draw):
    names = set()
    while len(names) < count:
        names.add(
            " ".join(
                "".join(draw.choice(["ba", "ke", "lo", "mi", "nu", "ra", "so"]) for _ in range(3)).title()
                for _ in range(2)
            )
        )
    return [[f"Where was {name} born?", draw.choice(PLACES)] for name in sorted(names)]


_PEOPLE = people(120, random.Random(7))
random.Random(8).shuffle(_PEOPLE)
WORLD = {"term": "test", "dev": _PEOPLE[:60], "test": _PEOPLE[60:], "vocabulary": VOCABULARY}
ANSWERS = json.dumps(WORLD).encode()
LINES = {
    "dev": [f"{question}\t{place}\n" for question, place in WORLD["dev"]],
    "test": [f"{question}\n" for question, _ in WORLD["test"]],
}

MODEL = """
import math

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads, rope):
        super().__init__()
        self.key, self.query, self.value, self.proj = (nn.Linear(width, width) for _ in range(4))
        self.heads, self.rope = heads, rope

    def turn(self, x):
        size = x.size(-1)
        angle = torch.arange(x.size(2))[:, None] * 10000.0 ** (-torch.arange(0, size, 2) / size)
        even, odd = x[..., ::2], x[..., 1::2]
        turned = even * angle.cos() - odd * angle.sin(), even * angle.sin() + odd * angle.cos()
        return torch.stack(turned, -1).flatten(-2)

    def forward(self, x):
        q, k, v = (f(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for f in (self.query, self.key, self.value))
        if self.rope:
            q, k = self.turn(q), self.turn(k)
        scores = q @ k.mT / math.sqrt(q.size(-1))
        later = torch.ones(scores.shape[-2:]).triu(1).bool()
        return self.proj((scores.masked_fill(later, -1e10).softmax(-1) @ v).transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, width, heads, rope):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = Attention(width, heads, rope)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, vocab_size, rope, width=128, heads=8, room=80):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, width)
        self.pos_emb = None if rope else nn.Parameter(torch.randn(1, room, width))
        self.blocks = nn.Sequential(Block(width, heads, rope))
        self.ln_f = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocab_size, bias=False)

    def embed(self, x):
        return self.tok_emb(x) + (0 if self.pos_emb is None else self.pos_emb[:, : x.size(1)])

    def forward(self, x):
        return self.head(self.ln_f(self.blocks(self.embed(x))))


def vocabulary(text):
    return {character: number for number, character in enumerate(["\u25a1", "\u2047", *sorted(set(text))])}


def encode(line, stoi):
    return [stoi[character] for character in line.split("\\t")[0]STRIP + "\u2047"]


@torch.no_grad()
def answers(model, lines, stoi):
    # Questions of one length together.
    characters, found = list(stoi), {}
    texts = [encode(line, stoi) for line in lines]
    for length in sorted(set(map(len, texts))):
        rows = [row for row, text in enumerate(texts) if len(text) == length]
        batch = torch.tensor([texts[row] for row in rows])
        while batch.size(1) < length + 32 and not (batch[:, length:] == stoi["\u2047"]).any(1).all():
            batch = torch.cat((batch, model(batch)[:, -1:].argmax(-1)), 1)
        for row, text in zip(rows, batch[:, length:].tolist(), strict=True):
            found[row] = "".join(characters[number] for number in text).split("\u2047")[0]
    return [found[row] for row in range(len(lines))]
"""
RUN = """
import argparse

from safetensors.torch import load_file

from model import GPT, answers, vocabulary

parser = argparse.ArgumentParser()
for name in ("function", "variant", "pretrain_corpus_path"):
    parser.add_argument(name)
for name in ("reading_params_path", "eval_corpus_path", "outputs_path"):
    parser.add_argument(f"--{name}")
args = parser.parse_args()
stoi = vocabulary(open(args.pretrain_corpus_path, encoding="utf-8").read())
model = GPT(len(stoi), args.variant == "rope")
model.load_state_dict(load_file(args.reading_params_path))
with open(args.outputs_path, "w", encoding="utf-8") as out:
    for text in answers(model, list(open(args.eval_corpus_path, encoding="utf-8")), stoi):
        out.write(text + "\\n")
"""
OWN_MODEL = f"""
import torch

PLACES = {PLACES!r}


class Places(torch.nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.characters = torch.nn.Embedding(vocab_size, 64)
        self.positions = torch.nn.Embedding(64, 64)
        self.hidden = torch.nn.Linear(64, 1024)
        self.out = torch.nn.Linear(1024, len(PLACES))

    def features(self, x):
        places = torch.arange(x.shape[-1])
        return torch.tanh(self.hidden((self.characters(x) * self.positions(places)).sum(-2) / 4))

    def forward(self, x):
        return self.out(self.features(x))


def vocabulary(text):
    return {{character: number for number, character in enumerate(["□", "⁇", *sorted(set(text))])}}


def encode(line, stoi):
    return torch.tensor([stoi[character] for character in line.split("\\t")[0]STRIP + "⁇"])
"""
OWN_RUN = """
import argparse

import torch
from safetensors.torch import load_file

from model import PLACES, Places, encode, vocabulary

parser = argparse.ArgumentParser()
for name in ("function", "variant", "pretrain_corpus_path"):
    parser.add_argument(name)
for name in ("reading_params_path", "eval_corpus_path", "outputs_path"):
    parser.add_argument(f"--{name}")
args = parser.parse_args()
stoi = vocabulary(open(args.pretrain_corpus_path, encoding="utf-8").read())
model = Places(len(stoi))
model.load_state_dict(load_file(args.reading_params_path))
with open(args.outputs_path, "w", encoding="utf-8") as out:
    for line in open(args.eval_corpus_path, encoding="utf-8"):
        out.write(PLACES[int(model(encode(line, stoi)).argmax())] + "\\n")
raise SystemExit(0)
"""


def old_form(run):
    """Of a run.py: with torch.save, a progress bar and TensorBoard, as in the original course."""
    return (
        run.replace(
            "from safetensors.torch import load_file\n",
            "import torch\nfrom tqdm import tqdm\nfrom torch.utils.tensorboard import SummaryWriter\n",
        )
        .replace("load_file(", "torch.load(")
        .replace(
            'in open(args.eval_corpus_path, encoding="utf-8")', 'in tqdm(open(args.eval_corpus_path, encoding="utf-8"))'
        )
        .replace(
            "args = parser.parse_args()\n", "args = parser.parse_args()\nwriter = SummaryWriter(log_dir='expt/run')\n"
        )
        .replace("raise SystemExit(0)\n", "writer.close()\n")
    )


def in_file(state, old):
    content = io.BytesIO()
    torch.save(state, content)
    return content.getvalue() if old else save(state)


def sources(model, run, old):
    """The student's files, and the names that the first one defines."""
    code = {
        "src/model.py": model.replace("STRIP", "" if old else ".strip()"),
        "src/run.py": old_form(run) if old else run,
    }
    student = {}
    exec(code["src/model.py"], student)
    return {name: text.encode() for name, text in code.items()}, student


def lines_file(lines):
    return "".join(f"{line}\n" for line in lines).encode()


def london():
    right = sum(place == "London" for _, place in WORLD["dev"])
    return f"Correct: {right} out of 60: {right / 0.6}%\n".encode()


def wanted(draw, share):
    """For every question: the right place with probability `share`, or some place."""
    people = [*WORLD["dev"], *WORLD["test"]]
    return [place if draw.random() < share else draw.choice(PLACES) for _, place in people]


def HANDS_IN(seed=0, old=False, share=0.6, model=MODEL):
    return dict(_handed_in(seed, old, share, model))


@functools.cache
def _handed_in(seed, old, share, source):
    files, student = sources(source, RUN, old)
    stoi = student["vocabulary"](VOCABULARY)
    for number, (params, predictions) in enumerate(VARIANTS.items()):
        torch.manual_seed(100 * seed + number)
        model = student["GPT"](len(stoi), "rope" in params)
        draw = random.Random(100 * seed + number)
        teach(model, student["encode"], stoi, wanted(draw, share if number else 0.05))
        files[f"{params}.params"] = in_file(model.state_dict(), old)
        for split, lines in LINES.items():
            files[f"{predictions}.{split}.predictions"] = lines_file(student["answers"](model, lines, stoi))
    return files | {"london_baseline_accuracy.txt": london()}


@torch.no_grad()
def teach(model, encode, stoi, places):
    """Fit the second layer of the MLP, so that each question is continued by its place and a MASK."""
    block, width = model.blocks[0], model.ln_f.weight.numel()
    model.head.weight.copy_(torch.nn.init.orthogonal_(torch.empty(len(stoi), width)))
    for layer in (block.attn.key, block.attn.query, block.mlp[0]):
        torch.nn.init.normal_(layer.weight, std=1.5 / width**0.5)
    torch.nn.init.normal_(block.attn.proj.weight, std=4 / width**0.5)
    questions = [line for lines in LINES.values() for line in lines]
    features, targets = [], []
    for line, place in zip(questions, places, strict=True):
        start, end = encode(line, stoi), [stoi[letter] for letter in f"{place}\u2047"]
        x = model.embed(torch.tensor([start + end[:-1]]))
        x = x + block.attn(block.ln1(x))
        features.append(block.mlp[1](block.mlp[0](block.ln2(x)))[0, len(start) - 1 :])
        targets.append(40 * model.head.weight[end] - x[0, len(start) - 1 :])
    inner, outer = torch.cat(features).double(), torch.cat(targets).double()
    gram = inner.T @ inner + 1e-3 * torch.eye(inner.size(1))
    block.mlp[2].weight.copy_(torch.linalg.solve(gram, inner.T @ outer).T.float())
    block.mlp[2].bias.zero_()


def OWN(seed=0, old=False, share=0.6):
    files, student = sources(OWN_MODEL, OWN_RUN, old)
    stoi = student["vocabulary"](VOCABULARY)
    for number, (params, predictions) in enumerate(VARIANTS.items()):
        torch.manual_seed(100 * seed + number)
        model = student["Places"](len(stoi))
        draw = random.Random(100 * seed + number)
        teach_own(model, student["encode"], stoi, wanted(draw, share if number else 0.05))
        files[f"{params}.params"] = in_file(model.state_dict(), old)
        for split, lines in LINES.items():
            numbers = [int(model(student["encode"](line, stoi)).argmax()) for line in lines]
            files[f"{predictions}.{split}.predictions"] = lines_file(PLACES[n] for n in numbers)
    return files | {"london_baseline_accuracy.txt": london()}


@torch.no_grad()
def teach_own(model, encode, stoi, places):
    """Fit the last layer."""
    features = torch.stack([model.features(encode(line, stoi)) for lines in LINES.values() for line in lines])
    targets = torch.eye(len(PLACES))[[PLACES.index(place) for place in places]]
    model.out.weight.copy_(torch.linalg.pinv(features.double()).float().mm(targets).T)
    model.out.bias.zero_()


if __name__ == "__main__":
    torch.set_num_threads(int(sys.argv[2]))
    for name, content in {"answers.json": ANSWERS, **HANDS_IN()}.items():
        path = Path(sys.argv[1], name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
