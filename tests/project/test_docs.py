"""The documents say what is there: the table of modules, links, commands, and the length of the README.

After a change of modules or docstrings, `.venv/bin/python tests/project/test_docs.py` writes the table again.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import re
import shlex
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ARCHITECTURE = ROOT / "docs/architecture.md"
BEGIN, END = "<!-- modules: begin -->\n", "<!-- modules: end -->\n"
DOCUMENTS = sorted(
    [
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")),
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "data/README.md", ROOT / "solutions/README.md"),
    ]
)
MOST_WORDS = 700  # of the README

FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
LANGUAGES = ("sh", "python", "toml", "text")
FOREIGN = ("pip", "git", "chmod", "pre-commit", "cd")  # programs that are not ours
# How a command in running text begins, and an option.
OURS = re.compile(r"(?:\./\w+\.sh|(?:\.venv/bin/)?python|bash|\.venv/bin/\w+)\s")
OPTION = re.compile(r"--[a-z][\w-]*")
PLACES = (ROOT, ROOT / "autograder", ROOT / "student")  # from which documents name files
A_FILE = re.compile(r"(?<![\w/.<*])([\w-]+)/[\w./-]+\.(?:py|sh|toml|md)\b")


# The table of modules


def first_sentence(path: Path) -> str:
    """Of a module's docstring, on one line, with what a table would misread."""
    summary = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split("\n\n")[0]
    sentence = re.split(r"(?<=[.!?]) (?=[A-Z`])", " ".join(summary.split()))[0]
    return sentence.replace("|", "\\|").replace("<", "&lt;")


def module_table(package: Path) -> str:
    """Packages in alphabetical order, each before its modules."""
    lines = ["| module | what it is |", "|---|---|"]
    for folder in (package, *sorted(path.parent for path in package.glob("*/__init__.py"))):
        name = folder.relative_to(package.parent).as_posix()
        lines.append(f"| **`{name}/`** | **{first_sentence(folder / '__init__.py')}** |")
        modules = sorted(path for path in folder.glob("*.py") if path.name != "__init__.py")
        lines += [f"| `{path.relative_to(package).as_posix()}` | {first_sentence(path)} |" for path in modules]
    return "\n".join(lines) + "\n"


def in_the_document(text: str) -> str:
    return text.partition(BEGIN)[2].partition(END)[0]


def test_the_table_of_modules_is_that_of_the_tree():
    written = in_the_document(ARCHITECTURE.read_text(encoding="utf-8"))
    assert written == module_table(ROOT / "autograder"), "run: .venv/bin/python tests/project/test_docs.py"


def test_the_table_of_modules_changes_with_the_tree(tmp_path):
    package = tmp_path / "autograder"
    (package / "inner").mkdir(parents=True)
    (package / "__init__.py").write_text('"""The whole."""')
    (package / "inner/__init__.py").write_text('"""A part."""')
    (package / "inner/a.py").write_text('"""One | two. Three."""')
    table = module_table(package)
    assert table.splitlines()[2:] == [
        "| **`autograder/`** | **The whole.** |",
        "| **`autograder/inner/`** | **A part.** |",
        "| `inner/a.py` | One \\| two. |",
    ]
    (package / "inner/b.py").write_text('"""New."""')
    assert module_table(package) != table


# Links


def slug(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def anchors(text: str) -> set[str]:
    return {slug(match[1]) for match in re.finditer(r"^#+ (.+)$", FENCED.sub("", text), re.MULTILINE)}


def broken_links(path: Path) -> list[str]:
    """Relative links of a document that lead nowhere."""
    found = []
    for link in LINK.findall(FENCED.sub("", path.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = path.parent / name if name else path
        if not target.exists():
            found.append(f"{path.name}: {link}: there is no such file")
        elif anchor and anchor not in anchors(target.read_text(encoding="utf-8")):
            found.append(f"{path.name}: {link}: there is no such heading")
    return found


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(path):
    assert broken_links(path) == []


def test_a_link_that_leads_nowhere_is_found(tmp_path):
    (tmp_path / "b.md").write_text("# One heading, `code`\n\n```sh\n# no heading\n```\n")
    document = tmp_path / "a.md"
    document.write_text(
        "# Here\n[1](b.md) [2](b.md#one-heading-code) [3](#here) [4](https://example.edu)\n"
        "[5](c.md) [6](b.md#no-heading)\n![7](c.png) [8](#there)\n"
    )
    assert broken_links(document) == [
        "a.md: c.md: there is no such file",
        "a.md: b.md#no-heading: there is no such heading",
        "a.md: c.png: there is no such file",
        "a.md: #there: there is no such heading",
    ]


# Commands


def commands(text: str) -> list[str]:
    """Lines of shell blocks, and commands in running text."""
    found = [line for language, block in FENCED.findall(text) if language == "sh" for line in block.splitlines()]
    found += [code for code in INLINE.findall(FENCED.sub("", text)) if OURS.match(code)]
    return [line for line in found if line.strip() and not line.startswith(("#", "<!--"))]


def wrong_with(command: str) -> str:
    """Why this command cannot be run as it is written, or ''."""
    words = shlex.split(command, comments=True)
    program = words[0].removeprefix(".venv/bin/")
    if program in FOREIGN or program == "otter":
        return ""
    if words[0] == "./grade.sh":
        return not_parsed(["grade", *words[1:]])
    if words[0] == "./test.sh":
        return "" if (ROOT / "test.sh").is_file() else "there is no test.sh"
    if program == "lint-imports":
        return "" if "lint-imports" in (ROOT / "test.sh").read_text() else "test.sh does not run it"
    if program in ("python", "bash") and len(words) > 1:
        if words[1] == "-m":
            known = ("pip", "pytest", "ruff", "mypy")  # not ours
            return not_parsed(words[3:]) if words[2] == "autograder" else "" if words[2] in known else "no such module"
        return wrong_with_script(words[1], words[2:])
    return "the tests do not know this program"


def not_parsed(arguments: list[str]) -> str:
    """What the real parser says, if it does not take these; it takes abbreviations, and we do not."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            real_parser().parse_args(arguments)
    except SystemExit as end:
        return said.getvalue().strip().splitlines()[-1] if end.code else ""
    flags = {word.partition("=")[0] for word in arguments if OPTION.match(word)}
    unknown = sorted(flags - options_of_the_command(arguments[0]))
    return f"{arguments[0]} has no {', '.join(unknown)}" if unknown else ""


def real_parser() -> argparse.ArgumentParser:
    from autograder.__main__ import _parser  # not where the table is written: a script does not find the package

    return _parser()


def options_of_the_command(name: str | None = None) -> set[str]:
    """The options of one command of ours, or of all of them."""
    (chosen,) = (one for one in real_parser()._actions if isinstance(one, argparse._SubParsersAction))
    parsers = chosen.choices.values() if name is None else [chosen.choices[name]]
    return {option for parser in parsers for action in parser._actions for option in action.option_strings}


def wrong_with_script(name: str, arguments: list[str]) -> str:
    """Scripts are those of the repository, or of the student release."""
    script = next((place / name for place in (ROOT, ROOT / "student") if (place / name).is_file()), None)
    if script is None:
        return f"there is no {name}"
    # The student's check.py has its options in the package.
    code = ROOT / "autograder/selfcheck/command.py" if script.name == "check.py" else script
    flags = [word.partition("=")[0] for word in arguments if word.startswith("-")]
    unknown = sorted(set(flags) - options_of(code)) if script.suffix == ".py" else flags
    return f"{name} has no {', '.join(unknown)}" if unknown else ""


@cache
def options_of(script: Path) -> set[str]:
    """The flags that it adds to a parser, found without running it: most of them import torch."""
    found = {"--help"}
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "add_argument":
            found |= {argument.value for argument in node.args if isinstance(argument, ast.Constant)}
        if isinstance(node, ast.For) and isinstance(node.iter, ast.Tuple) and "add_argument(f'--{" in ast.unparse(node):
            found |= {f"--{name}" for name in ast.literal_eval(node.iter)}
    return found


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_command_can_be_run_as_it_is_written(path):
    wrong = {command: wrong_with(command) for command in commands(path.read_text(encoding="utf-8"))}
    assert {command: why for command, why in wrong.items() if why} == {}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_block_says_its_language(path):
    """Otherwise a command in it would not be tried."""
    text = path.read_text(encoding="utf-8")
    assert text.count("```") == 2 * len(FENCED.findall(text))
    assert [language for language, _ in FENCED.findall(text) if language not in LANGUAGES] == []
    assert re.findall(r"(?:^|\n)\n {4,}(?![-*\d]).*", FENCED.sub("", text)) == []


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("./grade.sh export.zip --course uw447  # a course", ""),
        ("./grade.sh export.zip --curse uw447", "unrecognized arguments: --curse uw447"),
        ("./grade.sh export.zip --regrad", "grade has no --regrad"),
        ("python -m autograder release --zip", ""),
        ("python -m autograder relase", "invalid choice: 'relase'"),
        (".venv/bin/python -m autograder data", "--term --answers is required"),
        ("python benchmarks/grading.py --repeat 3", ""),
        ("python benchmarks/grading.py --repeats 3", "benchmarks/grading.py has no --repeats"),
        ("python benchmarks/grade.py", "there is no benchmarks/grade.py"),
        ("python check.py --list", ""),
        ("python check.py --all", "check.py has no --all"),
        ("bash collect_submission.sh", ""),
        ("bash collect.sh", "there is no collect.sh"),
        ("python src/run.py evaluate rope data/wiki.txt --outputs_path here", ""),
        ("python src/run.py evaluate rope data/wiki.txt --output_path here", "src/run.py has no --output_path"),
        ("python -m otograder verify", "no such module"),
        ("rm -r results", "the tests do not know this program"),
    ],
)
def test_a_command_that_does_not_exist_is_found(command, why):
    found = wrong_with(command)
    assert why in found if why else found == ""


def unknown_options(text: str) -> list[str]:
    """Options in running text that nothing of ours has."""
    scripts = [ROOT / "student/src/run.py", *(ROOT / "benchmarks").glob("*.py"), *(ROOT / "scripts").glob("*.py")]
    known = options_of_the_command() | {option for script in scripts for option in options_of(script)}
    named = {match[0] for code in INLINE.findall(FENCED.sub("", text)) if (match := OPTION.match(code))}
    return sorted(named - known)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_option_that_is_named_exists(path):
    assert unknown_options(path.read_text(encoding="utf-8")) == []


def test_an_option_that_does_not_exist_is_found():
    assert unknown_options("`--replace`, `--pip-conf FILE`, `--tb_expt_name`, `--replaced`") == ["--replaced"]


def test_commands_are_found_in_blocks_and_in_running_text():
    text = "Run `python a.py`, not `a.py`:\n\n```sh\n./b.sh  # why\n\n# a comment\n```\n\n```text\npython c.py\n```\n"
    assert commands(text) == ["./b.sh  # why", "python a.py"]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_file_that_is_named_exists(path):
    assert missing_files(path.read_text(encoding="utf-8")) == []


def missing_files(text: str) -> list[str]:
    """Of the paths that begin with a folder of ours. `<part>` and `*` stand for something."""
    named = (match for code in INLINE.findall(text) for match in A_FILE.finditer(code))
    ours = (match[0] for match in named if any((place / match[1]).is_dir() for place in PLACES))
    return sorted({name for name in ours if not any((place / name).exists() for place in PLACES)})


def test_a_file_that_does_not_exist_is_found():
    text = "`grading/grade.py`, `grading/grate.py`, `docs/none.md`, `gpt/model.py`, `tests/<part>/test_<slug>.py`"
    assert missing_files(text) == ["docs/none.md", "grading/grate.py"]


# What documents promise


def test_the_course_in_the_authoring_document_is_one(tmp_path):
    from autograder.checking.courses import read_course

    (block,) = (
        block for language, block in FENCED.findall((ROOT / "docs/authoring.md").read_text()) if language == "toml"
    )
    (tmp_path / "mine.toml").write_text(block, encoding="utf-8")
    assert read_course(str(tmp_path / "mine.toml")).required == 10


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= MOST_WORDS


def test_every_threat_that_is_cited_is_a_row_of_the_security_document():
    document = (ROOT / "docs/security.md").read_text(encoding="utf-8")
    rows = {int(number) for number in re.findall(r"^\| (\d+) \|", document, re.MULTILINE)}
    assert rows == set(range(1, max(rows) + 1))
    tests = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests/project").rglob("*.py"))
    cited = {int(number) for list_ in re.findall(r"THREATS ([\d, ]+):", tests) for number in list_.split(",")}
    assert len(cited) > 40
    assert cited <= rows


if __name__ == "__main__":
    text = ARCHITECTURE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    ARCHITECTURE.write_text(
        before + BEGIN + module_table(ROOT / "autograder") + END + rest.partition(END)[2], encoding="utf-8"
    )
