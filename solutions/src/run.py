"""Pretrain, finetune, evaluate.

python src/run.py pretrain VARIANT data/wiki.txt --writing_params_path OUT
python src/run.py finetune VARIANT data/wiki.txt --finetune_corpus_path TSV --writing_params_path OUT
                  [--reading_params_path PRETRAINED]
python src/run.py evaluate VARIANT data/wiki.txt --reading_params_path IN --eval_corpus_path TSV --outputs_path OUT
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import checkpoints
import torch
from checkpoints import Mistake
from dataset import CharCorruptionDataset, NameDataset
from decoding import answer
from model import GPT, GPTConfig
from recipes import RECIPES, Phase, Recipe, recipe_for
from trainer import History, Trainer, best_device

if TYPE_CHECKING:
    from logs import Log


@dataclass(frozen=True)
class Run:
    """One command: what it was asked for, and the corpus that it reads."""

    options: argparse.Namespace
    recipe: Recipe
    corpus: CharCorruptionDataset

    @property
    def resume(self) -> Path:
        """Where an interrupted training is kept."""
        return Path(f"{self.options.writing_params_path}.resume")

    def adjusted(self, phase: Phase, lr: float | None) -> Phase:
        """A phase of the recipe with the learning rate and the epochs of the command line, if it has any. (Given.)"""
        phase = phase if lr is None else replace(phase, lr=lr)
        epochs = self.options.epochs
        return phase if epochs is None else replace(phase, epochs=epochs)

    def trainer(self, model: GPT, dataset: CharCorruptionDataset | NameDataset, phase: Phase, log: Log) -> Trainer:
        """A trainer with the run's seed, which goes on where the same command was interrupted. (Given.)"""
        read = self.options.reading_params_path
        made = Path(read).stat().st_mtime_ns if read and Path(read).is_file() else 0
        texts = (len(dataset), checkpoints.characters(self.corpus))
        identity = repr((model.config, phase, self.options.seed, made, texts))
        trainer = Trainer(model, dataset, phase, self.options.seed, self.resume, identity, log.write)
        if isinstance(dataset, NameDataset):
            trainer.judge = dev_accuracy(self, model)
        millions = sum(parameter.numel() for parameter in model.parameters()) / 1e6
        minutes = self.recipe.minutes(phase, dataset)
        print(
            f"recipe {self.recipe.name}: {millions:.1f} M parameters, {phase.epochs} x {len(dataset):,} texts, "
            f"{f'about {minutes:.0f} min' if minutes >= 1 else 'less than a minute'} on two cores",
            file=sys.stderr,
        )
        return trainer


def initialize_model(run: Run, variant: str) -> GPT:
    """A new model of the run's recipe; `variant` is "vanilla" (learned positions) or "rope".

    Example: with the recipe `original`, a model of 4 layers, 8 heads and 256 features.
    """
    recipe = run.recipe
    # TODO(initialize_model): make a GPTConfig from the recipe (its dropout is meant for all three dropouts),
    # with rope only for the variant "rope", and return a GPT made from it.
    # BEGIN SOLUTION initialize_model
    config = GPTConfig(
        vocab_size=run.corpus.vocab_size,
        block_size=recipe.block_size,
        n_layer=recipe.n_layer,
        n_head=recipe.n_head,
        n_embd=recipe.n_embd,
        attn_pdrop=recipe.dropout,
        resid_pdrop=recipe.dropout,
        embd_pdrop=recipe.dropout,
        rope=variant == "rope",
    )
    return GPT(config)
    # END SOLUTION initialize_model


def pretrain(run: Run, model: GPT, log: Log) -> History:
    """Train the model on the corpus, with holes in its documents. Returns what the trainer's train() returns."""
    phase = run.adjusted(run.recipe.pretrain, run.options.pretrain_lr)
    # TODO(pretrain): make a trainer for the right dataset with run.trainer(...), and let it train.
    # BEGIN SOLUTION pretrain
    return run.trainer(model, run.corpus, phase, log).train()
    # END SOLUTION pretrain


def finetune(run: Run, model: GPT, log: Log) -> History:
    """Train the model on questions and answers, from the parameters that pretraining left, if there are any."""
    options = run.options
    pairs = NameDataset(run.corpus, read_text(options.finetune_corpus_path))
    check_pairs(run, options.finetune_corpus_path, pairs)
    phase = run.recipe.finetune if options.reading_params_path else run.recipe.finetune_only
    phase = run.adjusted(phase, options.finetune_lr)
    # TODO(finetune): if options.reading_params_path was given, first load it, with checkpoints.load (it wants a Path).
    # Then as in pretrain, but with the pairs.
    # BEGIN SOLUTION finetune
    if options.reading_params_path:
        checkpoints.load(model, Path(options.reading_params_path), run.corpus)
    return run.trainer(model, pairs, phase, log).train()
    # END SOLUTION finetune


def evaluate(run: Run, model: GPT) -> None:
    """Answer the questions, write the answers, and count the right ones if they are known. (Given.)"""
    options = run.options
    checkpoints.load(model, Path(options.reading_params_path), run.corpus)
    lines = read_lines(run, options.eval_corpus_path)
    questions = [line[0] for line in lines]
    began = time.monotonic()
    predictions = answer(model, run.corpus, questions)
    seconds = time.monotonic() - began
    written = [text.replace("\n", " ") for text in predictions]  # a line break would move all lines after it
    Path(options.outputs_path).write_text("".join(f"{line}\n" for line in written), encoding="utf-8")
    if all(len(line) > 1 for line in lines):
        places = [line[1] for line in lines]
        right = count_right(predictions, places)
        print(f"Correct: {right} out of {len(lines)}: {100 * right / len(lines)}%")
        if options.tb_expt_name:
            from curves import draw_knowledge  # here, because it takes a while to load

            picture = Path("expt") / options.tb_expt_name / "knowledge.png"
            draw_knowledge(picture, predictions, places)
            print(f"what it knows: {picture}")
    else:
        print(f"no answers in {options.eval_corpus_path}, so nothing to compare with")
    print(f"{len(predictions)} predictions in {options.outputs_path} ({seconds:.1f} s)")


def dev_accuracy(run: Run, model: GPT) -> Callable[[], float] | None:
    """A function for the share of right dev answers, if dev questions stand beside the training pairs. (Given.)"""
    path = Path(run.options.finetune_corpus_path).with_name("birth_dev.tsv")
    if not path.is_file():
        return None
    pairs = read_lines(run, str(path))

    def accuracy() -> float:
        answers = answer(model, run.corpus, [pair[0] for pair in pairs])
        return count_right(answers, [pair[-1] for pair in pairs]) / len(pairs)

    return accuracy


def count_right(predictions: list[str], places: list[str]) -> int:
    return sum(mine == place for mine, place in zip(predictions, places, strict=True))


def train(run: Run, model: GPT) -> None:
    """Pretrain or finetune, then write parameters and curves. (Given.)"""
    from curves import draw_training  # here, because these take a while to load
    from logs import Log

    options = run.options
    name = options.tb_expt_name or Path(options.writing_params_path).name.removesuffix(".params")
    began = time.monotonic()
    with Log(Path("expt") / name) as log:
        history = (pretrain if options.function == "pretrain" else finetune)(run, model, log)
    checkpoints.save(model, Path(options.writing_params_path), run.recipe.name, run.corpus)
    run.resume.unlink(missing_ok=True)  # not before: whatever happens, one of the two is there
    picture = Path("expt") / name / "training.png"
    draw_training(picture, history, f"{options.function} {options.variant}")
    if history.accuracy:
        print(f"dev accuracy {100 * history.accuracy[-1][1]:.1f}%")
    print(f"parameters in {options.writing_params_path}, curves in {picture} ({time.monotonic() - began:.0f} s)")


def read_lines(run: Run, path: str) -> list[list[str]]:
    """The questions of a file, each with its answer if that is there. (Given.)"""
    lines = []
    for line in read_text(path).split("\n"):
        if line.strip():
            question, *answers = line.split("\t")
            lines.append([question, *(place.strip() for place in answers)])
    if not lines:
        raise Mistake(f"{path} has no questions; copy it again from the release")
    check_characters(run, path, [line[0] for line in lines])
    return lines


def check_pairs(run: Run, path: str, pairs: NameDataset) -> None:
    """Training needs a question and its answer in every line. (Given.)"""
    if not pairs.data:
        raise Mistake(f"{path} has no questions; copy it again from the release")
    check_characters(run, path, pairs.data)
    for number, line in enumerate(pairs.data, start=1):
        if line.count("\t") != 1:
            raise Mistake(f"{path} has no answer in line {number}; give a file with questions and answers")


def check_characters(run: Run, path: str, texts: list[str]) -> None:
    """A model knows the characters of its corpus alone. (Given.)"""
    if strange := set("".join(texts)) - set(run.corpus.stoi) - {"\t"}:
        raise Mistake(
            f"{path} has characters that the corpus lacks ({' '.join(sorted(strange)[:5])}); "
            f"give the corpus that belongs to it"
        )


def read_text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise Mistake(f"{path} is missing; run this from the folder that holds src/ and data/") from None
    except UnicodeDecodeError:
        raise Mistake(f"{path} is not UTF-8 text; download it again") from None


def parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="run.py", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("function", choices=["pretrain", "finetune", "evaluate"])
    parser.add_argument("variant", choices=["vanilla", "rope"])
    parser.add_argument("pretrain_corpus_path", metavar="pretrain_corpus")
    for name in ("reading_params_path", "writing_params_path", "finetune_corpus_path", "eval_corpus_path"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--outputs_path")
    parser.add_argument("--pretrain_lr", type=float)
    parser.add_argument("--finetune_lr", type=float)
    parser.add_argument("--tb_expt_name", help="the folder in expt/ for logs and pictures")
    parser.add_argument("--recipe", choices=list(RECIPES), help="default: that of the file read, else by the corpus")
    parser.add_argument("--epochs", type=int, help="how often to go through the texts; default: the recipe's")
    parser.add_argument("--seed", type=int, default=224)
    options = parser.parse_args(arguments)
    needed = {
        "pretrain": ["writing_params_path"],
        "finetune": ["writing_params_path", "finetune_corpus_path"],
        "evaluate": ["reading_params_path", "eval_corpus_path", "outputs_path"],
    }
    missing = [f"--{name}" for name in needed[options.function] if getattr(options, name) is None]
    if missing:
        raise Mistake(f"{options.function} also needs {' and '.join(missing)}")
    if options.epochs is not None and options.epochs < 1:
        raise Mistake("--epochs must be at least 1")
    for path in (options.writing_params_path, options.outputs_path):
        if path and Path(path).is_dir():
            raise Mistake(f"{path} is a folder; give the name of a file")
    return options


def chosen_recipe(options: argparse.Namespace, text: str) -> Recipe:
    """The recipe that was asked for; else that of the parameters to begin with; else the one for such a corpus."""
    read = options.reading_params_path
    if name := options.recipe or (checkpoints.recipe_of(Path(read)) if read else ""):
        if name not in RECIPES:
            raise Mistake(f"{read} was made by the recipe '{name}', which is not in src/recipes.py")
        return RECIPES[name]
    recipe = recipe_for(text)
    if recipe.name != "fast":
        print(
            f"the corpus has {len(text):,} characters, so the recipe is {recipe.name}; --recipe chooses another",
            file=sys.stderr,
        )
    return recipe


def main(arguments: list[str]) -> None:
    options = parsed(arguments)
    text = read_text(options.pretrain_corpus_path)
    recipe = chosen_recipe(options, text)
    run = Run(options, recipe, CharCorruptionDataset(text, recipe.block_size))
    torch.manual_seed(options.seed)
    model = initialize_model(run, options.variant).to(best_device())
    if options.function == "evaluate":
        evaluate(run, model)
    else:
        train(run, model)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except Mistake as mistake:
        sys.exit(f"run.py: {mistake}")
    except NotImplementedError as unfinished:
        sys.exit(f"run.py: not finished yet: {unfinished}")
    except KeyboardInterrupt:
        sys.exit("run.py: interrupted")
