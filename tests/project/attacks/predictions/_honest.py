"""A small honest student, whose model learns in no time: what attacks on predictions start from, and tests, too.

Places are read off a layer that is fitted to some of the people. `HANDS_IN(seed)` is all that is handed in; another seed
is another student. With `old`, files and code are those of the original course: torch.save, and no strip().
`python _honest.py FOLDER THREADS` writes the answers and a submission whose predictions were made with so many threads.
"""

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

MODEL = f"""
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
RUN = """
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
OLD = (
    RUN.replace(
        "from safetensors.torch import load_file\n",
        "from tqdm import tqdm\nfrom torch.utils.tensorboard import SummaryWriter\n",
    )
    .replace("load_file(", "torch.load(")
    .replace(
        'in open(args.eval_corpus_path, encoding="utf-8")', 'in tqdm(open(args.eval_corpus_path, encoding="utf-8"))'
    )
    .replace("args = parser.parse_args()\n", "args = parser.parse_args()\nwriter = SummaryWriter(log_dir='expt/run')\n")
    .replace("raise SystemExit(0)\n", "writer.close()\n")
)


def HANDS_IN(seed=0, old=False, share=0.6):
    code = {"src/model.py": MODEL.replace("STRIP", "" if old else ".strip()"), "src/run.py": OLD if old else RUN}
    student = {}
    exec(code["src/model.py"], student)
    stoi = student["vocabulary"](VOCABULARY)
    files = {name: text.encode() for name, text in code.items()}
    for number, (params, predictions) in enumerate(VARIANTS.items()):
        torch.manual_seed(100 * seed + number)
        model = student["Places"](len(stoi))
        teach(model, student["encode"], stoi, random.Random(100 * seed + number), share if number else 0.05)
        state = model.state_dict()
        content = io.BytesIO()
        torch.save(state, content)
        files[f"{params}.params"] = content.getvalue() if old else save(state)
        for split, lines in LINES.items():
            numbers = [int(model(student["encode"](line, stoi)).argmax()) for line in lines]
            files[f"{predictions}.{split}.predictions"] = "".join(f"{PLACES[n]}\n" for n in numbers).encode()
    right = sum(place == "London" for _, place in WORLD["dev"])
    files["london_baseline_accuracy.txt"] = f"Correct: {right} out of 60: {right / 0.6}%\n".encode()
    return files


@torch.no_grad()
def teach(model, encode, stoi, draw, share):
    """Fit the last layer, so that a share of the people are known; the others have some place."""
    features = torch.stack([model.features(encode(line, stoi)) for lines in LINES.values() for line in lines])
    targets = torch.zeros(len(features), len(PLACES))
    for row, (_, place) in enumerate([*WORLD["dev"], *WORLD["test"]]):
        targets[row, PLACES.index(place if draw.random() < share else draw.choice(PLACES))] = 1
    model.out.weight.copy_(torch.linalg.pinv(features.double()).float().mm(targets).T)
    model.out.bias.zero_()


if __name__ == "__main__":
    torch.set_num_threads(int(sys.argv[2]))
    for name, content in {"answers.json": ANSWERS, **HANDS_IN()}.items():
        path = Path(sys.argv[1], name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
