"""The Gradescope bundle: nothing missing, nothing superfluous, no solution, the same bytes each time."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from autograder.__main__ import main
from autograder.checking.courses import available, read_course
from autograder.errors import UserError
from autograder.judging.held_out import PLACE
from autograder.proving.schema import complaints
from autograder.publishing import bundle

PLAN = "scripts/gradescope/bundle.toml"


@pytest.fixture(scope="module")
def tree(root, answers) -> dict[str, bytes]:
    return bundle.build(root / PLAN, root, read_course("default"), answers=answers)


@pytest.fixture
def copy(repository, root, answers) -> Path:
    shutil.copytree(root / "scripts", repository / "scripts")
    shutil.copy(root / "requirements.txt", repository)
    (repository / "data/held_out").mkdir(parents=True)
    shutil.copy(answers, repository / PLACE)
    return repository


@pytest.mark.slow
def test_command_writes_a_proven_bundle_and_a_second_build_gives_the_same_bytes(copy, root, capsys):
    assert main(["--root", str(copy), "bundle", "--course", "uw447"]) == 0
    told = capsys.readouterr().out
    assert "gradescope-uw447.zip" in told and "timeout of 15 minutes" in told
    again = bundle.packed(bundle.build(root / PLAN, root, read_course("uw447")))
    assert (copy / "dist/gradescope-uw447.zip").read_bytes() == again


def test_scripts_are_executable_and_nothing_else_is(tree):
    with zipfile.ZipFile(io.BytesIO(bundle.packed(tree))) as archive:
        modes = {entry.filename: entry.external_attr >> 16 for entry in archive.infolist()}
    assert {name for name, mode in modes.items() if mode & 0o111} == {"run_autograder", "setup.sh"}
    assert {"requirements.txt", "fallback.json", "autograder/courses/default.toml"} < set(modes)


def test_nothing_of_the_solutions_is_in_it(tree, root):
    solved = {path.read_bytes() for path in (root / "solutions").rglob("*") if path.is_file()}
    assert not solved & set(tree.values())
    assert not [name for name in tree if "solution" in name or "mistakes" in name]


@pytest.mark.slow
def test_planted_solutions_stop_the_bundle(copy, capsys):
    path = copy / "tests/hidden/pretraining/test_predictions_rope.py"
    planted = "# return torch.softmax(A, dim = -1)", 'return torch.einsum("...id,...jd->...ij", Q, K)'
    path.write_text("\n    ".join([path.read_text(), *planted]))
    assert main(["--root", str(copy), "bundle"]) == 1
    errors = capsys.readouterr().err
    for origin in ("src/attention.py", "exercises/attention/pairwise_similarities.py"):
        assert f"is a (near-)copy of the solution at solutions/{origin}" in errors
    assert errors.count("tests/hidden/pretraining/test_predictions_rope.py:") == 2 and "nothing was written" in errors
    assert not (copy / "dist").exists()


def test_scan_that_would_look_for_nothing_is_an_error(copy, tree):
    path = copy / PLAN
    path.write_text(path.read_text().replace("solutions/exercises", "solutions/exercise"))
    with pytest.raises(UserError, match=r"solutions/exercise/\*/\*\.py matches no file"):
        bundle.prove(path, copy, tree)


@pytest.mark.slow
def test_superfluous_and_missing_modules_are_found(tree):
    assert bundle.imports(tree | {"autograder/extra.py": b"x = 1\n"}) == [
        "autograder/extra.py is not needed for grading"
    ]
    fewer = {name: content for name, content in tree.items() if name != "autograder/running/threads.py"}
    assert "the bundle does not start" in bundle.imports(fewer)[0]


def test_only_what_grading_imports_is_pinned(tree, tmp_path):
    pins = tree["requirements.txt"].decode().split()
    assert [pin.split("==")[0] for pin in pins] == ["torch", "einops", "numpy", "pytest", "safetensors"]
    (tmp_path / "requirements.txt").write_text("torch==1.0\nnumpy>=2\n")
    with pytest.raises(UserError, match=r"does not pin numpy"):
        bundle._pinned(tmp_path / "requirements.txt", {"torch", "numpy"})


def test_fallback_is_valid_and_lists_every_exercise_that_counts(root, answers):
    for name in available():
        course = read_course(name)
        content = bundle.build(root / PLAN, root, course, answers=answers)["fallback.json"]
        assert complaints(content) == []
        data = json.loads(content)
        listed = {test["extra_data"]["exercise"]: test["score"] for test in data["tests"]}
        assert listed == {item.slug: 0 for item in course.graded if item.points}
        assert data["score"] == 0 and "did not finish" in data["output"]


def test_deadlines_must_fit_into_the_platforms_minutes(root, answers, tmp_path):
    text = (root / "autograder/courses/default.toml").read_text()
    path = tmp_path / "slow.toml"
    path.write_text(text.replace("minutes = 36", "minutes = 34"))
    with pytest.raises(UserError, match=r"slow\.toml: .* add up to 2020 s, but 34 minutes .* leave 1980 s"):
        bundle.build(root / PLAN, root, read_course(str(path)), answers=answers)
    path.write_text(text.replace("minutes = 36", "minutes = 35"))
    assert bundle.build(root / PLAN, root, read_course(str(path)), answers=answers)


def test_answers_go_along_if_the_course_asks_and_must_be_there(copy, root, tree, answers, capsys):
    assert tree[PLACE] == answers.read_bytes()
    assert PLACE not in bundle.build(root / PLAN, root, read_course("uw447"), answers=answers)
    (copy / PLACE).write_text("{}")
    assert main(["--root", str(copy), "bundle"]) == 2
    assert "answers.json has no 'vocabulary'" in capsys.readouterr().err
    (copy / PLACE).unlink()
    (copy / "data/wiki.txt").write_text("Not the demo, whose answers anybody can make.\n")
    assert main(["--root", str(copy), "bundle", "--course", "cs224n"]) == 2
    assert "answers.json is missing" in capsys.readouterr().err


def test_settings_of_pip_go_along_if_given(root, tmp_path):
    course = read_course("uw447")
    with pytest.raises(UserError, match=r"pip\.conf is not a file"):
        bundle.build(root / PLAN, root, course, tmp_path / "pip.conf")
    (tmp_path / "pip.conf").write_text("[global]\n")
    assert bundle.build(root / PLAN, root, course, tmp_path / "pip.conf")["pip.conf"] == b"[global]\n"


# setup.sh, as far as it goes without a network

CANDIDATE = """#!/bin/sh
exec {python} -c '
import sys
sys.version_info = type("Version", (tuple,), dict(releaselevel="{level}"))((3, 11, 0))
exec(sys.argv[1])' "$2"
"""


def set_up(tree, folder: Path, **programs: str) -> subprocess.CompletedProcess[str]:
    """Run setup.sh where nothing but these programs and a few of the system's are found."""
    tools = folder / "tools"
    tools.mkdir()
    for name in ("bash", "dirname", "env", "sh", "rm"):
        (tools / name).symlink_to(str(shutil.which(name)))
    for name, text in programs.items():
        path = tools / name.replace("_", "-").replace("python311", "python3.11")
        path.write_text(text)
        path.chmod(0o755)
    (folder / "source").mkdir()
    (folder / "source/setup.sh").write_bytes(tree["setup.sh"])
    return subprocess.run(
        ["bash", str(folder / "source/setup.sh")],
        env={"PATH": str(tools), "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_setup_without_a_python_ends_in_one_clear_line(tree, tmp_path):
    done = set_up(tree, tmp_path, apt_get="#!/bin/sh\necho no network; exit 100\n")
    assert done.returncode == 1
    assert "setup.sh: no final release of Python 3.11 or newer is here" in done.stderr.splitlines()[-1]


def test_setup_refuses_a_release_candidate(tree, tmp_path):
    """Ubuntu 22.04's own 3.11 is one, and torch cannot be imported with it."""
    done = set_up(tree, tmp_path, python311=CANDIDATE.format(python=sys.executable, level="candidate"))
    assert "no final release" in done.stderr


def test_setup_takes_what_apt_installs(tree, tmp_path):
    """Up to the point where it would make an environment with it, which this one cannot."""
    final = tmp_path / "final"
    final.write_text(CANDIDATE.format(python=sys.executable, level="final"))
    final.chmod(0o755)
    link = f"{shutil.which('ln')} -s {final} {tmp_path}/tools/python3.11"
    apt = f'#!/bin/sh\ncase "$*" in *python3.11-venv*) {link} ;; esac\n'
    done = set_up(tree, tmp_path, apt_get=apt, add_apt_repository="#!/bin/sh\n")
    assert "trying apt" in done.stderr and "trying uv" not in done.stderr
    assert done.stderr.splitlines()[-1].endswith("could not make a virtual environment in " + str(tmp_path / "venv"))


def test_run_autograder_without_an_environment_leaves_the_fallback_and_closes_the_source(tree, tmp_path):
    bundle.write_files(tmp_path / "source", tree)
    (tmp_path / "run_autograder").write_bytes(tree["run_autograder"])
    (tmp_path / "submission_metadata.json").write_text("{}")
    (tmp_path / "results/results.json").mkdir(parents=True)  # not even a file
    done = subprocess.run(["bash", str(tmp_path / "run_autograder")], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "the results say that it did not finish" in done.stderr
    assert (tmp_path / "results/results.json").read_bytes() == tree["fallback.json"]
    hidden = "source/tests/hidden/attention/references/split_heads.safetensors"
    for name in ("source", f"source/{PLACE}", hidden, "submission_metadata.json"):
        assert not (tmp_path / name).stat().st_mode & 0o077, name
