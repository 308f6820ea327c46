"""Make the student release from the solutions, and prove that it is what it should be."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder import regions
from autograder.errors import UserError
from autograder.files import write_atomically, write_files, zipped
from autograder.leaks import Secrets, leaks
from autograder.parallel import imports, parallels

TEXT = (".py", ".md", ".toml", ".txt")
IGNORED = {"__pycache__", ".DS_Store"}


@dataclass(frozen=True)
class Plan:
    """The allow-list: target name in the student tree -> source file, and what must stay secret."""

    sources: Mapping[str, Path]
    secrets: Secrets


def read_plan(path: Path, root: Path) -> Plan:
    """Read release.toml; patterns that match nothing are an error, so that nothing is lost silently."""
    try:
        sources, data = read_sources(path, root)
        secret = data["secret"]
        secrets = Secrets.read(
            root,
            solutions=list(sources.values()),
            **{key: list(secret[key]) for key in ("checks", "references", "answers")},
        )
    except (KeyError, TypeError) as error:
        raise UserError(f"{path}: wrong or missing key {error}") from None
    return Plan(sources, secrets)


def read_sources(path: Path, root: Path) -> tuple[dict[str, Path], dict[str, Any]]:
    """The allow-list of a .toml file, target name -> source file, and all that the file says."""
    sources: dict[str, Path] = {}
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        for entry in data["copy"]:
            for pattern in entry["files"]:
                found = sorted((root / entry["from"]).glob(pattern))
                if not found:
                    raise UserError(f"{path}: {entry['from']}/{pattern} matches no file")
                for source in found:
                    target = Path(entry["to"]) / source.relative_to(root / entry["from"])
                    sources[target.as_posix()] = source
    except FileNotFoundError:
        raise UserError(f"{path} is missing; it lists what is copied") from None
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path}: {error}") from None
    except (KeyError, TypeError) as error:
        raise UserError(f"{path}: wrong or missing key {error}") from None
    return sources, data


def build(plan: Plan) -> dict[str, bytes]:
    """Every file of the student tree, by name, in order."""
    tree: dict[str, bytes] = {}
    for target, source in sorted(plan.sources.items()):
        content = source.read_bytes()
        if target.endswith(TEXT):
            text = content.decode("utf-8")
            content = regions.stubbed(text, str(source)).encode() if regions.regions(text, str(source)) else content
        tree[target] = content
    return tree


def prove(plan: Plan, tree: Mapping[str, bytes]) -> list[str]:
    """Everything that is wrong with a release; empty if it may go out."""
    wrong = []
    for target, source in plan.sources.items():
        if target.endswith(".py"):
            wrong += parallels(target, source.read_text(encoding="utf-8"), tree[target].decode())
    wrong += leaks(tree, plan.secrets)
    return wrong or imports(tree)


def differences(folder: Path, tree: Mapping[str, bytes]) -> list[str]:
    """How a student tree on disk differs from the release."""
    wrong = []
    for name, content in tree.items():
        path = folder / name
        if not path.is_file():
            wrong.append(f"{path} is missing")
        elif path.read_bytes() != content:
            wrong.append(f"{path}{_first_difference(path.read_bytes(), content)} differs from what the solutions give")
    wrong += [f"{folder / name} was not made by release" for name in strangers(folder, tree)]
    return wrong


def _first_difference(one: bytes, other: bytes) -> str:
    if b"\0" in one or b"\0" in other:
        return ""
    pairs = enumerate(zip(one.splitlines(), other.splitlines(), strict=False), start=1)
    line = next((number for number, (a, b) in pairs if a != b), None)
    return f":{line}" if line else ""


def strangers(folder: Path, tree: Mapping[str, bytes]) -> list[str]:
    """Files on disk that the release would not make."""
    present = [path for path in sorted(folder.rglob("*")) if path.is_file() or path.is_symlink()]
    names = [path.relative_to(folder) for path in present]
    return [name.as_posix() for name in names if name.as_posix() not in tree and not IGNORED & set(name.parts)]


def write(folder: Path, tree: Mapping[str, bytes], *, prune: bool) -> list[str]:
    """Bring a student tree up to date. Files that release did not make are never lost silently."""
    extra = strangers(folder, tree)
    if extra and not prune:
        raise UserError(
            f"{folder / extra[0]} was not made by release"
            f"{f' (and {len(extra) - 1} more)' if len(extra) > 1 else ''}; move it away, or delete it with --prune"
        )
    changed = write_files(folder, tree)
    for name in extra:
        (folder / name).unlink()
        changed.append(name)
    return changed


def write_zip(path: Path, tree: Mapping[str, bytes]) -> None:
    write_atomically(path, zipped({f"{path.stem}/{name}": content for name, content in tree.items()}))
