"""What is taken in, what is left out, and what is refused whole, with a test for every message."""

from __future__ import annotations

import codecs
import io
import os
import shutil
import socket
import stat
import struct
import time
import tracemalloc
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from autograder.errors import UserError
from autograder.intake import clean_tree, entries, folders, zips
from autograder.intake.clean_tree import Ignored, Intake, Refused, Section, Source, take_in

MIB = 1 << 20
CODE = b"def attn_softmax(A):\n    return A.softmax(-1)\n"


@pytest.fixture
def into(tmp_path: Path) -> Path:
    folder = tmp_path / "outer" / "submission"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture(autouse=True)
def nothing_outside(tmp_path: Path) -> Iterator[None]:
    yield
    outer = tmp_path / "outer"
    assert not outer.exists() or [path.name for path in outer.iterdir()] == ["submission"]


@pytest.fixture
def hand_in(tmp_path: Path, into: Path) -> Callable[[bytes], Intake]:
    """Take in a zip given as bytes."""

    def take(archive: bytes) -> Intake:
        source = tmp_path / "hw.zip"
        source.write_bytes(archive)
        return take_in(source, into)

    return take


@pytest.fixture
def refusal(tmp_path: Path, into: Path) -> Callable[[bytes | Path], str]:
    """The message with which a zip (or path) is refused, after checking what holds for every refusal."""

    def refuse(source: bytes | Path) -> str:
        if isinstance(source, bytes):
            (tmp_path / "hw.zip").write_bytes(source)
            source = tmp_path / "hw.zip"
        with pytest.raises(Refused) as caught:
            take_in(source, into)
        assert list(into.iterdir()) == []
        message = str(caught.value)
        assert message.isprintable() and len(message) < 300
        return message

    return refuse


def entry(name: str | bytes, data: bytes = b"", **lies: Any) -> dict[str, Any]:
    """A zip entry; `lies` replace header fields everywhere, those with local_ in front only in the local header."""
    raw = name.encode() if isinstance(name, str) else name
    method = lies.get("method", 8)
    engine = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    body = engine.compress(data) + engine.flush() if method == 8 else data
    body = lies.pop("body", body)
    told = {"raw": raw, "flags": 0, "method": method, "crc": zlib.crc32(data), "packed": len(body), "size": len(data)}
    return {**told, "mode": 0o100644, "body": body, "extra": b"", "start": None, **lies}


def build(*entries: dict[str, Any], comment: bytes = b"", prefix: bytes = b"", **lies: int) -> bytes:
    """A zip, byte by byte, so that every field can lie."""
    out, central = bytearray(prefix), bytearray()
    for e in entries:
        start = len(out) - len(prefix) if e["start"] is None else e["start"]
        local = {**e, **{key.removeprefix("local_"): value for key, value in e.items() if key.startswith("local_")}}
        sizes = struct.pack("<3I", local["crc"], local["packed"], local["size"])
        out += struct.pack("<4s5H", b"PK\3\4", 20, local["flags"], local["method"], 0, 33) + sizes
        out += struct.pack("<2H", len(local["raw"]), 0) + local["raw"] + e["body"] + e.get("after", b"")
        central += struct.pack(
            "<4s6H3I", b"PK\1\2", 0x314, 20, e["flags"], e["method"], 0, 33, e["crc"], e["packed"], e["size"]
        )
        central += struct.pack("<5H2I", len(e["raw"]), len(e["extra"]), 0, 0, 0, e["mode"] << 16, start)
        central += e["raw"] + e["extra"]
    count = lies.get("count", len(entries))
    size, offset = lies.get("size", len(central)), lies.get("offset", len(out) - len(prefix))
    end = struct.pack("<4s4H2IH", b"PK\5\6", lies.get("disk", 0), 0, count, count, size, offset, len(comment))
    return bytes(out + central) + end + comment


def with_zipfile(files: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w", compression) as archive:
        warnings.simplefilter("ignore")  # of duplicate names
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def spread(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


# What grades normally

FILES = {
    "src/attention.py": CODE,
    "src/run.py": b"\xef\xbb\xbfprint(1)\r\n",  # a BOM and CRLF are fine as they are
    "A2S1.ipynb": b"{}",
    "rope.finetune.params": bytes(range(256)),
    "rope.pretrain.dev.predictions": "Zürich\n".encode(),
    "london_baseline_accuracy.txt": b"5.0\n",
}


def test_take_in_keeps_graded_files_of_a_zip(hand_in: Callable[[bytes], Intake], into: Path) -> None:
    taken = hand_in(with_zipfile(FILES))
    assert taken.root == into
    assert taken.files == tuple(sorted(FILES))
    assert taken.ignored == () and taken.notes == ()
    assert {name: (into / name).read_bytes() for name in taken.files} == FILES


def test_take_in_gives_a_folder_the_digest_of_its_zip(tmp_path: Path, hand_in: Callable[[bytes], Intake]) -> None:
    files = FILES | {"extra.pdf": b"1"}
    zipped = hand_in(with_zipfile(files)).digest
    found = []
    for number, handed_in in enumerate((files, FILES)):
        (tmp_path / f"{number}").mkdir()
        found.append(take_in(spread(tmp_path / f"hw{number}", handed_in), tmp_path / f"{number}").digest)
    assert found[0] == zipped
    assert found[1] != zipped  # the report says what was ignored, so it is another report


@pytest.mark.parametrize("changed", [{"a.py": b"2"}, {"b.py": b"1"}, {"a.py": b"1", "b.py": b""}])
def test_take_in_digest_depends_on_names_and_contents(tmp_path: Path, changed: dict[str, bytes]) -> None:
    digests = set()
    for number, files in enumerate(({"a.py": b"1"}, changed)):
        target = tmp_path / f"into{number}"
        target.mkdir()
        digests.add(take_in(spread(tmp_path / f"hw{number}", files), target).digest)
    assert len(digests) == 2


@pytest.mark.parametrize(
    "archive",
    [
        with_zipfile({"src/a.py": CODE}, zipfile.ZIP_STORED),
        build(entry("./src/a.py", CODE)),
        build(entry("src\\a.py", CODE)),
        build(entry("./", mode=0o040755), entry("src/", mode=0o040755), entry("src/a.py", CODE)),
        build(entry("src\\"), entry("src\\a.py", CODE)),
        build(entry("src", mode=0o040755, method=0), entry("src/a.py", CODE), entry("src/")),
        build(entry("src/a.py", CODE, mode=0)),
        build(entry("src/a.py", CODE), comment=b"by hand PK\5\6"),
        build(entry("src/a.py", CODE), comment=b"PK\5\6" + b"\xff" * 40),
        build(entry("src/a.py", CODE), prefix=b"#!/bin/sh\n"),
        build(entry("src/a.py", CODE)) + b"\n",
        build(entry("src/a.py", CODE, flags=8, local_crc=0, local_size=0, local_packed=0, after=bytes(16))),
        build(entry("src/a.py", CODE, extra=b"\x99")),
        build(entry("src/a.py", CODE, extra=b"UT\x05\x00\x03abcd")),
    ],
    ids=[
        *("stored", "dot", "backslash", "folders", "backslash folder", "folder by mode", "no mode", "comment"),
        *("false end", "prefix", "newline behind", "streamed", "odd extra", "times"),
    ],
)
def test_take_in_reads_zips_of_all_common_makes(hand_in: Callable[[bytes], Intake], into: Path, archive: bytes) -> None:
    assert hand_in(archive).files == ("src/a.py",)
    assert (into / "src/a.py").read_bytes() == CODE


@pytest.mark.parametrize("size", [0, 1, *(zips.CHUNK + more for more in (-1, 0, 1, 100, 258, 5000))])
@pytest.mark.parametrize("method", [0, 8])
def test_take_in_unpacks_contents_of_any_size(
    hand_in: Callable[[bytes], Intake], into: Path, size: int, method: int
) -> None:
    hand_in(build(entry("a.params", bytes(size), method=method)))
    assert (into / "a.params").read_bytes() == bytes(size)


def zip64(*entries: dict[str, Any]) -> bytes:
    """As some tools write it always: every number is in its 64-bit place, with the old place full of ones."""
    body = build(*entries)
    _, _, _, _, count, size, offset, _ = struct.unpack("<4s4H2IH", body[-22:])
    at = len(body) - 22
    end = struct.pack("<4sQ2H2I4Q", b"PK\6\6", 44, 45, 45, 0, 0, count, count, size, offset)
    locator = struct.pack("<4sIQI", b"PK\6\7", 0, at, 1)
    old = struct.pack("<4s4H2IH", b"PK\5\6", 0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    return body[:at] + end + locator + old


def test_take_in_reads_64_bit_zips(hand_in: Callable[[bytes], Intake], into: Path) -> None:
    plain = entry("a.py", CODE)
    extra = b"UT\x01\x00\x01" + struct.pack("<2H3QI", 1, 28, plain["size"], plain["packed"], 0, 0)
    unknown = {"size": 0xFFFFFFFF, "packed": 0xFFFFFFFF, "start": 0xFFFFFFFF}
    assert hand_in(zip64(plain | unknown | {"extra": extra})).files == ("a.py",)
    assert (into / "a.py").read_bytes() == CODE


def test_take_in_decodes_names_with_and_without_the_utf8_mark(hand_in: Callable[[bytes], Intake]) -> None:
    archive = build(
        entry("zürich.txt", flags=0x800), entry("genève.txt"), entry(b"\x81x.txt"), entry(b"\x9a.txt", flags=0x800)
    )
    assert hand_in(archive).files == ("genève.txt", "zürich.txt", "Ü.txt", "üx.txt")


@pytest.mark.parametrize("name", ["a2.py", "A2S1.ipynb", "A2S1.PY"])
def test_take_in_keeps_a_single_file(tmp_path: Path, into: Path, name: str) -> None:
    source = tmp_path / name
    source.write_bytes(CODE)
    taken = take_in(source, into)
    assert taken.files == (name,) and (into / name).read_bytes() == CODE


def test_take_in_keeps_one_top_level_folder(hand_in: Callable[[bytes], Intake]) -> None:
    assert hand_in(with_zipfile({"hw4/src/attention.py": CODE})).files == ("hw4/src/attention.py",)


def test_take_in_sets_permissions_whatever_they_were(hand_in: Callable[[bytes], Intake], into: Path) -> None:
    before = os.umask(0o077)
    try:
        hand_in(build(entry("src/deep/a.py", CODE, mode=0o106777), entry("b.txt", mode=0o100000)))
    finally:
        os.umask(before)
    modes = {str(path.relative_to(into)): stat.S_IMODE(path.lstat().st_mode) for path in into.rglob("*")}
    assert modes == {"src": 0o755, "src/deep": 0o755, "src/deep/a.py": 0o644, "b.txt": 0o644}


def test_take_in_reads_backslashes_in_a_folder_as_separators(tmp_path: Path, into: Path) -> None:
    hw = spread(tmp_path / "hw", {"src\\attention.py": CODE})
    assert take_in(hw, into).files == ("src/attention.py",)
    assert (into / "src" / "attention.py").read_bytes() == CODE


def test_take_in_reads_names_in_a_folder_that_are_not_utf8(tmp_path: Path, into: Path) -> None:
    (tmp_path / "hw").mkdir()
    (tmp_path / "hw" / os.fsdecode(b"\x81.txt")).write_bytes(b"")
    assert take_in(tmp_path / "hw", into).files == ("ü.txt",)


# Text encodings


@pytest.mark.parametrize(
    ("content", "kept", "how"),
    [
        (b"s = 'caf\xe9'\r\n", "s = 'café'\r\n".encode(), "Latin-1"),
        (b"\xef\xbb\xbfs = 'caf\xe9'", "s = 'café'".encode(), "Latin-1"),
        (b"# coding: utf-8\ns = 'caf\xe9'", "# coding: utf-8\ns = 'café'".encode(), "Latin-1"),
        (b"# -*- coding: UTF8 -*-\n'\xe9'", "# -*- coding: UTF8 -*-\n'é'".encode(), "Latin-1"),
        (b"x = 1\n# coding: latin-1\n'\xe9'", "x = 1\n# coding: latin-1\n'é'".encode(), "Latin-1"),
        (b"\n\n# coding: latin-1\n'\xe9'", "\n\n# coding: latin-1\n'é'".encode(), "Latin-1"),
        ("s = 'café'".encode("utf-16"), "s = 'café'".encode(), "UTF-16"),
        ("s = 'é'".encode("utf-16-be").join([b"\xfe\xff", b""]), "s = 'é'".encode(), "UTF-16"),
        (b"\xff\xfeodd", "ÿþodd".encode(), "Latin-1"),
    ],
)
def test_take_in_recodes_source_that_python_could_not_read(
    hand_in: Callable[[bytes], Intake], into: Path, content: bytes, kept: bytes, how: str
) -> None:
    taken = hand_in(build(entry("src/x.py", content)))
    assert taken.notes == (f"src/x.py is not UTF-8; it was read as {how}",)
    assert (into / "src/x.py").read_bytes() == kept


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.py", "s = 'é'\r\n".encode()),
        ("x.py", "# coding: UTF-8\ns = 'é'".encode()),
        ("x.py", codecs.BOM_UTF8 + "s = 'é'".encode()),
        ("x.params", b"\xff\xfe\xe9"),
        ("x.txt", b"caf\xe9"),
    ],
)
def test_take_in_leaves_other_bytes_alone(
    hand_in: Callable[[bytes], Intake], into: Path, name: str, content: bytes
) -> None:
    assert hand_in(build(entry(name, content))).notes == ()
    assert (into / name).read_bytes() == content


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        (b"# coding: latin-1\ns = 'caf\xe9'\n", "# coding: utf-8\ns = 'café'\n"),
        (b"#!/usr/bin/python\r# vim: set fileencoding=cp1252 :\r'\x80'", "\r# vim: set fileencoding=utf-8 :\r'€'"),
        ("# coding=shift_jis\ns = '表'".encode("shift_jis"), "# coding=utf-8\ns = '表'"),
        ("# -*- coding: ascii -*-\ns = 'é'".encode(), "# -*- coding: utf-8 -*-\ns = 'é'"),
        ("# coding: koi8-r\ns = 'Я'".encode("utf-16"), "# coding: utf-8\ns = 'Я'"),
    ],
)
def test_take_in_decodes_source_as_it_declares(
    hand_in: Callable[[bytes], Intake], into: Path, content: bytes, kept: str
) -> None:
    """All that comes later reads UTF-8, Python included, so that nothing else may be declared."""
    hand_in(build(entry("x.py", content)))
    assert (into / "x.py").read_bytes().decode().endswith(kept)
    compile((into / "x.py").read_bytes(), "x.py", "exec")


ODD = ("utf-7", "UTF7", "unicode_escape", "raw-unicode-escape", "idna", "punycode", "rot13", "hz", "utf-8x", "utf-16")


@pytest.mark.parametrize("encoding", ODD)
@pytest.mark.parametrize("before", ["", "#!/usr/bin/python\n", "\f \r\n", "\ufeff"])
def test_take_in_leaves_out_a_file_in_an_odd_encoding(
    hand_in: Callable[[bytes], Intake], into: Path, encoding: str, before: str
) -> None:
    """What it seems to say is not what Python would run."""
    hidden = f"{before}# coding: {encoding}\nx = '+ACc-; y = 1 #'".encode()
    taken = hand_in(build(entry("a.py", CODE), entry("b.py", hidden)))
    why = f"it declares the encoding '{encoding}', in which code is not accepted; save it as UTF-8"
    assert taken.files == ("a.py",)
    assert taken.notes == (f"b.py was left out: {why}",)
    assert taken.ignored == (Ignored("b.py", f"not opened, because {why}"),)


def test_take_in_leaves_out_source_that_is_too_long_to_decode(
    hand_in: Callable[[bytes], Intake], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python would read it in whatever encoding it declares."""
    monkeypatch.setitem(clean_tree.MAX_TEXT, ".py", 4)
    taken = hand_in(build(entry("a.py", b"#\xe9\xe9\xe9"), entry("b.py", b"#\xe9\xe9\xe9\xe9")))
    assert taken.notes == ("a.py is not UTF-8; it was read as Latin-1",)
    assert taken.files == ("a.py",)
    assert [one.name for one in taken.ignored] == ["b.py"]


# What is left out

USED = "only .py, .ipynb, .params, .predictions and .txt files are used"
NESTED = "only a zip is opened, and no zip inside it; put the files in themselves"
TAKES_OVER = "this would change how the checks run; it is not used"


@pytest.mark.parametrize("kind", ["zip", "folder"])
@pytest.mark.parametrize(
    ("name", "listed", "why"),
    [
        ("__MACOSX/src/._a.py", "__MACOSX", "left there by macOS, not needed"),
        ("src/.DS_Store", "src/.DS_Store", "left there by macOS, not needed"),
        ("src/._a.py", "src/._a.py", "left there by macOS, not needed"),
        ("Thumbs.db", "Thumbs.db", "left there by Windows, not needed"),
        ("desktop.ini", "desktop.ini", "left there by Windows, not needed"),
        ("src/__pycache__/a.py", "src/__pycache__", "left there by Python, not needed"),
        (".git/hooks/a.py", ".git", "left there by git, not needed"),
        ("hw/.ipynb_checkpoints/a.ipynb", "hw/.ipynb_checkpoints", "old copies left there by Jupyter, not needed"),
        (".venv/lib/a.py", ".venv", "Python packages, not your own work"),
        (".OTTER_LOG", ".OTTER_LOG", "hidden files are not graded"),
        ("src/.secret/a.py", "src/.secret", "hidden files are not graded"),
        ("report.pdf", "report.pdf", USED),
        ("evil.pth", "evil.pth", USED),
        ("pytest.ini", "pytest.ini", USED),
        ("pyproject.toml", "pyproject.toml", USED),
        ("torch.so", "torch.so", USED),
        ("Makefile", "Makefile", USED),
        ("a.py.bak", "a.py.bak", USED),
        ("inner.zip", "inner.zip", "not opened, because 'inner.zip' is not a zip file, or only a part of one"),
        ("inner.7z", "inner.7z", NESTED),
        ("src/old.TAR.gz", "src/old.TAR.gz", NESTED),
        ("conftest.py", "conftest.py", TAKES_OVER),
        ("src/Conftest.py", "src/Conftest.py", TAKES_OVER),
        ("sitecustomize.py", "sitecustomize.py", TAKES_OVER),
        ("src/usercustomize.py", "src/usercustomize.py", TAKES_OVER),
        ("src/random.py", "src/random.py", "it would hide Python's own module random; rename it"),
        ("_socket.py", "_socket.py", "it would hide Python's own module _socket; rename it"),
        ("json/__init__.py", "json/__init__.py", "it would hide Python's own module json; rename it"),
        ("torch.py", "torch.py", "it would hide the package torch; rename it"),
        ("src/numpy.py", "src/numpy.py", "it would hide the package numpy; rename it"),
        ("hw/torch/__init__.py", "hw/torch/__init__.py", "it would hide the package torch; rename it"),
        ("autograder.py", "autograder.py", "it would hide the package autograder; rename it"),
    ],
)
def test_take_in_leaves_out_and_says_why(
    tmp_path: Path, into: Path, kind: str, name: str, listed: str, why: str
) -> None:
    files = {name: b"x", "kept.py": CODE}
    source = tmp_path / "hw.zip"
    if kind == "zip":
        source.write_bytes(with_zipfile(files))
    else:
        source = spread(tmp_path / "hw", files)
    taken = take_in(source, into)
    assert taken.ignored == (Ignored(listed, why),)
    assert taken.files == ("kept.py",)
    assert [path.name for path in into.rglob("*")] == ["kept.py"]


@pytest.mark.parametrize(
    "name", ["Random.py", "code/attention.py", "torch/a.py", "torch.txt", "src/__init__.py", "__init__.py", "torch.PY"]
)
def test_take_in_keeps_names_that_hide_nothing(hand_in: Callable[[bytes], Intake], name: str) -> None:
    assert hand_in(build(entry(name, CODE))).files == (name,)


def test_take_in_lists_a_folder_of_leftovers_once(hand_in: Callable[[bytes], Intake]) -> None:
    leftovers = {f"__MACOSX/src/._{number}.py": b"" for number in range(50)}
    taken = hand_in(with_zipfile({"__MACOSX/": b"", **leftovers, "a.py": CODE}))
    assert taken.ignored == (Ignored("__MACOSX", "left there by macOS, not needed"),)


@pytest.mark.parametrize("archive", [build(), build(entry("essay.pdf", b"1"), entry("src/")), build(entry("torch.py"))])
def test_take_in_notes_when_nothing_can_be_graded(hand_in: Callable[[bytes], Intake], archive: bytes) -> None:
    taken = hand_in(archive)
    why = "nothing here can be graded: there are no .py, .ipynb, .params, .predictions or .txt files of your own"
    assert taken.files == () and taken.notes == (why,)


def test_take_in_does_not_look_into_hidden_folders(tmp_path: Path, into: Path) -> None:
    hw = spread(tmp_path / "hw", {"a.py": CODE, ".venv/bin/x": b""})
    (hw / ".venv" / "python").symlink_to("/")
    assert take_in(hw, into).files == ("a.py",)


def test_take_in_does_not_read_what_it_leaves_out_of_a_folder(
    tmp_path: Path, into: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hw = spread(tmp_path / "hw", {"a.py": CODE, "data.bin": b"x"})
    unreadable(monkeypatch, "data.bin")
    assert take_in(hw, into).files == ("a.py",)


# Names that are refused


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (name, f"'{name}' leads out of the submission; zip the folder itself, without '..'")
        for name in (
            "../x.py",
            "..\\x.py",
            "..",
            ".. /x.py",
            ".../x",
            "src/../../x.py",
            "a/..",
            "a/../b.py",
            "../submission/x.py",
            "../submission-evil/x.py",
            "a\\..\\x",
        )
    ]
    + [
        (name, f"'{name}' has an absolute path; zip the folder itself, so that paths begin inside it")
        for name in (
            "/x.py",
            "/",
            "//host/x.py",
            "\\x.py",
            "\\\\host\\x.py",
            "C:\\x.py",
            "c:x.py",
            "C:/x.py",
            "a/C:/b.py",
        )
    ]
    + [
        (f"a{char}b.py", f"'a{shown}b.py' has an invisible character in its name; rename it")
        for char, shown in [
            ("\0", "\\x00"),
            ("\n", "\\n"),
            ("\x1b[31m", "\\x1b[31m"),
            ("\x7f", "\\x7f"),
            ("\x85", "\\x85"),
            ("\u200b", "\\u200b"),
            ("\u202e", "\\u202e"),
            ("\u2066", "\\u2066"),
            ("\ufeff", "\\ufeff"),
            ("\xad", "\\xad"),
            ("\u2028", "\\u2028"),
            ("\U000e0041", "\\U000e0041"),
        ]
    ]
    + [("a.py\0.txt", "'a.py\\x00.txt' has an invisible character in its name; rename it")]
    + [
        ("", "'' is a file without a name; pack the submission again"),
        (".", "'.' is a file without a name; pack the submission again"),
        ("x" * 252 + ".txt", "'" + "x" * 79 + "…' has too long a name; shorten it"),
        ("é" * 126 + ".txt", "'" + "é" * 79 + "…' has too long a name; shorten it"),
        ("/".join(["y" * 200] * 5), "'" + "y" * 79 + "…' has too long a name; shorten it"),
        ("d/" * 20 + "a.py", "'" + "d/" * 20 + "a.py' is more than 20 folders deep; move it up"),
    ],
)
def test_take_in_refuses_bad_names(refusal: Callable[[bytes], str], name: str, message: str) -> None:
    assert refusal(build(entry("fine.py", CODE), entry(name, b"x"))) == message


@pytest.mark.parametrize(
    "name", ["x" * 251 + ".txt", "/".join(["y" * 198] * 4 + ["y" * 200 + ".txt"]), "d/" * 19 + "a.py", "a../b..c.py"]
)
def test_take_in_keeps_names_just_within_the_limits(hand_in: Callable[[bytes], Intake], name: str) -> None:
    assert hand_in(build(entry(name, b"x"))).files == (name,)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ("a.py", "a.py", "'a.py' is there twice; keep one of them"),
        ("a.py", "./a.py", "'a.py' is there twice; keep one of them"),
        ("src/a.py", "src\\a.py", "'src/a.py' is there twice; keep one of them"),
        ("a.py", "A.py", "'A.py' and 'a.py' are one name on some computers; rename one of them"),
        ("straße.py", "STRASSE.py", "'STRASSE.py' and 'straße.py' are one name on some computers; rename one of them"),
        ("é.py", "e\u0301.py", "'e\u0301.py' and 'é.py' are one name on some computers; rename one of them"),
        ("É.py", "e\u0301.py", "'e\u0301.py' and 'É.py' are one name on some computers; rename one of them"),
        ("src/a.py", "Src/b.py", "'Src' and 'src' are one name on some computers; rename one of them"),
        ("src", "src/a.py", "'src' is both a file and a folder; rename one of them"),
        ("src/a.py", "src", "'src' is both a file and a folder; rename one of them"),
        ("a.pdf", "a.pdf", "'a.pdf' is there twice; keep one of them"),
        (".git/a", ".git/A", "'.git/A' and '.git/a' are one name on some computers; rename one of them"),
    ],
)
def test_take_in_refuses_colliding_names(
    refusal: Callable[[bytes], str], first: str, second: str, message: str
) -> None:
    assert refusal(build(entry(first, b"1"), entry(second, b"2"))) == message


def test_take_in_refuses_colliding_names_in_a_folder(tmp_path: Path, refusal: Callable[[Path], str]) -> None:
    hw = spread(tmp_path / "hw", {"A.py": b"1", "a.py": b"2"})
    if len(list(hw.iterdir())) == 1:
        pytest.skip("this file system ignores case")
    assert refusal(hw) == "'a.py' and 'A.py' are one name on some computers; rename one of them"


# Kinds that are refused


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        (stat.S_IFLNK, "a symbolic link"),
        (stat.S_IFIFO, "a named pipe"),
        (stat.S_IFSOCK, "a socket"),
        (stat.S_IFCHR, "a device"),
        (stat.S_IFBLK, "a device"),
        (0o110000, "neither a file nor a folder"),
    ],
)
def test_take_in_refuses_special_entries_of_a_zip(refusal: Callable[[bytes], str], kind: int, what: str) -> None:
    archive = build(entry("a.py", CODE), entry("src/x.py", b"/etc/passwd", mode=kind | 0o777))
    assert refusal(archive) == f"'src/x.py' is {what}; hand in plain files and folders only"


@pytest.mark.parametrize("target", ["a.py", "/etc/passwd", "nowhere", "."])
@pytest.mark.parametrize("name", ["link.py", ".link"])
def test_take_in_refuses_links_in_a_folder(
    tmp_path: Path, refusal: Callable[[Path], str], target: str, name: str
) -> None:
    hw = spread(tmp_path / "hw", {"a.py": CODE})
    (hw / name).symlink_to(target)
    assert refusal(hw) == f"'{name}' is a symbolic link; hand in plain files and folders only"


def test_take_in_refuses_pipes_and_sockets_in_a_folder(tmp_path: Path, refusal: Callable[[Path], str]) -> None:
    hw = spread(tmp_path / "hw", {"a.py": CODE})
    os.mkfifo(hw / "pipe.py")
    assert refusal(hw) == "'pipe.py' is a named pipe; hand in plain files and folders only"
    (hw / "pipe.py").unlink()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(hw / "s.py"))
    assert refusal(hw) == "'s.py' is a socket; hand in plain files and folders only"


def test_take_in_refuses_hard_links_in_a_folder(tmp_path: Path, refusal: Callable[[Path], str]) -> None:
    hw = spread(tmp_path / "hw", {"a.py": CODE})
    (tmp_path / "secret.py").write_bytes(b"")
    (hw / "b.py").hardlink_to(tmp_path / "secret.py")
    assert refusal(hw) == "'b.py' is a hard link; hand in plain files and folders only"


def test_take_in_refuses_sources_that_are_links_or_pipes(tmp_path: Path, refusal: Callable[[Path], str]) -> None:
    spread(tmp_path / "hw", {"a.py": CODE})
    (tmp_path / "link").symlink_to("hw")
    (tmp_path / "link.zip").symlink_to("hw")
    os.mkfifo(tmp_path / "pipe.zip")
    assert refusal(tmp_path / "link") == "'link' is a symbolic link; hand in plain files and folders only"
    assert refusal(tmp_path / "link.zip") == "'link.zip' is a symbolic link; hand in plain files and folders only"
    assert refusal(tmp_path / "pipe.zip") == "'pipe.zip' is a named pipe; hand in plain files and folders only"


@pytest.mark.parametrize("name", ["hw.tar.gz", "hw.rar", "essay.pdf", "noname", "x.params"])
def test_take_in_refuses_single_files_of_other_kinds(tmp_path: Path, refusal: Callable[[Path], str], name: str) -> None:
    (tmp_path / name).write_bytes(b"")
    assert refusal(tmp_path / name) == (f"'{name}' cannot be graded; hand in a .zip, a folder, a .py or an .ipynb file")


@pytest.mark.parametrize(("name", "shown"), [("no.zip", "no.zip"), ("a\0b", "a\\x00b"), ("x" * 300, "x" * 79 + "…")])
def test_take_in_refuses_what_is_not_there(
    tmp_path: Path, refusal: Callable[[Path], str], name: str, shown: str
) -> None:
    assert refusal(tmp_path / name) == f"'{shown}' is not there; check the path"


def test_take_in_checks_the_name_of_a_single_file(tmp_path: Path, refusal: Callable[[Path], str]) -> None:
    (tmp_path / "a\x1b[2J.py").write_bytes(CODE)
    assert refusal(tmp_path / "a\x1b[2J.py") == "'a\\x1b[2J.py' has an invisible character in its name; rename it"


# Limits


@pytest.mark.parametrize("kind", ["zip", "folder"])
def test_take_in_counts_entries(tmp_path: Path, into: Path, refusal: Callable[[Any], str], kind: str) -> None:
    files = {f"{number:04}.bin": b"" for number in range(2000)}
    hw = tmp_path / "many"
    if kind == "folder":
        source: Any = spread(hw, files)
        assert len(take_in(hw, into).ignored) == 2000
        (hw / "z").mkdir()
        assert refusal(hw) == "'z': more than 2,000 files and folders; hand in only your own work"
    else:
        source = tmp_path / "hw.zip"
        source.write_bytes(build(*(entry(name) for name in files)))
        assert len(take_in(source, into).ignored) == 2000
        archive = build(*(entry(name) for name in [*files, "z/"]))
        assert refusal(archive) == "'hw.zip': more than 2,000 files and folders; hand in only your own work"


@pytest.mark.parametrize("told", [1, 0xFFFF, 1_000_000], ids=["count lies", "count is full", "in 64 bits"])
def test_take_in_refuses_a_million_entries_cheaply(tmp_path: Path, refusal: Callable[[Any], str], told: int) -> None:
    one = build(entry("a"))
    directory = one[one.index(b"PK\1\2") : -22] * 1_000_000
    end = struct.pack("<4sQ2H2I4Q", b"PK\6\6", 44, 45, 45, 0, 0, told, told, len(directory), 0)
    end += struct.pack("<4sIQI", b"PK\6\7", 0, len(directory), 1)
    small = min(told, 0xFFFF)
    last = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, small, small, len(directory), 0, 0)
    (tmp_path / "million.zip").write_bytes(directory + (end if told > 0xFFFF else b"") + last)
    del directory
    message, seconds, peak = measured(lambda: refusal(tmp_path / "million.zip"))
    assert message == "'million.zip': more than 2,000 files and folders; hand in only your own work"
    assert seconds < 1 and peak < 2 * MIB


def measured(do: Callable[[], str]) -> tuple[str, float, int]:
    """What it gives, the processor time it takes, and the most memory it holds at once."""
    tracemalloc.start()
    try:
        before = time.process_time()
        message = do()
        return message, time.process_time() - before, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_take_in_refuses_a_million_files_in_a_folder_before_listing_them(
    tmp_path: Path, refusal: Callable[[Path], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    hw = spread(tmp_path / "hw", {f"{number}.bin": b"" for number in range(30)})
    for module in (entries, folders):  # the message, and the counting
        monkeypatch.setattr(module, "MAX_ENTRIES", 5)
    looked = []
    plain = os.scandir

    @contextmanager
    def counted(folder: Path) -> Iterator[Iterator[os.DirEntry[str]]]:
        with plain(folder) as listing:
            yield (looked.append(item.name) or item for item in listing)

    monkeypatch.setattr(os, "scandir", counted)
    assert "more than 5 files and folders" in refusal(hw)
    assert len(looked) == 6


LARGE = "takes the submission over 512 MiB unpacked; hand in only the files asked for"


def test_take_in_refuses_more_than_512_mib_in_a_folder(
    tmp_path: Path, into: Path, refusal: Callable[[Path], str]
) -> None:
    hw = spread(tmp_path / "hw", {"a.bin": b"", "b.py": b""})
    os.truncate(hw / "a.bin", 512 * MIB)  # sparse, and not read
    assert take_in(hw, into).files == ("b.py",)
    (into / "b.py").unlink()
    (hw / "b.py").write_bytes(b"1")
    assert refusal(hw) == f"'b.py' {LARGE}"


def test_take_in_refuses_more_than_512_mib_in_a_zip(refusal: Callable[[bytes], str]) -> None:
    body = bytes(3 * MIB)
    archive = build(entry("a.py", CODE), entry("b.bin", body=body, size=512 * MIB))
    assert refusal(archive) == f"'b.bin' {LARGE}"


def test_take_in_refuses_more_than_512_mib_in_one_file(tmp_path: Path, refusal: Callable[[Path], str]) -> None:
    (tmp_path / "a.py").write_bytes(b"")
    os.truncate(tmp_path / "a.py", 512 * MIB + 1)
    assert refusal(tmp_path / "a.py") == f"'a.py' {LARGE}"


BOMB = "unpacks to more than 200 times its size, beyond 50 MiB; leave it out"


def test_take_in_allows_any_ratio_up_to_50_mib(hand_in: Callable[[bytes], Intake], into: Path) -> None:
    assert hand_in(build(entry("zeros.params", bytes(50 * MIB)))).files == ("zeros.params",)
    assert (into / "zeros.params").stat().st_size == 50 * MIB


def test_take_in_refuses_a_bomb_in_one_entry(refusal: Callable[[bytes], str]) -> None:
    zeros = bytes(50 * MIB + 1)
    padding = entry("padding.bin", bytes(MIB), method=0)
    assert refusal(build(padding, entry("zeros.params", zeros))) == f"'zeros.params' {BOMB}"


def test_take_in_refuses_a_bomb_spread_over_entries(refusal: Callable[[bytes], str]) -> None:
    megabyte = entry("", bytes(MIB))
    many = [megabyte | {"raw": f"{number}.txt".encode()} for number in range(51)]
    assert refusal(build(entry("a.py", CODE), *many)) == f"'0.txt' {BOMB}"


def test_take_in_allows_a_ratio_of_just_200(
    hand_in: Callable[[bytes], Intake], refusal: Callable[[bytes], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zips, "RATIO_COUNTS_BEYOND", 1000)
    zeros = entry("a.txt", bytes(4000))
    monkeypatch.setattr(zips, "MAX_RATIO", 3999 / zeros["packed"])
    assert refusal(build(zeros)).startswith("'a.txt' unpacks to more than")
    monkeypatch.setattr(zips, "MAX_RATIO", 4000 / zeros["packed"])
    assert hand_in(build(zeros)).files == ("a.txt",)


@pytest.mark.parametrize("told", [100, 40 * MIB], ids=["small", "large"])
def test_take_in_unpacks_a_lying_bomb_no_further_than_it_admits(refusal: Callable[[bytes], str], told: int) -> None:
    archive = build(entry("a.py", CODE), entry("zeros.params", bytes(200 * MIB), size=told))
    message, _, peak = measured(lambda: refusal(archive))
    assert (
        message == f"'zeros.params' lies about its size: it holds more than {told:,} bytes; pack the submission again"
    )
    assert peak < 4 * MIB


# Zips that lie or are damaged


@pytest.mark.parametrize("name", ["b.py", "b.pdf", ".git/b"])
@pytest.mark.parametrize("method", [0, 8])
@pytest.mark.parametrize(("told", "found"), [(len(CODE) - 1, "more"), (len(CODE) + 1, "less"), (0, "more")])
def test_take_in_refuses_lying_sizes(
    refusal: Callable[[bytes], str], name: str, method: int, told: int, found: str
) -> None:
    archive = build(entry("a.py", CODE), entry(name, CODE, method=method, size=told))
    expected = f"'{name}' lies about its size: it holds {found} than {told} bytes; pack the submission again"
    assert refusal(archive) == expected


def test_take_in_refuses_sizes_that_lie_in_a_zip_of_pythons_making(refusal: Callable[[bytes], str]) -> None:
    archive = bytearray(with_zipfile({"a.py": CODE}))
    central = archive.index(b"PK\1\2")
    for at in (22, central + 24):
        struct.pack_into("<I", archive, at, len(CODE) - 1)
    assert "lies about its size: it holds more than" in refusal(bytes(archive))


@pytest.mark.parametrize(
    "lie",
    [
        *({"local_size": 1}, {"local_packed": 1}, {"local_crc": 1}, {"local_method": 0}, {"local_raw": b"c.py"}),
        *({"local_raw": b"b.pyx"}, {"local_flags": 1}),
    ],
    ids=lambda lie: next(iter(lie)),
)
def test_take_in_refuses_headers_that_disagree(refusal: Callable[[bytes], str], lie: dict[str, Any]) -> None:
    archive = build(entry("a.py", CODE), entry("b.py", CODE, **lie))
    assert refusal(archive) == "'b.py' is described twice, and differently; pack the submission again"


@pytest.mark.parametrize("name", ["b.py", "b.pdf"])
@pytest.mark.parametrize("method", [0, 8])
def test_take_in_refuses_a_wrong_checksum(refusal: Callable[[bytes], str], name: str, method: int) -> None:
    archive = build(entry("a.py", CODE), entry(name, CODE, method=method, crc=1))
    assert refusal(archive) == f"'{name}' is damaged (its checksum is wrong); pack the submission again"


@pytest.mark.parametrize("body", [b"\xff" * 20, entry("", CODE)["body"][:-3], b""], ids=["garbage", "cut", "empty"])
def test_take_in_refuses_data_that_does_not_inflate(refusal: Callable[[bytes], str], body: bytes) -> None:
    archive = build(entry("a.py", CODE), entry("b.py", CODE, body=body))
    assert refusal(archive) == "'b.py' is damaged or cut off; pack the submission again"


@pytest.mark.parametrize("chunk", [1, len(entry("", CODE)["body"]), zips.CHUNK])
def test_take_in_refuses_bytes_behind_the_end_of_the_data(
    refusal: Callable[[bytes], str], monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(zips, "CHUNK", chunk)
    archive = build(entry("b.py", CODE, body=entry("", CODE)["body"] + b"xyz"))
    assert refusal(archive) == "'b.py' has bytes behind its end; pack the submission again"


def test_take_in_refuses_every_truncation(refusal: Callable[[bytes], str]) -> None:
    whole = with_zipfile({"a.py": CODE, "b.txt": b"5.0"})
    messages = {refusal(whole[:length]) for length in range(len(whole))}
    assert messages == {"'hw.zip' is not a zip file, or only a part of one; pack the submission again"}


def test_take_in_refuses_bytes_missing_from_the_front(refusal: Callable[[bytes], str]) -> None:
    whole = with_zipfile({"a.py": CODE, "b.txt": b"5.0"})
    assert refusal(whole[10:]) == "'hw.zip' is damaged or cut off; pack the submission again"


@pytest.mark.parametrize("content", [b"", b"PK", b"PK\3\4", b"Rar!\x1a\x07", b"x" * 70_000, b"PK\5\6" * 5])
def test_take_in_refuses_what_is_not_a_zip(refusal: Callable[[bytes], str], content: bytes) -> None:
    assert refusal(content) == "'hw.zip' is not a zip file, or only a part of one; pack the submission again"


@pytest.mark.parametrize("flag", [0x1, 0x41, 0x2000])
def test_take_in_refuses_encrypted_entries(refusal: Callable[[bytes], str], flag: int) -> None:
    archive = build(entry("a.py", CODE), entry("b.py", CODE, flags=flag))
    assert refusal(archive) == "'b.py' is encrypted; zip it without a password"


@pytest.mark.parametrize(("compression", "method"), [(zipfile.ZIP_BZIP2, 12), (zipfile.ZIP_LZMA, 14)])
def test_take_in_refuses_unusual_compression(refusal: Callable[[bytes], str], compression: int, method: int) -> None:
    archive = with_zipfile({"a.py": CODE}, compression)
    assert refusal(archive) == f"'a.py' is compressed in an unusual way (method {method}); make an ordinary zip"


def test_take_in_refuses_a_folder_with_content(refusal: Callable[[bytes], str]) -> None:
    assert refusal(build(entry("src/", CODE))) == "'src/' is a folder with bytes of its own; pack the submission again"


def test_take_in_refuses_a_part_of_a_split_zip(refusal: Callable[[bytes], str]) -> None:
    message = "'hw.zip' is one part of a split zip; pack the submission again as a single file"
    assert refusal(build(entry("a.py", CODE), disk=1)) == message


@pytest.mark.parametrize("lie", [{"count": 3}, {"size": 5000}, {"offset": 5000}, {"size": 20}], ids=str)
def test_take_in_refuses_a_damaged_directory(refusal: Callable[[bytes], str], lie: dict[str, int]) -> None:
    archive = build(entry("a.py", CODE), entry("b.py", CODE), **lie)
    assert refusal(archive) == "'hw.zip' is damaged or cut off; pack the submission again"


def test_take_in_refuses_missing_64_bit_values(refusal: Callable[[bytes], str]) -> None:
    archive = build(entry("a.py", CODE, size=0xFFFFFFFF, extra=struct.pack("<2HI", 1, 4, 0)))
    assert refusal(archive) == "'hw.zip' is damaged or cut off; pack the submission again"


@pytest.mark.parametrize("count", [0, 1])
def test_take_in_refuses_uncounted_entries(refusal: Callable[[bytes], str], count: int) -> None:
    archive = build(entry("a.py", CODE), entry("b.py", CODE), count=count)
    assert refusal(archive) == "'hw.zip' lists other files than it counts; pack the submission again"


@pytest.mark.parametrize("start", [1, 10**6, 0xFFFFFFFE])
def test_take_in_refuses_entries_that_point_elsewhere(refusal: Callable[[bytes], str], start: int) -> None:
    archive = build(entry("a.py", CODE), entry("b.py", CODE, start=start))
    assert refusal(archive) == "'b.py' is damaged or cut off; pack the submission again"


def test_take_in_refuses_64_bit_offsets_that_point_elsewhere(refusal: Callable[[bytes], str]) -> None:
    extra = struct.pack("<2HQ", 1, 8, 2**64 - 1)
    archive = build(entry("b.py", CODE, start=0xFFFFFFFF, extra=extra))
    assert refusal(archive) == "'b.py' is damaged or cut off; pack the submission again"


def test_take_in_refuses_entries_quoted_inside_others(refusal: Callable[[bytes], str]) -> None:
    """The bomb of David Fifield: the data of one entry holds the whole of the next."""
    inner = build(entry("b.py", CODE))
    local = inner[: inner.index(b"PK\1\2")]
    outer = entry("a.py", local, method=0)
    quoted = entry("b.py", CODE, start=30 + len("a.py"))
    archive = build(outer, quoted)
    assert refusal(archive) == "'b.py' overlaps another part of the zip; pack the submission again"


def test_take_in_refuses_entries_that_share_their_data(refusal: Callable[[bytes], str]) -> None:
    archive = build(entry("a.py", CODE), entry("a.py", CODE, start=0))
    assert refusal(archive) == "'a.py' overlaps another part of the zip; pack the submission again"


def test_take_in_refuses_data_that_runs_into_the_directory(refusal: Callable[[bytes], str]) -> None:
    archive = build(entry("a.py", b"12345", method=0, packed=6, size=6))
    assert refusal(archive) == "'a.py' overlaps another part of the zip; pack the submission again"


# Reading and writing


def unreadable(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Permissions do not stop root, who may be running these tests."""
    for function in ("open", "scandir"):
        plain = getattr(os, function)

        def guarded(path: Any, *rest: Any, plain: Any = plain, **options: Any) -> Any:
            if isinstance(path, Path | str) and Path(path).name == name:
                raise PermissionError(13, "Permission denied")
            return plain(path, *rest, **options)

        monkeypatch.setattr(os, function, guarded)


@pytest.mark.parametrize(("name", "shown"), [("a.py", "src/a.py"), ("src", "src"), ("hw", "hw")])
def test_take_in_refuses_what_it_cannot_read(
    tmp_path: Path, refusal: Callable[[Path], str], monkeypatch: pytest.MonkeyPatch, name: str, shown: str
) -> None:
    hw = spread(tmp_path / "hw", {"src/a.py": CODE})
    unreadable(monkeypatch, name)
    assert refusal(hw) == f"'{shown}' cannot be read (Permission denied); check its permissions"


def test_take_in_refuses_a_zip_it_cannot_read(
    refusal: Callable[[bytes], str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "b.zip").write_bytes(build())
    unreadable(monkeypatch, "b.zip")
    assert refusal(tmp_path / "b.zip") == "'b.zip' cannot be read (Permission denied); check its permissions"


@pytest.mark.parametrize(
    ("swap", "message"),
    [
        (lambda path: path.write_bytes(CODE + b"#"), f"lies about its size: it holds more than {len(CODE)} bytes"),
        (lambda path: path.write_bytes(b""), f"lies about its size: it holds less than {len(CODE)} bytes"),
        (lambda path: (path.with_name("b").write_bytes(CODE), path.with_name("b").replace(path)), "was changed while"),
        (lambda path: (path.unlink(), path.symlink_to("/etc/passwd")), "was changed while"),
        (lambda path: (path.unlink(), os.mkfifo(path)), "was changed while it was read; hand it in again"),
        (lambda path: path.unlink(), "cannot be read (No such file"),
    ],
)
def test_take_in_refuses_files_that_change_meanwhile(
    tmp_path: Path,
    refusal: Callable[[Path], str],
    monkeypatch: pytest.MonkeyPatch,
    swap: Callable[[Path], object],
    message: str,
) -> None:
    hw = spread(tmp_path / "hw", {"a.py": CODE})
    monkeypatch.setattr(clean_tree, "refuse_collisions", lambda entries: swap(hw / "a.py"))
    assert refusal(hw).startswith(f"'a.py' {message}")


@pytest.mark.parametrize("when", ["before it is listed", "before it is read"])
@pytest.mark.parametrize("other", ["a link", "another folder"])
def test_take_in_follows_no_link_that_takes_a_folders_place(
    tmp_path: Path, refusal: Callable[[Path], str], monkeypatch: pytest.MonkeyPatch, when: str, other: str
) -> None:
    """The owner of a folder can swap parts of it at any moment: only what was seen is read, and no link leads away."""
    hw = spread(tmp_path / "hw", {"deep/src/a.py": CODE})
    spread(tmp_path / "secret", {"src/a.py": CODE})
    looked = []

    def swap(*_: object) -> None:
        if not looked:
            looked.append(1)
            (hw / "deep").rename(tmp_path / "away")
            if other == "a link":
                (hw / "deep").symlink_to(tmp_path / "secret")
            else:
                shutil.copytree(tmp_path / "secret", hw / "deep")

    if when == "before it is listed":
        monkeypatch.setattr(folders, "left_behind", swap)
    else:
        monkeypatch.setattr(clean_tree, "refuse_collisions", swap)
    named = "'deep/src/a.py'" if when == "before it is read" and other == "another folder" else "'deep'"
    assert refusal(hw) == f"{named} was changed while it was read; hand it in again"
    assert looked


@pytest.mark.parametrize("kind", ["folder", "zip", "file", "members"])
def test_take_in_follows_no_link_below_the_path_that_was_named(tmp_path: Path, into: Path, kind: str) -> None:
    secret = spread(tmp_path / "secret", {"a.py": CODE, "b/a.py": CODE, "c.zip": build(entry("a.py", CODE))})
    named = spread(tmp_path / "class", {"other.py": CODE})
    (named / "inner").symlink_to(secret)
    path = {"folder": "b", "zip": "c.zip", "file": "a.py", "members": "."}[kind]
    members = (("a.py", "a.py"),) if kind == "members" else ()
    assert take_in(Source(secret / path, members=members), into).files == ("a.py",)
    (into / "a.py").unlink()
    with pytest.raises(Refused, match=r"'class/inner' was changed while it was read|'inner' is a symbolic link"):
        take_in(Source(named / "inner" / path, named, members=members), into)


def test_take_in_unpacks_into_a_folder_inside_the_submission(tmp_path: Path) -> None:
    hw = spread(tmp_path / "hw", {"a.py": CODE})
    (hw / "work" / "into").mkdir(parents=True)
    assert take_in(hw, hw / "work" / "into").files == ("a.py",)


@pytest.mark.parametrize("inside", [True, False])
def test_take_in_refuses_to_unpack_where_something_is(tmp_path: Path, inside: bool) -> None:
    target = spread(tmp_path / "target", {"hw/a.py": CODE})
    source = target / "hw" if inside else spread(tmp_path / "hw", {"a.py": CODE})
    with pytest.raises(Refused, match="'target' is not an empty folder; choose a new one to unpack into"):
        take_in(source, target)
    assert (target / "hw" / "a.py").read_bytes() == CODE


@pytest.mark.parametrize("kind", ["missing", "file", "link"])
def test_take_in_refuses_to_unpack_into_no_folder(tmp_path: Path, into: Path, kind: str) -> None:
    target = tmp_path / "target"
    if kind == "file":
        target.write_bytes(b"")
    if kind == "link":
        target.symlink_to(into)
    with pytest.raises(Refused, match="'target' is not an empty folder; choose a new one to unpack into"):
        take_in(spread(tmp_path / "hw", {"a.py": CODE}), target)
    assert list(into.iterdir()) == []


def test_take_in_cleans_up_what_it_wrote_before_it_refused(refusal: Callable[[bytes], str]) -> None:
    assert "checksum" in refusal(build(entry("a.py", CODE), entry("src/deep/b.py", CODE), entry("z.py", CODE, crc=0)))


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_take_in_cleans_up_when_interrupted(
    hand_in: Callable[[bytes], Intake], into: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    def interrupt(*_: object) -> None:
        assert (into / "src" / "a.py").exists()
        raise error

    monkeypatch.setattr(clean_tree, "_as_utf8", lambda content, name: interrupt() if name == "z.py" else (content, []))
    with pytest.raises(error):
        hand_in(build(entry("src/a.py", CODE), entry("z.py", CODE)))
    assert list(into.iterdir()) == []


def test_take_in_does_not_blame_the_student_for_a_full_disk(
    hand_in: Callable[[bytes], Intake], into: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fchmod", full)
    message = r"^'a.py' could not be written \(No space left on device\); free some space$"
    with pytest.raises(UserError, match=message) as caught:
        hand_in(build(entry("a.py", CODE)))
    assert not isinstance(caught.value, Refused)
    assert list(into.iterdir()) == []


def test_take_in_never_writes_through_what_is_already_there(
    hand_in: Callable[[bytes], Intake], into: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Someone plants a link in the folder after it was found empty."""
    victim = tmp_path / "victim.py"
    victim.write_bytes(b"untouched")
    monkeypatch.setattr(clean_tree, "refuse_collisions", lambda entries: (into / "a.py").symlink_to(victim))
    with pytest.raises(UserError, match="could not be written"):
        hand_in(build(entry("a.py", CODE)))
    assert victim.read_bytes() == b"untouched"


def test_take_in_shows_strange_names_safely(hand_in: Callable[[bytes], Intake]) -> None:
    private = "\ue000" * 40 + ".pdf"  # allowed in names, but shows as anything
    (ignored,) = hand_in(build(entry(private))).ignored
    assert ignored.name == ("\\ue000" * 40)[:79] + "…"


def test_take_in_lists_names_that_only_differ_late(hand_in: Callable[[bytes], Intake]) -> None:
    names = ["x" * 100 + end for end in ("1.pdf", "2.pdf")]
    assert [ignored.name for ignored in hand_in(build(*map(entry, names))).ignored] == ["x" * 79 + "…"] * 2


EXPECTED = [Section(("src/attention.py", "src/run.py", "A2S2.py", "rope.params"), {"attn_softmax": 1})]


@pytest.mark.parametrize(
    ("names", "files"),
    [
        (["attention.py"], ["src/attention.py"]),
        (["hw/attention.py", "hw/more.py", "hw/A2S2.py"], ["hw/A2S2.py", "hw/src/attention.py", "hw/src/more.py"]),
        (["run.py", "rope.params", "data/x.txt"], ["data/x.txt", "rope.params", "src/run.py"]),
        (
            ["attention.py", "more/__init__.py", "more/in/x.py", "old/y.py"],
            ["old/y.py", "src/attention.py", "src/more/__init__.py", "src/more/in/x.py"],
        ),
        (["attention.py", "__MACOSX/src/._attention.py"], ["src/attention.py"]),
        (["work/attention.py", "A2S2.py"], ["A2S2.py", "work/src/attention.py"]),
        (["more.py", "A2S2.py"], ["A2S2.py", "more.py"]),
    ],
)
def test_take_in_puts_modules_into_the_folder_they_belong_in(
    tmp_path: Path, into: Path, names: list[str], files: list[str]
) -> None:
    (tmp_path / "hw.zip").write_bytes(with_zipfile(dict.fromkeys(names, CODE)))
    taken = take_in(tmp_path / "hw.zip", into, EXPECTED)
    assert list(taken.files) == files and taken.why_nothing == ""
    moved = [name for name in files if name not in names]
    told = ", ".join(Path(name).name for name in moved)
    assert taken.notes == ((f"there is no folder src/; read as if in it: {told}",) if moved else ())
    assert all((into / name).read_bytes() == CODE for name in files)


def test_take_in_lets_nothing_take_over_by_being_moved(tmp_path: Path, into: Path) -> None:
    """What would hide a module, or change how the checks run, is left out wherever it would come to lie."""
    hostile = ["torch.py", "conftest.py", "sitecustomize.py", "os.py", "numpy/__init__.py", "numpy/x.pth", ".venv/a.py"]
    (tmp_path / "hw.zip").write_bytes(with_zipfile(dict.fromkeys(["attention.py", *hostile], CODE)))
    taken = take_in(tmp_path / "hw.zip", into, EXPECTED)
    assert taken.files == ("src/attention.py",) and len(taken.ignored) == len(hostile)


def test_take_in_says_what_there_is_where_nothing_can_be_graded(hand_in: Callable[[bytes], Intake]) -> None:
    names = [f"{number}.rar" for number in range(5)]
    found = hand_in(build(*(entry(name, b"") for name in names))).why_nothing
    assert found.endswith("files of your own; there is only '0.rar', '1.rar', '2.rar' and 2 more")
