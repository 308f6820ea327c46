"""The release of every course: only its parts, and proven like the default's."""

from __future__ import annotations

import subprocess
import sys
import zipfile

import pytest

from autograder.__main__ import main
from autograder.checking.courses import available, read_course
from autograder.errors import UserError
from autograder.proving.releases import prove_releases
from autograder.publishing import release
from autograder.publishing.leaks import Secrets, leaks
from autograder.publishing.passages import selected

PARTS = {"queries", "attention", "pretraining"}


@pytest.fixture(scope="module")
def plans(root):
    first = release.read_plan(root / "solutions/release.toml", root)
    others = [name for name in available() if name != "default"]
    path = root / "solutions/release.toml"
    return {"default": first} | {n: release.read_plan(path, root, read_course(n), first.secrets) for n in others}


@pytest.fixture(scope="module")
def trees(plans):
    return {name: release.build(plan) for name, plan in plans.items()}


@pytest.fixture
def unproven(monkeypatch):
    """Without the proofs of a release, which take their time and have tests of their own."""
    monkeypatch.setattr(release, "prove", lambda plan, tree: [])


def test_every_course_gets_its_parts_and_no_others(trees):
    for name, tree in trees.items():
        course = read_course(name)
        assert (set(course.parts) >= PARTS) == (name == "default")
        checks = {path.rpartition("/")[2] for path in tree if path.startswith("tests/public/")}
        slugs = {item.slug for item in course.graded}
        assert checks == {f"test_{slug}.py" for slug in slugs} | {f"{slug}.safetensors" for slug in slugs}
        assert ("handout/1-queries.md" in tree) == ("notebooks/A2S1.ipynb" in tree) == ("queries" in course.parts)
        assert ("notebooks/A2S2.ipynb" in tree) == ("attention" in course.parts)
        assert ("handout/3-pretraining.md" in tree) == ("data/wiki.txt" in tree) == ("pretraining" in course.parts)
        assert (b"apply_rotary_emb" in tree["src/attention.py"]) == ("pretraining" in course.parts)
        assert (b"tensorboard" in tree["requirements.txt"]) == ("src/run.py" in tree) == ("pretraining" in course.parts)
        assert (b"ipykernel" in tree["requirements.txt"]) == any(path.endswith(".ipynb") for path in tree)
        files = {path for path in tree if path.startswith("autograder/courses/")}
        assert files == {f"autograder/courses/{file}" for file in course.files_read}


def test_no_text_of_a_release_speaks_of_what_is_not_in_it(trees):
    for name, tree in trees.items():
        for page in [path for path in tree if path.endswith(".md")]:
            text = tree[page].decode()
            for file in ("notebooks/A2S1.ipynb", "notebooks/A2S2.ipynb", "src/run.py", "handout/3-pretraining.md"):
                assert file in tree or file not in text, (name, page, file)
            assert "data/wiki.txt" in tree or "art 3" not in text, (name, page)


@pytest.mark.parametrize("name", ["cs224n", "uw447"])
def test_the_collect_script_lists_the_files_of_its_course(trees, name, tmp_path):
    asked = {file for item in read_course(name).graded for file in item.files if "." in file and "/" not in file}
    asked = {file for file in asked if not file.endswith((".py", ".ipynb"))}
    assert len(asked) == (10 if name == "cs224n" else 0)
    for file in ("collect_submission.py", "src/attention.py"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_bytes(trees[name][file])
    for file in asked:
        (tmp_path / file).write_text("x")
    command = [sys.executable, "collect_submission.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert set(zipfile.ZipFile(tmp_path / "submission.zip").namelist()) == asked | {"src/attention.py"}


@pytest.mark.parametrize("name", ["cs224n", "uw447", "uw517"])
def test_release_of_a_course_stands_where_it_is_told(repository, unproven, tmp_path_factory, capsys, name):
    command = ["--root", str(repository), "release", "--course", name]
    before = (repository / "student/README.md").read_bytes()
    assert main([*command, "--zip"]) == 0
    place = repository / "dist" / name
    with zipfile.ZipFile(place / "student.zip") as archive:
        names = {path.relative_to(place).as_posix() for path in (place / "student").rglob("*") if path.is_file()}
        assert set(archive.namelist()) == names and f"student/autograder/courses/{name}.toml" in names
    assert (repository / "student/README.md").read_bytes() == before and not (repository / "dist/student.zip").exists()
    assert main([*command, "--check"]) == 0
    (place / "student/README.md").write_text("spoilt\n")
    assert main([*command, "--check"]) == 1
    assert f"dist/{name}/student/ is not up to date; run 'python -m autograder release --course {name}'" in (
        capsys.readouterr().err
    )
    elsewhere = tmp_path_factory.mktemp("out")
    assert main([*command, "--out", str(elsewhere)]) == 0
    assert (elsewhere / "student/check.py").is_file() and not (elsewhere / "student.zip").exists()
    assert main([*command, "--out", str(elsewhere), "--check"]) == 0


def test_a_course_that_there_is_not_is_one_line(root, capsys):
    assert main(["--root", str(root), "release", "--course", "mit"]) == 2
    assert capsys.readouterr().err.startswith("autograder: no course 'mit'; there are cs224n, default")


def test_the_releases_of_all_courses_are_fit(root):
    """Leaks, signatures, imports; and check.py, as it lies there, on stubs and on solutions."""
    lines = prove_releases(root, [read_course(name) for name in ("cs224n", "uw447")], lambda _: None)
    assert [line for line in lines if not line.held] == []
    assert [line.what for line in lines[:3]] == [
        "cs224n: release is fit",
        "cs224n: check.py on stubs",
        "cs224n: check.py on solutions",
    ]
    assert lines[1].found == "0 of 8 pass, exit 1" and lines[2].found == "10 of 10 pass, exit 0"


def test_a_leak_in_one_course_is_found_there(repository, plans, trees):
    path = repository / "solutions/handout/2-attention.md"
    hint = "<!-- BEGIN WITHOUT attention -->\nHint: `return torch.softmax(A, dim=-1)`\n"
    path.write_text(path.read_text().replace("<!-- BEGIN WITHOUT attention -->\n", hint, 1))
    lines = {line.what: line for line in prove_releases(repository, [read_course("cs224n")], lambda _: None)}
    leaky = lines["cs224n: release is fit"]
    assert not leaky.held and leaky.found == "1 complaints"
    assert "handout/2-attention.md:" in leaky.notes[0] and "copy of the solution at" in leaky.notes[0]
    mine = release.read_plan(repository / "solutions/release.toml", repository)
    assert release.build(mine)["handout/2-attention.md"] == trees["default"]["handout/2-attention.md"]


def test_a_solution_of_a_part_that_a_course_does_not_use_is_a_leak_there(plans, trees):
    planted = trees["uw447"] | {"README.md": b"theta = 10000.0 ** (-2 * torch.arange(dim // 2) / dim)\n"}
    assert (
        "README.md:1 is a (near-)copy of the solution at solutions/src/attention.py"
        in (leaks(planted, plans["uw447"].secrets)[0])
    )


@pytest.mark.parametrize(
    ("file", "old", "new", "off", "note"),
    [
        ("check.py", "sys.exit(main(", "main((", "check.py on stubs", ""),
        ("check.py", "sys.exit(main(", "import os; os._exit(main(", "check.py on stubs", ""),
        (
            "src/attention.py",
            "a * cos - b * sin",
            "a * cos + b * sin",
            "check.py on solutions",
            "apply_rotary_emb does",
        ),
    ],
)
def test_a_release_whose_check_is_wrong_is_found(repository, unproven, file, old, new, off, note):
    path = repository / "solutions" / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    lines = {line.what: line for line in prove_releases(repository, [read_course("cs224n")], lambda _: None)}
    line = lines[f"cs224n: {off}"]
    assert not line.held and (not note or any(said.startswith(note) for said in line.notes))


def test_a_stub_that_passes_is_found(repository, unproven):
    path = repository / "solutions/src/attention.py"
    marker = "    # BEGIN SOLUTION apply_rotary_emb\n"
    body = path.read_text().split(marker)[1].split("    # END SOLUTION")[0].replace("return", "result =")
    early = "".join(f"{line}\n" for line in body.splitlines()) + "    if True:\n        return result\n"
    path.write_text(path.read_text().replace(marker, early + marker))
    lines = {line.what: line for line in prove_releases(repository, [read_course("cs224n")], lambda _: None)}
    assert lines["cs224n: check.py on stubs"].notes == ("apply_rotary_emb passes",)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('part = "queries"', 'part = "querys"', "'part' names 'querys'; the parts are attention, pretraining, queries"),
        ('{ part = "queries", file', '{ part = "querys", file', "'part' names 'querys'"),
        ("**/test_{exercise}.py", "**/tests_{exercise}.py", r"tests/public/\*\*/tests_query121.py matches no file"),
        ('solutions = ["solutions/*.*"', 'sources = ["solutions/*.*"', "wrong or missing key 'solutions'"),
    ],
)
def test_wrong_parts_in_the_release_file_are_one_line(repository, old, new, message):
    path = repository / "solutions/release.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(UserError, match=rf"release\.toml: {message}"):
        release.read_plan(path, repository)


TEXT = """all
# BEGIN PART a, b
some
  # BEGIN WITHOUT b
only a
  # END WITHOUT b
# END PART a, b
<!-- BEGIN WITHOUT a -->
others
<!-- END WITHOUT a -->
"""


def test_passages_are_for_the_courses_that_they_name():
    for used, kept in {"a": "all some only_a", "b": "all some others", "ab": "all some", "": "all others"}.items():
        assert selected(TEXT, "x.md", set(used), set("abc")) == kept.replace(" ", "\n").replace("_", " ") + "\n"
    assert selected("x\n\n", "x.md", "a", "a") == "x\n\n" and selected("x", "x.md", "a", "a") == "x"
    assert selected("x\n\n# BEGIN PART a\ny\n# END PART a\n", "x.py", "", "a") == "x\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# BEGIN PART d\n# END PART d\n", "x.py:1: 'd' is no part; the parts are a, b"),
        ("# BEGIN PART a\n", "x.py:1: 'PART a' is never closed"),
        ("y\n# END PART a\n", "x.py:2: 'PART a' ends, but is not what began last"),
        ("# BEGIN PART a\n# END PART b\n", "x.py:2: 'PART b' ends, but is not what began last"),
        ("# BEGIN PART a\n# BEGIN PART b\n# END PART a\n", "x.py:3: 'PART a' ends, but is not what began last"),
        ("x = 1  # BEGIN PART a\n", "x.py:1: malformed marker; write '# BEGIN PART name' or '# END PART name'"),
    ],
)
def test_doubtful_passages_are_errors(text, message):
    with pytest.raises(UserError) as error:
        selected(text, "x.py", "a", "ab")
    assert str(error.value) == message


def test_a_marker_of_a_passage_in_a_tree_is_a_leak():
    assert leaks({"a.md": b"<!-- BEGIN PART x -->\n"}, Secrets({}, {}, {})) == ["a.md:1 holds a marker"]
