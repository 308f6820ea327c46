"""How long it takes to know birthplaces, and how the variants differ.

python benchmarks/training.py                   the RoPE pipeline by its own commands, against the original recipe
python benchmarks/training.py --separation 3    instead: no pretraining, vanilla and RoPE with so many seeds
python benchmarks/training.py --separation 3 --start plain    the same without the start of look_back.py
python benchmarks/training.py --corpus FOLDER   instead: RoPE on another corpus, such as the original course's files

Works in a folder of its own, on the corpus in data/ unless another is given.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "solutions" / "src")]

import checkpoints  # noqa: E402
import run  # noqa: E402
import torch  # noqa: E402
from dataset import MASK_CHAR, CharCorruptionDataset, NameDataset, encode  # noqa: E402
from decoding import LONGEST_ANSWER, answer, complete  # noqa: E402
from london_baseline import accuracy_of  # noqa: E402
from model import GPT  # noqa: E402
from recipes import RECIPES, Recipe, recipe_for  # noqa: E402
from trainer import Trainer, batches, optimizers  # noqa: E402

from autograder.checking.predictions import accuracy, lines_of  # noqa: E402
from autograder.judging.held_out import read_answers  # noqa: E402
from autograder.publishing.terms import answers_file  # noqa: E402

FAST = RECIPES["fast"]
WARM_UP = 2  # steps that are not timed
BY_HAND = 20  # questions that the original loop answers; the rest is multiplied out
# In place of look_back.py: nothing is set by hand.
PLAIN = """
def begin(model: object) -> None:
    pass
"""


class Place:
    """A folder with src/ and data/, as students have it, in which their commands are run."""

    def __init__(self, folder: Path, threads: int = 0, data: Path = ROOT / "data", plain: bool = False) -> None:
        self.folder, self.threads = folder, threads
        shutil.copytree(ROOT / "solutions" / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
        (folder / "data").mkdir()
        for name in ("wiki.txt", "birth_places_train.tsv", "birth_dev.tsv", "birth_test_inputs.tsv"):
            shutil.copyfile(data / name, folder / "data" / name)
        if plain:
            (folder / "src" / "look_back.py").write_text(PLAIN, encoding="utf-8")
        self.questions = read_answers(answers_file(ROOT / "data")).test

    def run(self, *arguments: str) -> tuple[float, str]:
        """Seconds, and what was printed."""
        began = time.monotonic()
        command = [sys.executable, "src/run.py", *arguments]
        shown = subprocess.DEVNULL if self.threads else None  # several progress bars at once help nobody
        threads = {"OMP_NUM_THREADS": str(self.threads)} if self.threads else {}
        environment = {**os.environ, **threads}
        done = subprocess.run(
            command, cwd=self.folder, stdout=subprocess.PIPE, stderr=shown, env=environment, text=True, check=True
        )
        return time.monotonic() - began, done.stdout

    def train(self, variant: str, seed: int, pretrained: bool = True) -> tuple[float, float]:
        """Seconds of pretraining and of finetuning."""
        seeded = ["--seed", str(seed)]
        pretraining = 0.0
        reading: list[str] = []
        if pretrained:
            pretraining, _ = self.run(
                "pretrain", variant, "data/wiki.txt", "--writing_params_path", f"{variant}.pretrain.params", *seeded
            )
            reading = ["--reading_params_path", f"{variant}.pretrain.params"]
        finetuning, _ = self.run(
            *("finetune", variant, "data/wiki.txt", "--finetune_corpus_path", "data/birth_places_train.tsv"),
            *("--writing_params_path", f"{variant}.finetune.params", *reading, *seeded),
        )
        return pretraining, finetuning

    def dev_accuracy(self, variant: str) -> float:
        """Per cent right on dev."""
        _, said = self._evaluate(variant, "birth_dev.tsv")
        return float(re.search(r": ([\d.]+)%", said)[1])  # type: ignore[index]

    def _evaluate(self, variant: str, questions: str) -> tuple[float, str]:
        params = ("--reading_params_path", f"{variant}.finetune.params", "--outputs_path", "predictions")
        return self.run("evaluate", variant, "data/wiki.txt", *params, "--eval_corpus_path", f"data/{questions}")

    def accuracy(self, variant: str) -> tuple[float, float, float]:
        """Per cent right on dev and on test, and the seconds that the latter took."""
        dev = self.dev_accuracy(variant)
        seconds, _ = self._evaluate(variant, "birth_test_inputs.tsv")
        predictions = lines_of((self.folder / "predictions").read_text("utf-8"))
        return dev, 100 * accuracy(predictions, self.questions), seconds


def data(name: str) -> str:
    return (ROOT / "data" / name).read_text("utf-8")


def fresh(recipe: Recipe, corpus: CharCorruptionDataset, variant: str = "rope") -> GPT:
    return run.initialize_model(run.Run(argparse.Namespace(), recipe, corpus), variant)


class Speed:
    """Some pretraining steps, timed. Tokens count with their PADs, operations in matrix products alone."""

    def __init__(self, recipe: Recipe, corpus: CharCorruptionDataset, steps: int) -> None:
        phase, model = recipe.pretrain, fresh(recipe, corpus)
        matrices = sum(p.numel() for n, p in model.named_parameters() if p.ndim == 2 and n != "tok_emb.weight")
        optimizing = optimizers(model, phase)
        times, tokens, operations = [], [], []
        for x, y in batches(corpus, phase.batch_size, phase.trimmed):
            began = time.monotonic()
            model.loss(x, y).backward()
            for optimizer in optimizing:
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
            times.append(time.monotonic() - began)
            tokens.append(x.numel())
            # forward 2, backward 4; attention multiplies every pair of tokens twice
            operations.append(6 * matrices * x.numel() + 12 * recipe.n_layer * recipe.n_embd * x.size(1) * x.numel())
            if len(times) == WARM_UP + steps:
                break
        self.step_seconds = statistics.median(times[WARM_UP:])
        self.tokens = sum(tokens[WARM_UP:]) / sum(times[WARM_UP:])  # a second
        self.operations = sum(operations[WARM_UP:]) / sum(times[WARM_UP:])


def original_seconds(text: str, pairs: int) -> tuple[float, int]:
    """How long the original recipe would take here, and its pretraining steps."""
    recipe = RECIPES["original"]
    corpus = CharCorruptionDataset(text, recipe.block_size)
    steps = recipe.pretrain.epochs * -(-len(corpus) // recipe.pretrain.batch_size)
    finetuning = recipe.finetune.epochs * -(-pairs // recipe.finetune.batch_size)
    seconds = Speed(recipe, corpus, steps=5).step_seconds
    per_example = seconds / recipe.pretrain.batch_size
    return seconds * steps + per_example * recipe.finetune.batch_size * finetuning, steps


def multiply_limit(width: int) -> float:
    """Floating point operations a second of a matrix product in the shape of the model's MLP."""
    a, b = torch.randn(4096, width), torch.randn(width, 4 * width)
    times = []
    for _ in range(20):
        began = time.monotonic()
        a @ b
        times.append(time.monotonic() - began)
    return 2 * 4096 * width * 4 * width / statistics.median(times[5:])


@torch.no_grad()
def one_at_a_time(model: GPT, corpus: CharCorruptionDataset, question: str) -> str:
    """The original's loop: the whole text again for every character, and always as many as an answer may have."""
    x = encode(question + MASK_CHAR, corpus.stoi)[None]
    start = x.size(1)
    for _ in range(LONGEST_ANSWER):
        x = torch.cat([x, model(x)[:, -1:].argmax(-1)], dim=1)
    return "".join(corpus.itos[number] for number in x[0, start:].tolist()).split(MASK_CHAR)[0]


def decoding(model: GPT, corpus: CharCorruptionDataset, questions: Sequence[str]) -> tuple[float, float]:
    """Seconds for all questions: the original loop, and ours."""
    model.eval()
    began = time.monotonic()
    by_hand = [one_at_a_time(model, corpus, question) for question in questions[:BY_HAND]]
    slow = (time.monotonic() - began) * len(questions) / BY_HAND
    answer(model, corpus, questions[:2])
    began = time.monotonic()
    ours = answer(model, corpus, questions)
    quick = time.monotonic() - began
    if ours[:BY_HAND] != by_hand:
        print("note: rounding changed an answer between the two ways of decoding")
    return slow, quick


def pipeline(place: Place) -> None:
    began = time.monotonic()
    pretraining, finetuning = place.train("rope", seed=224)
    _, test, predicting = place.accuracy("rope")
    total = pretraining + finetuning + predicting
    corpus = CharCorruptionDataset(data("wiki.txt"), FAST.block_size)
    pairs = NameDataset(corpus, data("birth_places_train.tsv"))
    print(f"RoPE pipeline: pretrain {pretraining:.0f} s, finetune {finetuning:.0f} s, predict {predicting:.0f} s")
    print(f"  {total:.0f} s = {total / 60:.1f} minutes to {test:.1f}% on test ({torch.get_num_threads()} threads)")
    for goal, seconds in time_to_accuracy(place, pairs, corpus, pretraining, (30, 40)).items():
        print(f"  to {goal}%: {f'{seconds:.0f} s' if seconds else 'not reached'}")
    original, steps = original_seconds(data("wiki.txt"), len(pairs))
    print(f"original recipe: {steps:,} steps and finetuning would take {original / 3600:.1f} hours here")
    print(f"  ratio {original / total:.0f} x")
    speed, limit = Speed(FAST, corpus, steps=40), multiply_limit(FAST.n_embd)
    used = f"{speed.operations / 1e9:.0f} GFLOP/s of {limit / 1e9:.0f} in bare products"
    print(f"training: {speed.tokens:,.0f} tokens/s, {used}")
    model = fresh(FAST, corpus)
    checkpoints.load(model, place.folder / "rope.finetune.params", corpus)
    slow, quick = decoding(model, corpus, [question.text for question in place.questions])
    print(f"decoding {len(place.questions)} questions: one at a time {slow:.1f} s, ours {quick:.2f} s")
    print(f"  ratio {slow / quick:.0f} x")
    print(f"(all of this took {(time.monotonic() - began) / 60:.0f} minutes)")


def time_to_accuracy(
    place: Place, pairs: NameDataset, corpus: CharCorruptionDataset, pretraining: float, goals: Sequence[int]
) -> dict[int, float | None]:
    """Pretraining, and as much finetuning as it takes until the test accuracy first reaches each goal."""
    model = fresh(FAST, corpus)
    checkpoints.load(model, place.folder / "rope.pretrain.params", corpus)
    found: dict[int, float | None] = dict.fromkeys(goals)
    judging, began = 0.0, time.monotonic()

    def judge() -> float:
        nonlocal judging
        start = time.monotonic()
        right = accuracy(answer(model, corpus, [question.text for question in place.questions]), place.questions)
        for goal in goals:
            if found[goal] is None and 100 * right >= goal:
                found[goal] = pretraining + start - began - judging
        judging += time.monotonic() - start
        return right

    Trainer(model, pairs, FAST.finetune, 224, place.folder / "curve.resume", "", judge=judge).train()
    return found


def on_another_corpus(place: Place) -> None:
    """The RoPE pipeline on another corpus, by the recipe that run.py chooses for it."""
    text = (place.folder / "data" / "wiki.txt").read_text("utf-8")
    recipe = recipe_for(text)
    pretraining, finetuning = place.train("rope", seed=224)
    total = pretraining + finetuning
    print(f"recipe {recipe.name}: pretrain {pretraining:.0f} s, finetune {finetuning:.0f} s")
    print(f"  {total:.0f} s = {total / 60:.1f} minutes to {place.dev_accuracy('rope'):.1f}% on dev")


def separation(folder: Path, seeds: Sequence[int], only: str | None, plain: bool) -> None:
    """Trainings side by side with one thread each, which takes less time in all than one after the other."""
    kinds = {"vanilla": ("vanilla", True), "rope": ("rope", True), "no pretraining": ("vanilla", False)}
    kinds = {kind: how for kind, how in kinds.items() if only in (kind, None)}
    rows: dict[str, list[tuple[float, float]]] = {kind: [] for kind in kinds}

    def trained(seed: int, kind: str) -> None:
        place = Place(folder / f"{kind} {seed}", threads=1, plain=plain)
        variant, pretrained = kinds[kind]
        began = time.monotonic()
        place.train(variant, seed, pretrained)
        dev, test, _ = place.accuracy(variant)
        rows[kind].append((dev, test))
        said = f"seed {seed}, {kind}: dev {dev:.1f}%, test {test:.1f}% ({time.monotonic() - began:.0f} s)"
        if pretrained:
            params = place.folder / f"{variant}.pretrain.params"
            as_read, elsewhere = (100 * recalled(params, variant, moved) for moved in ("", "Where was "))
            said += f"; by heart {as_read:.0f}%, ten characters further on {elsewhere:.0f}%"
        print(said, flush=True)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for done in [pool.submit(trained, seed, kind) for seed in seeds for kind in kinds]:
            done.result()
    print(
        f"\n{'':<16}{'dev, mean ± sd':>18}{'lowest':>9}{'highest':>9}{'test, mean ± sd':>18}{'lowest':>9}{'highest':>9}"
    )
    for kind, found in rows.items():
        line = f"{kind:<16}"
        for numbers in zip(*found, strict=True):
            spread = statistics.stdev(numbers) if len(seeds) > 1 else 0.0
            line += f"{f'{statistics.mean(numbers):.1f} ± {spread:.1f}':>18}{min(numbers):>9.1f}{max(numbers):>9.1f}"
        print(line)
    print(f"always London, dev: {accuracy_of('London', dev_pairs()):.1f}%")


def recalled(params: Path, variant: str, moved: str = "") -> float:
    """The share of birthplaces that a pretrained model completes in its own corpus, with `moved` put before the text.

    No finetuning and no questions: this is what it has learnt by heart, and whether that depends on where text stands.
    """
    corpus = CharCorruptionDataset(data("wiki.txt"), FAST.block_size)
    model = fresh(FAST, corpus, variant)
    checkpoints.load(model, params, corpus)
    prompts, places = [], []
    for question, place in dev_pairs():
        name = question.removeprefix("Where was ").removesuffix(" born?")
        text = next(line for line in corpus.data if line.startswith(f"{name}. ") and place in line)
        prompts.append(encode(moved + text[: text.index(place)], corpus.stoi))
        places.append(place)
    numbers = complete(model, prompts, max(map(len, places)), corpus.stoi["\n"])
    texts = ["".join(corpus.itos[number] for number in row) for row in numbers]
    return sum(text.startswith(place) for text, place in zip(texts, places, strict=True)) / len(places)


def dev_pairs() -> list[tuple[str, str]]:
    lines = [line.partition("\t") for line in data("birth_dev.tsv").splitlines()]
    return [(question, place) for question, _, place in lines]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--separation", type=int, metavar="SEEDS", default=0)
    parser.add_argument("--only", choices=["vanilla", "rope", "no pretraining"], help="of a separation")
    parser.add_argument("--start", choices=["equal", "plain"], default="equal", help="of a separation")
    parser.add_argument("--corpus", type=Path, metavar="FOLDER", help="wiki.txt and the birth_*.tsv files")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.separation:
            separation(Path(folder), range(1, options.separation + 1), options.only, options.start == "plain")
        elif options.corpus:
            on_another_corpus(Place(Path(folder) / "student", data=options.corpus))
        else:
            pipeline(Place(Path(folder) / "student"))


if __name__ == "__main__":
    main()
