"""The text of a file that a student wrote, in whatever encoding. Whoever reads such a file asks here.

A byte order mark decides, then what the file declares (PEP 263), then UTF-8; what is none of these is Latin-1. A file
may declare any encoding in which people write code, but none that is made to say one thing and mean another.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from autograder.running.notebook_json import Unreadable

# As Python calls them. Not among them: UTF-7, unicode_escape, idna, punycode and the like.
_NAMES = (
    "ascii utf-8 iso8859-1 iso8859-2 iso8859-3 iso8859-4 iso8859-5 iso8859-6 iso8859-7 iso8859-8 iso8859-9 iso8859-10 "
    "iso8859-11 iso8859-13 iso8859-14 iso8859-15 iso8859-16 cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 "
    "cp1258 cp437 cp850 cp852 cp855 cp857 cp858 cp862 cp866 cp874 cp932 cp949 cp950 koi8-r koi8-u kz1048 tis-620 "
    "mac-cyrillic mac-greek mac-iceland mac-latin2 mac-roman mac-turkish "
    "gb2312 gbk gb18030 big5 big5hkscs shift_jis shift_jis_2004 euc_jp euc_jis_2004 euc_kr johab"
)
_ORDINARY = frozenset(_NAMES.split())
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_LINE = re.compile(rb"\r\n?|\n")
_DECLARED = re.compile(rb"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")  # as Python looks for it
_NO_CODE = re.compile(rb"[ \t\f]*(#.*)?")
_SHOWN = 30  # characters of a name


@dataclass(frozen=True)
class Read:
    """The text of a file, as it is: its line ends are its own."""

    text: str
    encoding: str = ""  # if it is not UTF-8
    declared: bool = False  # by the file itself


def read(content: bytes) -> Read:
    """Raises Unreadable, if the file declares an encoding that is not an ordinary one."""
    for mark, encoding in _MARKS.items():
        if content.startswith(mark):
            try:
                return Read(content.decode(encoding), encoding)
            except UnicodeDecodeError:
                break  # then it is Latin-1 that happens to begin with these letters
    found = _declaration(content)
    if found and (encoding := _ordinary(found[1].decode())) != "utf-8":
        try:
            return Read(content.decode(encoding), encoding, declared=True)
        except UnicodeDecodeError:
            pass
    try:
        return Read(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return Read(content.removeprefix(codecs.BOM_UTF8).decode("latin-1"), "latin-1")


def as_utf8(content: bytes) -> tuple[bytes, Read]:
    """The same file in UTF-8, which says nothing else of itself; and how it was read."""
    found = read(content)
    if found.encoding:
        content = found.text.encode()
    declared = _declaration(content)
    if declared and declared[1].lower() not in (b"utf-8", b"utf8"):
        start, end = declared.span(1)
        content = content[:start] + b"utf-8" + content[end:]
    return content, found


def decoded(content: bytes) -> str:
    """Text with "\\n" between its lines; see `read`."""
    return read(content).text.replace("\r\n", "\n").replace("\r", "\n")


def _declaration(content: bytes) -> re.Match[bytes] | None:
    """The match in the first two lines, of which the first may hold no code."""
    start = len(codecs.BOM_UTF8) if content.startswith(codecs.BOM_UTF8) else 0
    for _ in range(2):
        end = _LINE.search(content, start)
        stop = end.start() if end else len(content)
        if found := _DECLARED.match(content, start, stop):
            return found
        if not end or not _NO_CODE.fullmatch(content, start, stop):
            return None
        start = end.end()
    return None


def _ordinary(name: str) -> str:
    """What Python calls an encoding."""
    short = name.casefold().replace("_", "-")
    if re.fullmatch("utf-?8(-.*)?", short):  # editors add -unix, -dos, -sig
        return "utf-8"
    if re.fullmatch("(latin-1|iso-8859-1|iso-latin-1)(-.*)?", short):
        return "iso8859-1"
    try:
        known = codecs.lookup(name).name
    except (LookupError, ValueError):
        known = ""
    if known not in _ORDINARY:
        raise Unreadable(f"it declares the encoding '{name[:_SHOWN]}', in which code is not accepted; save it as UTF-8")
    return known
