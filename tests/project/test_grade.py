"""Grading: exact scores, results that are never torn, and words for everything a submission can do."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import pytest
import torch

from autograder.__main__ import main
from autograder.files import zipped
from autograder.isolation.layers import WEAK
from autograder.judging import references
from autograder.proving.examples import write_examples
from autograder.publishing import regions

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="isolation needs Linux")

KEYS = {
    "score", "output", "output_format", "test_output_format", "test_name_format", "visibility",
    "stdout_visibility", "tests", "extra_data", "execution_time",
}  # fmt: skip


@pytest.fixture(scope="session")
def quick(tmp_path_factory, with_deadlines) -> Path:
    """The default course with short deadlines for the steps, where the harm is done; the rest keeps its 20 seconds."""
    path = tmp_path_factory.mktemp("course") / "quick.toml"
    path.write_text(with_deadlines({"attention": 3}))
    return path


def grade(root: Path, out: Path, *arguments: object) -> int:
    return main(["--root", str(root), "grade", "--out", str(out), *map(str, arguments)])


def read(out: Path, name: str) -> dict:
    return json.loads((out / name / "results.json").read_text())


def stable(out: Path, name: str) -> dict:
    content = read(out, name)
    del content["execution_time"]
    return content


@pytest.mark.slow
def test_examples_get_exactly_what_they_earn(root, tmp_path, quick, sources, capsys):
    assert grade(root, tmp_path, "--examples", "--course", quick) == 0
    scores = {path.parent.name: read(tmp_path, path.parent.name)["score"] for path in tmp_path.glob("*/results.json")}
    full = 120 if sources.trained else 100  # without them, nothing is handed in for predictions
    assert scores == {
        "perfect": full, "clumsy": full, "blank": 0, "hostile": 0,
        "no_diagonal": 74, "pairs_halves": 80, "right_anchored": 86,
    }  # fmt: skip
    assert "7 graded, 0 could not be graded" in capsys.readouterr().out
    content = read(tmp_path, "pairs_halves")
    assert set(content) == KEYS
    assert all(test["extra_data"]["exercise"] for test in content["tests"])
    wrong = next(test for test in content["tests"] if test["name"] == "apply_rotary_emb (hidden)")
    assert "You pair feature i with feature i + d/2" in wrong["output"] and wrong["status"] == "failed"
    assert content["extra_data"]["isolation"] != "weak"
    assert set(content["extra_data"]["hashes"]) == {"course", "checks", "grader", "limits", "answers", "submission"}
    assert "ignored __MACOSX" in read(tmp_path, "clumsy")["output"]


@pytest.mark.slow
def test_same_submission_twice_gives_the_same_bytes(root, tmp_path, quick, sources):
    examples = write_examples(root / "solutions", tmp_path / "in")
    chosen = [path for path in examples if path.stem in ("right_anchored", "no_diagonal", "perfect")]
    for out in ("one", "two"):
        assert grade(root, tmp_path / out, *chosen, "--course", quick) == 0
    for path in chosen:
        texts = [(tmp_path / out / path.stem / "results.json").read_text() for out in ("one", "two")]
        assert len({re.sub(r'"execution_time": [\d.]+', "", text) for text in texts}) == 1


@pytest.mark.slow
def test_ten_honest_submissions_do_not_notice_a_hostile_one(root, tmp_path, quick):
    (tmp_path / "in").mkdir()
    examples = {path.stem: path.read_bytes() for path in write_examples(root / "solutions", tmp_path / "made")}
    kinds = ["blank", "no_diagonal", "blank", "perfect", "blank", "blank", "no_diagonal", "blank", "blank", "blank"]
    honest = []
    for number, kind in enumerate(kinds):
        honest.append(tmp_path / "in" / f"{number}-{kind}.zip")
        honest[-1].write_bytes(examples[kind])
    hostile = tmp_path / "in" / "hostile.zip"
    hostile.write_bytes(examples["hostile"])
    assert grade(root, tmp_path / "without", *honest, "--course", quick) == 0
    assert grade(root, tmp_path / "with", *honest[:4], hostile, *honest[4:], "--course", quick) == 0
    for path in honest:
        assert stable(tmp_path / "with", path.stem) == stable(tmp_path / "without", path.stem)


HARM = {  # what attn_scaled does -> what the student reads
    "segfault": ("import ctypes; ctypes.string_at(0)", "segmentation fault"),
    "six_gigabytes": ("return torch.ones(6 * 2**30 // 4)", "used more than 0.25 GB of memory and was stopped"),
    "children": ("import os; [os.fork() for _ in range(200)]", "PermissionError"),
    "output": ("[print('x' * 2**20) for _ in range(2048)]", "printed more than 10 million characters"),
    "exit": ("import os; os._exit(0)", "ended Python itself; do not call exit"),
    "abort": ("import os; os.abort()", "crashed Python"),
    "huge": ("return A.sum().expand(10**12)", "tensor of 1,000,000,000,000"),
    "loop": ("while True: pass", "did not finish within 3 s of processor time\n  It was in the loop of line"),
    "import_loop": ("pass\n\nwhile True: pass", "while your file was loaded: did not finish within 3 s"),
}


@pytest.mark.slow
def test_harm_is_ended_and_told_in_words(root, tmp_path, with_deadlines, sources, capsys):
    course = tmp_path / "course.toml"
    # The same file is loaded for part 3, where nothing but stubs has to run here.
    course.write_text(with_deadlines({"attention": 3, "pretraining": 3}))
    blank = {name: regions.stubbed(text, name) for name, text in sources.texts.items()}
    paths = []
    for name, (code, _) in HARM.items():
        paths.append(tmp_path / f"{name}.zip")
        source = f"{blank['src/attention.py']}\n\ndef attn_scaled(A, n_embd, n_heads):\n    {code}\n"
        paths[-1].write_bytes(zipped(blank | {"src/attention.py": source}))
    assert grade(root, tmp_path / "out", *paths, "--course", course, "--memory", 0.25) == 0
    for name, (_, words) in HARM.items():
        content = read(tmp_path / "out", name)
        row = next(test for test in content["tests"] if test["name"] == "attn_scaled (public)")
        assert words in row["output"], (name, row["output"])
        assert content["score"] == 0
        # one hanging exercise costs only itself
        others = [
            test for test in content["tests"] if test["name"] in ("query121 (public)", "span_corruption (public)")
        ]
        assert all("not started" in test["output"] for test in others)


TELLTALE = """

import os

SEEN = []


def remember(x):
    SEEN.insert(0, str(x.flatten().tolist()))  # the newest first, because messages are cut
    with open(os.path.expanduser("~/seen"), "a") as file:
        file.write(SEEN[0])


def split_heads(x, n_heads):
    remember(x)
    print(SEEN)
    raise type("E" + str(float(x.flatten()[0])).replace(".", "_").replace("-", "m"), (ValueError,), {})(str(SEEN))


def merge_heads(y):
    remember(y)
    return [str(SEEN)]


def precompute_rotary_emb(dim, max_positions):
    raise ValueError(str(SEEN) + open(os.path.expanduser("~/seen")).read())
"""


@pytest.mark.slow
def test_hidden_inputs_are_nowhere_in_what_a_student_sees(root, tmp_path, quick, sources):
    """A submission that tells everything it sees, at once and later, in every way it can."""
    files = sources.solved() | {"src/attention.py": sources.texts["src/attention.py"] + TELLTALE}
    (tmp_path / "tell.zip").write_bytes(zipped(files))
    assert grade(root, tmp_path, tmp_path / "tell.zip", "--course", quick) == 0
    text = (tmp_path / "tell" / "results.json").read_text()
    assert "1.0, 2.0, 3.0" in text  # public inputs may be told

    def sequences(part):
        """Three numbers in a row, as Python prints them: one alone is in many tensors."""
        found = set()
        for path in (root / "tests" / part).glob("*/references/*.safetensors"):
            for case in references.read(path).cases:
                for given in (*case.arguments.values(), case.expected):
                    if isinstance(given, torch.Tensor) and given.is_floating_point():
                        shown = [str(value) for value in given.flatten().tolist()]
                        found |= {", ".join(shown[n : n + 3]) for n in range(len(shown) - 2)}
        return found

    secrets = sequences("hidden") - sequences("public")
    assert len(secrets) > 10_000
    assert not [sequence for sequence in secrets if len(sequence) >= 20 and sequence in text]


@pytest.mark.slow
def test_archives_that_cannot_be_taken_in_have_a_result_and_exit_code_1(root, tmp_path, quick, sources, capsys):
    (tmp_path / "broken.zip").write_bytes(b"PK\x03\x04 but no more")
    with zipfile.ZipFile(tmp_path / "escape.zip", "w") as archive:
        archive.writestr("../../escaped.py", "x = 1")
    (tmp_path / "fine.zip").write_bytes(zipped(sources.solved()))
    paths = [tmp_path / f"{name}.zip" for name in ("broken", "escape", "fine")]
    assert grade(root, tmp_path / "out", *paths, "--course", quick) == 1
    assert "1 graded, 2 could not be graded" in capsys.readouterr().out
    assert read(tmp_path / "out", "fine")["score"] == 100
    for name in ("broken", "escape"):
        content = read(tmp_path / "out", name)
        assert content["score"] == 0 and len(content["tests"]) == len(read(tmp_path / "out", "fine")["tests"]) - 4
        assert content["output"] == content["extra_data"]["could_not_grade"] != ""
    assert not (tmp_path.parent / "escaped.py").exists()


def test_folders_and_single_files_are_graded(root, tmp_path, quick, sources):
    folder = tmp_path / "as folder"
    for name, text in sources.solved().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (tmp_path / "A2S1.py").write_text(sources.texts["notebooks/A2S1.py"])
    assert grade(root, tmp_path / "out", folder, tmp_path / "A2S1.py", "--course", quick) == 0
    assert read(tmp_path / "out", "as_folder")["score"] == 100
    assert read(tmp_path / "out", "A2S1")["score"] == 18


def test_wrong_usage_is_one_line_and_exit_code_2(root, tmp_path, capsys):
    for arguments, words in (
        ((), "nothing to grade; name zips or folders, or pass --examples"),
        ((tmp_path / "no.zip",), "no.zip does not exist"),
        (("--course", "mit", tmp_path), "no course 'mit'"),
    ):
        assert grade(root, tmp_path / "out", *arguments) == 2
        errors = capsys.readouterr().err
        assert words in errors and errors.count("\n") == 1


@pytest.mark.slow
def test_weak_isolation_is_refused_unless_asked_for_in_so_many_words(
    root, tmp_path, quick, sources, monkeypatch, capsys
):
    monkeypatch.setattr("autograder.classroom.class_run.probe", lambda **_: WEAK)
    (tmp_path / "fine.zip").write_bytes(zipped(sources.solved()))
    arguments = (tmp_path / "fine.zip", "--course", quick)
    assert grade(root, tmp_path / "out", *arguments) == 2
    assert "pass --allow-weak-isolation if you trust every one of them" in capsys.readouterr().err
    assert grade(root, tmp_path / "out", *arguments, "--allow-weak-isolation") == 0
    assert "WEAK isolation" in capsys.readouterr().err
    assert read(tmp_path / "out", "fine")["extra_data"]["isolation"] == "weak"


def alive(word: str) -> list[str]:
    """Processes whose command line holds a word; forks share the command line of the grader."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if word.encode() in (folder / "cmdline").read_bytes() and folder.name != str(os.getpid()):
                found.append(folder.name)
        except OSError:
            continue
    return found


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [1.4, 2.2, 3.4])
def test_killed_at_any_moment_nothing_is_torn_and_nothing_is_left_running(root, tmp_path, quick, sources, seconds):
    hang = sources.texts["src/dataset.py"].replace(
        "        text = self.data", "        while True: pass\n        text = self.data"
    )
    (tmp_path / "hangs.zip").write_bytes(zipped(sources.solved() | {"src/dataset.py": hang}))
    (tmp_path / "fine.zip").write_bytes(zipped(sources.solved()))
    out = tmp_path / "out"
    old = out / "fine" / "results.json"
    old.parent.mkdir(parents=True)
    old.write_text('{"score": "old"}')
    command = [
        sys.executable,
        "-m",
        "autograder",
        "--root",
        str(root),
        "grade",
        "--course",
        str(quick),
        "--out",
        str(out),
    ]
    process = subprocess.Popen(
        [*command, str(tmp_path / "hangs.zip"), str(tmp_path / "fine.zip")],
        cwd=root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    process.wait()
    for path in out.glob("*/results.json"):
        assert json.loads(path.read_text())["score"] in ("old", 100, 86)
    deadline = time.monotonic() + 10
    while alive(str(tmp_path)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert alive(str(tmp_path)) == []


@pytest.mark.slow
def test_a_bottomless_folder_does_not_stop_the_batch(root, tmp_path, quick, sources, monkeypatch):
    (tmp_path / "den").mkdir(mode=0o711)
    tmp_path.chmod(0o711)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "den"))
    code = "\n\ndef attn_scaled(A, n_embd, n_heads):\n    import os\n"
    code += "    for _ in range(1500):\n        os.mkdir('d')\n        os.chdir('d')\n    return A\n"
    blank = {name: regions.stubbed(text, name) for name, text in sources.texts.items()}
    deep = blank | {"src/attention.py": blank["src/attention.py"] + code}
    (tmp_path / "deep.zip").write_bytes(zipped(deep))
    (tmp_path / "fine.zip").write_bytes(zipped(sources.solved()))
    assert (
        grade(root, tmp_path / "out", tmp_path / "deep.zip", tmp_path / "fine.zip", "--course", quick, "--jobs", 1) == 0
    )
    assert read(tmp_path / "out", "fine")["score"] == 100
    assert list((tmp_path / "den").iterdir()) == []


FLOODS = {
    "bytes": "for n in range(30): open(f'f{n}', 'wb').write(b'x' * (3 << 20))\n    time.sleep(1)",
    "files": "for n in range(2200): open(f'f{n}', 'w').close()\n    time.sleep(1)",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", FLOODS)
def test_a_flood_of_files_is_stopped(root, tmp_path, quick, sources, kind):
    code = f"\n\nimport time\ndef attn_scaled(A, n_embd, n_heads):\n    {FLOODS[kind]}\n    return A\n"
    blank = {name: regions.stubbed(text, name) for name, text in sources.texts.items()}
    flood = blank | {"src/attention.py": blank["src/attention.py"] + code}
    (tmp_path / "flood.zip").write_bytes(zipped(flood))
    assert grade(root, tmp_path / "out", tmp_path / "flood.zip", "--course", quick) == 0
    row = next(t for t in read(tmp_path / "out", "flood")["tests"] if t["name"] == "attn_scaled (public)")
    assert "wrote too many files, or too much into them" in row["output"]


@pytest.mark.slow
def test_hidden_rows_tell_no_number_that_student_code_can_choose(root, tmp_path, quick, sources):
    """Exit codes and invented line numbers could carry hidden inputs out, a few bits at a time."""
    code = (
        "\n\ndef attn_scaled(A, n_embd, n_heads):\n    import os\n    os._exit(77)\n"
        "\n\ndef attn_softmax(A):\n    exec(compile('\\n' * 99998 + 'raise ValueError', __file__, 'exec'))\n"
    )
    files = sources.solved() | {"src/attention.py": sources.texts["src/attention.py"] + code}
    (tmp_path / "bits.zip").write_bytes(zipped(files))
    assert grade(root, tmp_path / "out", tmp_path / "bits.zip", "--course", quick) == 0
    text = (tmp_path / "out" / "bits" / "results.json").read_text()
    assert "77" not in re.sub(r'"[0-9a-f]{64}"|"execution_time": [\d.]+', "", text)
    assert "99999" not in text
