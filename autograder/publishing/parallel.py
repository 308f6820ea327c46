"""Are solution and stub parallel? Same names, signatures, defaults and docstrings; all of it imports."""

from __future__ import annotations

import ast
import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from autograder.files import write_files
from autograder.publishing import regions

IMPORTED = ("src/",)  # a student's own modules; the rest is copied as it is, or is a notebook


def parallels(name: str, solution: str, stub: str) -> list[str]:
    """What differs between a solution and its stub, other than the regions."""
    wrong = []
    try:
        theirs = _interface(ast.parse(stub))
    except SyntaxError as error:
        return [f"{name}:{error.lineno}: the stub does not parse: {error.msg}"]
    ours = _interface(ast.parse(solution))
    for key in ours.keys() | theirs.keys():
        if ours.get(key) != theirs.get(key):
            wrong.append(f"{name}: '{key}' has another signature or docstring than the solution")
    for region in regions.regions(solution, name):
        above = solution.splitlines()[: region.line - 1]
        if not any(f"TODO({region.name})" in line for line in above):
            wrong.append(f"{name}:{region.line}: no TODO({region.name}) stands above the region")
        if region.stub is None and f'NotImplementedError("{region.name} ' not in stub:
            wrong.append(f"{name}:{region.line}: the stub does not raise for {region.name}")
    return sorted(wrong)


def _interface(tree: ast.Module) -> dict[str, str]:
    """Every function and class, by dotted name: its signature and docstring as text."""
    found = {"module": repr(ast.get_docstring(tree, clean=False))}

    def visit(node: ast.Module | ast.ClassDef, prefix: str) -> None:
        for child in node.body:
            if isinstance(child, ast.ClassDef):
                bases = ", ".join(ast.unparse(base) for base in child.bases)
                found[prefix + child.name] = f"({bases}) {ast.get_docstring(child, clean=False)!r}"
                visit(child, f"{prefix}{child.name}.")
            elif isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                returns = ast.unparse(child.returns) if child.returns else ""
                decorators = [ast.unparse(decorator) for decorator in child.decorator_list]
                signature = f"{decorators} ({ast.unparse(child.args)}) -> {returns}"
                found[prefix + child.name] = f"{signature} {ast.get_docstring(child, clean=False)!r}"

    visit(tree, "")
    return found


def imports(tree: Mapping[str, bytes]) -> list[str]:
    """Import every module of the student's own, with nothing else of this project in reach."""
    modules = [name for name in tree if name.startswith(IMPORTED) and name.endswith(".py")]
    modules += ["autograder/selfcheck/command.py"] if "autograder/selfcheck/command.py" in tree else []
    wrong = alone_with(tree, lambda folder: _import_all(folder, modules))
    return ["importing the release ended the process"] if wrong is None else wrong


def alone_with(tree: Mapping[str, bytes], job: Callable[[Path], list[str]]) -> list[str] | None:
    """The lines that `job` returns where a release lies, and nothing else of this project; None if it never returns.

    A forked child does it: torch, which takes seconds to load, is there already.
    """
    with tempfile.TemporaryDirectory(prefix="release-") as folder:
        place, report = Path(folder) / "release", Path(folder) / "report"
        write_files(place, tree)
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if not child:
            try:
                _leave_this_project(place)
                report.write_text("\n".join(job(place)) + "\nend", encoding="utf-8")
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        lines = report.read_text(encoding="utf-8").splitlines() if report.is_file() else []
    return [line for line in lines[:-1] if line] if lines[-1:] == ["end"] else None


def _leave_this_project(folder: Path) -> None:
    """Drop it from the path and from memory: the release must do with its own files."""
    os.chdir(folder)
    home = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
    sys.dont_write_bytecode = True
    sys.path[:] = [
        str(folder / "src"),
        str(folder),
        *(p for p in sys.path if p and os.path.abspath(p) != home),
    ]
    for name in [name for name in sys.modules if name.split(".")[0] == "autograder"]:
        del sys.modules[name]


def _import_all(folder: Path, modules: list[str]) -> list[str]:
    wrong = []
    for name in modules:
        spec = importlib.util.spec_from_file_location(Path(name).stem, folder / name)
        assert spec is not None and spec.loader is not None
        try:
            module = importlib.util.module_from_spec(spec)
            sys.modules[module.__name__] = module  # where dataclasses look for the module that they are in
            spec.loader.exec_module(module)
        except BaseException as error:
            wrong.append(f"{name} does not import: {type(error).__name__}: {error}".splitlines()[0])
    return wrong
