"""What a submission is made of, whatever it came in: names, sizes, and what is wrong with them."""

from __future__ import annotations

import re
import stat
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from autograder.errors import UserError

MIB = 1 << 20
MAX_ENTRIES = 2_000
MAX_UNPACKED = 512 * MIB
MAX_PART = 255  # bytes; what Linux, macOS and Windows can all store
MAX_PATH = 1_000  # bytes
MAX_DEPTH = 20
CHUNK = 1 << 18

# Names of what computers leave in folders unasked, in lower case. Any other name with a dot in front is hidden.
LEFT_BEHIND = {
    "__macosx": "left there by macOS, not needed",
    ".ds_store": "left there by macOS, not needed",
    "thumbs.db": "left there by Windows, not needed",
    "desktop.ini": "left there by Windows, not needed",
    "__pycache__": "left there by Python, not needed",
    ".venv": "Python packages, not your own work",
    ".git": "left there by git, not needed",
    ".ipynb_checkpoints": "old copies left there by Jupyter, not needed",
}

KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
AGAIN = "pack the submission again"


class Refused(UserError):
    """A submission that is not taken in, not even in part."""


@dataclass(frozen=True)
class Source:
    """Where a submission is: a zip, a folder or a file; one folder of a zip; or some files of a zip or folder."""

    path: Path
    # The path that somebody named, if that is a folder above this one: below it, no link is followed.
    named: Path | None = field(default=None, compare=False)
    folder: str = ""  # in the zip at `path`
    members: tuple[tuple[str, str], ...] = ()  # names in the zip or folder at `path`, and the names they get
    refusal: str = ""  # why there is nothing to take in, if so

    @property
    def base(self) -> Path:
        return self.named or self.path

    @staticmethod
    def of(data: Mapping[str, Any]) -> Source:
        """One that has been JSON, of which `plain` was the beginning."""
        named = Path(data["named"]) if data["named"] else None
        members = tuple((name, new) for name, new in data["members"])
        return Source(Path(data["path"]), named, data["folder"], members, data["refusal"])

    def plain(self) -> dict[str, Any]:
        return asdict(self) | {"path": str(self.path), "named": self.named and str(self.named)}


@dataclass(frozen=True)
class Entry:
    """One file or folder of a submission, under the name it will have below the root."""

    name: str
    folder: bool
    size: int
    pieces: Callable[[], Iterator[bytes]]
    packed: int | None = None  # bytes that it takes in a zip, where a lie in one entry condemns all


# Names


def decoded(raw: bytes) -> str:
    """UTF-8, marked as such or not (macOS does not mark it), or else what the zip format began with."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("cp437")


def shown(name: str) -> str:
    """A name that cannot harm a terminal or a report: one short line, with everything invisible spelt out."""
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name[:MAX_PART])
    return text if len(text) <= 80 else f"{text[:79]}…"


def quoted(name: str) -> str:
    return f"'{shown(name)}'"


def few(names: Sequence[str], most: int) -> str:
    """'a, b and 3 more'."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def checked(name: str) -> str:
    """The name with '/' between its parts and nothing else to it; '' is the root of the submission itself."""
    if any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") for c in name):
        raise Refused(f"{quoted(name)} has an invisible character in its name; rename it")
    parts = name.replace("\\", "/").split("/")  # some Windows tools separate folders by backslashes
    if (len(parts) > 1 and not parts[0]) or any(re.match("[A-Za-z]:", part) for part in parts):
        raise Refused(f"{quoted(name)} has an absolute path; zip the folder itself, so that paths begin inside it")
    # Windows drops dots and spaces at the end of a part, so '.. ' and '...' may mean '..' there.
    if any(part.startswith("..") and not part.strip(". ") for part in parts):
        raise Refused(f"{quoted(name)} leads out of the submission; zip the folder itself, without '..'")
    parts = [part for part in parts if part not in ("", ".")]
    if len(parts) > MAX_DEPTH:
        raise Refused(f"{quoted(name)} is more than {MAX_DEPTH} folders deep; move it up")
    if any(len(part.encode()) > MAX_PART for part in parts) or len("/".join(parts).encode()) > MAX_PATH:
        raise Refused(f"{quoted(name)} has too long a name; shorten it")
    return "/".join(parts)


def special(name: str, mode: int) -> Refused:
    kind = KINDS.get(stat.S_IFMT(mode), "neither a file nor a folder")
    return Refused(f"{quoted(name)} is {kind}; hand in plain files and folders only")


def refuse_collisions(entries: Iterable[Entry]) -> None:
    """Names that are one name on some file systems (macOS and Windows ignore case) have no sure meaning."""
    seen: dict[str, tuple[str, bool]] = {}
    for entry in entries:
        parts = entry.name.split("/")
        # Canonical caseless matching, as Unicode defines it. Neither step makes or moves a '/'.
        folded = unicodedata.normalize("NFD", unicodedata.normalize("NFD", entry.name).casefold()).split("/")
        for count in range(1, len(parts) + 1):
            name, folder = "/".join(parts[:count]), count < len(parts) or entry.folder
            key = "/".join(folded[:count])
            if key in seen:
                _refuse_collision(name, folder, *seen[key])
            seen[key] = (name, folder)


def _refuse_collision(name: str, folder: bool, other: str, other_folder: bool) -> None:
    if name != other:
        raise Refused(f"{quoted(name)} and {quoted(other)} are one name on some computers; rename one of them")
    if folder != other_folder:
        raise Refused(f"{quoted(name)} is both a file and a folder; rename one of them")
    if not folder:  # a folder may be mentioned again for each file in it
        raise Refused(f"{quoted(name)} is there twice; keep one of them")


def left_behind(name: str) -> tuple[str, str] | None:
    """The part of a path that computers leave behind, and why: one line for a whole folder of it."""
    parts = name.split("/")
    for count, part in enumerate(parts, 1):
        why = LEFT_BEHIND.get(part.casefold())
        if why is None and part.startswith("."):
            why = "left there by macOS, not needed" if part.startswith("._") else "hidden files are not graded"
        if why is not None:
            return "/".join(parts[:count]), why
    return None


# Limits


def too_many(name: str, most: int) -> Refused:
    return Refused(f"{quoted(name)}: more than {most:,} files and folders; hand in only your own work")


def refuse_too_large(entries: Iterable[Entry]) -> None:
    """Goes by the sizes stated, which `measured` holds every entry to."""
    total = 0
    for entry in entries:
        total += entry.size
        if total > MAX_UNPACKED:
            raise Refused(
                f"{quoted(entry.name)} takes the submission over {MAX_UNPACKED // MIB} MiB unpacked; "
                "hand in only the files asked for"
            )


def measured(pieces: Iterable[bytes], size: int, name: str) -> Iterator[bytes]:
    """Pass on exactly as many bytes as were announced."""
    left = size
    for piece in pieces:
        left -= len(piece)
        if left < 0:
            break
        yield piece
    if left:
        found = "more" if left < 0 else "less"
        raise Refused(f"{quoted(name)} lies about its size: it holds {found} than {size:,} bytes; {AGAIN}")
