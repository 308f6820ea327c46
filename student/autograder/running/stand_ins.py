"""What takes the place of things that are not there when code is graded: IPython's helpers, and missing packages."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from types import FunctionType
from typing import Any, NoReturn

# Never imported, wherever code runs: they draw, show or ask, and give no value that an answer could need. With
# Otter's `grader.check(...)`, a notebook that is checked would begin to check itself.
INERT = ("IPython", "google.colab", "ipywidgets", "matplotlib", "otter")


class Inert:
    """Takes every call and does nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Inert()

    def __setattr__(self, name: str, value: object) -> None:
        pass

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Used as a decorator, it leaves what it decorates as it is."""
        if len(arguments) == 1 and not options and isinstance(arguments[0], FunctionType | type):
            return arguments[0]
        return Inert()

    def __getitem__(self, key: object) -> Inert:
        return Inert()

    def __setitem__(self, key: object, value: object) -> None:
        pass

    def __enter__(self) -> Inert:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __iter__(self) -> Iterator[Inert]:
        return iter(())

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "nothing"

    def __format__(self, how: str) -> str:
        return "nothing"

    def __mro_entries__(self, bases: object) -> tuple[type, ...]:
        return ()  # a class that is built on it is built on nothing

    def __or__(self, other: object) -> Inert:
        return self  # `plt.Axes | None`

    __ror__ = __or__


class Bar:
    """In the place of tqdm's bar: what it goes over, and nothing to see."""

    def __init__(self, iterable: Iterable[Any] = (), *_: object, **__: object) -> None:
        self.iterable = iterable

    def __iter__(self) -> Iterator[Any]:
        return iter(self.iterable)

    def __len__(self) -> int:
        return len(self.iterable)  # type: ignore[arg-type]

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        return Inert()

    @staticmethod
    def write(*_: object, **__: object) -> None:
        """What would stand above the bar."""


class Missing:
    """In the place of something that could not be imported: whoever uses it is told so."""

    def __init__(self, package: str, error: ImportError) -> None:
        self._told = package, error

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        package, error = object.__getattribute__(self, "_told")
        if isinstance(error, ModuleNotFoundError):
            raise ModuleNotFoundError(f"uses `{package}`, which is not installed where we grade")
        raise ImportError(f"uses `{package}`, which could not be imported: {error}")

    __call__ = __getitem__ = __iter__ = __enter__ = __mro_entries__ = _refuse

    def __getattr__(self, name: str) -> NoReturn:
        self._refuse()


def names() -> dict[str, Any]:
    """What IPython gives every notebook, made inert."""
    shell = Inert()
    return {"get_ipython": lambda: shell, "display": Inert()}


def single_imports(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str, ast.stmt]]:
    """One import for each name: what is imported, under which name, and the statement; one must not cost the others."""
    for alias in node.names:
        one: ast.Import | ast.ImportFrom
        if isinstance(node, ast.Import):
            module, bound = alias.name, alias.asname or alias.name.split(".")[0]
            one = ast.Import([alias])
        else:
            module, bound = f"{node.module or ''}.{alias.name}", alias.asname or alias.name
            one = ast.ImportFrom(node.module, [alias], node.level)
        yield module, bound, ast.copy_location(one, node)


def is_inert(module: str) -> bool:
    return any(f"{module}.".startswith(f"{name}.") for name in INERT)
