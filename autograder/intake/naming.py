"""File names as people and their computers change them: 'Copy of A2S2.ipynb' and 'a2s2 (1).ipynb' are A2S2.ipynb."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from pathlib import PurePosixPath

_COPY = r"copy|kopie|copie|copia|c[oó]pia"
# What Colab, Drive and Windows put before a name.
_BEFORE = re.compile(rf"(?:{_COPY})(?:[ _-]*\(?\d{{1,3}}\)?)?[ _-]+(?:of|von|de|di)[ _-]+")
# What browsers, macOS, Windows, Jupyter and people who have had enough put behind it.
_WORDS = (
    "final|finished|finish|done|complete|completed|solved|solution|solutions|submission|submit|submitted|"
    "new|newest|latest|updated|fixed|edited|answers|answer|student|executed|run"
)
_BEHIND = re.compile(
    rf"[ _-]*\(\d{{1,3}}\)|[ _-]+(?:v|ver|version)?[ _.-]?\d{{1,3}}|[ _-]*(?:-[ ]*)?(?:{_COPY})[ _-]*\(?\d{{0,3}}\)?"
    rf"|[ _-]+(?:{_WORDS})\d{{0,2}}|[ _-]*\((?:{_COPY}|{_WORDS})\)|[ _-]*\[\d{{1,3}}\]"
)
_TOGETHER = re.compile(r"[ _.-]+")
LONGEST = 255  # characters of a name that are looked at
MOST = 8  # things that were put behind a name


@lru_cache(4096)  # of the files that everybody hands in
def forms(name: str) -> tuple[str, ...]:
    """What a file may be meant to be called, in lower case and without what divides words; the plainest comes last."""
    path = PurePosixPath(unicodedata.normalize("NFKC", name[:LONGEST]).casefold())
    suffix, stem = path.suffix, path.stem
    while suffix and stem.endswith(suffix):  # A2S2.ipynb.ipynb, where Windows hides endings
        stem = stem.removesuffix(suffix)
    found = [stem]
    at = 0
    while before := _BEFORE.match(stem, at):
        at = before.end()
    stem = stem[at:]
    found.append(stem)
    for _ in range(MOST):
        if not (shorter := _without_end(stem)):
            break
        stem = shorter
        found.append(stem)
        if suffix and stem.endswith(suffix):  # "A2S2.ipynb (1).ipynb"
            stem = stem.removesuffix(suffix)
            found.append(stem)
    return tuple(dict.fromkeys(squashed + suffix for one in found if (squashed := _TOGETHER.sub("", one))))


def _without_end(stem: str) -> str:
    """A name without the last thing that was put behind it; '' if nothing was."""
    for at in range(max(0, len(stem) - 20), len(stem)):
        if at and _BEHIND.fullmatch(stem, at):
            return stem[:at].rstrip(" _-")
    return ""


def same(name: str, wanted: str) -> bool:
    """Is a file, by its name without folders, a copy of the wanted one?"""
    return forms(wanted)[0] in forms(name)
