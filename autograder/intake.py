"""Turn what a student hands in (a zip, a folder or one file) into a clean tree, or refuse it whole.

Zips are read here and not with `zipfile`: that one cuts names at a NUL, stops silently at the size a header claims,
lists a million entries before one can count them, and does not see entries that share their bytes.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import struct
import sys
import unicodedata
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from autograder.errors import UserError

# What graded files can be: code, notebooks, checkpoints, predictions and the London baseline. An allow-list, because
# nobody can list everything that some tool takes as configuration (*.pth, pytest.ini, pyproject.toml, ...).
KEPT = (".py", ".ipynb", ".params", ".predictions", ".txt")

MIB = 1 << 20
MAX_ENTRIES = 2_000
MAX_UNPACKED = 512 * MIB
MAX_RATIO = 200
RATIO_COUNTS_BEYOND = 50 * MIB  # a small file of one repeated character is no bomb
MAX_PART = 255  # bytes; what Linux, macOS and Windows can all store
MAX_PATH = 1_000  # bytes
MAX_DEPTH = 20
MAX_SOURCE = 8 * MIB  # a longer .py is no source code, and is not looked into
MAX_DIRECTORY = 4 * MIB  # of a zip: 2,000 entries with the longest names fit
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
ARCHIVES = (".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar")
TAKE_OVER = ("conftest.py", "sitecustomize.py", "usercustomize.py")  # run by pytest or Python unasked

# Packages that the grader or torch imports, perhaps only once the submission's folder is first on the path.
PRELOADED = (
    *("autograder", "torch", "functorch", "torchgen", "numpy", "safetensors", "transformers", "tokenizers"),
    *("pytest", "_pytest", "py", "pluggy", "iniconfig", "packaging", "pygments", "hypothesis", "sortedcontainers"),
    *("filelock", "fsspec", "jinja2", "markupsafe", "mpmath", "networkx", "sympy", "typing_extensions"),
    *("setuptools", "pkg_resources", "_distutils_hack", "pip", "IPython", "ipykernel", "nbformat", "yaml"),
)

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
    digest: str  # of names and contents; the same for a zip and for the folder it was made from


@dataclass(frozen=True)
class _Entry:
    """One file or folder of a submission, under the name it will have below the root."""

    name: str
    folder: bool
    size: int
    pieces: Callable[[], Iterator[bytes]]
    packed: bool = False  # in a zip, where a lie in one entry condemns all


def take_in(source: Path, into: Path) -> Intake:
    """Copy what can be graded to `into`, a new empty folder, which is left empty if the submission is refused."""
    if into.is_symlink() or not into.is_dir() or any(into.iterdir()):
        raise Refused(f"{_quoted(into.name)} is not an empty folder; choose a new one to unpack into")
    try:
        with _entries(source) as entries:
            _refuse_collisions(entries)
            _refuse_too_large(entries)
            return _unpack(entries, into)
    except BaseException:
        _empty(into)
        raise


@contextmanager
def _entries(source: Path) -> Iterator[list[_Entry]]:
    """What is in a submission, whatever its kind. Contents can be read as long as the context is open."""
    name = _decoded(os.fsencode(source.name))
    try:
        seen = source.lstat()
    except (OSError, ValueError):
        raise Refused(f"{_quoted(name)} is not there; check the path") from None
    suffix = source.suffix.casefold()
    if stat.S_ISDIR(seen.st_mode):
        yield _folder_entries(source)
    elif not stat.S_ISREG(seen.st_mode):
        raise _special(name, seen.st_mode)
    elif suffix == ".zip":
        with _opened(source, name, seen) as file:
            yield _zip_entries(file, name)
    elif suffix in (".py", ".ipynb"):
        yield [_file_entry(source, _checked(name), seen)]
    else:
        raise Refused(f"{_quoted(name)} cannot be graded; hand in a .zip, a folder, a .py or an .ipynb file")


# Names


def _decoded(raw: bytes) -> str:
    """UTF-8, marked as such or not (macOS does not mark it), or else what the zip format began with."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("cp437")


def _shown(name: str) -> str:
    """A name that cannot harm a terminal or a report: one short line, with everything invisible spelt out."""
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name[:MAX_PART])
    return text if len(text) <= 80 else f"{text[:79]}…"


def _quoted(name: str) -> str:
    return f"'{_shown(name)}'"


def _checked(name: str) -> str:
    """The name with '/' between its parts and nothing else to it; '' is the root of the submission itself."""
    if any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") for c in name):
        raise Refused(f"{_quoted(name)} has an invisible character in its name; rename it")
    parts = name.replace("\\", "/").split("/")  # some Windows tools separate folders by backslashes
    if (len(parts) > 1 and not parts[0]) or any(re.match("[A-Za-z]:", part) for part in parts):
        raise Refused(f"{_quoted(name)} has an absolute path; zip the folder itself, so that paths begin inside it")
    # Windows drops dots and spaces at the end of a part, so '.. ' and '...' may mean '..' there.
    if any(part.startswith("..") and not part.strip(". ") for part in parts):
        raise Refused(f"{_quoted(name)} leads out of the submission; zip the folder itself, without '..'")
    parts = [part for part in parts if part not in ("", ".")]
    if len(parts) > MAX_DEPTH:
        raise Refused(f"{_quoted(name)} is more than {MAX_DEPTH} folders deep; move it up")
    if any(len(part.encode()) > MAX_PART for part in parts) or len("/".join(parts).encode()) > MAX_PATH:
        raise Refused(f"{_quoted(name)} has too long a name; shorten it")
    return "/".join(parts)


def _special(name: str, mode: int) -> Refused:
    kind = KINDS.get(stat.S_IFMT(mode), "neither a file nor a folder")
    return Refused(f"{_quoted(name)} is {kind}; hand in plain files and folders only")


def _refuse_collisions(entries: Iterable[_Entry]) -> None:
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
        raise Refused(f"{_quoted(name)} and {_quoted(other)} are one name on some computers; rename one of them")
    if folder != other_folder:
        raise Refused(f"{_quoted(name)} is both a file and a folder; rename one of them")
    if not folder:  # a folder may be mentioned again for each file in it
        raise Refused(f"{_quoted(name)} is there twice; keep one of them")


# What is kept, and what is left out


def _left_behind(name: str) -> tuple[str, str] | None:
    """The part of a path that computers leave behind, and why: one line for a whole folder of it."""
    parts = name.split("/")
    for count, part in enumerate(parts, 1):
        why = LEFT_BEHIND.get(part.casefold())
        if why is None and part.startswith("."):
            why = "left there by macOS, not needed" if part.startswith("._") else "hidden files are not graded"
        if why is not None:
            return "/".join(parts[:count]), why
    return None


def _unused(name: str) -> str | None:
    """Why a file is not kept, or None if it is."""
    path = Path(name)
    suffix = path.suffix.casefold()
    if suffix in ARCHIVES:
        return "archives inside a submission are not opened; put the files in themselves"
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


def _refuse_too_large(entries: Iterable[_Entry]) -> None:
    """Goes by the sizes stated, which `_measured` holds every entry to."""
    total = 0
    for entry in entries:
        total += entry.size
        if total > MAX_UNPACKED:
            raise Refused(
                f"{_quoted(entry.name)} takes the submission over {MAX_UNPACKED // MIB} MiB unpacked; "
                "hand in only the files asked for"
            )


def _measured(pieces: Iterable[bytes], size: int, name: str) -> Iterator[bytes]:
    """Pass on exactly as many bytes as were announced."""
    left = size
    for piece in pieces:
        left -= len(piece)
        if left < 0:
            break
        yield piece
    if left:
        found = "more" if left < 0 else "less"
        raise Refused(f"{_quoted(name)} lies about its size: it holds {found} than {size:,} bytes; {AGAIN}")


def _unpack(entries: Iterable[_Entry], into: Path) -> Intake:
    """Write what is kept. Of a zip, what is left out is read too: a damaged one is refused whole."""
    ignored: dict[str, str] = {}
    notes: list[str] = []
    digests: dict[str, str] = {}
    for entry in sorted(entries, key=lambda entry: entry.name):
        pieces = _measured(entry.pieces(), entry.size, entry.name)
        left_out = _left_out(entry)
        ignored |= left_out
        if left_out or entry.folder:
            for _ in pieces if entry.packed else ():
                pass
            continue
        if entry.name.casefold().endswith(".py") and entry.size <= MAX_SOURCE:
            content, note = _as_utf8(b"".join(pieces), entry.name)
            notes += note
            pieces = iter([content])
        digests[entry.name] = _write(into, entry.name, pieces)
    if not digests:
        notes.append(f"nothing here can be graded: there are no {', '.join(KEPT[:-1])} or {KEPT[-1]} files of your own")
    listing = "".join(f"{name}\0{digest}\n" for name, digest in sorted(digests.items()))
    return Intake(
        root=into,
        files=tuple(sorted(digests)),
        ignored=tuple(Ignored(_shown(name), why) for name, why in ignored.items()),
        notes=tuple(notes),
        digest=hashlib.sha256(listing.encode()).hexdigest(),
    )


def _left_out(entry: _Entry) -> dict[str, str]:
    """What to list as ignored, and why; empty if the entry is kept."""
    if leftover := _left_behind(entry.name):
        return dict([leftover])
    why = None if entry.folder else _unused(entry.name)
    return {entry.name: why} if why else {}


def _as_utf8(content: bytes, name: str) -> tuple[bytes, list[str]]:
    """Source code as Python will be able to read it, with a note if it had to be changed for that."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        try:
            return content.decode("utf-16").encode(), [f"{_shown(name)} is not UTF-8; it was read as UTF-16"]
        except UnicodeDecodeError:
            pass  # then it is Latin-1 that happens to begin with these two letters
    try:
        content.decode("utf-8")
        return content, []
    except UnicodeDecodeError:
        if not _names_its_encoding(content):
            text = content.removeprefix(b"\xef\xbb\xbf").decode("latin-1")
            return text.encode(), [f"{_shown(name)} is not UTF-8; it was read as Latin-1"]
        return content, []


def _names_its_encoding(content: bytes) -> bool:
    """Whether there is a line as in PEP 263. One that says UTF-8, wrongly, counts for nothing."""
    for line in re.split(rb"\r\n?|\n", content, maxsplit=2)[:2]:
        found = re.match(rb"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", line)
        if found:
            return not re.match(rb"utf[-_]?8\b", found[1], re.IGNORECASE)
        if not re.fullmatch(rb"[ \t\f]*(#.*)?", line):
            return False
    return False


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
        raise UserError(f"{_quoted(name)} could not be written ({error.strerror}); free some space") from error
    return digest.hexdigest()


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


# Folders and single files


def _folder_entries(source: Path) -> list[_Entry]:
    """Everything below a folder, without following links or descending into what is left out.

    Listed before anything is written, so that even a folder that holds the one to unpack into has an end.
    """
    found: list[_Entry] = []
    waiting = [(source, "")]
    while waiting:
        folder, prefix = waiting.pop()
        for path, name, seen in _listed(folder, prefix):
            if len(found) == MAX_ENTRIES:
                raise _too_many(name)
            entry = _folder_entry(path, name, seen)
            found.append(entry)
            if entry.folder and _left_behind(entry.name) is None:
                waiting.append((path, f"{name}/"))
    return found


def _folder_entry(path: Path, name: str, seen: os.stat_result) -> _Entry:
    clean = _checked(name)
    if stat.S_ISDIR(seen.st_mode):
        return _Entry(clean, True, 0, lambda: iter(()))
    if not stat.S_ISREG(seen.st_mode):
        raise _special(name, seen.st_mode)
    if seen.st_nlink > 1:  # perhaps to a file that the student may not read, but the grader may
        raise Refused(f"{_quoted(name)} is a hard link; hand in plain files and folders only")
    return _file_entry(path, clean, seen)


def _listed(folder: Path, prefix: str) -> list[tuple[Path, str, os.stat_result]]:
    """What is in one folder, in order, but no more of it than it takes to refuse it."""
    try:
        with os.scandir(folder) as listing:
            items = sorted(islice(listing, MAX_ENTRIES + 1), key=lambda item: item.name)
        return [
            (Path(item.path), prefix + _decoded(os.fsencode(item.name)), item.stat(follow_symlinks=False))
            for item in items
        ]
    except OSError as error:
        raise _unreadable(prefix.rstrip("/") or folder.name, error) from None


def _file_entry(path: Path, name: str, seen: os.stat_result) -> _Entry:
    def pieces() -> Iterator[bytes]:
        with _opened(path, name, seen) as file:
            try:
                while piece := file.read(CHUNK):
                    yield piece
            except OSError as error:
                raise _unreadable(name, error) from None

    return _Entry(name, False, seen.st_size, pieces)


@contextmanager
def _opened(path: Path, name: str, seen: os.stat_result) -> Iterator[BinaryIO]:
    """Open the very file that was seen: not a link or a pipe that has taken its place."""
    try:
        file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    except OSError as error:
        raise _unreadable(name, error) from None
    with file:
        now = os.fstat(file.fileno())
        if not stat.S_ISREG(now.st_mode) or not os.path.samestat(now, seen):
            raise Refused(f"{_quoted(name)} was changed while it was read; hand it in again")
        yield file


def _unreadable(name: str, error: OSError) -> Refused:
    return Refused(f"{_quoted(name)} cannot be read ({error.strerror}); check its permissions")


def _too_many(name: str) -> Refused:
    return Refused(f"{_quoted(name)}: more than {MAX_ENTRIES:,} files and folders; hand in only your own work")


# Zips

STORED, DEFLATED = 0, 8  # the others can give any amount of memory's worth for one byte, and no common tool uses them
ENCRYPTED = 0x1 | 0x40 | 0x2000  # flags: password, strong encryption, hidden directory
SIZES_FOLLOW = 0x8  # flag: the local header was written before the sizes were known
UNKNOWN = 0xFFFF_FFFF  # in place of a size or offset that is given in 64 bits elsewhere
END = struct.Struct("<4s4H2IH")
END64 = struct.Struct("<4s20x4Q")
LOCATOR_SIZE = 20
CENTRAL = struct.Struct("<4s4x2H4x3I4H2x2I")
LOCAL = struct.Struct("<4s2x2H4x3I2H")


@dataclass(frozen=True)
class _Record:
    """What the directory at the end of a zip says about one entry."""

    raw: bytes  # its name
    flags: int
    method: int
    crc: int
    packed: int
    size: int
    mode: int  # as on Unix; 0 from tools that do not know it
    start: int  # of its local header

    @property
    def name(self) -> str:
        return _decoded(self.raw)

    @property
    def is_folder(self) -> bool:
        return self.name.endswith(("/", "\\")) or stat.S_ISDIR(self.mode)


def _zip_entries(file: BinaryIO, archive: str) -> list[_Entry]:
    """The entries of a zip, once all that can be checked without unpacking has been."""
    try:
        records, end = _directory(file, archive)
    except struct.error:
        raise _damaged(archive) from None
    names = [_checked_record(record) for record in records]
    _refuse_bombs(records)
    starts = _data_starts(file, records, end)
    return [
        _Entry(name, record.is_folder, record.size, _reader(file, record, start), packed=True)
        for name, record, start in zip(names, records, starts, strict=True)
        if name
    ]


def _directory(file: BinaryIO, archive: str) -> tuple[list[_Record], int]:
    """All entries, and where their data must end. Sizes and counts are checked before memory is spent on them."""
    count, size, offset, end = _end_record(file, archive)
    if count > MAX_ENTRIES or size > MAX_DIRECTORY:
        raise _too_many(archive)
    start = end - size
    prefix = start - offset  # of programs that unpack themselves; offsets do not count it
    if prefix < 0:
        raise _damaged(archive)
    file.seek(start)
    data = file.read(size)
    records = []
    position = 0
    for _ in range(count):
        record, position = _record(data, position, prefix, archive)
        records.append(record)
    if position != size:
        raise Refused(f"{_quoted(archive)} lists other files than it counts; {AGAIN}")
    return records, start


def _end_record(file: BinaryIO, archive: str) -> tuple[int, int, int, int]:
    """From the last bytes of a zip: number of entries, size and offset of the directory, and where it ends."""
    length = file.seek(0, os.SEEK_END)
    base = max(0, length - END.size - 0xFFFF - LOCATOR_SIZE - END64.size)
    file.seek(base)
    tail = file.read(length - base)
    at = tail.rfind(b"PK\5\6")
    while at >= 0:
        if at + END.size <= len(tail):
            _, disk, _, _, count, size, offset, comment = END.unpack_from(tail, at)
            if at + END.size + comment <= len(tail):
                break
        at = tail.rfind(b"PK\5\6", 0, at)
    else:
        raise Refused(f"{_quoted(archive)} is not a zip file, or only a part of one; {AGAIN}")
    if disk not in (0, 0xFFFF):
        raise Refused(f"{_quoted(archive)} is one part of a split zip; {AGAIN} as a single file")
    at64 = at - LOCATOR_SIZE - END64.size
    if at64 >= 0 and tail.startswith(b"PK\6\6", at64) and tail.startswith(b"PK\6\7", at - LOCATOR_SIZE):
        _, _, count, size, offset = END64.unpack_from(tail, at64)
        at = at64
    return count, size, offset, base + at


def _record(data: bytes, at: int, prefix: int, archive: str) -> tuple[_Record, int]:
    """One entry of the directory, and where the next one begins."""
    (magic, flags, method, crc, packed, size, *lengths, _, attributes, start) = CENTRAL.unpack_from(data, at)
    name_at = at + CENTRAL.size
    extra_at = name_at + lengths[0]
    comment_at = extra_at + lengths[1]
    after = comment_at + lengths[2]
    if magic != b"PK\1\2" or after > len(data):
        raise _damaged(archive)
    wide = _wide_values(data[extra_at:comment_at])
    size = next(wide) if size == UNKNOWN else size
    packed = next(wide) if packed == UNKNOWN else packed
    start = next(wide) if start == UNKNOWN else start
    raw = data[name_at:extra_at]
    return _Record(raw, flags, method, crc, packed, size, attributes >> 16, start + prefix), after


def _wide_values(extra: bytes) -> Iterator[int]:
    """The 64-bit values among an entry's extra fields; struct.error if there are too few."""
    at = 0
    while at < len(extra):
        kind, length = struct.unpack_from("<2H", extra, at)
        at += 4
        if kind == 1:
            yield from struct.unpack_from(f"<{length // 8}Q", extra, at)
        at += length
    raise struct.error


def _checked_record(record: _Record) -> str:
    """The clean name of an entry; '' for the root folder, which needs no entry."""
    name = _checked(record.name)
    shown = _quoted(record.name)
    if stat.S_IFMT(record.mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise _special(record.name, record.mode)
    if not name and not record.is_folder:
        raise Refused(f"{shown} is a file without a name; {AGAIN}")
    if record.is_folder and record.size:
        raise Refused(f"{shown} is a folder with bytes of its own; {AGAIN}")
    if record.flags & ENCRYPTED:
        raise Refused(f"{shown} is encrypted; zip it without a password")
    if record.method not in (STORED, DEFLATED):
        raise Refused(f"{shown} is compressed in an unusual way (method {record.method}); make an ordinary zip")
    return name


def _refuse_bombs(records: Sequence[_Record]) -> None:
    """One entry, or all together, that unpack to far more than honest files do."""
    if not records:
        return
    worst = max(records, key=lambda record: record.size / max(record.packed, 1))
    together = (sum(record.size for record in records), sum(record.packed for record in records), worst)
    for size, packed, record in [*((record.size, record.packed, record) for record in records), together]:
        if size > RATIO_COUNTS_BEYOND and size > MAX_RATIO * packed:
            raise Refused(
                f"{_quoted(record.name)} unpacks to more than {MAX_RATIO} times its size, "
                f"beyond {RATIO_COUNTS_BEYOND // MIB} MiB; leave it out"
            )


def _data_starts(file: BinaryIO, records: Sequence[_Record], end: int) -> list[int]:
    """Where each entry's data begins; refuses entries that share bytes, with each other or with the directory."""
    starts = [_data_start(file, record, end) for record in records]
    free = 0
    for record, start in sorted(zip(records, starts, strict=True), key=lambda pair: pair[0].start):
        if record.start < free or start + record.packed > end:
            raise Refused(f"{_quoted(record.name)} overlaps another part of the zip; {AGAIN}")
        free = start + record.packed
    return starts


def _data_start(file: BinaryIO, record: _Record, end: int) -> int:
    """Behind the local header, which repeats the directory and must agree with it."""
    header = b""
    if record.start + LOCAL.size <= end:
        file.seek(record.start)
        header = file.read(LOCAL.size)
    if len(header) < LOCAL.size or not header.startswith(b"PK\3\4"):
        raise _damaged(record.name)
    _, flags, method, crc, packed, size, name_length, extra_length = LOCAL.unpack(header)
    pairs = [(crc, record.crc), (packed, record.packed), (size, record.size)]
    agree = flags & SIZES_FOLLOW or all(here in (there, UNKNOWN) for here, there in pairs)
    same = method == record.method and not (flags ^ record.flags) & ENCRYPTED
    if not (agree and same and file.read(name_length) == record.raw):
        raise Refused(f"{_quoted(record.name)} is described twice, and differently; {AGAIN}")
    return record.start + LOCAL.size + int(name_length) + int(extra_length)


def _reader(file: BinaryIO, record: _Record, start: int) -> Callable[[], Iterator[bytes]]:
    def pieces() -> Iterator[bytes]:
        crc = 0
        file.seek(start)
        try:
            for piece in _stored(file, record) if record.method == STORED else _inflated(file, record):
                crc = zlib.crc32(piece, crc)
                yield piece
        except zlib.error:
            raise _damaged(record.name) from None
        if crc != record.crc:
            raise Refused(f"{_quoted(record.name)} is damaged (its checksum is wrong); {AGAIN}")

    return pieces


def _stored(file: BinaryIO, record: _Record) -> Iterator[bytes]:
    left = record.packed
    while left and (piece := file.read(min(CHUNK, left))):
        left -= len(piece)
        yield piece


def _inflated(file: BinaryIO, record: _Record) -> Iterator[bytes]:
    """Inflate piece by piece; no piece is larger than CHUNK, whatever the data claims."""
    engine = zlib.decompressobj(-zlib.MAX_WBITS)
    for piece in _stored(file, record):
        waiting = piece
        while waiting and not engine.eof:
            yield engine.decompress(waiting, CHUNK)
            waiting = engine.unconsumed_tail
        if engine.unused_data or (waiting and engine.eof):
            raise Refused(f"{_quoted(record.name)} has bytes behind its end; {AGAIN}")
    yield engine.flush()
    if not engine.eof:
        raise _damaged(record.name)


def _damaged(name: str) -> Refused:
    return Refused(f"{_quoted(name)} is damaged or cut off; {AGAIN}")
