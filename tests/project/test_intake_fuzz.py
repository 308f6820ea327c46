"""Thousands of broken and hostile archives: nothing escapes, nothing but Refused is raised, memory stays small.

Seeded by hand rather than with Hypothesis: what is drawn is the same everywhere, and 12,000 archives take seconds.
"""

from __future__ import annotations

import io
import random
import re
import resource
import shutil
import stat
import struct
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.intake.clean_tree import KEPT, Intake, Refused, take_in

ROUNDS = 4_000  # of each of three kinds of archive
MEMORY = 64  # MiB that the whole run may add to this process

HARMLESS = [
    *("src", "SRC", "a.py", "A.py", "é.py", "e\u0301.py", "ß.txt", "SS.txt", "x.params", "torch.py", "inner.zip"),
    *("__MACOSX", ".git", "~", "$HOME", "%2e%2e", "con", "canary", "submission", "submission-evil", ".", ""),
]
HARMFUL = [
    *("..", "...", ".. ", "..\\", "C:", "c:x", "\0", "a\0.py", "\n", "\x1b[2J", "\u202e", "\u200b", "\ufeff", "\\"),
    *("x" * 256, "a/" * 20, "é" * 200),
]
KINDS = [0, stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFSOCK, 0o110000]
NUMBERS = [0, 1, 2, 7, 0x7F, 0xFF, 0x100, 0x7FFF, 0xFFFF, 0x1_0000, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFE, 0xFFFF_FFFF]
SIGNATURES = (b"PK\1\2", b"PK\3\4", b"PK\5\6", b"PK\6\6", b"PK\6\7")
FAR = Path("/escaped-from-test-intake-fuzz")

Maker = Callable[[random.Random], bytes]


def packed(
    entries: list[tuple[str, bytes, int]], compression: int = zipfile.ZIP_DEFLATED, comment: bytes = b""
) -> bytes:
    """A zip of (name, content, mode); names go in as they are, however bad."""
    out = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w", compression) as archive:
        warnings.simplefilter("ignore")  # of duplicate names
        for name, content, mode in entries:
            info = zipfile.ZipInfo("x")
            info.filename, info.compress_type, info.external_attr = name, compression, mode << 16
            archive.writestr(info, content)
        archive.comment = comment
    return out.getvalue()


def streamed() -> bytes:
    """A zip written to a pipe: sizes follow the data, and are given in 64 bits."""

    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

        def seek(self, *_: int) -> int:
            raise io.UnsupportedOperation

    out = Pipe()
    with (
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("s/a.py", "w", force_zip64=True) as file,
    ):
        file.write(b"x = 1\n" * 9)
    return out.getvalue()


VALID = [
    packed([("src/a.py", b"x = 1\n" * 20, 0o100644), ("b.txt", b"5.0", 0o100644), ("src/", b"", 0o040755)]),
    packed([("hw\\a.py", b"\xe9\xff" * 30, 0), ("z.params", bytes(300), 0)], zipfile.ZIP_STORED, b"a comment"),
    packed([(f"{number}.py", b"#", 0o100644) for number in range(6)]),
    streamed(),
]


def mutated(rng: random.Random) -> bytes:
    """A valid zip with a few bytes or fields changed, parts cut out, doubled or swapped."""
    data = bytearray(rng.choice(VALID))
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        at = rng.randrange(len(data) or 1)
        to = min(len(data), at + rng.randrange(1, 40))
        match rng.randrange(7):
            case 0:
                data[at : at + 1] = bytes([rng.randrange(256)])
            case 1:
                data[at : at + 1] = bytes([data[at] ^ 1 << rng.randrange(8)]) if data else b""
            case 2:
                form = rng.choice("HI")
                value = rng.choice(NUMBERS) & (0xFFFF if form == "H" else 0xFFFF_FFFF)
                data[at : at + struct.calcsize(form)] = struct.pack(f"<{form}", value)
            case 3:
                del data[at:to]
            case 4:
                data[at:at] = data[at:to]
            case 5:
                data[at:at] = rng.choice((*SIGNATURES, b"../", b"\0", b"\\"))
            case 6:
                del data[at:]
    return bytes(data)


def aimed(rng: random.Random) -> bytes:
    """A valid zip with one field of one header replaced: most single bytes would only break the checksum."""
    data = bytearray(rng.choice(VALID))
    found = [at for at in range(len(data)) if bytes(data[at : at + 4]) in SIGNATURES]
    for _ in range(rng.choice((1, 1, 2))):
        at = rng.choice(found) + rng.randrange(4, 46)
        form = rng.choice("BHI")
        old = struct.unpack_from(f"<{form}", bytes(data) + bytes(64), at)[0]
        value = rng.choice((*NUMBERS, old + 1, old - 1, old * 2, old ^ 8)) & ((1 << 8 * struct.calcsize(form)) - 1)
        if at + 4 <= len(data):
            struct.pack_into(f"<{form}", data, at, value)
    return bytes(data)


def hostile(rng: random.Random) -> bytes:
    """A well-formed zip whose names and kinds are chosen to do harm."""
    entries = []
    for _ in range(rng.randrange(1, 5)):
        parts = [rng.choice(HARMFUL if rng.random() < 0.08 else HARMLESS) for _ in range(rng.randrange(1, 4))]
        parts = [rng.choice((str(FAR), ".."))] * (rng.random() < 0.05) + parts
        kind = rng.choice(KINDS) if rng.random() < 0.1 else stat.S_IFREG
        content = rng.choice((b"", b"../canary", b"\xe9" * 9))
        entries.append((rng.choice("/\\").join(parts), content, kind | 0o777))
    return packed(entries, rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)))


@pytest.fixture
def playground(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to unpack into, among neighbours whose change would show an escape."""
    target = tmp_path / "outer" / "submission"
    target.mkdir(parents=True)
    (tmp_path / "outer" / "submission-evil").mkdir()
    (tmp_path / "outer" / "canary").write_bytes(b"alive")
    monkeypatch.chdir(tmp_path / "outer")  # so that a path taken from the working folder shows as well
    return target


def fuzz(make: Maker, target: Path, seed: int) -> Counter[str]:
    """Take in many archives; returns how often each kind of outcome was seen."""
    rng = random.Random(seed)
    source = target.parent.parent / "hw.zip"
    outcomes: Counter[str] = Counter()
    for _ in range(ROUNDS):
        source.write_bytes(make(rng))
        try:
            taken = take_in(source, target)
        except Refused as refused:
            assert str(refused).isprintable() and len(str(refused)) < 300
            assert not any(target.iterdir())
            outcomes[re.sub(r"'.*?'|\d[\d,]*", "_", str(refused)).partition(";")[0]] += 1
        else:
            check_taken(taken, target)
            outcomes["taken"] += 1
            for path in target.iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        check_neighbours(target)
    return outcomes


def check_taken(taken: Intake, target: Path) -> None:
    """What is on disk is what is listed: plain files of the kinds kept, in plain folders, all inside."""
    files = []
    for path in target.rglob("*"):
        seen = path.lstat()
        if stat.S_ISDIR(seen.st_mode):
            assert stat.S_IMODE(seen.st_mode) == 0o755
        else:
            assert stat.S_ISREG(seen.st_mode) and stat.S_IMODE(seen.st_mode) == 0o644 and seen.st_nlink == 1
            assert path.suffix.lower() in KEPT and path.resolve().is_relative_to(target.resolve())
            files.append(path.relative_to(target).as_posix())
    assert taken.files == tuple(sorted(files))
    assert all(f"{ignored.name}{ignored.why}".isprintable() for ignored in taken.ignored)
    assert all(note.isprintable() for note in taken.notes)


def check_neighbours(target: Path) -> None:
    outer = target.parent
    assert sorted(path.name for path in outer.iterdir()) == ["canary", "submission", "submission-evil"]
    assert sorted(path.name for path in outer.parent.iterdir()) == ["hw.zip", "outer"]
    assert not FAR.exists()
    assert (outer / "canary").read_bytes() == b"alive" and not any((outer / "submission-evil").iterdir())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (mutated, {"_ is damaged or cut off", "_ is not a zip file, or only a part of one"}),
        (aimed, {"_ is described twice, and differently", "_ overlaps another part of the zip", "_ is encrypted"}),
        (hostile, {"_ leads out of the submission", "_ has an absolute path", "_ is a symbolic link"}),
    ],
)
def test_take_in_survives_hostile_archives(playground: Path, make: Maker, expected: set[str]) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    outcomes = fuzz(make, playground, seed=447)
    added = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024  # Linux counts in KiB
    assert outcomes.total() == ROUNDS
    # A fuzzer that sees one outcome tests nothing.
    assert {"taken", *expected} <= set(outcomes) and len(outcomes) >= 12
    assert added < MEMORY


@pytest.mark.parametrize("archive", VALID, ids=["deflated", "stored", "many", "streamed"])
def test_fuzz_starts_from_archives_that_are_taken(playground: Path, archive: bytes) -> None:
    source = playground.parent.parent / "hw.zip"
    source.write_bytes(archive)
    taken = take_in(source, playground)
    with zipfile.ZipFile(io.BytesIO(archive)) as reference:
        names = {name.replace("\\", "/") for name in reference.namelist() if not name.endswith("/")}
    assert set(taken.files) == names
