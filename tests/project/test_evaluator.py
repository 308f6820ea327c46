"""The evaluator of checkpoints: what a model predicts, from its numbers alone, whoever trained and saved it."""

from __future__ import annotations

import io
import json
import runpy
import subprocess
import sys
import zipfile
from collections import OrderedDict
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import save

from autograder.checking.predictions import PAD
from autograder.grading import evaluator
from autograder.grading.checkpoint_names import Unlike, architecture_of
from autograder.grading.evaluator import MASK, Transformer, Way, decode, numbers_of
from autograder.judging.parameters import read_parameters

linux = pytest.mark.skipif(sys.platform != "linux", reason="isolation needs Linux")
original = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("original_student.py"))))
SIZES = {"block_size": 128, "n_layer": 2, "n_head": 8, "n_embd": 64}


@pytest.fixture(scope="module")
def world(student):
    return student["WORLD"] | {split: student["WORLD"][split][:30] for split in ("dev", "test")}


@pytest.fixture(scope="module")
def models(world):
    """Models of the original architecture that were trained for a few steps, and what their own code predicts."""
    found = {}
    student = original.code()
    stoi = student["vocabulary"](world["vocabulary"])
    for rope in (False, True):
        model = original.trained(world, 60, 0, **SIZES, rope=rope)
        dev = [student["predict"](model, stoi, f"{q}\t{place}\n") for q, place in world["dev"]]
        test = [student["predict"](model, stoi, f"{q}\n") for q, _ in world["test"]]
        found[rope] = (model.state_dict(), {"dev": dev, "test": test})
    return found


@pytest.fixture
def decoded(world, tmp_path):
    def run(content: bytes, handed_in, *, rope: bool):
        path = tmp_path / "my.params"
        path.write_bytes(content)
        questions = {split: [question for question, _ in world[split]] for split in ("dev", "test")}
        return decode(read_parameters(path), world["vocabulary"], questions, handed_in, rotary=rope)

    return run


def double(state):
    return {name: tensor.double() for name, tensor in state.items()}


SAVED = {
    "torch.save": original.saved,
    "safetensors": lambda state: save(dict(state)),
    "data parallel": lambda state: original.saved({f"module.{name}": tensor for name, tensor in state.items()}),
    "compiled": lambda state: original.saved({f"_orig_mod.{name}": tensor for name, tensor in state.items()}),
    "with an optimiser": lambda state: original.saved(
        {"model": state, "optimizer": {"state": {"exp_avg": torch.ones(3)}}, "epoch": 3}
    ),
    "float64": lambda state: original.saved(double(state)),
    "parameters": lambda state: original.saved(
        OrderedDict((name, torch.nn.Parameter(tensor)) for name, tensor in state.items())
    ),
    "strided": lambda state: original.saved(
        {name: tensor.t().contiguous().t() if tensor.dim() == 2 else tensor for name, tensor in state.items()}
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("rope", [False, True])
@pytest.mark.parametrize("form", SAVED)
def test_a_real_checkpoint_of_the_original_predicts_what_its_own_code_does(models, decoded, form, rope):
    state, made = models[rope]
    assert "blocks.0.attn.mask" in state and ("blocks.0.attn.rope_cache" in state) == rope
    assert decoded(SAVED[form](state), made, rope=rope) == made
    assert len(set(made["dev"] + made["test"])) > 3  # it has learnt something, or this would show little


@pytest.mark.slow
@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
def test_half_precision_is_read_as_it_is(models, decoded, world, kind):
    """The same as the rounded numbers in float32."""
    state, made = models[True]
    half = {name: tensor.to(kind) for name, tensor in state.items()}
    full = {name: tensor.float() for name, tensor in half.items()}
    assert decoded(original.saved(half), made, rope=True) == decoded(save(full), made, rope=True)


@pytest.mark.slow
@pytest.mark.parametrize("device", ["cuda:0", "mps"])
def test_where_it_was_saved_does_not_matter(models, decoded, device):
    """A checkpoint says of its numbers on which device they were."""
    state, made = models[False]
    said, out = len(device).to_bytes(4, "little"), io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(original.saved(state))) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name).replace(b"X\x03\x00\x00\x00cpu", b"X" + said + device.encode()))
    assert device.encode() in out.getvalue()
    assert decoded(out.getvalue(), made, rope=False) == made


@pytest.mark.slow
def test_nothing_is_trusted_but_the_numbers(models, decoded):
    """Without the right predictions to go by, the same comes out, and so it does with masks that lie."""
    state, made = models[True]
    lying = {name: torch.zeros_like(t) if name.endswith(("mask", "cache")) else t for name, t in state.items()}
    assert decoded(original.saved(lying), made, rope=True) == made
    other = {split: ["Nowhere"] * 30 for split in made}
    assert decoded(original.saved(state), other, rope=True)["dev"] == made["dev"]


@pytest.mark.slow
@pytest.mark.parametrize(("heads", "halves"), [(4, False), (2, True)])
def test_heads_and_pairs_are_found_out(models, decoded, world, heads, halves, tmp_path):
    """Nothing in a file says how many heads there are; what was handed in does."""
    torch.manual_seed(0)
    state = {name: torch.randn_like(tensor) / 4 for name, tensor in models[True][0].items()}  # no two answers alike
    (tmp_path / "a.params").write_bytes(original.saved(state))
    parameters = read_parameters(tmp_path / "a.params")
    characters = [PAD, MASK, *sorted(set(world["vocabulary"]))]
    architecture = architecture_of(parameters.tensors, len(characters), rotary=True)
    model = Transformer(architecture, numbers_of(parameters, architecture), characters)
    made = {
        split: model.answers([f"{question}{MASK}" for question, _ in world[split]], Way(heads, halves))
        for split in ("dev", "test")
    }
    assert decoded(original.saved(state), made, rope=True) == made


@pytest.mark.slow
@pytest.mark.parametrize("block", [20, 48])
def test_beyond_its_positions_a_model_reads_the_end_alone(world, decoded, block):
    """As the original does: some questions, or all of them, outgrow a small model."""
    student = original.code()
    stoi = student["vocabulary"](world["vocabulary"])
    torch.manual_seed(3)
    sizes = SIZES | {"block_size": block, "n_layer": 1}
    model = student["GPT"](student["GPTConfig"](len(stoi), **sizes)).eval()
    torch.nn.init.normal_(model.pos_emb)
    made = {
        "dev": [student["predict"](model, stoi, question).rstrip(PAD) for question, _ in world["dev"]],
        "test": [student["predict"](model, stoi, f"{question}\n").rstrip(PAD) for question, _ in world["test"]],
    }
    assert decoded(original.saved(model.state_dict()), made, rope=False) == made


def without(name):
    return lambda state: {key: tensor for key, tensor in state.items() if key != name}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (without("tok_emb.weight"), "it has no tok_emb.weight"),
        (without("blocks.1.ln2.bias"), "it has no blocks.1.ln2.bias"),
        (without("pos_emb"), "it has no pos_emb"),
        (lambda state: state | {"head.bias": torch.zeros(59)}, "the model has no head.bias"),
        (lambda state: state | {"head.weight": torch.zeros(59, 32)}, "head.weight is 59 x 32, expected 59 x 64"),
        (lambda state: state | {"head.weight": torch.zeros(59, 64).long()}, "head.weight is not made of fractions"),
        (lambda state: state | {"blocks.999.ln1.bias": torch.zeros(64)}, "it has 1000 blocks"),
        (lambda state: {**state, **{f"b.{name}": t for name, t in state.items()}}, "2 tensors called tok_emb.weight"),
        (lambda _: {"tok_emb.weight": torch.tensor(1.0)}, "tok_emb.weight is a single number"),
        (lambda _: {"w": torch.ones(3)}, "it has no tok_emb.weight"),
    ],
)
def test_another_architecture_is_told_apart(models, decoded, change, words):
    state, made = models[False]
    with pytest.raises(Unlike, match=words):
        decoded(original.saved(change(dict(state))), made, rope=False)


@pytest.mark.slow
def test_a_vanilla_model_is_no_rope_model(models, decoded):
    state, made = models[False]
    with pytest.raises(Unlike, match="the model has no pos_emb"):
        decoded(original.saved(state), made, rope=True)


@pytest.mark.slow
def test_numbers_that_are_none_come_to_an_end(models, decoded):
    """NaN everywhere is as good a model as any."""
    state, made = models[False]
    nan = {name: torch.full_like(tensor, float("nan")) for name, tensor in state.items()}
    assert len(decoded(original.saved(nan), made, rope=False)["dev"]) == 30


@pytest.mark.slow
def test_a_few_at_a_time_give_the_same(models, decoded, monkeypatch):
    state, made = models[True]
    monkeypatch.setattr(evaluator, "KEPT", 1)
    assert decoded(original.saved(state), made, rope=True) == made


@pytest.mark.slow
@linux
def test_original_students_get_all_points(graded, student, world):
    """With code as it was handed in there: one question at a time, and test questions with their newlines."""
    files = original.submission(world, steps=120)
    rows = ("predictions_nopretrain", "predictions_vanilla", "predictions_rope")
    found = graded({"original": files}, json.dumps(world).encode(), rows=rows)["original"]
    assert found["score"] == 17, [test["output"] for test in found["tests"]]
    assert "60 of 60 predictions agree with the parameters" in str(found)


def test_no_worker_and_no_student_has_it(root):
    """It is staff's alone: the zygote, whose memory workers share, never loads it, and no release holds it."""
    for name in ("evaluator", "checkpoint_names", "reproduction", "own_code", "agreement"):
        assert list((root / "autograder").rglob(f"{name}.py")) and not list((root / "student").rglob(f"{name}.py"))
    program = "import sys; from autograder.workers import worker; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True)
    assert "autograder.workers.worker" in loaded.stdout and "evaluator" not in loaded.stdout
