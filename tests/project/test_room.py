"""A kind room: code that was written for a GPU, or with other packages, is graded for what it computes."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from autograder.checking.courses import read_course
from autograder.checking.engine import Sitting
from autograder.checking.points import rows
from autograder.errors import UserError
from autograder.grading.dens import den
from autograder.grading.grade import _free_users
from autograder.intake.clean_tree import _unused
from autograder.judging.submission import Submission, failure
from autograder.running import packages, room
from autograder.running.loading import Loader
from autograder.running.perform import Performer, Reply, Request, Script, Trouble
from autograder.running.sheets import Sheet
from autograder.workers import wire
from autograder.workers.protocol import Malformed
from autograder.workers.remote import Limits, RemoteChannel
from autograder.workers.zygote import Zygote
from tests.project.test_notebooks import exported, notebook

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="isolation needs Linux")

A = torch.tensor([[1.0, 2.0, 3.0], [0.0, -1.0, 5.0]])
SOFTMAX = Request("call", "attn_softmax", arguments=(A,))


@pytest.fixture(scope="module")
def zygote():
    started = Zygote()
    yield started
    started.close()


@pytest.fixture
def serve(zygote, course, this_machine):
    """A channel to a submission of these files, in a worker."""
    made, folders = [], []

    def start(files: dict[str, str], **options) -> RemoteChannel:
        place = den()
        folder = place.__enter__()
        folders.append(place)
        for name, text in files.items():
            path = folder / "submission" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        layers = options.pop("layers", None) or this_machine
        user = _free_users(1) if layers.own_user else None
        given = options.pop("course", course)
        channel = RemoteChannel(zygote, folder / "submission", list(files), given, layers, Limits(), user, **options)
        channel.begin("attn_softmax", "public")
        made.append(channel)
        return channel

    yield start
    for channel in made:
        channel.close()
    for place in folders:
        place.__exit__(None, None, None)


def module(*lines: str, before: str = "import torch") -> dict[str, str]:
    """A submission whose attn_softmax is these lines."""
    body = textwrap.indent("\n".join(lines), "    ")
    return {"src/attention.py": f"{before}\n\n\ndef attn_softmax(A):\n{body}\n"}


def said(trouble: Trouble) -> list[str]:
    finding = failure(trouble, "attn_softmax").finding
    return [finding.headline, *finding.evidence]


# Devices

ASKING = {
    "cuda": "return A.cuda().softmax(-1)",
    "cuda of a number": "return A.cuda(0, non_blocking=True).softmax(-1)",
    "to": "return A.to('cuda').softmax(-1).to('cpu')",
    "to and dtype": "return A.to('cuda:0', torch.float64).softmax(-1).to(device='cuda', dtype=A.dtype)",
    "to a number": "return A.to(0).softmax(-1)",
    "device": "return A.to(torch.device('cuda:0')).softmax(-1)",
    "maker": "return torch.softmax(A + torch.zeros(A.shape, device='cuda'), -1)",
    "makers": (
        "n = A.shape[-1]\n"
        "one = torch.ones(n, device='cuda') * torch.arange(n, device=torch.device('cuda')) * torch.rand(n, device=0)\n"
        "two = torch.tensor([0.0], device='cuda') + torch.full_like(A, 0, device='cuda')\n"
        "two = two + A.new_zeros(n, device='cuda')\n"
        "three = torch.zeros(n, pin_memory=True) + torch.as_tensor([0.0], device='cuda')\n"
        "return (A + 0 * one + two + three).softmax(-1)"
    ),
    "module": (
        "layer = torch.nn.Linear(3, 3, device='cuda').cuda()\n"
        "layer.to('cuda', torch.float32)\n"
        "layer.weight.data = torch.eye(3, device='cuda'); layer.bias.data.zero_()\n"
        "return layer(A).softmax(-1)"
    ),
    "default": "torch.set_default_device('cuda')\nreturn (A + torch.zeros(3)).softmax(-1)",
    "context": "with torch.device('cuda'):\n    return (A + torch.zeros(3)).softmax(-1)",
    "unguarded calls": (
        "torch.cuda.set_device(0); torch.cuda.synchronize(); torch.cuda.get_device_properties(0).name\n"
        "print(torch.cuda.get_device_name(torch.cuda.current_device()))\n"
        "return A.softmax(-1)"
    ),
    "streams": "with torch.cuda.stream(torch.cuda.Stream()), torch.cuda.device(0):\n    return A.softmax(-1)",
    "autocast": "with torch.autocast('cuda', dtype=torch.float16):\n    return A.softmax(-1)",
    "amp": "with torch.cuda.amp.autocast():\n    torch.cuda.amp.GradScaler()\n    return A.softmax(-1)",
    "generator": "return (A + 0 * torch.rand(3, generator=torch.Generator('cuda').manual_seed(1))).softmax(-1)",
    "load": (
        "import io\nkept = io.BytesIO()\ntorch.save(A, kept)\nkept.seek(0)\n"
        "return torch.load(kept, map_location='cuda').softmax(-1)"
    ),
}
QUIET = {
    "guarded": (
        "device = torch.device('cuda' if torch.cuda.is_available() else 'mps' if torch.backends.mps.is_available() "
        "else 'cpu')\nif torch.cuda.is_available():\n    raise AssertionError\n"
        "torch.cuda.manual_seed_all(1); torch.cuda.manual_seed(1); torch.cuda.empty_cache(); torch.mps.manual_seed(1)\n"
        "torch.manual_seed(1)\nassert torch.cuda.device_count() == 0\nreturn A.to(device).softmax(-1)"
    ),
    "plain": "return A.to(torch.float64).softmax(-1).to(A)",
}
OTHERS = {
    "compile": ("return torch.compile(lambda A: A.softmax(-1), mode='max-autotune')(A)", "torch.compile was left out"),
    "compiled module": ("m = torch.nn.Softmax(-1)\nm.compile()\nreturn m(A)", "torch.compile was left out"),
    "workers": (
        "from torch.utils.data import DataLoader\n"
        "loader = DataLoader(A, 2, num_workers=4, pin_memory=True, persistent_workers=True, prefetch_factor=2)\n"
        "return next(iter(loader)).softmax(-1)",
        "num_workers=0",
    ),
    "mps": ("return A.to('mps').softmax(-1)", "your code asks for mps; it was run on the CPU"),
    "mps calls": ("torch.mps.synchronize()\nreturn A.softmax(-1)", "your code asks for mps; it was run on the CPU"),
    "both": ("return A.to('mps').softmax(-1).cuda()", "your code asks for cuda and mps; it was run on the CPU"),
}
CASES = (
    {name: (code, "your code asks for cuda; it was run on the CPU") for name, code in ASKING.items()}
    | {name: (code, "") for name, code in QUIET.items()}
    | OTHERS
)


@pytest.mark.parametrize("name", CASES)
def test_code_for_a_gpu_is_run_on_the_cpu_with_a_note(serve, name):
    code, note = CASES[name]
    channel = serve(module(code))
    submission = Submission(channel)
    for part in ("public", "hidden"):
        channel.begin("attn_softmax", part)
        value = submission.attn_softmax(A)
        assert torch.allclose(value, A.softmax(-1))
        told, _ = submission._noted(part)
        assert note in told and bool(told) == bool(note)
        assert submission._noted(part)[0] == ""  # said once


def test_a_hidden_check_notes_only_what_a_public_one_has_noted(serve):
    """Which devices code asks for may depend on its input: ten words would carry ten bits of a hidden one."""
    channel = serve(module("return A.to('cuda' if A.abs().sum() < 100 else 'mps').softmax(-1)"))
    submission = Submission(channel)
    for part, scores, expected in (("public", A, "cuda"), ("hidden", A + 1000, ""), ("hidden", A, "cuda")):
        channel.begin("attn_softmax", part)
        submission.attn_softmax(scores)
        told, _ = submission._noted(part)
        assert (expected in told) and bool(told) == bool(expected)
        assert bool(submission._used)  # what a course forbids is still seen


@pytest.mark.parametrize("name", ["to", "makers", "module", "default", "autocast", "load", "guarded", "workers"])
def test_the_students_own_check_does_the_same_and_leaves_torch_as_it_was(tmp_path, course, name):
    code, note = CASES[name]
    for file, text in module(code).items():
        (tmp_path / file).parent.mkdir()
        (tmp_path / file).write_text(text)
    places = [(owner, name) for owner, name, _ in room._replacements()]
    before = [(getattr(owner, name), vars(owner).get(name)) for owner, name in places]
    submission = Submission(Performer(Loader(tmp_path, course.files, course.by_cells)))
    assert torch.allclose(submission.attn_softmax(A), A.softmax(-1))
    told = submission._noted("public")[0]
    assert note in told and bool(told) == bool(note)
    after = [(getattr(owner, name), vars(owner).get(name)) for owner, name in places]
    assert all(one[1] is other[1] and one[0] == other[0] for one, other in zip(before, after, strict=True))


def test_a_decorated_function_is_run_as_it_is_written(serve):
    code = "import torch\n\n@torch.compile\n@torch.jit.script\ndef attn_softmax(A):\n    return A.softmax(-1)\n"
    code += "\n\n@torch.compile(fullgraph=True)\ndef attn_scaled(A, n_embd, n_heads):\n    return A\n"
    channel = serve({"src/attention.py": code})
    replies = channel.perform_all([SOFTMAX, Request("call", "attn_scaled", arguments=(A, 4, 1))])
    assert [type(reply) for reply in replies] == [Reply, Reply]
    assert channel.noticed() == ["compile"]


def test_a_note_is_told_of_each_exercise_and_part(serve):
    channel = serve(module("return A.cuda().softmax(-1)"))
    for part in ("public", "hidden"):
        channel.begin("attn_softmax", part)
        channel.perform_all([SOFTMAX, SOFTMAX])
        assert channel.noticed() == ["cuda"] and channel.noticed() == []
    channel.begin("attn_scaled", "hidden")
    assert channel.noticed() == []


def test_what_is_noticed_is_a_word_of_the_list():
    good = wire.unpack_reply({"number": 1, "value": 2, "noticed": ("cuda", "cuda", "mps")}, 1)
    assert isinstance(good, Reply) and good.noticed == ("cuda", "mps")
    for words in (("LEAK",), ["cuda"], "cuda", (1,), (("cuda",),)):
        with pytest.raises(Malformed):
            wire.unpack_reply({"number": 1, "value": 2, "noticed": words}, 1)


RUN = """
import argparse
import torch
from torch.utils.tensorboard import SummaryWriter
from tqdm.auto import tqdm, trange

writer = SummaryWriter("logs")
device = torch.cuda.current_device()
model = torch.nn.Linear(2, 2).to(device)
torch.save(model.state_dict(), "here.pt")
model.load_state_dict(torch.load("here.pt", map_location="cuda"))
for _ in tqdm(range(2), total=2):
    writer.add_scalar("loss", model(torch.ones(2, device="cuda")).sum().item(), 1)
with open("out.txt", "w") as file:
    file.write(str(sum(trange(4))))
writer.close()
"""


def test_a_script_runs_in_the_same_room(serve, tmp_path):
    (tmp_path / "run.py").write_text(RUN)
    script = Script("src/run.py", (), "out.txt", {"src/run.py": tmp_path / "run.py"})
    channel = serve(module("return A"))
    reply = channel.run(script, 10)
    assert isinstance(reply, Reply) and reply.value == "6", reply
    assert channel.noticed() == ["cuda"]
    local = Performer(Loader(tmp_path, {}))
    reply = local.run(script, 10)
    assert isinstance(reply, Reply) and reply.value == "6" and local.noticed() == ["cuda"]


# Devices that a cell chooses which is not run


def uw(text: str, *later: str) -> list[str]:
    """The original's second notebook: its own hint is `.to(DEVICE)`, and a later cell sets it."""
    parts = re.split(r"\n\n\n(?=def |class )", text.split("from __future__ import annotations\n", 1)[1])
    steps = [re.sub(r" *# (?:BEGIN|END) SOLUTION.*\n", "", part) for part in parts]
    (mask,) = (number for number, step in enumerate(steps) if step.startswith("def make_causal_mask"))
    steps[mask] = "def make_causal_mask(n_tok):\n    return torch.ones(n_tok, n_tok, dtype=bool).tril().to(DEVICE)"
    return [*steps, *later]


LATER = {
    "constant": ["DEVICE = 'cuda'"],
    "device": ["import torch\nDEVICE = torch.device('cuda:0')"],
    "guarded": ["DEVICE = 'cuda' if torch.cuda.is_available() else 'cpu'"],
    "own function": ["def get_device():\n    return 'cuda'", "DEVICE = get_device()"],
    "another package": ["import torch_xla.core.xla_model as xm\nDEVICE = xm.xla_device()"],
    "with training": ["DEVICE = train().device\nmodel = train()", "print(DEVICE)"],
    "in a branch": ["if ask():\n    DEVICE = 'cuda'\nelse:\n    DEVICE = 'mps'"],
}


@pytest.mark.parametrize("name", LATER)
@pytest.mark.parametrize(("file", "form"), [("A2S2.ipynb", notebook), ("A2S2.py", exported)])
def test_a_device_that_a_later_cell_sets_costs_nothing(tmp_path, sources, examine_uw, name, file, form):
    """As in the original's own hint; before, this lost 14 of 42 points."""
    files = {file: form(*uw(sources.texts["src/attention.py"], *LATER[name]))}
    found = examine_uw(files)
    lost = {(row.item.slug, row.part): row.outcomes for row in found if row.score < row.points}
    assert not lost, lost
    assert sum(row.score for row in found) == 20  # all of section 2
    notes = {outcome.note for row in found for outcome in row.outcomes if outcome.note}
    cpu = {"constant", "device"}
    expected = "your code asks for cuda" if name in cpu else "the code that chooses a device is not run here"
    assert not notes if name == "guarded" else any(expected in note for note in notes)


@pytest.fixture(scope="module")
def warm_uw(root):
    from autograder.checking.engine import collect

    course = read_course("uw447")
    kept = []
    collect([root / "tests" / part for part in ("public", "hidden")], kept.append)
    return course, kept[0]


@pytest.fixture
def examine_uw(warm_uw, serve):
    course, examiner = warm_uw
    slugs = [item.slug for item in course.graded if "A2S2.ipynb" in item.files]

    def examine(files):
        channel = serve(files, course=course)
        outcomes = examiner.examine(Sitting(course, Submission(channel)), slugs)
        return [row for row in rows(course, outcomes) if row.item.slug in slugs]

    return examine


@pytest.mark.parametrize("by_cells", [False, True])
def test_only_names_of_devices_are_chosen_for_a_student(tmp_path, by_cells):
    path = tmp_path / "A2S2.ipynb"
    cells = [
        "device = f()",
        "train_device = g()",
        "DEVICE_NAME = h()",
        "device_count = f()",
        "model = f()",
        "devices = f()",
    ]
    path.write_text(notebook(*cells, "def device_map():\n    pass", "dev = 'cuda'"))
    sheet = Sheet(path, root=tmp_path, by_cells=by_cells)
    found = {
        name: value for name, value in vars(sheet.module).items() if isinstance(value, str) and "dev" in name.lower()
    }
    assert found == {"device": "cpu", "train_device": "cpu", "DEVICE_NAME": "cpu", "dev": "cuda"}
    room.asked.clear()


# Packages

IMPORTS = """
import tqdm
import tqdm.notebook
from tqdm.auto import tqdm as bar, trange
import wandb
import matplotlib.pyplot as plt
import seaborn as sns
import pandas as pd
import gensim
from sklearn.metrics import accuracy_score
from torch.utils.tensorboard import SummaryWriter
from IPython.display import display
from google.colab import drive
import ipdb
from torchinfo import summary
from torchsummary import summary as other
from jaxtyping import Float, Int, jaxtyped
from typeguard import typechecked
from beartype import beartype
from beartype.typing import Optional
from transformers import AutoTokenizer
import einops
from einops.layers.torch import Rearrange
import torch
from torch import Tensor

wandb.init(project="x", config={"lr": 1})
drive.mount("/content")
sns.set_theme()
ax: plt.Axes | None = None


class Callback(wandb.Callback):
    pass


@jaxtyped(typechecker=beartype)
@typechecked
def attn_softmax(A: Float[Tensor, "rows columns"], seen: Int[Tensor, "n"] | None = None) -> Float[Tensor, "..."]:
    total = torch.zeros_like(A)
    for row in bar(range(2), desc="rows"):
        total[row] = einops.rearrange(A, "r c -> c r")[:, row].softmax(0)
        tqdm.tqdm.write("row")
    wandb.log({"total": total.sum().item()})
    SummaryWriter("x").add_scalar("a", 1, 2)
    with tqdm.tqdm(total=3) as shown:
        shown.update(1)
    return total


def attn_scaled(A, n_embd, n_heads):
    return gensim.matutils.unitvec(A)
"""


@pytest.mark.parametrize("file", ["src/attention.py", "A2S2.py", "A2S2.ipynb"])
def test_packages_that_show_or_check_types_cost_nothing(serve, file):
    text = notebook(*IMPORTS.split("\n\n\n")) if file.endswith("ipynb") else IMPORTS
    channel = serve({file: text})
    softmax, scaled = channel.perform_all([SOFTMAX, Request("call", "attn_scaled", arguments=(A, 4, 1))])
    assert isinstance(softmax, Reply), softmax
    assert torch.allclose(softmax.value, A.softmax(-1))
    assert isinstance(scaled, Trouble)
    assert "uses `gensim`, which is not installed where we grade" in said(scaled)[0] and file in said(scaled)[0]


def test_a_package_that_is_not_there_is_one_line_with_file_and_name(serve):
    channel = serve(module("return A", before="import math\nimport torch\nimport xformers.ops as ops"))
    (reply,) = channel.perform_all([SOFTMAX])
    assert said(reply)[0] == "src/attention.py line 3 imports `xformers`, which is not installed where we grade"
    optional = "try:\n    import xformers\nexcept ImportError:\n    xformers = None"
    (reply,) = serve(module("return A.softmax(-1)", before=optional)).perform_all([SOFTMAX])
    assert isinstance(reply, Reply)


def test_a_package_that_is_not_there_costs_a_notebook_only_what_needs_it(serve):
    cells = [
        "import xformers",
        "def attn_softmax(A):\n    return A.softmax(-1)",
        "def attn_scaled(A, n, m):\n    xformers.f()",
    ]
    replies = serve({"A2S2.ipynb": notebook(*cells)}).perform_all(
        [SOFTMAX, Request("call", "attn_scaled", arguments=(A, 1, 1))]
    )
    assert isinstance(replies[0], Reply)
    assert said(replies[1])[0].endswith(
        "A2S2.ipynb, cell 3, line 2 uses `xformers`, which is not installed where we grade"
    )


def test_a_module_that_was_handed_in_wins_over_a_stand_in(serve):
    files = module("return wandb.mine(A)", before="import wandb") | {
        "src/wandb.py": "def mine(A):\n    return A.softmax(-1)\n"
    }
    (reply,) = serve(files).perform_all([SOFTMAX])
    assert isinstance(reply, Reply) and torch.allclose(reply.value, A.softmax(-1))


@pytest.mark.parametrize("name", ["einops", "tqdm", "torch"])
def test_no_submitted_module_hides_what_the_grader_or_torch_imports(name):
    assert _unused(f"src/{name}.py") == f"it would hide the package {name}; rename it"


def test_only_student_code_is_told_of_packages_that_are_not_there():
    """torch looks for optional packages, too, and must not find a stand-in."""
    program = (
        "import sys; from pathlib import Path; from autograder.running import packages, room\n"
        "room.install(for_good=True); packages.serve(Path('/submission'))\n"
        "exec(compile('import wandb, tqdm', '/submission/a.py', 'exec'))\n"
        "assert isinstance(sys.modules['wandb'], packages.StandIn)\n"
        "room.remove()\n"
        "assert 'wandb' not in sys.modules and 'tqdm' not in sys.modules\n"
        "room.install(for_good=True)\n"
        "for file in ('/elsewhere/a.py', '/submission/.venv/lib/python3.11/site-packages/torch/a.py'):\n"
        "    try:\n"
        "        exec(compile('import wandb', file, 'exec'))\n"
        "    except ModuleNotFoundError:\n"
        "        continue\n"
        "    raise SystemExit('a stand-in for everybody')\n"
    )
    subprocess.run([sys.executable, "-c", program], cwd=Path(packages.__file__).parents[2], check=True)


# Library kernels, and writing into arguments

WITH_KERNEL = """
import torch
import torch.nn.functional as F


def self_attention(Q, K, V, n_heads=1, causal=True):
    q, k, v = (x.unflatten(-1, (n_heads, -1)).transpose(1, 2) for x in (Q, K, V))
    return F.scaled_dot_product_attention(q, k, v, is_causal=causal).transpose(1, 2).flatten(-2)


print(F.scaled_dot_product_attention(*torch.ones(3, 1, 2, 2)))


def attn_softmax(A):
    return A.softmax(-1)


def attn_scaled(A, n_embd, n_heads):
    A /= (n_embd / n_heads) ** 0.5
    return A
"""


@pytest.fixture
def examine_with(root, serve, warm_uw):
    _, examiner = warm_uw

    def examine(files, course, only):
        outcomes = examiner.examine(Sitting(course, Submission(serve(files, course=course))), only)
        return {(row.item.slug, row.part): row for row in rows(course, outcomes) if row.item.slug in only}

    return examine


def test_a_library_kernel_is_noted_and_costs_nothing_unless_the_course_forbids_it(course, examine_with):
    only, files = ["self_attention", "attn_softmax"], {"src/attention.py": WITH_KERNEL}
    found = examine_with(files, course, only)
    assert all(row.score == row.points for row in found.values())
    for (slug, _), row in found.items():
        notes = "; ".join(outcome.note for outcome in row.outcomes)
        assert ("uses the library's scaled_dot_product_attention" in notes) == (slug == "self_attention")
    item = replace(course.items["self_attention"], forbid=("scaled_dot_product_attention",))
    found = examine_with(files, replace(course, items={**course.items, "self_attention": item}), only)
    for part in ("public", "hidden"):
        row = found["self_attention", part]
        assert row.score == 0 and found["attn_softmax", part].score
        told = next(outcome.finding for outcome in row.outcomes if outcome.finding)
        assert told.headline == (
            "self_attention: calls the library's scaled_dot_product_attention, which this course forbids here"
        )
    item = replace(item, forbid=("multi_head_attention_forward",))  # is called by nobody
    found = examine_with(files, replace(course, items={**course.items, "self_attention": item}), only)
    assert all(row.score == row.points for row in found.values())


def test_a_kernel_that_a_file_uses_when_it_is_loaded_is_no_part_of_the_answer(tmp_path, course):
    """Here loading is part of the first call; in a worker it is not."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src/attention.py").write_text(WITH_KERNEL)
    performer = Performer(Loader(tmp_path, course.files))
    assert isinstance(performer.perform_all([SOFTMAX])[0], Reply)
    assert performer.noticed() == []


def test_only_the_kernel_that_was_asked_for_is_noted(serve):
    code = (
        "import torch\n\ndef attn_softmax(A):\n"
        "    layer = torch.nn.MultiheadAttention(3, 1)\n"
        "    layer(A[None], A[None], A[None])\n    return A.softmax(-1)\n"
    )
    channel = serve({"src/attention.py": code})
    assert isinstance(channel.perform_all([SOFTMAX])[0], Reply)
    assert channel.noticed() == ["MultiheadAttention"]


def test_a_course_may_forbid_kernels_by_name_and_no_others(tmp_path, root):
    text = (root / "autograder/courses/default.toml").read_text()

    def change(slug, kernels):
        return f"{text}\n[change]\n{slug} = {{ forbid = {kernels} }}\n"

    path = tmp_path / "c.toml"
    path.write_text(change("self_attention", '["scaled_dot_product_attention", "MultiheadAttention"]'))
    forbidden = read_course(str(path)).items["self_attention"].forbid
    assert forbidden == ("scaled_dot_product_attention", "MultiheadAttention")
    path.write_text(change("self_attention", '["softmax"]'))
    with pytest.raises(UserError, match=r"c\.toml:\d+: 'forbid' of 'self_attention' names 'softmax'; what can be"):
        read_course(str(path))
    path.write_text(change("query121", '["MultiheadAttention"]'))
    with pytest.raises(UserError, match=r"'forbid' of 'query121' is for exercises that are called with tensors"):
        read_course(str(path))


def test_a_small_step_that_writes_into_its_argument_is_noted_and_loses_nothing(course, examine_with):
    found = examine_with({"src/attention.py": WITH_KERNEL}, course, ["attn_scaled", "attn_softmax"])
    for (slug, _), row in found.items():
        assert row.score == row.points
        notes = [outcome.note for outcome in row.outcomes if outcome.note]
        assert notes == (["writes into its argument A; the caller's tensor changes"] if slug == "attn_scaled" else [])


def test_what_stands_behind_a_kernel_is_not_handed_out():
    with room.entered():
        assert not hasattr(torch.nn.functional.scaled_dot_product_attention, "__wrapped__")
        assert not hasattr(torch.ones, "__wrapped__")
