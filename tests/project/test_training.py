"""The pretraining part as students run it: commands, errors, resuming, decoding, pictures. Small, but real."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors import safe_open

from autograder.publishing import world
from autograder.running import scripts
from autograder.running.loading import forget

# A recipe that trains in seconds, put beside the two real ones.
TINY = """
RECIPES["tiny"] = Recipe(
    name="tiny", n_layer=2, n_head=4, n_embd=64, dropout=0.0, block_size=256,
    pretrain=Phase(epochs={epochs}, batch_size=16, lr=1e-2, optimizer="muon"),
    finetune=Phase(epochs=10, batch_size=16, lr=2e-3),
    finetune_only=Phase(epochs=3, batch_size=16, lr=2e-3),
    speed=100,
)
"""


@pytest.fixture(scope="module")
def tiny_world(root):
    lists = world.Lists.read(root / "data/world.toml")
    return world.make(b"tiny", lists_with(lists, train=16, dev=8, test=8, documents=2))


def lists_with(lists, **people):
    return world.Lists(people, lists.names, lists.places, lists.facts, lists.phrasings)


def lay_out(folder, root, files, epochs):
    shutil.copytree(root / "solutions/src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    with (folder / "src/recipes.py").open("a") as recipes:
        recipes.write(TINY.format(epochs=epochs))
    (folder / "data").mkdir()
    for name, text in files.items():
        (folder / "data" / name).write_bytes(text.encode())
    return folder


@pytest.fixture
def place(tmp_path, root, tiny_world):
    return lay_out(tmp_path / "student", root, tiny_world.files(), epochs=2)


def run(place, *arguments, script="run.py", check=True):
    """As `python src/run.py ...` would, but in this process, where torch is loaded already."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    before = Path.cwd()
    os.chdir(place)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            scripts.run(place / "src" / script, f"src/{script}", arguments)
    except SystemExit as error:
        code = 1
        err.write(f"{error.code}\n")
    finally:
        os.chdir(before)
        forget(place)
    assert not check or code == 0, err.getvalue()
    return SimpleNamespace(returncode=code, stdout=out.getvalue(), stderr=err.getvalue())


PRETRAIN = ("pretrain", "rope", "data/wiki.txt", "--writing_params_path", "rope.pretrain.params", "--recipe", "tiny")


def finetune(variant, written, *more):
    pairs = ("--finetune_corpus_path", "data/birth_places_train.tsv")
    return ("finetune", variant, "data/wiki.txt", "--writing_params_path", written, *pairs, *more)


def evaluate(variant, read, corpus, written, *more):
    files = ("--reading_params_path", read, "--eval_corpus_path", f"data/{corpus}", "--outputs_path", written)
    return ("evaluate", variant, "data/wiki.txt", *files, *more)


@pytest.fixture(scope="module")
def trained(tmp_path_factory, root, tiny_world):
    """The whole way with RoPE in a tiny world, long enough to remember some of it."""
    place = lay_out(tmp_path_factory.mktemp("trained") / "student", root, tiny_world.files(), epochs=60)
    said = [
        run(place, *PRETRAIN),
        run(place, *finetune("rope", "rope.finetune.params", "--reading_params_path", "rope.pretrain.params")),
        run(place, *evaluate("rope", "rope.finetune.params", "birth_dev.tsv", "dev", "--tb_expt_name", "dev")),
        run(place, *evaluate("rope", "rope.finetune.params", "birth_test_inputs.tsv", "test")),
    ]
    return SimpleNamespace(place=place, said=[done.stdout for done in said], told=[done.stderr for done in said])


@pytest.mark.slow
def test_the_pipeline_learns(trained, tiny_world):
    """The corpus is learnt, as far as it can be known, and the questions that were trained are answered."""
    losses = [float(loss) for loss in re.findall(r"loss ([\d.]+)", trained.told[0])]
    assert losses[-1] < 0.5 * losses[0]
    run(trained.place, *evaluate("rope", "rope.finetune.params", "birth_places_train.tsv", "train"))
    predictions = (trained.place / "train").read_text(encoding="utf-8").splitlines()
    right = sum(mine == person.born for mine, person in zip(predictions, tiny_world.train, strict=True))
    assert right >= 0.7 * len(tiny_world.train)


@pytest.mark.slow
def test_the_pipeline_says_and_writes_what_it_should(trained, tiny_world):
    pretraining, finetuning, dev, test = trained.said
    assert "parameters in rope.pretrain.params" in pretraining
    assert re.search(r"dev accuracy [\d.]+%", finetuning)
    assert re.match(r"Correct: \d+ out of 8: [\d.]+%\n", dev)
    assert "no answers in data/birth_test_inputs.tsv" in test
    assert len((trained.place / "test").read_text(encoding="utf-8").splitlines()) == len(tiny_world.test)
    assert re.search(r"epoch 60/60 \[#{20}\] loss [\d.]+, [\d,]+ tokens/s, 0:00 left", trained.told[0])
    expt = trained.place / "expt"
    for picture in ("rope.pretrain/training.png", "rope.finetune/training.png", "dev/knowledge.png"):
        assert (expt / picture).read_bytes().startswith(b"\x89PNG")
    assert list((expt / "rope.pretrain").glob("events.out.tfevents.*"))
    assert not list(trained.place.glob("*.resume"))


def notes(path):
    with safe_open(path, "pt") as file:
        return json.loads(file.metadata()["made_by"])


@pytest.mark.slow
def test_parameters_hold_numbers_and_notes_alone(trained):
    path = trained.place / "rope.finetune.params"
    assert notes(path)["recipe"] == "tiny" and notes(path)["config"]["rope"] is True
    with safe_open(path, "pt") as file:
        assert not any("rope_cache" in name for name in file.keys())  # noqa: SIM118


# Runs a script, which gets Ctrl-C in the middle of its fifth epoch.
INTERRUPTED = """
import runpy, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell starts in the background ignores Ctrl-C
sys.argv = sys.argv[1:]
sys.path.insert(0, "src")
import trainer
class Interrupted(trainer._Progress):
    def show(self, epoch, done, *more):
        super().show(epoch, done, *more)
        if done > 4.5:
            signal.raise_signal(signal.SIGINT)
trainer._Progress = Interrupted
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.slow
def test_the_same_seed_gives_the_same_parameters_also_after_an_interruption(place):
    run(place, *PRETRAIN)
    first = (place / "rope.pretrain.params").read_bytes()
    longer = (place / "src/recipes.py").read_text().replace("epochs=2,", "epochs=12,")
    (place / "src/recipes.py").write_text(longer)
    run(place, *PRETRAIN)
    whole = (place / "rope.pretrain.params").read_bytes()
    assert whole != first
    (place / "rope.pretrain.params").unlink()
    stopped = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, "src/run.py", *PRETRAIN],
        cwd=place,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert stopped.returncode == 1
    told = stopped.stderr
    assert "run.py: stopped in epoch 5; the same command goes on from there" in told
    assert not (place / "rope.pretrain.params").exists()
    again = run(place, *PRETRAIN)
    assert "going on from epoch 5" in again.stderr
    assert (place / "rope.pretrain.params").read_bytes() == whole


@pytest.mark.slow
def test_what_was_saved_by_another_training_is_not_taken_up(place):
    (place / "rope.pretrain.params.resume").write_bytes(b"half a fi")
    assert "cannot be read; beginning anew" in run(place, *PRETRAIN).stderr
    torch.save({"identity": "other"}, place / "rope.pretrain.params.resume")
    assert "belongs to another training; beginning anew" in run(place, *PRETRAIN).stderr


@pytest.mark.slow
def test_what_was_saved_stays_until_the_parameters_are_written(place):
    for name, old, new in (
        ("trainer.py", "SAVE_EVERY = 60", "SAVE_EVERY = 0"),
        ("checkpoints.py", "tensors = {name: ten", "raise Mistake('no room left')\n    tensors = {name: ten"),
    ):
        source = (place / "src" / name).read_text(encoding="utf-8")
        assert old in source
        (place / "src" / name).write_text(source.replace(old, new, 1), encoding="utf-8")
    assert "no room left" in run(place, *PRETRAIN, check=False).stderr
    assert (place / "rope.pretrain.params.resume").is_file()


@pytest.mark.slow
def test_mistakes_are_told_in_one_line(place, trained):
    def told(*arguments):
        done = run(place, *arguments, check=False)
        assert done.returncode == 1 and "Traceback" not in done.stderr
        (line,) = done.stderr.strip().splitlines()
        return line

    missing = ("pretrain", "vanilla", "data/wikipedia.txt", "--writing_params_path", "x")
    assert "data/wikipedia.txt is missing; run this from the folder that holds src/ and data/" in told(*missing)
    assert "also needs --eval_corpus_path and --outputs_path" in told(
        "evaluate", "rope", "data/wiki.txt", "--reading_params_path", "x"
    )
    assert "x is missing; it is written by --writing_params_path" in told(*evaluate("rope", "x", "birth_dev.tsv", "y"))
    (place / "x").write_bytes(b"not parameters")
    assert "x is no file of parameters, or is cut short" in told(*evaluate("rope", "x", "birth_dev.tsv", "y"))
    good = str(trained.place / "rope.finetune.params")
    assert "rope is True, expected False; check VARIANT" in told(*evaluate("vanilla", good, "birth_dev.tsv", "y"))
    assert "n_layer is 2, expected 4" in told(*evaluate("rope", good, "birth_dev.tsv", "y", "--recipe", "original"))
    (place / "data/birth_dev.tsv").write_text("Where was 北 born?\tRome\n", encoding="utf-8")
    assert "has characters that the corpus lacks (北)" in told(*evaluate("rope", good, "birth_dev.tsv", "y"))
    assert "data/birth_dev.tsv has characters that the corpus lacks (北)" in told(*finetune("rope", "y"))
    (place / "data/birth_dev.tsv").write_text("\n")
    assert "data/birth_dev.tsv has no questions" in told(*finetune("rope", "y"))
    (place / "data/birth_places_train.tsv").write_text("Where was Ada born?\tŌsaka\n", encoding="utf-8")
    assert "data/birth_places_train.tsv has characters that the corpus lacks (Ō)" in told(*finetune("rope", "y"))
    (place / "data/birth_places_train.tsv").write_text("Where was Ada born?\tRome\nWhere was Bob born?\n")
    assert "data/birth_places_train.tsv has no answer in line 2" in told(*finetune("rope", "y"))
    (place / "data/birth_places_train.tsv").write_text("")
    assert "data/birth_places_train.tsv has no questions" in told(*finetune("rope", "y"))
    assert "data is a folder; give the name of a file" in told(*finetune("rope", "data"))
    assert "--epochs must be at least 1" in told(*PRETRAIN, "--epochs", "0")
    (place / "data/wiki.txt").write_text("other characters\n")
    assert "was trained on a corpus with other characters" in told(*evaluate("rope", good, "birth_dev.tsv", "y"))
    (place / "data/wiki.txt").write_bytes(b"\xff\xfe")
    assert "data/wiki.txt is not UTF-8 text" in told(*PRETRAIN)


@pytest.mark.slow
@pytest.mark.parametrize("part", ["initialize_model", "pretrain", "finetune", "span_corruption"])
def test_an_unfinished_part_is_named(place, root, part):
    from autograder.publishing import regions

    for name in ("run.py", "dataset.py"):
        source = (root / "solutions/src" / name).read_text(encoding="utf-8")
        pieces = regions.parse(source, name)
        if any(isinstance(piece, regions.Region) and piece.name == part for piece in pieces):
            stub = regions.stubbed(source, name)
            (place / "src" / name).write_text(stub, encoding="utf-8")
    arguments = finetune("rope", "x") if part == "finetune" else PRETRAIN
    done = run(place, *arguments, check=False)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "not finished yet" in done.stderr


@pytest.mark.slow
def test_the_shape_of_the_original_files_is_fine(place, tiny_world):
    """254 distinct characters, odd ones in names, an empty last line, no newline at the end, Windows's newlines."""
    files = tiny_world.files()
    present = set(files["wiki.txt"])
    more = [chr(code) for code in range(0x100, 0x400) if chr(code).isprintable() and chr(code) not in present]
    extra = "".join(more[: 254 - len(present)])
    name = "Ñandú\u2028Łęcki\x85"
    wiki = files["wiki.txt"] + f"{name}. {extra} .\n"
    wiki = wiki.replace(extra, extra[: len(extra) - (len(set(wiki)) - 254)])
    assert len(set(wiki)) == 254
    pairs = files["birth_places_train.tsv"].rstrip("\n") + f"\nWhere was {name} born?\tRome"
    for ending, newline in (("\n\n", "\n"), ("", "\n"), ("\n", "\r\n")):
        (place / "data/wiki.txt").write_text(wiki.rstrip("\n") + ending, encoding="utf-8", newline=newline)
        (place / "data/birth_places_train.tsv").write_text(pairs + ending, encoding="utf-8", newline=newline)
        run(place, *finetune("vanilla", "v", "--recipe", "tiny"))
        run(place, *PRETRAIN)
        done = run(place, *evaluate("vanilla", "v", "birth_places_train.tsv", "y"))
        assert "out of 17:" in done.stdout
        assert notes(place / "v")["config"]["vocab_size"] == 256


@pytest.mark.slow
def test_london_baseline(place):
    done = run(place, script="london_baseline.py")
    lines = (place / "data/birth_dev.tsv").read_text(encoding="utf-8").splitlines()
    accuracy = 100 * sum(line.endswith("\tLondon") for line in lines) / len(lines)
    assert float((place / "london_baseline_accuracy.txt").read_text()) == accuracy
    assert "always London" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("what", ["namedata", "charcorruption"])
def test_dataset_prints_examples(place, what):
    lines = run(place, what, script="dataset.py").stdout.splitlines()
    assert len(lines) == 8 and all("\u2047" in line for line in lines if line.startswith("x"))
    done = run(place, "else", script="dataset.py", check=False)
    assert done.returncode == 1 and "say what to show" in done.stderr


@pytest.mark.slow
def test_the_command_line_sets_the_epochs_and_says_what_they_take(place):
    told = run(place, *PRETRAIN, "--epochs", "1").stderr
    assert "recipe tiny: 0.1 M parameters, 1 x 65 texts, less than a minute on two cores" in told
    more = run(place, *PRETRAIN, "--epochs", "3").stderr
    (minutes,) = re.findall(r"3 x 65 texts, about (\d+) min on two cores", more)
    assert 0.7 < int(minutes) / (3 * 65 * 80 / 100 / 60) < 1.5  # the recipe says 100 characters a second
    assert "epoch 1/1 " in told and "chooses another" not in told


@pytest.mark.slow
def test_the_corpus_chooses_the_recipe(place):
    """One as large as the original course's takes another recipe than ours, and that is said."""
    (place / "data/wiki.txt").write_text("Ada Lovelace. Ada was born in London .\n" * 7000)
    done = run(place, *finetune("rope", "y"), check=False)  # its pairs have letters that this corpus lacks
    assert "the corpus has 273,000 characters, so the recipe is long; --recipe chooses another" in done.stderr
    quiet = run(place, *finetune("rope", "y", "--recipe", "tiny"), check=False)
    assert "invalid choice" not in quiet.stderr and "so the recipe is" not in quiet.stderr


@pytest.fixture(scope="module")
def src(root):
    sys.path.insert(0, str(root / "solutions/src"))
    names = ("attention", "dataset", "model", "decoding", "muon", "trainer", "recipes")
    yield SimpleNamespace(**{name: importlib.import_module(name) for name in names})
    forget(root / "solutions")


@pytest.mark.parametrize("rope", [False, True])
def test_decoding_with_memory_gives_what_the_plain_loop_gives(src, tiny_world, rope):
    """Questions of different lengths together, against one at a time with everything computed anew."""
    torch.manual_seed(0)
    corpus = src.dataset.CharCorruptionDataset(tiny_world.files()["wiki.txt"], 64)
    model = src.model.GPT(src.model.GPTConfig(corpus.vocab_size, 64, 2, 2, 16, rope=rope)).eval()
    for parameter in model.parameters():
        if parameter.ndim >= 2:  # large weights make answers that differ and depend on every character
            torch.nn.init.normal_(parameter, std=0.7)
    questions = [person.question for person in tiny_world.train]
    layers = [block.attn.key for block in model.blocks]
    quick = src.decoding.answer(model, corpus, questions, at_once=10)
    assert layers == [block.attn.key for block in model.blocks]
    for question, found in zip(questions, quick, strict=True):
        x = src.dataset.encode(question + src.dataset.MASK_CHAR, corpus.stoi)[None]
        start = x.size(1)
        with torch.no_grad():
            while x.size(1) < min(64, start + src.decoding.LONGEST_ANSWER):
                x = torch.cat([x, model(x)[:, -1:].argmax(-1)], dim=1)
        text = "".join(corpus.itos[number] for number in x[0, start:].tolist())
        assert found == text.split(src.dataset.MASK_CHAR)[0].rstrip(src.dataset.PAD_CHAR)
    assert len(set(quick)) > len(quick) // 2


def test_batches_hold_every_example_once_and_no_common_pads(src):
    corpus = src.dataset.CharCorruptionDataset("\n".join("abcdefghijklmnop"[: 4 + i % 12] for i in range(50)), 32)
    random.seed(0)
    torch.manual_seed(0)
    made = list(src.trainer.batches(corpus, 4, trimmed=True))
    assert sum(len(x) for x, _ in made) == 50
    for x, y in made:
        assert x.shape == y.shape and (x[:, -1] != 0).any()
        assert torch.equal(x[:, 1:], y[:, :-1])
    whole = list(src.trainer.batches(corpus, 4, trimmed=False))
    assert all(x.shape == (4, 32) for x, _ in whole[:-1])


def test_loss_counts_no_pads(src):
    torch.manual_seed(0)
    model = src.model.GPT(src.model.GPTConfig(10, 8, 1, 1, 8))
    x, y = torch.tensor([[3, 4, 5, 0]]), torch.tensor([[4, 5, 0, 0]])
    expected = torch.nn.functional.cross_entropy(model(x)[0, :2], y[0, :2])
    assert torch.allclose(model.loss(x, y), expected)


def test_orthogonalized_has_singular_values_near_one(src):
    torch.manual_seed(0)
    for shape in ((3, 8, 8), (2, 8, 32), (2, 32, 8)):
        values = torch.linalg.svdvals(src.muon.orthogonalized(torch.randn(shape)))
        assert (values > 0.5).all() and (values < 1.4).all()


def test_muon_finds_a_minimum(src):
    torch.manual_seed(0)
    matrix, wanted = torch.nn.Parameter(torch.zeros(4, 6)), torch.randn(4, 6)
    optimizer = src.muon.Muon([matrix], lr=0.05)
    for step in range(400):
        optimizer.param_groups[0]["lr"] = 0.05 * (1 - step / 400)
        optimizer.zero_grad()
        ((matrix - wanted) ** 2).sum().backward()
        optimizer.step()
    assert torch.allclose(matrix, wanted, atol=0.05)


def test_a_recipe_says_how_long_a_phase_takes(src, tiny_world):
    corpus = src.dataset.CharCorruptionDataset(tiny_world.files()["wiki.txt"], 64)
    recipe, phase = src.recipes.RECIPES["original"], src.recipes.Phase(epochs=3, batch_size=8, lr=1.0, trimmed=False)
    assert recipe.minutes(phase, corpus) == pytest.approx(3 * len(corpus) * 64 / recipe.speed / 60)
    trimmed = src.recipes.Phase(epochs=3, batch_size=8, lr=1.0)
    assert 0.2 < recipe.minutes(trimmed, corpus) / recipe.minutes(phase, corpus) < 0.8


def test_both_kinds_of_positions_begin_alike(src):
    """Head d of the first block looks d + 1 characters back, as sharply with learned positions as with RoPE."""
    torch.manual_seed(0)
    for rope in (False, True):
        model = src.model.GPT(src.model.GPTConfig(50, 64, 2, 4, 128, rope=rope)).eval()
        attention = model.blocks[0].attn
        x = model.blocks[0].ln1(model.embed(torch.randint(2, 50, (3, 60))))
        q, k, _ = src.attention.split_heads_qkv(attention.query(x), attention.key(x), attention.value(x), 4)
        if rope:
            q, k = (src.attention.apply_rotary_emb(one, attention.rope_cache) for one in (q, k))
        closed = torch.ones(60, 60).triu(1).bool()
        weights = (q @ k.mT / 32**0.5).masked_fill(closed, -torch.inf).softmax(-1)
        for head in range(4):
            back = weights[:, head].diagonal(-(head + 1), 1, 2)
            assert 0.6 < float(back.detach().mean()) < 0.8, (rope, head)


def test_recipes_are_those_of_the_issue(src, root):
    assert src.recipes.recipe_for((root / "data/wiki.txt").read_text("utf-8")).name == "fast"
    original = src.recipes.RECIPES["original"]
    assert (original.n_layer, original.n_head, original.n_embd, original.block_size) == (4, 8, 256, 128)
    assert (original.pretrain.epochs, original.pretrain.batch_size, original.pretrain.lr) == (650, 128, 6e-3)
    assert (original.finetune.epochs, original.finetune_only.epochs, original.finetune.batch_size) == (10, 75, 256)
    parameters = sum(p.numel() for p in src.model.GPT(src.model.GPTConfig(256, 128, 4, 8, 256)).parameters())
    assert 3.2e6 < parameters < 3.5e6


@pytest.mark.slow
def test_collecting_a_submission(root, trained, tmp_path):
    import zipfile

    place = tmp_path / "student"
    shutil.copytree(trained.place / "src", place / "src")
    for name in ("collect_submission.py", "collect_submission.sh"):
        shutil.copy(root / "student" / name, place)
    done = subprocess.run(["sh", "collect_submission.sh"], cwd=place, capture_output=True, text=True)
    assert done.returncode == 1 and "rope.finetune.params" in done.stderr and "see handout 3.4\n" in done.stderr
    names = re.findall(r'^    "([\w.]+)": "3.4",$', (place / "collect_submission.py").read_text(), re.M)
    assert len(names) == 10
    for name in names:
        (place / name).write_text("x")
    done = subprocess.run(["sh", "collect_submission.sh"], cwd=place, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    packed = set(zipfile.ZipFile(place / "submission.zip").namelist())
    assert packed >= {*names, "src/run.py", "src/attention.py"} and not any("pycache" in name for name in packed)


def test_the_commands_of_the_handout_are_commands(root, src, monkeypatch):
    """Each can be read by the script that it calls, and the files that they make are those to hand in."""
    monkeypatch.syspath_prepend(str(root / "scripts"))
    train_solutions = importlib.import_module("train_solutions")
    run_module = importlib.import_module("run")
    lines = train_solutions.commands(root / "student/handout/3-pretraining.md")
    training = [line.split() for line in lines if "src/run.py" in line]
    assert len(training) == 11 and "python src/london_baseline.py" in lines  # the twelve of the original
    made = set()
    for words in training:
        options = run_module.parsed(words[2:])
        made |= {options.outputs_path, options.writing_params_path}
    wanted = re.findall(r'^    "([\w.]+)": "3.4",$', (root / "student/collect_submission.py").read_text(), re.M)
    assert len(wanted) == 10 and set(wanted) - {"london_baseline_accuracy.txt"} <= made
