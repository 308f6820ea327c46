"""Turn what a student hands in (a zip, a folder or one file) into a clean tree, or refuse it whole."""

from __future__ import annotations

import hashlib
import itertools
import os
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO

from autograder.errors import UserError
from autograder.intake.entries import (
    MAX_ENTRIES,
    MIB,
    Entry,
    Refused,
    Source,
    checked,
    decoded,
    few,
    left_behind,
    measured,
    quoted,
    refuse_collisions,
    refuse_too_large,
    shown,
    special,
    too_many,
)
from autograder.intake.folders import file_entry, folder_at, folder_entries, holding, member_entries, opened
from autograder.intake.locating import Found, Section, find
from autograder.intake.placing import placed
from autograder.intake.zips import refuse_bomb, zip_entries, zip_folder_entries, zip_member_entries
from autograder.isolation.forks import Limited
from autograder.running.notebook_json import LARGEST, Unreadable
from autograder.running.texts import as_utf8

__all__ = ["Ignored", "Intake", "Refused", "Section", "Source", "take_in"]

# What graded files can be: code, notebooks, checkpoints, predictions and the London baseline. An allow-list, because
# nobody can list everything that some tool takes as configuration (*.pth, pytest.ini, pyproject.toml, ...).
KEPT = (".py", ".ipynb", ".params", ".predictions", ".txt")
MAX_TEXT = {".py": 8 * MIB, ".ipynb": LARGEST}  # a longer one is no source code, and is not looked into
ARCHIVES = (".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar")
METADATA = "submission_metadata.yml"  # of a Gradescope export
CLOSED = "not opened"
MAX_SECONDS, MAX_MEMORY = 60, 1024 * MIB  # for one submission; the largest that is honest takes a tenth of it
NAMED = 3  # files, where there are no others
MOST_ZIPS = 20  # inside a submission that are opened: each is a file that is held open
TAKE_OVER = ("conftest.py", "sitecustomize.py", "usercustomize.py")  # run by pytest or Python unasked

# Packages that the grader or torch imports, perhaps only once the submission's folder is first on the path.
PRELOADED = (
    *("autograder", "torch", "functorch", "torchgen", "numpy", "safetensors", "transformers", "tokenizers"),
    *("pytest", "_pytest", "py", "pluggy", "iniconfig", "packaging", "pygments", "hypothesis", "sortedcontainers"),
    *("filelock", "fsspec", "jinja2", "markupsafe", "mpmath", "networkx", "sympy", "typing_extensions"),
    *("setuptools", "pkg_resources", "_distutils_hack", "pip", "IPython", "ipykernel", "nbformat", "yaml"),
    *("einops", "tqdm"),
)


@dataclass(frozen=True)
class Ignored:
    """Something that was handed in and left out, and why."""

    name: str
    why: str


@dataclass(frozen=True)
class Intake:
    """The clean tree: `files` are the names kept below `root`."""

    root: Path
    files: tuple[str, ...]
    ignored: tuple[Ignored, ...]
    notes: tuple[str, ...]
    digest: str  # of all of this; the same for a zip and for the folder it was made from
    unsure: Mapping[str, str] = field(default_factory=dict)  # names that may be in files nobody recognises, and why

    @staticmethod
    def of(data: Mapping[str, Any]) -> Intake:
        """One that has been JSON, of which `plain` was the beginning."""
        ignored = tuple(Ignored(**one) for one in data["ignored"])
        files, notes = tuple(data["files"]), tuple(data["notes"])
        return Intake(Path(data["root"]), files, ignored, notes, data["digest"], data["unsure"])

    def plain(self) -> dict[str, Any]:
        return asdict(self) | {"root": str(self.root)}

    @property
    def why_nothing(self) -> str:
        """Why there is nothing to grade; '' if there is."""
        if self.files:
            return ""
        names = [f"'{one.name}'" + f" ({one.why})" * one.why.startswith(CLOSED) for one in self.ignored]
        return self.notes[-1] + (f"; there is only {few(names, NAMED)}" if names else "")


def take_in(source: Path | Source, into: Path, sections: Sequence[Section] = ()) -> Intake:
    """Copy what can be graded to `into`, a new empty folder, which is left empty if the submission is refused.

    sections: what somebody will look for; the files of it get their names, and modules their folder.
    """
    if into.is_symlink() or not into.is_dir() or any(into.iterdir()):
        raise Refused(f"{quoted(into.name)} is not an empty folder; choose a new one to unpack into")
    try:
        with _entries(source if isinstance(source, Source) else Source(source)) as entries, ExitStack() as stack:
            refuse_collisions(entries)
            refuse_too_large(entries)
            entries, notes, closed = _with_inner_zips(entries, sections, stack)
            found = find(entries, sections, lambda name: _unused(name) is None)
            expected = {file for section in sections for file in section.files}
            found.entries, moved = placed(found.entries, expected)
            found.notes[:0] = notes
            found.notes += moved
            if {one.name for one in found.entries} - {one.name for one in entries}:
                refuse_collisions(found.entries)
            return _unpack(found, closed, into)
    except BaseException:
        _empty(into)
        raise


def in_a_child(sections: Sequence[Section]) -> Limited:
    """`take_in`, in a process with limits: from a source and a folder, both plain, to a plain intake.

    What it reads can be made to take long or to grow in ways that nobody has thought of.
    """

    def work(source: Mapping[str, Any], into: str) -> dict[str, Any]:
        return take_in(Source.of(source), Path(into), sections).plain()

    return Limited(work, seconds=MAX_SECONDS, memory=MAX_MEMORY, raises=(Refused, UserError, OSError))


@contextmanager
def _entries(source: Source) -> Iterator[list[Entry]]:
    """What is in a submission, whatever its kind. Contents can be read as long as the context is open."""
    if source.refusal:
        raise Refused(source.refusal)
    path, base, name = source.path, source.base, decoded(os.fsencode(source.path.name))
    suffix = path.suffix.casefold()
    with ExitStack() as stack:
        folder, called = stack.enter_context(holding(path, base))
        try:
            seen = os.stat(called, dir_fd=folder, follow_symlinks=False)
        except (OSError, ValueError):
            raise Refused(f"{quoted(name)} is not there; check the path") from None
        if stat.S_ISDIR(seen.st_mode):
            root = stack.enter_context(folder_at(path, base))
            yield _opened_zips(member_entries(root, source.members), stack) if source.members else folder_entries(root)
        elif not stat.S_ISREG(seen.st_mode):
            raise special(name, seen.st_mode)
        elif suffix == ".zip":
            yield _zip_entries(stack.enter_context(opened(folder, called, name, seen)), name, source, stack)
        elif suffix in (".py", ".ipynb"):
            yield [file_entry(path, base, checked(name), seen)]
        else:
            raise Refused(f"{quoted(name)} cannot be graded; hand in a .zip, a folder, a .py or an .ipynb file")


def _zip_entries(file: BinaryIO, name: str, source: Source, stack: ExitStack) -> list[Entry]:
    if source.members:
        return _opened_zips(zip_member_entries(file, name, source.members), stack)
    if source.folder:
        return zip_folder_entries(file, name, source.folder)
    return zip_entries(file, name)


def _opened_zips(entries: Iterable[Entry], stack: ExitStack) -> list[Entry]:
    """Loose files, with what is in a zip among them in its place: a student may upload a zip and one file more."""
    found = []
    for entry in entries:
        if entry.folder or not entry.name.casefold().endswith(".zip"):
            found.append(entry)
            continue
        refuse_too_large([entry])
        found += zip_entries(stack.enter_context(_copied(entry)), entry.name)
    if len(found) > MAX_ENTRIES:
        raise too_many(found[-1].name, MAX_ENTRIES)
    return found


@contextmanager
def _copied(entry: Entry) -> Iterator[BinaryIO]:
    """A zip in a file of its own, since reading it means jumping about in it."""
    with TemporaryFile() as file:
        try:
            file.writelines(measured(entry.pieces(), entry.size, entry.name))
            file.flush()
        except OSError as error:
            raise _not_written(entry.name, error) from error
        yield file


# Zips inside a submission


def _with_inner_zips(
    entries: Sequence[Entry], sections: Sequence[Section], stack: ExitStack
) -> tuple[list[Entry], list[str], dict[str, str]]:
    """Entries with what is in the zips among them, each in a folder that has the zip's name; with notes, and reasons
    for zips that stay closed. The limits hold for all of it together, and zips in these zips are not opened."""
    inner: dict[str, list[Entry]] = {}
    closed: dict[str, str] = {}
    for entry in entries:
        if not entry.folder and _is_zip(entry.name) and left_behind(entry.name) is None:
            if len(inner) == MOST_ZIPS:
                closed[entry.name] = f"{CLOSED}, because there are more than {MOST_ZIPS}"
                continue
            try:
                inner[entry.name] = _inside(entry, [*entries, *itertools.chain(*inner.values())], stack)
            except Refused as refused:
                closed[entry.name] = f"{CLOSED}, because {str(refused).partition(';')[0]}"
    for name, others in _of_several(inner, sections).items():
        told = f"{few([*map(quoted, others)], NAMED)} hold{'s' * (len(others) == 1)} files of the same names"
        closed[name] = f"{CLOSED}, because {told}, as another submission would"
        del inner[name]
    names = few([quoted(name) for name in inner], NAMED)
    notes = [f"opened {names}, {'a zip' if len(inner) == 1 else 'zips'} inside the submission"] if inner else []
    return [*(one for one in entries if one.name not in inner), *itertools.chain(*inner.values())], notes, closed


def _is_zip(name: str) -> bool:
    return name.casefold().endswith(".zip")


def _inside(zipped: Entry, before: Sequence[Entry], stack: ExitStack) -> list[Entry]:
    """What is in a zip, or Refused."""
    refuse_too_large([*before, zipped])  # it is copied first
    found = zip_entries(stack.enter_context(_copied(zipped)), zipped.name)
    if any(Path(one.name).name == METADATA for one in found):
        raise Refused("it looks like a whole class, not one submission")
    named = [replace(one, name=checked(f"{zipped.name}/{one.name}")) for one in found]
    if len(before) + len(named) > MAX_ENTRIES:
        raise too_many(zipped.name, MAX_ENTRIES)
    refuse_too_large([*before, *named])
    refuse_collisions(named)
    if zipped.packed is not None:  # packed twice, it may grow twice
        refuse_bomb(zipped.name, sum(one.size for one in named), zipped.packed)
    return named


def _of_several(inner: Mapping[str, Sequence[Entry]], sections: Sequence[Section]) -> dict[str, list[str]]:
    """Zips that hold files of the same names, each with the others: no one student's, or not by intent."""
    expected = {Path(file).name.casefold() for section in sections for file in section.files}
    holders: dict[str, list[str]] = {}
    for name, found in inner.items():
        bases = {Path(one.name).name.casefold() for one in found if not one.folder and left_behind(one.name) is None}
        for base in sorted(bases & expected if expected else bases):
            holders.setdefault(base, []).append(name)
    together: dict[str, list[str]] = {}
    for names in holders.values():
        for name in names:
            others = [other for other in names if other != name]
            together.setdefault(name, []).extend(other for other in others if other not in together.get(name, []))
    return {name: others for name, others in together.items() if others}


# What is kept, and what is left out


def _left_out(entry: Entry) -> dict[str, str]:
    """What to list as ignored, and why; empty if the entry is kept."""
    if leftover := left_behind(entry.name):
        return dict([leftover])
    why = None if entry.folder else _unused(entry.name)
    if not why and Path(entry.name).suffix.casefold() == ".py" and entry.size > MAX_TEXT[".py"]:
        # It would not be decoded here, and Python would read it in whatever encoding it declares.
        why = f"{CLOSED}, because it is larger than {MAX_TEXT['.py'] // MIB} MiB, and no source code is"
    return {entry.name: why} if why else {}


def _unused(name: str) -> str | None:
    """Why a file is not kept, or None if it is."""
    path = Path(name)
    suffix = path.suffix.casefold()
    if suffix in ARCHIVES:
        return "only a zip is opened, and no zip inside it; put the files in themselves"
    if suffix not in KEPT:
        return f"only {', '.join(KEPT[:-1])} and {KEPT[-1]} files are used"
    if path.name.casefold() in TAKE_OVER:
        return "this would change how the checks run; it is not used"
    if path.suffix != ".py":
        return None
    module = path.parent.name if path.name == "__init__.py" else path.stem  # of a package, or of a file
    if module in sys.stdlib_module_names:
        return f"it would hide Python's own module {module}; rename it"
    if module in PRELOADED:
        return f"it would hide the package {module}; rename it"
    return None


# Contents


def _unpack(found: Found, closed: Mapping[str, str], into: Path) -> Intake:
    """Write what is kept. Of a zip, what is left out is read too: a damaged one is refused whole."""
    ignored = dict(found.ignored)
    notes = found.notes
    digests: dict[str, str] = {}
    for entry in sorted(found.entries, key=lambda entry: entry.name):
        pieces = measured(entry.pieces(), entry.size, entry.name)
        left_out = _left_out(entry)
        ignored |= {name: closed.get(name, why) for name, why in left_out.items()}
        if left_out or entry.folder:
            for _ in pieces if entry.packed is not None else ():
                pass
            continue
        if entry.size <= MAX_TEXT.get(Path(entry.name).suffix.casefold(), -1):
            try:
                content, note = _as_utf8(b"".join(pieces), entry.name)
            except Unreadable as error:
                ignored[entry.name] = f"{CLOSED}, because {error}"
                notes.append(f"{shown(entry.name)} was left out: {error}")
                continue
            notes += note
            pieces = iter([content])
        digests[entry.name] = _write(into, entry.name, pieces)
    if not digests:
        notes.append(f"nothing here can be graded: there are no {', '.join(KEPT[:-1])} or {KEPT[-1]} files of your own")
    listing = "".join(f"{name}\0{digest}\n" for name, digest in sorted(digests.items()))
    listing += "".join(f"{told}\n" for told in (*notes, *(f"{name}\0{why}" for name, why in ignored.items())))
    return Intake(
        root=into,
        files=tuple(sorted(digests)),
        ignored=tuple(Ignored(shown(name), why) for name, why in ignored.items()),
        notes=tuple(notes),
        digest=hashlib.sha256(listing.encode()).hexdigest(),
        unsure=found.unsure,
    )


def _as_utf8(content: bytes, name: str) -> tuple[bytes, list[str]]:
    """Source code in UTF-8, with a note if we had to guess what it was in. Unreadable, if it is in no text encoding."""
    content, found = as_utf8(content)
    if not found.encoding or found.declared:
        return content, []
    names = {"latin-1": "Latin-1", "utf-16": "UTF-16", "utf-32": "UTF-32"}
    return content, [f"{shown(name)} is not UTF-8; it was read as {names[found.encoding]}"]


# Writing


def _write(into: Path, name: str, pieces: Iterable[bytes]) -> str:
    """Write one new file, never through a link; returns the digest of its content."""
    digest = hashlib.sha256()
    try:
        _make_folders(into, name)
        # Permissions are set twice over, since the umask takes some away at creation.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(into / name, flags, 0o644), "wb") as file:
            os.fchmod(file.fileno(), 0o644)
            for piece in pieces:
                digest.update(piece)
                file.write(piece)
    except OSError as error:  # the disk's trouble, not the student's: not Refused
        raise _not_written(name, error) from error
    return digest.hexdigest()


def _not_written(name: str, error: OSError) -> UserError:
    return UserError(f"{quoted(name)} could not be written ({error.strerror}); free some space")


def _make_folders(into: Path, name: str) -> None:
    folder = into
    for part in name.split("/")[:-1]:
        folder /= part
        if not folder.is_dir():
            folder.mkdir()
            folder.chmod(0o755)


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
