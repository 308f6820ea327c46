"""Passages of a text that only some courses' students get. Markers are strict, and never shipped.

    # BEGIN PART pretraining            <!-- BEGIN PART queries, attention -->    with any of these parts
    # BEGIN WITHOUT attention           <!-- BEGIN WITHOUT attention -->          with none of them
    # END WITHOUT attention             <!-- END PART queries, attention -->

Passages may stand within others.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from autograder.errors import UserError

_MARKER = re.compile(
    r"^[ ]*(?:# |<!-- )(?P<edge>BEGIN|END) (?P<what>(?P<kind>PART|WITHOUT) (?P<names>[\w, ]+?))(?: -->)?$"
)
_SUSPICIOUS = re.compile(r"\b(BEGIN|END)[ _-]*(PART|WITHOUT)\b")


def selected(text: str, path: str, used: Collection[str], known: Collection[str]) -> str:
    """The text for a course that uses these parts; any doubtful marker is an error."""
    kept: list[str] = []
    opened: list[tuple[str, int, bool]] = []  # what the marker says, its line, and whether the passage is kept
    for number, line in enumerate(text.splitlines(keepends=True), start=1):
        marker = _MARKER.match(line.rstrip("\n"))
        if marker is None:
            if _SUSPICIOUS.search(line):
                raise UserError(f"{path}:{number}: malformed marker; write '# BEGIN PART name' or '# END PART name'")
            if all(keep for _, _, keep in opened):
                kept.append(line)
        elif marker["edge"] == "BEGIN":
            names = re.split(r"\s*,\s*", marker["names"])
            if strange := [name for name in names if name not in known]:
                raise UserError(f"{path}:{number}: '{strange[0]}' is no part; the parts are {', '.join(sorted(known))}")
            opened.append((marker["what"], number, any(name in used for name in names) == (marker["kind"] == "PART")))
        elif not opened or opened.pop()[0] != marker["what"]:
            raise UserError(f"{path}:{number}: '{marker['what']}' ends, but is not what began last")
    if opened:
        raise UserError(f"{path}:{opened[-1][1]}: '{opened[-1][0]}' is never closed")
    if len(kept) == len(text.splitlines()):
        return text  # nothing was marked
    return "".join(kept).rstrip("\n") + "\n"  # a passage at the end leaves the empty lines above it
