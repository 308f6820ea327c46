"""Expected files are found whatever they are called, nothing else is mistaken for them, and no trick gains by it."""

from __future__ import annotations

import io
import json
import random
import sys
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.__main__ import main
from autograder.checking.courses import read_course
from autograder.classroom.roster import read_roster
from autograder.files import zipped
from autograder.grading.grade import sections
from autograder.intake import clean_tree, locating
from autograder.intake.clean_tree import MOST_ZIPS, Intake, take_in
from autograder.intake.entries import Refused
from autograder.intake.locating import GIVEN
from autograder.intake.naming import MOST, forms, same
from autograder.intake.surveys import Budget, surveyed

by_the_clock = pytest.mark.xdist_group("clock")  # see test_allowance.py
STEPS = [
    "attn_scaled(A, n_embd, n_heads)", "attn_softmax(A)", "compute_outputs(A, V)", "merge_heads(y)",
    "split_heads(x, n_heads)",
]  # fmt: skip
WORK = "import torch\n" + "".join(f"\n\ndef {one}:\n    return 1\n" for one in STEPS)
BLANK = "import torch\n" + "".join(f"\n\ndef {one}:\n    raise NotImplementedError\n" for one in STEPS)
ANSWERS = "query121 = 1\nquery122 = 2\nquery131 = 3\n"
UNANSWERED = "query121 = None\nquery122 = ...\nquery131 = None  # TODO\n"
ROPE = "def precompute_rotary_emb(): return 1\ndef apply_rotary_emb(): return 2\nclass CausalSelfAttention: x = 1\n"
SPANS = "class CharCorruptionDataset:\n    x = 1\n\n\nclass NameDataset:\n    x = 2\n"


def notebook(*cells: str) -> str:
    return json.dumps({"cells": [{"cell_type": "code", "source": cell} for cell in cells], "nbformat": 4})


@pytest.fixture
def hand_in(tmp_path: Path) -> Callable[[dict[str, str | bytes]], Intake]:
    wanted = sections(read_course("default"))

    def take(files: dict[str, str | bytes]) -> Intake:
        (tmp_path / "hw.zip").write_bytes(zipped(files))
        into = tmp_path / "tree"
        into.mkdir()
        return take_in(tmp_path / "hw.zip", into, wanted)

    return take


# By name

FOUND = [
    *(
        "A2S2.ipynb",
        "a2s2.ipynb",
        "A2S2.IPYNB",
        "Copy of A2S2.ipynb",
        "Copy of Copy of A2S2.ipynb",
        "copy_of_A2S2.ipynb",
    ),
    *("A2S2 (1).ipynb", "A2S2(2).ipynb", "A2S2-1.ipynb", "A2S2_2.ipynb", "A2S2 2.ipynb", "A2S2[1].ipynb"),
    *("A2S2 copy.ipynb", "A2S2 copy 2.ipynb", "A2S2-Copy1.ipynb", "A2S2 - Copy.ipynb", "A2S2 - Copy (2).ipynb"),
    *("A2S2_final.ipynb", "A2S2-FINAL.ipynb", "A2S2_final_final2.ipynb", "A2S2_v2.ipynb", "A2S2 version 3.ipynb"),
    *("A2S2_solved.ipynb", "A2S2_submission (1).ipynb", "Copy of A2S2 (3).ipynb", "A2S2.ipynb.ipynb"),
    *("A2S2.ipynb (1).ipynb", "A2_S2.ipynb", "A2-S2.ipynb", "A2 S2.ipynb", "A2S 2.ipynb", "Kopie von A2S2.ipynb"),
    *("Copie de A2S2.ipynb", "Copia de A2S2.ipynb", "Cópia de A2S2.ipynb", "Copy (2) of A2S2.ipynb", "Ａ２S2.ipynb"),
]
OTHERS = [
    *("A2S1.ipynb", "A2S3.ipynb", "A2S21.ipynb", "A2S22.ipynb", "A2S2.py", "A1S2.ipynb", "B2S2.ipynb", "XA2S2.ipynb"),
    *("A2S2x.ipynb", "A2S.ipynb", "A2S2_old.ipynb", "A2S2_test.ipynb", "Copy of .ipynb", "(1).ipynb", "copy.ipynb"),
    *("A2S1 2.ipynb", "S2.ipynb", "A2S2.txt", "A2S2", "final.ipynb", "A2S1_A2S2.ipynb", "2.ipynb"),
]


@pytest.mark.parametrize("name", FOUND)
def test_a_copy_is_found_by_its_name(hand_in: Callable[..., Intake], name: str) -> None:
    """Even one in which next to nothing is defined."""
    taken = hand_in({f"My work/{name}": notebook("x = 1")})
    assert taken.files == ("My work/A2S2.ipynb",) and not taken.unsure
    assert taken.notes == (() if name == "A2S2.ipynb" else (f"read 'My work/{name}' as A2S2.ipynb",))


@pytest.mark.parametrize("name", OTHERS)
def test_no_other_name_is_mistaken(name: str) -> None:
    assert not same(name, "A2S2.ipynb")


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("src/attention (1).py", "src/attention.py"),
        ("src/Attention.py", "src/attention.py"),
        ("SRC/attention.py", "src/attention.py"),
        ("hw/src copy/attention.py", "hw/src/attention.py"),
        ("attention-1.py", "src/attention.py"),
        ("code/attention_final.py", "code/src/attention.py"),
        ("rope.finetune (1).params", "rope.finetune.params"),
        ("Copy of rope.pretrain.dev.predictions", "rope.pretrain.dev.predictions"),
        ("London_Baseline_Accuracy.txt", "london_baseline_accuracy.txt"),
    ],
)
def test_modules_and_files_of_predictions_are_found_too(hand_in: Callable[..., Intake], name: str, wanted: str) -> None:
    assert hand_in({name: WORK}).files == (wanted,)


@pytest.mark.parametrize("name", ["rope.params", "attention_test.py", "attention2.py", "test_attention.py", "data.py"])
def test_modules_are_not_mistaken(hand_in: Callable[..., Intake], name: str) -> None:
    assert hand_in({f"src/{name}": "x = 1"}).files == (f"src/{name}",)


def test_a_module_beside_its_folder_is_put_into_it(hand_in: Callable[..., Intake]) -> None:
    taken = hand_in({"hw/attention.py": WORK, "hw/src/dataset.py": SPANS, "hw/src/model.py": "x = 1"})
    assert taken.files == ("hw/src/attention.py", "hw/src/dataset.py", "hw/src/model.py")
    assert taken.notes == ("read 'hw/attention.py' as src/attention.py",)


# Several


@pytest.mark.parametrize(
    ("files", "used"),
    [
        ({"A2S2.ipynb": WORK, "A2S2 (1).ipynb": WORK}, "A2S2.ipynb"),
        ({"A2S2.ipynb": WORK[:120], "A2S2 (1).ipynb": WORK}, "A2S2.ipynb"),  # an exact name with work in it wins
        ({"A2S2.ipynb": BLANK, "A2S2 (1).ipynb": BLANK}, "A2S2.ipynb"),
        ({"A2S2.ipynb": BLANK, "A2S2 (1).ipynb": WORK}, "A2S2 (1).ipynb"),  # but not as it was handed out
        ({"A2S2.ipynb": BLANK, "work/A2S2.ipynb": WORK}, "work/A2S2.ipynb"),
        ({"A2S2 (1).ipynb": BLANK, "A2S2 (2).ipynb": WORK, "A2S2 (3).ipynb": BLANK}, "A2S2 (2).ipynb"),
        ({"A2S2 (1).ipynb": WORK, "Copy of A2S2.ipynb": WORK}, "A2S2 (1).ipynb"),
        ({"b/a2s2.ipynb": WORK, "a/a2s2.ipynb": WORK}, "a/a2s2.ipynb"),
        ({"A2S2.ipynb": BLANK, "hw.ipynb": WORK}, "hw.ipynb"),
        ({"A2S2.ipynb": WORK, "hw.ipynb": WORK}, "A2S2.ipynb"),
        ({"one.ipynb": BLANK, "two.ipynb": WORK}, "two.ipynb"),
    ],
)
def test_of_several_the_one_with_work_in_it_is_used_and_the_report_says_so(
    hand_in: Callable[..., Intake], tmp_path: Path, files: dict[str, str], used: str
) -> None:
    marked = {name: notebook(code, f"mark = {name!r}") for name, code in files.items()}
    taken = hand_in(marked)
    wanted = str(Path(used).with_name("A2S2.ipynb"))
    assert json.loads((tmp_path / "tree" / wanted).read_text()) == json.loads(marked[used])
    told = " ".join((*taken.notes, *(f"{one.name}: {one.why}" for one in taken.ignored)))
    assert all(name in told or Path(name).name == "hw.ipynb" for name in files if name != used)
    first = min(taken.files, key=lambda name: (name.count("/"), name) if name.endswith("A2S2.ipynb") else (99, name))
    assert first == wanted  # which the loader finds


@pytest.mark.parametrize("folder", [".ipynb_checkpoints", "__MACOSX", ".git", "__pycache__", ".Trash"])
def test_autosaved_copies_are_never_read(hand_in: Callable[..., Intake], folder: str) -> None:
    saved = {f"{folder}/A2S2.ipynb": notebook(WORK), f"{folder}/A2S2-checkpoint.ipynb": notebook(WORK)}
    taken = hand_in({"A2S2.ipynb": notebook(BLANK), **saved, f"{folder}/inner.zip": zipped({"A2S2.py": WORK})})
    assert taken.files == ("A2S2.ipynb",) and taken.notes == ()


# By what they define


@pytest.mark.parametrize(
    ("name", "code", "files"),
    [
        ("homework2.ipynb", [WORK], ["A2S2.ipynb"]),
        ("A2S2_JaneDoe_1234567.ipynb", [WORK], ["A2S2.ipynb"]),
        ("hw/mine.py", [WORK], ["hw/A2S2.py"]),
        ("mine.py", [ROPE], ["src/attention.py"]),
        ("mine.py", [WORK + ROPE], ["src/attention.py"]),
        ("data_code.py", [SPANS], ["src/dataset.py"]),
        ("all.ipynb", [ANSWERS, WORK], ["A2S1.ipynb", "A2S2.ipynb"]),
        ("A2S2.ipynb", [ANSWERS, WORK], ["A2S1.ipynb", "A2S2.ipynb"]),
        ("A2S2.py", [ANSWERS, WORK], ["A2S1.py", "A2S2.py"]),
        ("A2S1.ipynb", [ANSWERS, WORK], ["A2S1.ipynb", "A2S2.ipynb"]),
        ("A2S2.py", ["m_key = 1\nquery132 = 2", WORK], ["A2S1.py", "A2S2.py"]),
        ("one.ipynb", ["%%time\n!pip install x\n" + WORK, "this is no code ("], ["A2S2.ipynb"]),
        ("one.ipynb", [BLANK], ["A2S2.ipynb"]),
    ],
)
def test_a_file_is_found_by_what_it_defines(
    hand_in: Callable[..., Intake], name: str, code: list[str], files: list[str]
) -> None:
    taken = hand_in({name: notebook(*code) if name.endswith(".ipynb") else "\n\n".join(code)})
    assert list(taken.files) == files
    if name not in files:
        assert taken.notes[0].startswith(f"read '{name}' as {files[0].split('/')[-1] if '/' in name else files[0]}: ")
    assert len(taken.notes) >= 1 and not taken.unsure


def test_answers_elsewhere_are_read_if_the_notebook_for_them_is_blank(hand_in: Callable[..., Intake]) -> None:
    taken = hand_in({"A2S1.ipynb": notebook(UNANSWERED), "A2S2.ipynb": notebook(ANSWERS, WORK)})
    assert taken.notes == ("read 'A2S2.ipynb' as A2S1.ipynb, too: it defines 3 of the 6 exercises",)
    (ignored,) = taken.ignored
    assert ignored.name == "A2S1.ipynb" and "has more of your work in it" in ignored.why


@pytest.mark.parametrize(
    "files",
    [
        {"A2S1.ipynb": notebook(ANSWERS), "A2S2.ipynb": notebook(ANSWERS, WORK)},
        {"A2S1.ipynb": notebook(ANSWERS), "A2S2.ipynb": notebook(WORK), "plots.py": "def draw(): pass"},
        {"src/attention.py": WORK, "src/old.py": WORK, "A2S1.py": ANSWERS},
        {"src/attention.py": "from more import *\n", "src/more.py": WORK + ROPE, "A2S1.py": ANSWERS},
        {
            "src/attention.py": "from more import *\n",
            "src/more.py": WORK,
            "src/attention_v2.py": ROPE,
            "A2S1.py": ANSWERS,
        },
        {"src/attention.py": WORK, "src/rope.py": ROPE, "A2S1.py": ANSWERS},
        {"src/attention.py": WORK, "A2S1.py": ANSWERS, "deep/a/b/c/d/e.ipynb": notebook(SPANS)},
    ],
)
def test_what_has_its_names_is_left_as_it_is(hand_in: Callable[..., Intake], files: dict[str, str]) -> None:
    taken = hand_in(dict(files))
    assert sorted(taken.files) == sorted(files) and not any(note.startswith("read") for note in taken.notes)


# What nobody recognises


@pytest.mark.parametrize(
    ("files", "unsure"),
    [
        ({"A2S1.py": ANSWERS, "hw.ipynb": notebook("def f(): pass")}, True),
        (
            {"A2S1.py": ANSWERS, "hw.ipynb": notebook("def attn_softmax(A): return A\ndef merge_heads(y): return y")},
            True,
        ),
        ({"A2S1.py": ANSWERS, "hw.py": "def merge_heads(y): return y"}, True),
        ({"A2S1.py": ANSWERS}, False),
        ({"A2S1.py": ANSWERS, "hw.ipynb": notebook("# nothing", "1 + 1")}, False),
        ({"A2S1.py": ANSWERS, "A2S3.py": "def train(): pass"}, False),  # another section's
        ({"A2S1.py": ANSWERS, "A2S3 (1).ipynb": notebook("x = 1")}, False),
        ({"A2S1.py": "import helper\n" + ANSWERS, "helper.py": "x = 1"}, False),
        ({"A2S1.py": ANSWERS, "src/dataset.py": SPANS, "src/extra.py": "x = 1"}, False),
        ({"A2S1.py": ANSWERS, **{f"src/{name}": "x = 1" for name in GIVEN}, "tests/public/test_x.py": "y = 1"}, False),
        ({"A2S1.py": ANSWERS, "A2S2.ipynb": notebook(BLANK), "hw.ipynb": notebook("x = 1")}, False),
    ],
)
def test_a_section_without_its_file_is_in_doubt_only_beside_unknown_ones(
    hand_in: Callable[..., Intake], files: dict[str, str], unsure: bool
) -> None:
    taken = hand_in(dict(files))
    assert ("attn_softmax" in taken.unsure) == unsure and "query121" not in taken.unsure
    if unsure:
        name = next(name for name in files if name.startswith("hw."))
        told = f"src/attention.py or A2S2.py or A2S2.ipynb is not in the submission, but '{name}' is: "
        assert taken.unsure["attn_softmax"].startswith(told)


def test_all_given_modules_are_known(root: Path) -> None:
    expected = {Path(file).name for section in sections(read_course("default")) for file in section.files}
    given = [*(root / "solutions/src").glob("*.py"), *(root / "solutions").glob("*.py")]
    assert {path.name for path in given} - expected <= set(GIVEN)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="isolation needs Linux")
def test_a_renamed_notebook_earns_the_same_and_an_unknown_one_is_for_a_person(root, tmp_path, sources, capsys):
    solved = notebook(sources.solved()["src/attention.py"])
    both = notebook(sources.solved()["notebooks/A2S1.py"], sources.solved()["src/attention.py"])
    files = {
        "exact": {"A2S2.ipynb": solved},
        "copied": {"Copy of A2S2.ipynb": solved},
        "renamed": {"homework2.ipynb": solved},
        "nested": {"inner.zip": zipped({"hw/a2s2 (1).ipynb": solved})},
        "both": {"A2S2.ipynb": both},
        "unknown": {"A2S1.py": sources.solved()["notebooks/A2S1.py"], "hw.ipynb": notebook("def f(): pass")},
    }
    for name, inside in files.items():
        (tmp_path / f"{name}.zip").write_bytes(zipped(inside))
    paths = [str(tmp_path / f"{name}.zip") for name in files]
    arguments = ["--course", "uw447", "--out", str(tmp_path / "out")]
    assert main(["--root", str(root), "grade", *paths, *arguments]) == 1  # somebody must look at one of them
    found = {name: json.loads((tmp_path / f"out/{name}/results.json").read_text()) for name in files}
    scores = {name: content["score"] for name, content in found.items()}
    assert scores == {"exact": 20, "copied": 20, "renamed": 20, "nested": 20, "both": 40, "unknown": 20}
    assert "read 'Copy of A2S2.ipynb' as A2S2.ipynb" in found["copied"]["output"]
    assert "opened 'inner.zip', a zip inside the submission" in found["nested"]["output"]
    trouble = found["unknown"]["extra_data"]["could_not_grade"]
    assert trouble == (
        "could not grade '2 Attention, step by step': src/attention.py or A2S2.py or A2S2.ipynb is not in the "
        "submission, but 'hw.ipynb' is: a person must look whether the work is there"
    )
    tests = {one["name"]: one for one in found["unknown"]["tests"]}
    assert tests["split_heads (hidden)"]["extra_data"]["verdict"] == "could not check"
    assert "not graded yet" in tests["split_heads (hidden)"]["output"]
    assert not any("fault is ours" in text for text in (json.dumps(found["unknown"]), capsys.readouterr().out))
    assert found["exact"]["extra_data"]["could_not_grade"] == ""
    gradebook = (tmp_path / "out/gradebook.csv").read_text()
    assert "unknown" in gradebook


# Zips in zips


def test_a_zip_inside_is_opened_once(hand_in: Callable[..., Intake], tmp_path: Path) -> None:
    deepest = zipped({"A2S1.ipynb": notebook(ANSWERS)})
    inner = zipped({"hw/A2S2.ipynb": notebook(WORK), "deeper.zip": deepest, "__MACOSX/hw/._A2S2.ipynb": b"x"})
    taken = hand_in({"notes.txt": "x", "my work.zip": inner})
    assert taken.files == ("my work.zip/hw/A2S2.ipynb", "notes.txt")
    assert taken.notes == ("opened 'my work.zip', a zip inside the submission",)
    assert [(one.name, one.why) for one in taken.ignored] == [
        ("my work.zip/__MACOSX", "left there by macOS, not needed"),
        ("my work.zip/deeper.zip", "only a zip is opened, and no zip inside it; put the files in themselves"),
    ]


def test_what_lies_beside_a_zip_comes_first(hand_in: Callable[..., Intake]) -> None:
    taken = hand_in({"hw/A2S2.ipynb": notebook(WORK), "src.zip": zipped({"A2S2.ipynb": notebook(WORK, "x = 1")})})
    assert taken.notes[1] == "A2S2.ipynb: 'hw/A2S2.ipynb' was used, not 'src.zip/A2S2.ipynb'"


@pytest.mark.parametrize(
    ("inner", "why"),
    [
        (b"", "is not a zip file"),
        (zipped({"../evil.py": "x"}), "leads out of the submission"),
        (zipped({"/etc/evil.py": "x"}), "has an absolute path"),
        (zipped({"a.py": "x", "A.py": "y"}), "are one name on some computers"),
        (zipped({f"{n}.py": "" for n in range(1999)}), "more than 2,000 files and folders"),
        (zipped({"submission_metadata.yml": ":submission_1: {}", "submission_1/A2S1.py": ANSWERS}), "a whole class"),
        (zipped({"export/submission_metadata.yml": "", "export/submission_1/A2S1.py": ANSWERS}), "a whole class"),
    ],
)
def test_a_zip_that_is_not_taken_in_costs_only_itself(hand_in: Callable[..., Intake], inner: bytes, why: str) -> None:
    taken = hand_in({"A2S2.ipynb": notebook(WORK), "inner.zip": inner, "x.py": "x = 1"})
    assert taken.files == ("A2S2.ipynb", "x.py")
    assert [one.name for one in taken.ignored] == ["inner.zip"]
    assert taken.ignored[0].why.startswith("not opened, because ") and why in taken.ignored[0].why


def test_where_there_is_only_a_bad_zip_the_reason_is_told(hand_in: Callable[..., Intake]) -> None:
    taken = hand_in({"inner.zip": zipped({"../evil.py": "x"})})
    assert "there is only 'inner.zip' (not opened, because '../evil.py' leads out" in taken.why_nothing


def deflated(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def test_limits_count_outer_and_inner_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(files: dict[str, bytes]) -> str:
        into = tmp_path / str(len(list(tmp_path.iterdir())))
        into.mkdir()
        (tmp_path / "hw.zip").write_bytes(deflated(files))
        return " ".join(one.why for one in take_in(tmp_path / "hw.zip", into).ignored)

    # Either packs to a hundredth at most: harmless alone, but not one in the other.
    noise = random.Random(0).randbytes(10_000)
    inner = deflated({f"{n}.txt": noise + bytes(1 << 20) for n in range(60)})
    assert "unpacks to more than 200 times its size" in closed({"inner.zip": inner})
    monkeypatch.setattr("autograder.intake.entries.MAX_UNPACKED", 3 << 20)
    halves = [zipped({f"{name}{n}.txt": b"%d" % n * (1 << 18) for n in range(3)}) for name in "ab"]
    assert closed({"one.zip": halves[0]}) == ""
    assert "takes the submission over" in closed({"one.zip": halves[0], "big.txt": bytes(2 << 20)})


@by_the_clock
def test_a_bomb_in_a_zip_is_never_unpacked(hand_in: Callable[..., Intake]) -> None:
    inner = deflated({"a.txt": bytes(400 << 20)})
    tracemalloc.start()
    started = time.monotonic()
    taken = hand_in({"A2S2.ipynb": notebook(WORK), "inner.zip": inner})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert taken.files == ("A2S2.ipynb",) and "unpacks to more than 200 times" in taken.ignored[0].why
    assert peak < 20 << 20 and time.monotonic() - started < 5


def test_zips_of_several_students_are_never_mixed(hand_in: Callable[..., Intake], tmp_path: Path) -> None:
    inner = {f"{name}.zip": zipped({"A2S2.ipynb": notebook(WORK, f"x = '{name}'")}) for name in ("ada", "bob")}
    taken = hand_in(dict(inner))
    assert taken.files == () and "holds files of the same names" in taken.why_nothing
    alone = read_roster([tmp_path / "hw.zip"])
    assert [entry.student.id for entry in alone] == ["ada", "bob"]
    for entry, name in zip(alone, ("ada", "bob"), strict=True):
        (tmp_path / name).mkdir()
        taken = take_in(entry.source, tmp_path / name)
        assert name in (tmp_path / name / "A2S2.ipynb").read_text() and taken.files == ("A2S2.ipynb",)
    (tmp_path / "other.zip").write_bytes(zipped({"A2S1.ipynb": "{}"}))
    together = read_roster(
        [tmp_path / "hw.zip", tmp_path / "other.zip"]
    )  # as in class/*: a student chose what is in it
    assert [entry.student.id for entry in together] == ["hw", "other"]


@pytest.mark.parametrize(
    ("inside", "ids"),
    [
        (["me.zip"], ["hw"]),  # one student's zip in a zip
        (["ada.zip", "bob.zip"], ["ada", "bob"]),
        (["hw/ada.zip", "hw/bob.zip", "__MACOSX/x"], ["ada", "bob"]),
        (["part1.zip", "part2.zip", "A2S1.ipynb"], ["hw"]),
        (["ada.zip", "bob.zip", "src/attention.py"], ["hw"]),
    ],
)
def test_a_zip_of_zips_is_a_class_only_if_there_is_nothing_else(
    tmp_path: Path, inside: list[str], ids: list[str]
) -> None:
    (tmp_path / "hw.zip").write_bytes(zipped(dict.fromkeys(inside, zipped({"A2S2.ipynb": "{}"}))))
    assert [entry.student.id for entry in read_roster([tmp_path / "hw.zip"])] == ids


def test_parts_of_one_submission_are_put_together(hand_in: Callable[..., Intake]) -> None:
    parts = {"s1.zip": zipped({"A2S1.ipynb": notebook(ANSWERS)}), "s2.zip": zipped({"A2S2.ipynb": notebook(WORK)})}
    assert hand_in(dict(parts)).files == ("s1.zip/A2S1.ipynb", "s2.zip/A2S2.ipynb")


@pytest.mark.parametrize(
    ("names", "count"),
    [
        (["Copy of A2S1.ipynb", "A2S2 (1).ipynb"], 1),
        (["A2S2 (1).ipynb", "A2S2 (2).ipynb", "A2S2 (3).ipynb"], 3),  # several students', who knows
        (["ada.ipynb", "bob.ipynb"], 2),
    ],
)
def test_a_folder_of_copies_is_one_submission(tmp_path: Path, names: list[str], count: int) -> None:
    (tmp_path / "in").mkdir()
    for name in names:
        (tmp_path / "in" / name).write_text("{}")
    assert len(read_roster([tmp_path / "in"])) == count


# Hostile


@by_the_clock
def test_names_are_read_in_no_time() -> None:
    started = time.monotonic()
    long = [
        "Copy of " * 1000 + "A2S2.ipynb",
        "A2S2" + " (1)" * 1000 + ".ipynb",
        "A2S2" + "_" * 10**5 + ".ipynb",
        "-1" * 10**5,
    ]
    assert all(len(forms(name)) < 100 for name in long)
    assert same("Copy of " * 28 + "A2S2.ipynb", "A2S2.ipynb") and forms("") == () and not same("", "A2S2.ipynb")
    assert time.monotonic() - started < 0.5


@by_the_clock
@pytest.mark.parametrize(
    "code",
    [
        "def attn_softmax(A):\n    return " + "(" * 10_000,
        "def attn_softmax(A):\n    return " + "-" * 10_000 + "1",
        "def attn_softmax(A):\n    return x" + ".x" * 9_000,
        "def attn_softmax(A):\n    return 1" + " + 1" * 4_000,
        "def attn_softmax(A):\n" + "".join(" " * n + "if x:\n" for n in range(1, 190)),
        "def attn_softmax(A): pass\n" * 50_000,
        "x" * (1 << 20),
        "x " * (1 << 19),
        "query121" + " " * (1 << 20),
        "query121: " + "int" * (1 << 18),
    ],
)
def test_a_look_into_a_file_always_ends(code: str) -> None:
    started = time.monotonic()
    survey = surveyed("a.py", code.encode(), {"attn_softmax", "query121"})
    assert survey.written <= {"attn_softmax"} and time.monotonic() - started < 2


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[" * 10**6, b'{"cells": ' + b"[" * 10**6, b'{"cells": 1}', b"\xff" * 999]
)
def test_a_notebook_that_is_none_defines_nothing(content: bytes) -> None:
    assert not surveyed("a.ipynb", content, {"x"}).names


@by_the_clock
def test_what_is_large_or_many_is_not_all_looked_into(hand_in: Callable[..., Intake], monkeypatch) -> None:
    looked: list[str] = []
    look = locating.surveyed
    monkeypatch.setattr(locating, "surveyed", lambda name, *rest: looked.append(name) or look(name, *rest))
    picture = json.dumps({"cell_type": "code", "source": WORK, "outputs": ["x" * (8 << 20)]})
    files = {f"{n}.ipynb": f'{{"cells": [{picture}]}}' if n < 9 else notebook(WORK) for n in range(100)}
    started = time.monotonic()
    taken = hand_in(dict(files))
    assert "A2S2.ipynb" in taken.files and len(looked) <= locating.MOST_FILES
    assert sum(name[0] in "012345678" and len(name) == 7 for name in looked) <= locating.MOST_READ >> 23
    assert time.monotonic() - started < 20


@by_the_clock
def test_dense_notebooks_cost_seconds_at_most(hand_in: Callable[..., Intake]) -> None:
    dense = json.dumps({"a": [""] * (2 << 20), "b": WORK})
    started = time.monotonic()
    taken = hand_in({f"{n}.ipynb": dense for n in range(12)})
    assert len(taken.files) == 12 and time.monotonic() - started < 15


@pytest.mark.parametrize(
    "files",
    [
        {"A2S2.ipynb/x.txt": "x", "a2s2 (1).ipynb": notebook(WORK)},
        {"src/attention.py/x.txt": "x", "src/attention (1).py": WORK},
    ],
)
def test_a_folder_that_has_an_expected_name_is_refused_in_words(
    hand_in: Callable[..., Intake], files: dict[str, str]
) -> None:
    with pytest.raises(Refused, match=r"is both a file and a folder|are one name on some computers"):
        hand_in(dict(files))


def test_names_that_become_one_keep_their_order(hand_in: Callable[..., Intake], tmp_path: Path) -> None:
    names = ["A2S2 (1).ipynb", "a2s2-1.ipynb", "Copy of A2S2.ipynb", "A2S2 copy.ipynb", "x/A2S2 (1).ipynb"]
    digests = []
    for order in (names, names[::-1]):
        taken = hand_in({name: notebook(WORK, f"mark = {name!r}") for name in order})
        assert "A2S2 (1).ipynb" in (tmp_path / "tree/A2S2.ipynb").read_text()
        digests.append(taken.digest)
        clean_tree._empty(tmp_path / "tree")
        (tmp_path / "tree").rmdir()
    assert digests[0] == digests[1]


def test_a_file_that_would_hide_a_module_stays_out(hand_in: Callable[..., Intake]) -> None:
    taken = hand_in({"torch.py": WORK, "conftest.py": WORK, "A2S1.py": ANSWERS})
    assert taken.files == ("A2S1.py",) and len(taken.ignored) == 2


def test_what_is_parsed_has_a_budget_for_all_files_together() -> None:
    stub = "def attn_softmax(A): pass\n"
    budget = Budget(definitions=3)
    for _ in range(3):
        assert not surveyed("a.py", stub.encode(), {"attn_softmax"}, budget).written
    assert surveyed("a.py", stub.encode(), {"attn_softmax"}, budget).written  # beyond it, nobody looks
    assert surveyed("a.py", stub.encode(), {"attn_softmax"}, Budget(characters=10)).written


def test_only_so_much_is_taken_off_a_name() -> None:
    assert len(forms("a2s2" + " 1" * 100 + ".py")) <= MOST + 2


def test_only_so_many_inner_zips_are_opened(tmp_path) -> None:
    """Each is a file that is held open."""
    inner = {f"part{number}.zip": zipped({f"notes{number}.txt": b"x"}) for number in range(MOST_ZIPS + 5)}
    (tmp_path / "all.zip").write_bytes(zipped(inner))
    (tmp_path / "into").mkdir()
    taken = take_in(tmp_path / "all.zip", tmp_path / "into")
    assert len(taken.files) == MOST_ZIPS
    closed = [one for one in taken.ignored if f"more than {MOST_ZIPS}" in one.why]
    assert len(closed) == 5 and len([note for note in taken.notes if "opened" in note]) == 1
