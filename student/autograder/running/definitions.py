"""Which statements of a script or notebook are definitions: all that is run where training and plots must not.

Imports, functions and classes are. So is a simple assignment: one whose value is cheap to compute whatever the
script does elsewhere. A function may need `device`, `N_HEADS = 4` or `softmax = nn.Softmax(-1)`, and loses its points
without them; it does not need `model = train(...)`. Whether a call is cheap cannot be known in general, so calls
are allowed by name: constructors of numbers, small tensors and settings, and what only looks at the machine. A call of
the student's own function is not, because that is how training starts. Nothing here protects the grader:
`zeros(10**12)` is stopped by the worker's limits, like anything else.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable

_BUILTINS = (
    "abs bool bytes complex dict divmod enumerate float frozenset int len list max min object pow range repr reversed "
    "round set slice sorted str sum tuple type zip property isinstance hasattr getattr"
)
# Modules all of whose functions are cheap, if their arguments are.
_CHEAP = (
    "argparse cmath collections copy dataclasses decimal enum fractions functools itertools logging math operator "
    "os.path pathlib re string types typing typing_extensions"
)
_TORCH = (
    "Generator Size arange as_tensor cat concat cos device empty exp eye finfo from_numpy full iinfo is_tensor "
    "linspace log log2 numel ones ones_like outer pow rand randint randn sin softmax sqrt stack tensor tril triu zeros "
    "zeros_like cuda.is_available cuda.device_count cuda.get_device_name backends.mps.is_available get_default_dtype "
    "nn.CrossEntropyLoss nn.Dropout nn.Embedding nn.Flatten nn.GELU nn.Identity nn.LayerNorm nn.Linear nn.MSELoss "
    "nn.NLLLoss nn.Parameter nn.ReLU nn.Sigmoid nn.SiLU nn.Softmax nn.Tanh"
)
_NUMPY = (
    "arange array asarray cos exp eye finfo float32 float64 full iinfo int32 int64 linspace log log2 ones outer power "
    "prod sin sqrt triu tril zeros random.default_rng"
)
BUILTINS, CHEAP = frozenset(_BUILTINS.split()), frozenset(_CHEAP.split())
FUNCTIONS = frozenset(
    [f"torch.{name}" for name in _TORCH.split()]
    + [f"numpy.{name}" for name in _NUMPY.split()]
    + ["os.getenv", "os.environ.get", "os.cpu_count", "os.getcwd", "time.time", "time.perf_counter", "random.Random"]
)
_METHODS = (  # of what is no module: numbers, texts, lists, tensors
    "bool clone copy cpu decode detach dim double encode endswith expand expanduser flatten float format get half "
    "index int is_available item items join keys log long lower lstrip masked_fill max mean min norm numel numpy "
    "permute replace repeat requires_grad_ reshape resolve rstrip size softmax split splitlines sqrt squeeze "
    "startswith strip sum to tolist transpose tril triu type unsqueeze upper values view"
)
METHODS = frozenset(_METHODS.split())
_PLAIN = (
    *(ast.Constant, ast.Name, ast.Lambda, ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop),
    *(ast.Attribute, ast.Subscript, ast.Slice, ast.Starred, ast.keyword, ast.comprehension, ast.FormattedValue),
    *(
        ast.BinOp,
        ast.UnaryOp,
        ast.BoolOp,
        ast.Compare,
        ast.IfExp,
        ast.JoinedStr,
        ast.Tuple,
        ast.List,
        ast.Set,
        ast.Dict,
    ),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
)


class Definitions:
    """Told about the statements of a file in order, because what a name means depends on the imports before."""

    def __init__(self) -> None:
        self.modules: dict[str, str] = {}  # what a name stands for: np -> numpy, sqrt -> math.sqrt
        self.own: set[str] = set()  # functions and classes of the file
        self.settings: set[str] = set()  # classes that only hold values

    def of(self, node: ast.stmt) -> ast.stmt | None:
        """The part of a statement that is a definition, if any is."""
        match node:
            case ast.Import(names):
                for alias in names:
                    self.modules[alias.asname or alias.name.split(".")[0]] = (
                        alias.name if alias.asname else alias.name.split(".")[0]
                    )
                return node
            case ast.ImportFrom(module, names):
                self.modules |= {alias.asname or alias.name: f"{module}.{alias.name}" for alias in names}
                return node
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                self.own.add(node.name)
                if isinstance(node, ast.ClassDef) and _only_holds_values(node):
                    self.settings.add(node.name)
                return node
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign() if node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                return node if all(map(self._simple, [*targets, node.value])) else None
            case ast.If(test):
                body, otherwise = self._all(node.body), self._all(node.orelse)
                if not self._simple(test) or not (body or otherwise):
                    return None
                return ast.copy_location(ast.If(test, body or [ast.copy_location(ast.Pass(), node)], otherwise), node)
            case ast.Try():
                body = self._all(node.body)
                if not body:
                    return None
                handlers = [
                    ast.copy_location(
                        ast.ExceptHandler(
                            one.type, one.name, self._all(one.body) or [ast.copy_location(ast.Pass(), one)]
                        ),
                        one,
                    )
                    for one in node.handlers
                ]
                rest = self._all(node.orelse), self._all(node.finalbody)
                return ast.copy_location(ast.Try(body, handlers, *rest), node) if handlers or rest[1] else None
        return None

    def _all(self, nodes: Iterable[ast.stmt]) -> list[ast.stmt]:
        return [found for node in nodes if (found := self.of(node)) is not None]

    def _simple(self, node: ast.AST) -> bool:
        """Is it a value that is cheap to compute?"""
        if isinstance(node, ast.Lambda):
            return True  # its body is not run now
        if isinstance(node, ast.Call):
            return self._cheap(node.func) and all(map(self._simple, [*node.args, *node.keywords]))
        return isinstance(node, _PLAIN) and all(map(self._simple, ast.iter_child_nodes(node)))

    def _cheap(self, function: ast.expr) -> bool:
        """May this be called?"""
        dotted = _dotted(function)
        first, *rest = dotted or [""]
        if first in self.modules:
            full = ".".join([self.modules[first], *rest])
            return full in FUNCTIONS or any(full.startswith(f"{module}.") for module in CHEAP)
        if dotted and not rest:
            return first in self.settings or (first in BUILTINS and first not in self.own and hasattr(builtins, first))
        return isinstance(function, ast.Attribute) and function.attr in METHODS and self._simple(function.value)


def _dotted(node: ast.expr) -> list[str]:
    """["torch", "cuda", "is_available"], or nothing if it is not just names."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return [node.id, *reversed(names)] if isinstance(node, ast.Name) else []


def _only_holds_values(node: ast.ClassDef) -> bool:
    """A dataclass or a named tuple: to make one is cheap."""
    marks = [one.func if isinstance(one, ast.Call) else one for one in node.decorator_list] + node.bases
    return any(_dotted(mark)[-1:] in (["dataclass"], ["NamedTuple"]) for mark in marks) and not any(
        isinstance(one, ast.FunctionDef) and one.name in ("__init__", "__post_init__", "__new__") for one in node.body
    )
