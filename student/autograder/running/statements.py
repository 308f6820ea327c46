"""From cells to statements that can be run one by one, each with its place and the names that it sets."""

from __future__ import annotations

import ast
import itertools
import re
from bisect import bisect_left
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass

from autograder.running.cells import Cell, Kind
from autograder.running.magics import plain_cell, uncommented, without_exported

MOST_JOINED = 30  # blocks of a script without cells that are tried together, to find where a broken one ends
_LOOKS_SET = re.compile(r"^[ \t]*(?:(?:async[ \t]+)?def|class)[ \t]+(\w+)|^[ \t]*(\w+)[ \t]*(?::[^=\n]+)?=(?!=)", re.M)
_BLOCK = re.compile(r"\n[ \t]*\n(?=[^\s#)\]}])")  # an empty line, and something that is not indented
_SHELL = re.compile(r"\bget_ipython\s*\(")
# A notebook of the original course changes one variable twice; what it holds after the first and after the second
# cell that sets it are the answers.
STAGES: Mapping[str, tuple[str, int]] = {"key141": ("m_key", 0), "key142": ("m_key", 1)}
WRITTEN = 2  # of a function or class: it is there, and stands on nothing that is not
Unparsable = (SyntaxError, ValueError, RecursionError, MemoryError)


@dataclass(frozen=True)
class Statement:
    """One statement on top level, or, with an error, a piece of code that is none."""

    place: str
    cell: int  # a number for the cell that it belongs to
    line: int
    node: ast.stmt | None
    sets: frozenset[str]  # names
    error: BaseException | None = None


def statements(cells: Sequence[Cell], kind: Kind, folder: str) -> list[Statement]:
    """All statements in order. A piece that cannot be parsed costs only itself.

    `folder` is where the file stands: Python writes places as paths.
    """
    if kind == "notebook":
        pieces = [_Piece(Cell(cell.place, cell.first, plain_cell(cell.text))) for cell in cells]
    else:
        pieces = _script(cells, kind == "marked")
    found: list[Statement] = []
    for number, piece in enumerate(pieces):
        cell = piece.cell
        try:
            body = piece.parsed(f"{folder}/{cell.place}")
        except Unparsable as error:
            found.append(Statement(cell.place, number, _line_of(error, cell), None, _looks_set(cell.text), error))
            continue
        found += [Statement(cell.place, number, node.lineno, node, names_set(node)) for node in body]
    return found


def _line_of(error: BaseException, cell: Cell) -> int:
    return (error.lineno if isinstance(error, SyntaxError) else None) or cell.first


def _looks_set(text: str) -> frozenset[str]:
    return frozenset(name for names in _LOOKS_SET.findall(text) for name in names if name)


@dataclass(frozen=True)
class _Piece:
    """A cell, and its statements if they are known. To be parsed once: what was exported is changed in place."""

    cell: Cell
    body: list[ast.stmt] | None = None

    def parsed(self, path: str) -> list[ast.stmt]:
        body, text = self.body, self.cell.text
        if body is None:
            body = ast.parse("\n" * (self.cell.first - 1) + text, path).body  # empty lines, so that places are right
        return without_exported(ast.Module(body, [])).body if _SHELL.search(text) else body


# Scripts


def _script(cells: Sequence[Cell], marked: bool) -> list[_Piece]:
    """The cells of a script as they were in the notebook.

    A line that looks like a marker may stand within a string or an indented block. Where nothing marks cells, what
    stands between two empty lines is taken for one: that is how a person reads it.
    """
    plain = [plain_cell(uncommented(cell.text)) for cell in cells]
    whole = Cell(cells[0].place, 1, "\n".join(plain))
    try:
        body = ast.parse(whole.text).body
    except Unparsable:
        firsts = [Cell(cell.place, cell.first, text) for cell, text in zip(cells, plain, strict=True)]
        return [_Piece(cell) for cell in (firsts if marked else _blocks(whole))]
    lines = whole.text.split("\n")
    begins = [cell.first for cell in cells] if marked else _after_gaps(body, lines)
    inside = {number for node in body for number in range(node.lineno + 1, (node.end_lineno or node.lineno) + 1)}
    edges = [*sorted({1, *begins} - inside), len(lines) + 1]
    pieces = []
    for one, other in itertools.pairwise(edges):
        first, last = (bisect_left(body, line, key=lambda node: node.lineno) for line in (one, other))
        pieces.append(_Piece(Cell(whole.place, one, "\n".join(lines[one - 1 : other - 1])), body[first:last]))
    return pieces


def _after_gaps(body: Sequence[ast.stmt], lines: Sequence[str]) -> list[int]:
    """The lines of statements that stand behind an empty line."""
    begins, last = [], 0
    for node in body:
        first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])
        if any(not line.strip() for line in lines[last : first - 1]):
            begins.append(first)
        last = node.end_lineno or node.lineno
    return begins


def _blocks(whole: Cell) -> Iterator[Cell]:
    """Pieces of a broken script: as few blocks together as make sense, and the broken ones by themselves."""
    edges = [0, *(match.end() for match in _BLOCK.finditer(whole.text)), len(whole.text)]
    at = 0
    while at < len(edges) - 1:
        for to in range(at + 1, min(at + 1 + MOST_JOINED, len(edges))):
            text = whole.text[edges[at] : edges[to]]
            try:
                ast.parse(text)
                break
            except Unparsable:
                continue
        else:
            to = at + 1
        first = whole.text.count("\n", 0, edges[at]) + 1
        yield Cell(whole.place, first, whole.text[edges[at] : edges[to]])
        at = to


# Names


def names_set(node: ast.AST) -> frozenset[str]:
    """The names that a statement binds, or whose value it changes (`key[2] = ...`), on top level."""
    found: set[str] = set()
    waiting = [node]
    while waiting:
        node = waiting.pop()
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                found.add(node.name)
                continue
            case ast.Constant() | ast.Lambda():
                continue
            case ast.Name():
                if isinstance(node.ctx, ast.Store):
                    found.add(node.id)
                continue
            case ast.Import(names) | ast.ImportFrom(names=names):
                found.update(alias.asname or alias.name.split(".")[0] for alias in names)
                continue
            case ast.Subscript(ctx=ast.Store()) | ast.Attribute(ctx=ast.Store()):
                found.update(_root(node))
            case ast.Call(ast.Attribute(value, method)) if method.endswith("_") and not method.endswith("__"):
                found.update(_root(value))  # key[2].copy_(...)
        waiting += ast.iter_child_nodes(node)
    return frozenset(found)


def _root(node: ast.AST) -> list[str]:
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return [node.id] if isinstance(node, ast.Name) else []


# Stubs


def started(nodes: Sequence[ast.stmt]) -> dict[str, int]:
    """How much there is of each function and class: WRITTEN, or 0 for a stub as it was handed out, or 1 for what stands
    on such a stub in the same file, as given code may."""
    found: dict[str, ast.stmt] = {}
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found[node.name] = node
    stubs = {name for name, node in found.items() if is_stub(node)}
    leaning = [name for name, node in found.items() if stubs and stubs & _names_in(node)]
    return dict.fromkeys(found, WRITTEN) | dict.fromkeys(leaning, 1) | dict.fromkeys(stubs, 0)


def _names_in(node: ast.stmt) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def is_stub(node: ast.stmt) -> bool:
    """Its body does nothing, or raises NotImplementedError and no more; of a class, that of one of its methods.

    To name None and return it is to do nothing, too: that is how some stubs are handed out.
    """
    if isinstance(node, ast.ClassDef):
        return any(is_stub(one) for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    body = [one for one in node.body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))]
    nothing = {name for one in body if isinstance(one, ast.Assign | ast.AnnAssign) for name in names_set(one)}
    return all(_is_idle(one, nothing) for one in body)


def _is_idle(node: ast.stmt, nothing: Container[str]) -> bool:
    """Does it no more than name None, or return it? `nothing`: the names that are set."""
    match node:
        case ast.Pass() | ast.Return(None | ast.Constant(None)):
            return True
        case ast.Return(ast.Name(name)):
            return name in nothing
        case ast.Assign([ast.Name()], ast.Constant(None)) | ast.AnnAssign(ast.Name(), _, None | ast.Constant(None)):
            return True
        case ast.Raise(ast.Name("NotImplementedError") | ast.Call(ast.Name("NotImplementedError"))):
            return True
    return False
