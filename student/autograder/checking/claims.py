"""What a claim of an exercise is worth. Test files declare it, and a course may change it.

The points of a part (public or hidden) are shared out among its claims. *Core* claims are about right values or right
form: all of them together earn what the further ones leave, and if one fails, the whole part earns nothing, so that
zeros and constants do. A *further* claim earns its own declared points. A *note* is told and earns nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from autograder.errors import UserError

Kind = Literal["core", "further", "note"]
Check = TypeVar("Check", bound=Callable[..., None])
_MARK = "__worth__"


@dataclass(frozen=True)
class Worth:
    """What a claim counts as, and, of a further one, its points in each part."""

    kind: Kind
    public: int = 0
    hidden: int = 0

    def points_of(self, part: str) -> int:
        return self.public if part == "public" else self.hidden


CORE, NOTE = Worth("core"), Worth("note")


def core(check: Check) -> Check:
    """Without this, the part earns nothing."""
    return _marked(check, CORE)


def further(*, public: int = 0, hidden: int = 0) -> Callable[[Check], Check]:
    """Worth so many points of its own in each part. With none in one part, it is told there and counts in the other."""
    return lambda check: _marked(check, Worth("further", public, hidden))


def note(check: Check) -> Check:
    """Told, and worth nothing."""
    return _marked(check, NOTE)


def _marked(check: Check, worth: Worth) -> Check:
    setattr(check, _MARK, worth)
    return check


def declared(check: Callable[..., Any], where: str) -> Worth:
    """What a test function was marked with; all of them must be."""
    worth = getattr(check, _MARK, None)
    if not isinstance(worth, Worth):
        raise UserError(f"{where}: '{check.__name__}' must be marked with @core, @further(...) or @note")
    return worth


def changed(name: str, usual: Worth, changes: Mapping[str, Worth]) -> Worth:
    """What a claim is worth in a course; what is core stays core."""
    return usual if usual.kind == "core" else changes.get(name, usual)
