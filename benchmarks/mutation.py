"""Mistakes nobody listed: every small change of a solution region, one at a time.

The table of known mistakes holds what somebody thought of. This makes the rest: constants,
axes, operators, names, arguments, slices and statements, changed systematically. Whatever the
checks let through is either another right answer or a hole in them; `benchmarks/mutants.py`
runs them all.
"""

from __future__ import annotations

import ast
import difflib
import itertools
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from autograder.proving.assembling import Sources
from autograder.publishing import regions

# Names that a tired student takes for one another. Whatever stands for one of a group may stand for each.
SIBLINGS: tuple[tuple[str, ...], ...] = (
    ("tril", "triu"),
    ("cos", "sin", "tan"),
    ("sum", "mean"),
    ("softmax", "log_softmax"),
    ("stack", "cat"),
    ("ones", "zeros"),
    ("min", "max"),
    ("ljust", "rjust", "center"),
    ("randint", "randrange"),
    ("sqrt", "log", "exp"),
    ("norm", "sum", "max"),
    ("inf", "nan", "pi"),
    ("bool", "float32", "int64"),
    ("dtype", "device"),
    ("int", "round", "float"),
    ("query", "key", "value", "proj"),
    ("attn_drop", "resid_drop"),
    ("masked_fill", "masked_fill_"),
    ("MASK_CHAR", "PAD_CHAR"),
    ("block_size", "vocab_size"),
    ("data", "itos"),
)
AXES = (-3, -2, -1, 0, 1, 2, 3)
TAKES_AXES = ("transpose", "softmax", "flatten", "unflatten", "unbind", "stack", "size", "permute")
ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.MatMult)
COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)
MODULES = ("torch", "math", "random", "nn")


@dataclass(frozen=True)
class Mutant:
    """One region with one change in it; both texts are as `ast.unparse` writes them."""

    exercise: str
    file: str
    operator: str
    before: str
    after: str

    @property
    def statement(self) -> str:
        """The changed statements as they are now, or `without` and what is gone."""
        before, after = self.before.splitlines(), self.after.splitlines()
        same = len(_common(before, after))
        rest = len(_common(before[same:][::-1], after[same:][::-1]))
        now = after[same : len(after) - rest]
        gone = before[same : len(before) - rest]
        return "\n".join(line.strip() for line in now) or "without " + "\n".join(line.strip() for line in gone)

    @property
    def key(self) -> tuple[str, str]:
        """By what it is found in a list of equivalents."""
        return self.exercise, self.statement

    @property
    def diff(self) -> str:
        lines = difflib.unified_diff(self.before.splitlines(), self.after.splitlines(), lineterm="", n=0)
        return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))

    def submission(self, sources: Sources) -> dict[str, str]:
        texts = sources.solved()
        texts[self.file] = regions.replaced(
            texts[self.file], self.file, {self.exercise: lambda _: self.after.splitlines()}
        )
        return texts


def _common(one: Sequence[str], other: Sequence[str]) -> list[str]:
    """The lines at the start that are the same."""
    return [a for a, _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))]


def mutants(sources: Sources) -> list[Mutant]:
    """All mutants of all regions, always in the same order."""
    return [
        Mutant(region.name, file, operator, before, after)
        for file, text in sources.texts.items()
        for region in regions.regions(text, file)
        for before in [ast.unparse(ast.parse(_code(region.body)))]
        for operator, after in variations(_code(region.body), _names_around(text, region.line))
    ]


def _code(lines: Sequence[str]) -> str:
    return textwrap.dedent("\n".join(lines))


def _names_around(text: str, line: int) -> list[str]:
    """The arguments of the function that a region stands in, or what its script has defined so far."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.lineno < line <= (node.end_lineno or 0):
            return [argument.arg for argument in node.args.args if argument.arg != "self"]
    return _stored(tree, line)


def _stored(tree: ast.AST, line: int) -> list[str]:
    """The names that are assigned to above a line."""
    return [
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.lineno < line
    ]


def variations(code: str, names: Sequence[str] = ()) -> Iterator[tuple[str, str]]:
    """(operator, text) for every change; each text once, and never the original. `names` are defined around it."""
    tree = ast.parse(code)
    seen = {ast.unparse(tree)}
    for place in list(_places(tree)):
        local = list(dict.fromkeys([*names, *_stored(tree, getattr(place.node, "lineno", 0))]))
        for operator, change in OPERATORS.items():
            for new in change(place, local):
                text = place.with_(new, tree)
                if text not in seen and _parses(text):
                    seen.add(text)
                    yield operator, text


def _parses(text: str) -> bool:
    """Some changes, such as a number where a name is assigned to, are not Python."""
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


@dataclass(frozen=True)
class Place:
    """A node, or a list of statements, and where it hangs."""

    node: Any
    parent: ast.AST
    field: str
    index: int | None = None

    def with_(self, new: Any, tree: ast.AST) -> str:
        """The whole text with something else in this place."""
        self._put(new)
        try:
            return ast.unparse(tree)
        finally:
            self._put(self.node)

    def _put(self, new: Any) -> None:
        if self.index is None:
            setattr(self.parent, self.field, new)
        else:
            getattr(self.parent, self.field)[self.index] = new

    @property
    def is_value(self) -> bool:
        """Is it computed and handed on: an operand, an argument, an element, a bound, a result?"""
        loaded = isinstance(getattr(self.node, "ctx", None), (ast.Load, type(None)))
        handed_on = {"left", "right", "args", "elts", "lower", "upper", "value"}
        inside = isinstance(self.parent, (ast.BinOp, ast.Call, ast.Tuple, ast.Slice, ast.Return, ast.keyword))
        return isinstance(self.node, ast.expr) and loaded and inside and self.field in handed_on


def _places(tree: ast.AST) -> Iterator[Place]:
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if isinstance(value, list):
                if value and isinstance(value[0], ast.stmt):
                    yield Place(value, parent, field)
                yield from (Place(node, parent, field, index) for index, node in enumerate(value))
            elif isinstance(value, ast.AST):
                yield Place(value, parent, field)


Operator = Callable[[Place, Sequence[str]], Iterator[Any]]  # a place and the local names; what may stand there instead


def _number(node: ast.AST) -> int | float | None:
    """The value of a literal, a negative one included."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _number(node.operand)
        return None if value is None else -value
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
        return node.value
    return None


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _constants(place: Place, _: Sequence[str]) -> Iterator[ast.expr]:
    value = _number(place.node)
    if isinstance(place.node, ast.Constant) and isinstance(place.node.value, bool):
        yield ast.Constant(not place.node.value)
    if value is None or isinstance(place.parent, ast.UnaryOp):  # a negative number is one constant, not two
        return
    half = value / 2 if isinstance(value, float) else value // 2
    for new in (value + 1, value - 1, type(value)(0), -value, half, value * 2):
        yield _expression(repr(new))


def _axes(place: Place, _: Sequence[str]) -> Iterator[ast.expr]:
    match place.parent:
        case ast.Call(func=ast.Attribute(attr=name)) if name in TAKES_AXES and place.field == "args":
            pass
        case ast.keyword(arg="dim"):
            pass
        case _:
            return
    if isinstance(_number(place.node), int):
        yield from (_expression(repr(axis)) for axis in AXES)


def _arithmetic(place: Place, _: Sequence[str]) -> Iterator[ast.expr]:
    if isinstance(place.node, ast.BinOp):
        left, right = place.node.left, place.node.right
        yield from (ast.BinOp(left, operator(), right) for operator in ARITHMETIC)
        yield ast.BinOp(right, place.node.op, left)
        yield from (left, right)


def _comparisons(place: Place, _: Sequence[str]) -> Iterator[ast.expr]:
    if isinstance(place.node, ast.Compare):
        left, right = place.node.left, place.node.comparators
        yield from (ast.Compare(left, [operator()], right) for operator in COMPARISONS)
        yield left


def _signs(place: Place, _: Sequence[str]) -> Iterator[ast.expr]:
    match place.node:
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            yield operand
        case ast.expr() if place.is_value and _number(place.node) is None:
            yield ast.UnaryOp(ast.USub(), place.node)


def _off_by_one(place: Place, _: Sequence[str]) -> Iterator[ast.expr]:
    inside = isinstance(place.parent, (ast.Call, ast.Slice)) and place.field in ("args", "lower", "upper")
    if inside and place.is_value and _number(place.node) is None:
        yield from (ast.BinOp(place.node, operator(), ast.Constant(1)) for operator in (ast.Add, ast.Sub))


def _conditions(place: Place, _: Sequence[str]) -> Iterator[ast.expr]:
    if place.field == "test":
        yield ast.UnaryOp(ast.Not(), place.node)
        yield from (ast.Constant(True), ast.Constant(False))


def _arguments(place: Place, _: Sequence[str]) -> Iterator[ast.expr]:
    """Arguments or elements exchanged, and each left out."""
    match place.node:
        case ast.Call(func=function, args=given, keywords=options):
            for few in _rearranged(given):
                yield ast.Call(function, few, options)
            for number in range(len(options)):
                yield ast.Call(function, given, options[:number] + options[number + 1 :])
        case ast.Tuple(elts=elements):
            for few in _rearranged(elements):
                yield ast.Tuple(few, place.node.ctx)


def _rearranged(items: list[ast.expr]) -> Iterator[list[ast.expr]]:
    for one, other in itertools.combinations(range(len(items)), 2):
        order = list(items)
        order[one], order[other] = order[other], order[one]
        yield order
    yield from (items[:number] + items[number + 1 :] for number in range(len(items)))


def _calls(place: Place, _: Sequence[str]) -> Iterator[ast.expr]:
    """A call replaced by what it is made on, or made twice."""
    match place.node:
        case ast.Call(func=ast.Attribute(value=owner, attr=name), args=given, keywords=options) if not (
            isinstance(owner, ast.Name) and owner.id in (*MODULES, "self")
        ):
            yield from (owner, *given)
            yield ast.Call(ast.Attribute(place.node, name, ast.Load()), given, options)
        case ast.Call(func=function, args=[first, *others], keywords=options):
            yield from (first, *others)
            yield ast.Call(function, [place.node, *others], options)


def _names(place: Place, local: Sequence[str]) -> Iterator[ast.expr]:
    if isinstance(place.node, ast.Name) and isinstance(place.node.ctx, ast.Load) and place.node.id in local:
        yield from (ast.Name(name, ast.Load()) for name in local)


def _siblings(place: Place, _: Sequence[str]) -> Iterator[ast.expr]:
    for group in SIBLINGS:
        match place.node:
            case ast.Name(id=name, ctx=ctx) if name in group:
                yield from (ast.Name(other, ctx) for other in group)
            case ast.Attribute(value=owner, attr=name, ctx=ctx) if name in group:
                yield from (ast.Attribute(owner, other, ctx) for other in group)


def _slices(place: Place, _: Sequence[str]) -> Iterator[ast.expr]:
    match place.node:
        case ast.Slice(lower=lower, upper=upper, step=step):
            yield ast.Slice(None, upper, step)
            yield ast.Slice(lower, None, step)
            yield ast.Slice(lower, upper, None)
            yield ast.Slice(upper, lower, step)
        case ast.Subscript(value=value, ctx=ast.Load()):
            yield value


def _returns(place: Place, local: Sequence[str]) -> Iterator[ast.expr]:
    if isinstance(place.parent, ast.Return):
        yield from (ast.Name(name, ast.Load()) for name in local)


def _statements(place: Place, _: Sequence[str]) -> Iterator[list[ast.stmt]]:
    """A statement left out, or two neighbours exchanged."""
    if isinstance(place.node, list):
        body: list[ast.stmt] = place.node
        for number in range(len(body)):
            yield body[:number] + body[number + 1 :] or [ast.Pass()]
        for number in range(len(body) - 1):
            yield [*body[:number], body[number + 1], body[number], *body[number + 2 :]]


OPERATORS: dict[str, Operator] = {
    "constant": _constants,
    "axis": _axes,
    "arithmetic": _arithmetic,
    "comparison": _comparisons,
    "sign": _signs,
    "off by one": _off_by_one,
    "condition": _conditions,
    "arguments": _arguments,
    "call": _calls,
    "name": _names,
    "sibling": _siblings,
    "slice": _slices,
    "return": _returns,
    "statement": _statements,
}
