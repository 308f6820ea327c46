"""What IPython adds to Python, as plain Python: `%magic`, `!shell`, `?help`, and what they become when exported.

What IPython would define counts, so the code behind `%time` and `%%capture` is kept. Shell lines and all other
magics do nothing. Lines keep their numbers.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

# The magics that run code where a notebook keeps its names. %%timeit does not: what it defines is lost at once.
CELL_RUNS = frozenset({"time", "capture", "prun", "debug", "wandb"})
LINE_RUNS = frozenset({"time", "prun", "debug"})
DEPTH = 5  # magics within magics

_CELL = re.compile(r"\s*%%(?P<name>\w+)(?P<rest>.*)")
_LINE = re.compile(r"(?P<indent>\s*)%%?(?P<name>\w+)(?P<rest>.*)")
_INERT = re.compile(r"(?P<indent>\s*)(?:[!?%]|[\w.*%]+\?{1,2}\s*$|(?:pip3?|conda|mamba)\s+(?:un)?install\b)")
_ASSIGNED = re.compile(r"(?P<target>\s*[^\W\d][\w.,\[\]'\" ]*?)\s*=\s*(?P<sign>[!%])(?P<rest>.*)")
_SIGNS = re.compile(r"[!?%]|install\b")  # whatever is replaced has one of them
_OPTIONS = re.compile(r"\s*(?:--?[A-Za-z][\w-]*(?:\s+\d+)?\s+)*")
# A string, a comment, a bracket, or a line that goes on: what decides whether the next line begins a statement.
_LEXEME = re.compile(
    r"""(?P<triple>\"{3}|'{3})|"(?:[^"\\]++|\\.)*+"?|'(?:[^'\\]++|\\.)*+'?|\#.*|(?P<opens>[(\[{])|(?P<closes>[)\]}])"""
    r"""|(?P<goes_on>\\)$"""
)
_COLAB = "# Commented out IPython magic to ensure Python compatibility."


def plain_cell(text: str) -> str:
    """A cell as Python would have it, line for line."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        magic = _CELL.match(line)
        if magic is None:
            break
        if magic["name"] not in CELL_RUNS:
            return "\n" * (len(lines) - 1)
        lines[number] = ""
    return "\n".join(_plain(lines))


def _plain(lines: Sequence[str]) -> list[str]:
    """Line magics, shell lines and help become what they define; strings that only look like them stay."""
    done: list[str] = []
    within = _Within()
    swallowed = False  # a shell line may go on
    for line in lines:
        if swallowed:
            done.append("")
            swallowed = line.rstrip().endswith("\\")
            continue
        replaced = _replaced(line) if within.nothing else None
        if replaced is None:
            within.read(line)
            done.append(line)
            continue
        done.append(replaced)
        if replaced.endswith("pass") or replaced.endswith("[]"):
            swallowed = line.rstrip().endswith("\\")
        else:
            within.read(replaced)
    return done


def _replaced(line: str, depth: int = 0) -> str | None:
    """What a line that begins a statement is instead, or None if it is Python."""
    if not _SIGNS.search(line):
        return None
    assigned = _ASSIGNED.fullmatch(line)
    if assigned and assigned["sign"] == "!":
        return f"{assigned['target']} = []"
    if assigned:
        name, _, rest = assigned["rest"].partition(" ")
        return f"{assigned['target']} = {_OPTIONS.sub('', rest, count=1) if name in LINE_RUNS and rest else 'None'}"
    magic = _LINE.fullmatch(line)
    if magic and magic["name"] in LINE_RUNS and depth < DEPTH:
        code = _OPTIONS.sub("", magic["rest"], count=1).rstrip()
        if code:
            inner = _replaced(code, depth + 1)
            return magic["indent"] + (code if inner is None else inner)
    inert = _INERT.match(line)
    return f"{inert['indent']}pass" if inert else None


class _Within:
    """Is the next line within a string, within brackets, or does it go on from the one before?"""

    def __init__(self) -> None:
        self.quote, self.depth, self.goes_on = "", 0, False

    @property
    def nothing(self) -> bool:
        return not self.quote and not self.depth and not self.goes_on

    def read(self, line: str) -> None:
        at, self.goes_on = 0, False
        while True:
            if self.quote:
                end = re.compile(rf"(?:[^\\]|\\.)*?{self.quote}").match(line, at)
                if end is None:
                    return
                at, self.quote = end.end(), ""
            found = _LEXEME.search(line, at)
            if found is None:
                return
            at = found.end()
            self.quote = found["triple"] or ""
            self.depth = max(0, self.depth + bool(found["opens"]) - bool(found["closes"]))
            self.goes_on = bool(found["goes_on"])


def uncommented(text: str) -> str:
    """Colab's export comments magics out, and with a cell magic the whole cell: undo that, line for line."""
    if _COLAB not in text:
        return text
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if line.rstrip() != _COLAB:
            continue
        whole = len(lines) > number + 1 and lines[number + 1].startswith("# %%")
        last = number + 1
        while last < len(lines) and lines[last].startswith("#" if whole else ("# %", "# !")):
            lines[last] = lines[last].removeprefix("#").removeprefix(" ")
            last += 1
        if whole:
            lines[number + 1 : last] = plain_cell("\n".join(lines[number + 1 : last])).split("\n")
    return "\n".join(lines)


def without_exported(tree: ast.Module) -> ast.Module:
    """With what nbconvert made of magics, `get_ipython().run_cell_magic('time', '', ...)`, as what they define."""
    _Exported(0).visit(tree)
    return ast.fix_missing_locations(tree)


class _Exported(ast.NodeTransformer):
    def __init__(self, depth: int) -> None:
        self.depth = depth

    def visit_Expr(self, node: ast.Expr) -> ast.AST | list[ast.stmt]:
        called = _shell_call(node.value)
        if called is None:
            return self.generic_visit(node)
        code = _code_behind(*called)
        if not code or self.depth >= DEPTH:
            return ast.copy_location(ast.Pass(), node)
        try:
            tree = ast.parse(plain_cell(code))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return node  # it does nothing when it is run, as it did nothing in the notebook
        for inner in ast.walk(tree):
            _move(inner, node)
        return _Exported(self.depth + 1).visit(tree).body or [ast.copy_location(ast.Pass(), node)]

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        called = _shell_call(node.value)
        if called is None:
            return self.generic_visit(node)
        method, arguments = called
        node.value = ast.copy_location(ast.List([], ast.Load()) if method == "getoutput" else ast.Constant(None), node)
        try:
            node.value = ast.parse(_code_behind(method, arguments).strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return node
        for inner in ast.walk(node.value):
            _move(inner, node)
        return node


def _shell_call(node: ast.expr) -> tuple[str, list[str]] | None:
    """The method and the texts of `get_ipython().method('text', ...)`."""
    match node:
        case ast.Call(ast.Attribute(ast.Call(ast.Name("get_ipython"), []), method), arguments):
            texts = [one.value for one in arguments if isinstance(one, ast.Constant) and isinstance(one.value, str)]
            return method, texts if len(texts) == len(arguments) else []
    return None


def _code_behind(method: str, arguments: Sequence[str]) -> str:
    match method, *arguments:
        case "run_cell_magic", name, _, code if name in CELL_RUNS:
            return code
        case "run_line_magic", name, code if name in LINE_RUNS:
            return _OPTIONS.sub("", code, count=1)
        case "magic", line:  # before 2018
            return _replaced(f"%{line}") or ""
    return ""


def _move(node: ast.AST, to: ast.stmt) -> None:
    """Code from within a string stands where the string does."""
    if "lineno" in node._attributes:
        ast.copy_location(node, to)
