"""Files of parameters: numbers and nothing else, found out without running any of it; and with other numbers."""

from __future__ import annotations

import io
import json
import pickle
import struct
import zipfile
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load, save

from autograder.judging import parameters
from autograder.judging.parameters import Unfit, read_parameters

STATE = {
    "weight": torch.linspace(-2.0, 3.0, 60).reshape(6, 10),
    "bias": torch.tensor([0.5, -0.25, 1e-3]),
    "mask": torch.ones(4, 4).tril(),
    "fill": torch.tensor([float("-inf"), float("nan"), 0.1]),
    "wide": torch.tensor([0.1, 0.2], dtype=torch.float64),
    "steps": torch.tensor([7]),
}


def saved(what, **options) -> bytes:
    content = io.BytesIO()
    torch.save(what, content, **options)
    return content.getvalue()


def loaded(content: bytes) -> dict[str, torch.Tensor]:
    return torch.load(io.BytesIO(content)) if content[:2] == b"PK" else load(content)


@pytest.fixture
def read(tmp_path):
    def run(content: bytes):
        (tmp_path / "my.params").write_bytes(content)
        return read_parameters(tmp_path / "my.params")

    return run


@pytest.fixture
def refused(read):
    def run(content: bytes) -> str:
        with pytest.raises(Unfit) as unfit:
            read(content)
        return str(unfit.value)

    return run


MODEL = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.LayerNorm(4))
HONEST = {
    "safetensors": save(STATE),
    "torch": saved(STATE),
    "state_dict": saved(MODEL.state_dict()),  # an OrderedDict with versions in an attribute
    "parameters": saved(OrderedDict(MODEL.named_parameters())),
    "training": saved({"model": MODEL.state_dict(), "epoch": 3, "lr": 6e-4, "names": ["a"], "done": True}),
    "tied": saved({"one": STATE["weight"], "same": STATE["weight"], "view": STATE["weight"][2:, 1:]}),
    "half": saved({"w": torch.ones(3, dtype=torch.bfloat16), "b": torch.ones(2, dtype=torch.bool)}),
    "empty tensor": saved({"w": torch.empty(0, 3)}),
}


@pytest.mark.parametrize("kind", HONEST)
def test_what_torch_and_safetensors_write_is_taken(read, kind):
    found = read(HONEST[kind])
    assert loaded(found.scrambled(1)).keys() == loaded(HONEST[kind]).keys()


@pytest.mark.parametrize("kind", ["safetensors", "torch"])
def test_scrambled_has_the_same_numbers_elsewhere(read, kind):
    found = read(HONEST[kind])
    other = loaded(found.scrambled(1))
    for name, tensor in STATE.items():
        assert other[name].shape == tensor.shape and other[name].dtype == tensor.dtype
        assert torch.equal(other[name].nan_to_num().flatten().sort()[0], tensor.nan_to_num().flatten().sort()[0])
    assert not torch.equal(other["weight"], STATE["weight"])
    assert found.scrambled(1) == found.scrambled(1) != found.scrambled(2)


@pytest.mark.parametrize("kind", ["safetensors", "torch"])
def test_nudged_differs_by_rounding_only_and_leaves_masks_alone(read, kind):
    found = read(HONEST[kind])
    other = loaded(found.nudged(1))
    assert found.nudged(1) != HONEST[kind]
    assert torch.allclose(other["weight"], STATE["weight"], rtol=2e-7, atol=0)
    assert not torch.equal(other["weight"], STATE["weight"])
    for name in ("mask", "steps"):
        assert torch.equal(other[name], STATE[name])
    assert other["fill"][0] == float("-inf") and other["fill"][1].isnan()


class Payload:
    def __init__(self, *called):
        self.called = called

    def __reduce__(self):
        return self.called


def test_programs_are_named_and_never_run(refused, tmp_path):
    trace = tmp_path / "attack-was-here"
    made = Payload(Path.touch, (trace,))
    said = refused(saved({"w": torch.ones(2), "x": Payload(eval, ("1",))}))
    assert said == (
        "my.params asks Python to run builtins.eval; save the state_dict alone: torch.save(model.state_dict(), path)"
    )
    assert "asks Python to run builtins.getattr" in refused(saved(made))
    assert "asks Python to run torch.nn.modules.container.Sequential" in refused(saved(MODEL))
    assert "is a pickle" in refused(saved({"w": made}, _use_new_zipfile_serialization=False))
    assert "is a pickle" in refused(pickle.dumps(made))
    assert not trace.exists()


def rezipped(content: bytes, change, **options) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w", **options) as new:
        for entry in old.infolist():
            data = change(entry.filename, old.read(entry))
            if data is not None:
                new.writestr(entry.filename, data)
    return out.getvalue()


def with_pickle(content: bytes) -> bytes:
    return rezipped(saved(STATE), lambda name, data: content if name.endswith("data.pkl") else data)


@pytest.mark.parametrize("protocol", range(2, 6))
def test_programs_are_found_in_every_protocol(refused, protocol):
    assert "asks Python to run" in refused(with_pickle(pickle.dumps({"w": Payload(eval, ("1",))}, protocol)))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"cos\nsystem\n(S'true'\ntR.", "asks Python to run os.system"),
        (b"(S'true'\nios\nsystem\n.", "asks Python for more than tensors"),  # INST calls without a GLOBAL
        (b"\x80\x02\x82\x01.", "asks Python for more than tensors (EXT1)"),
        (b"\x80\x02ctorch\nFloatStorage\n)R.", "asks Python to run torch.FloatStorage"),
        (b"\x80\x02ctorch\nload\nU\x01x\x85R.", "asks Python to run torch.load"),
        (b"\x80\x02}q\x00", "is damaged"),  # no end
        (b"", "is damaged"),
        (b"\x80\x02R.", "is damaged"),
        (b"\x80\x02j\xff\xff\xff\xff.", "is damaged"),  # from a place of the memo that nothing was put to
        (b"\x80\x02" + b"N" * 300_000 + b".", "takes too many steps"),
        # 644 bytes of tuples of tuples, which would be 256 MiB if they were printed
        (b"\x80\x02K\x01\x85q\x00" + b"h\x00h\x00\x86q\x00" * 80 + b"h\x00h\x00\x93.", "tuples of more than"),
        (b"\x80\x04\x8c\x01x\x85\x8c\x01x\x93.", "is damaged"),  # a name that is no text
        (b"\x80\x02\x8b\x00\x00\x08\x00" + bytes((1 << 19) - 1) + b"\x01.", "a whole number that no checkpoint"),
    ],
)
def test_pickles_that_torch_did_not_write(refused, content, words):
    assert words in refused(with_pickle(content))


def safetensors(header: object, data: bytes = bytes(64), length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def tensor(shape, offsets, dtype="F32"):
    return {"w": {"dtype": dtype, "shape": shape, "data_offsets": offsets}}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (safetensors(tensor([10**6, 10**6], [0, 4 * 10**12])), "claims a tensor of 1,000,000,000,000 numbers"),
        (safetensors(tensor([10**12], [0, 64])), "impossible shape [1000000000000]"),
        (safetensors(tensor([2] * 5000, [0, 64])), "impossible shape"),
        (safetensors(tensor([-1, -16], [0, 64])), "impossible shape"),
        (safetensors(tensor([16], [0, 60])), "does not hold them"),
        (safetensors(tensor([16], [4, 68])), "does not hold them"),
        (safetensors(tensor([8], [32, 64])), "overlap, or leave holes"),
        (safetensors(tensor([8], [0, 32])), "32 bytes at its end belong to no tensor"),
        (safetensors(tensor([8], [0, 32]) | {"v": tensor([16], [0, 64])["w"]}), "overlap, or leave holes"),
        (safetensors(tensor([16], [0, 64], "F4_E2")), "numbers of type F4_E2"),
        (safetensors({"w": [1, 2]}), "what it says of w is no tensor"),
        (safetensors(b"{" * 2000), "its header cannot be read"),
        (safetensors({}, length=1 << 40), "neither of torch.save nor of safetensors"),
        (np.lib.format.magic(1, 0) + bytes(200), "neither of torch.save nor of safetensors"),
        (b"", "neither of torch.save nor of safetensors"),
        (saved(torch.ones(1).expand(10**6, 10**6)), "claims a tensor of shape 1,000,000 x 1,000,000"),
        (saved({"w": torch.ones(5).as_strided((3, 3), (1, 1))}), "claims a tensor of shape 3 x 3"),
        (rezipped(saved(STATE), lambda name, data: data[:8] if "/data/0" in name else data), "claims 60 numbers"),
        (rezipped(saved(STATE), lambda name, data: None if "/data/0" in name else data), "claims 60 numbers"),
        (rezipped(saved(STATE), lambda name, data: None if "pkl" in name else data), "not what torch.save writes"),
        (rezipped(saved(STATE), lambda _, data: data, compression=zipfile.ZIP_DEFLATED), "is compressed"),
        (saved(STATE)[:700], "is damaged"),
    ],
)
def test_files_that_lie_about_their_size(refused, content, words):
    said = refused(content)
    assert words in said and said.startswith("my.params ") and "\n" not in said


def sized(*sizes: int) -> bytes:
    """A checkpoint of one tensor with these sizes, whatever its storage holds."""

    def long(number: int) -> bytes:
        content = number.to_bytes(number.bit_length() // 8 + 1, "little")
        return b"\x8b" + len(content).to_bytes(4, "little") + content

    axes = b"(" + b"".join(map(long, sizes)) + b"t"
    storage = b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x3ctQ"
    return b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"K\x00" + axes + axes + b"\x89}tR."


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ((1 << 63, 1 << 63), "claims a tensor of shape 9,223,372,036,854,775,808 x 9,223,372"),
        ((1 << 8000,) * 12, "holds a whole number that no checkpoint needs"),  # 20 KB; their product is the trouble
        ((10**300_000, 1), "holds a whole number that no checkpoint needs"),
        ((2,) * 13, "is damaged"),
    ],
)
def test_sizes_that_are_huge_are_not_multiplied(refused, sizes, words):
    assert words in refused(with_pickle(sized(*sizes)))


def test_tensors_are_found_by_name(read):
    """In dicts within dicts, too, and also if they hold one another."""
    found = read(saved({"model": STATE, "lr": 0.1})).tensors
    assert found["model.weight"].sizes == (6, 10) and found["model.weight"].kind == "F32"
    assert read(HONEST["tied"]).tensors["view"].strides == (10, 1)
    assert read(HONEST["safetensors"]).tensors["weight"].strides == (10, 1)
    knot = {"w": torch.ones(2)}
    knot["again"] = knot
    assert set(read(saved(knot)).tensors) == {"w"}


def test_a_list_of_many_entries_is_not_read(refused, tmp_path):
    """Zip's own list of entries: for a file of 64 MiB, a million objects would be made before anybody counts."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for number in range(12_000):
            archive.writestr(f"{number}/{'x' * 60}", b"")
    assert "is damaged: it cannot be read" in refused(out.getvalue())


def test_too_large_a_file_is_not_read(refused, monkeypatch):
    monkeypatch.setattr(parameters, "MAX_FILE", 1000)
    assert "at most 0 are taken" in refused(bytes(2000))


def test_damaged_bytes_are_refused_or_read_and_never_crash(read):
    """A few thousand files with one byte changed: each is taken, or refused in words."""
    rng = np.random.default_rng(0)
    for content in (save({"w": torch.ones(3)}), saved({"w": torch.ones(3)})):
        for _ in range(600):
            changed = bytearray(content)
            changed[rng.integers(len(changed))] = rng.integers(256)
            try:
                read(bytes(changed)).scrambled(0)
            except Unfit:
                continue
