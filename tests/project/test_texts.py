"""The one place that knows how a student's file is encoded."""

from __future__ import annotations

import codecs
import io
import re
import tokenize

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from autograder.running.notebook_json import Unreadable
from autograder.running.texts import _ORDINARY, as_utf8, decoded, read


@pytest.mark.parametrize(
    ("content", "text", "encoding", "declared"),
    [
        ("é = 1\r\nb\rc".encode(), "é = 1\nb\nc", "", False),
        (b"\xef\xbb\xbfx", "x", "", False),
        (b"# caf\xe9", "# café", "latin-1", False),
        ("x = 'é'".encode("utf-16"), "x = 'é'", "utf-16", False),
        ("x = 'é'".encode("utf-32"), "x = 'é'", "utf-32", False),
        (b"# coding: cp1252\n\x80", "# coding: cp1252\n€", "cp1252", True),
        (b"\n# coding: latin-1-unix\n\xe9", "\n# coding: latin-1-unix\né", "iso8859-1", True),
        (b"# coding: utf-8-unix\n\xc3\xa9", "# coding: utf-8-unix\né", "", False),
        (b"# coding: gbk\n\xe9", "# coding: gbk\né", "latin-1", False),
        (b"x = 1\n# coding: utf-7\n", "x = 1\n# coding: utf-7\n", "", False),
        (b"\n\n# coding: utf-7\n", "\n\n# coding: utf-7\n", "", False),
        (b"\xff\xfex", "ÿþx", "latin-1", False),
    ],
)
def test_text_is_read_as_it_was_meant(content: bytes, text: str, encoding: str, declared: bool) -> None:
    assert decoded(content) == text
    found = read(content)
    assert (found.encoding, found.declared) == (encoding, declared)


def test_every_ordinary_encoding_is_one_that_python_has() -> None:
    assert {codecs.lookup(name).name for name in _ORDINARY} == _ORDINARY
    for name in _ORDINARY:  # what people type is what they mean
        assert bytes(range(32, 92)).decode(name) == bytes(range(32, 92)).decode("ascii")


ODD = ["utf-7", "unicode_escape", "rot13", "no such", "utf-16"]


@given(st.binary(max_size=20), st.sampled_from([*ODD, "latin-1", "utf-8", "UTF8-dos", ""]), st.binary(max_size=6))
@example(b"\r", "utf-7", b"")
@example(b"\xef\xbb\xbf", "utf-7", b"")
@example(b"#\n", "latin-1", b"\xff")
@settings(max_examples=500, deadline=None)
def test_what_is_kept_declares_nothing_but_utf8(before: bytes, encoding: str, after: bytes) -> None:
    """By Python's own reading of it, however the declaration is wrapped."""
    try:
        kept, _ = as_utf8(before + b"# coding: " + encoding.encode() + after + b"\n'+ACc-'")
    except Unreadable as error:
        assert re.fullmatch(
            "it declares the encoding '.*', in which code is not accepted; save it as UTF-8", str(error)
        )
        return
    lines = io.BytesIO(re.sub(rb"\r\n?", b"\n", kept))  # as the compiler sees them
    assert tokenize.detect_encoding(lines.readline)[0] in ("utf-8", "utf-8-sig")
    kept.decode()
