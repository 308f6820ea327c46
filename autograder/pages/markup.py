"""HTML for the pages: what is not HTML already is escaped, and nothing is ever fetched."""

from __future__ import annotations

import hashlib
import html
import unicodedata
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from urllib.parse import quote

_ACTIVE = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}  # as in wording.inert, which may not have seen this text
SHORT = 200  # characters that are remembered
FOLDER = Path(__file__).parent  # style sheet and scripts are files beside this one
_VOID = {"input", "link", "meta"}
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


class Html(str):
    """Text that is HTML. Whatever is not of this type is escaped where it is put into some."""

    __slots__ = ()


def escaped(value: object) -> Html:
    """Any value as text that a browser shows and does not obey; controls and direction marks become �."""
    if type(value) is Html:
        return value
    text = str(value)
    return _again(text) if len(text) <= SHORT else _inert(text)


def _inert(text: str) -> Html:
    if not text.isprintable():
        text = "".join(" " if one in "\n\r\t" else "�" if unicodedata.category(one) in _ACTIVE else one for one in text)
    return Html(html.escape(text))


_again = lru_cache(8192)(_inert)  # the pages of a class say much the same


def together(parts: Iterable[object], between: str = "") -> Html:
    return Html((escaped(between) if between else "").join(map(escaped, parts)))


def tag(name: str, /, *content: object, **attributes: object) -> Html:
    """An element. `class_` is class, `aria_sort` is aria-sort; what is None or False is left out."""
    written = "".join(
        f" {_attribute(key)}" if value is True else f' {_attribute(key)}="{escaped(value)}"'
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    return Html(
        f"<{name}{written}>" if name in _VOID else f"<{name}{written}>{''.join(map(escaped, content))}</{name}>"
    )


@cache
def _attribute(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def link(target: str, *content: object, up: int = 0) -> Html:
    """A link to a file below this page, or below the folder `up` above. It leads nowhere else, whatever is asked."""
    steps = [quote(step, safe="", errors="replace") for step in target.split("/") if step not in ("", ".", "..")]
    return tag("a", *content, href=("../" * up or "./") + "/".join(steps)) if steps else together(content)


def sideways(label: str, *content: object, tall: bool = False) -> Html:
    """A box that scrolls if its content is wide, so that the page need not; keys reach it, too."""
    return tag("div", *content, class_="wide tall" if tall else "wide", role="region", aria_label=label, tabindex=0)


def marked(sign: str, spoken: str, kind: str) -> Html:
    """A sign for the eye, and words for a screen reader."""
    seen = tag("span", sign, class_=f"mark {kind}", aria_hidden="true")
    return together((seen, tag("span", f"{spoken} ", class_="spoken")))


def slug(name: str) -> Html:
    """The name of an exercise, which may break after an underscore."""
    return tag("span", Html(escaped(name).replace("_", "_<wbr>")), class_="slug")


def amount(count: int, thing: str) -> str:
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"


def percent(share: float) -> str:
    """A share of 1, written as everywhere on these pages; no line ends before the sign."""
    return f"{100 * share:.0f}\u00a0%"


def made_with(versions: Mapping[str, str], isolation: str) -> list[tuple[str, object]]:
    """What both pages say about their origin."""
    return [("Isolation", isolation), ("Versions", ", ".join(f"{name} {versions[name]}" for name in sorted(versions)))]


def footer(facts: Iterable[tuple[str, object]]) -> Html:
    rows = (tag("div", tag("dt", name), tag("dd", value)) for name, value in facts if value)
    return tag("footer", tag("h2", "How this was made"), tag("dl", *rows))


def document(title: str, *body: object, script: str = "", kind: str | None = None) -> str:
    """A page that holds all it needs. Of all scripts, only the given one may run."""
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = _POLICY + (f"; script-src 'sha256-{digest}'" if script else "")
    head = (
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("link", rel="icon", href="data:,"),  # or a browser asks the server for one
        tag("title", title),
        tag("style", Html(CSS)),
        *([tag("script", Html(script))] if script else []),  # here, so that it is there before anything is drawn
    )
    skip = tag("a", "Skip to the content", href="#main", class_="skip")
    whole = (tag("head", *_lines(head)), Html("\n"), tag("body", *_lines((skip, *body)), class_=kind))
    return f"<!DOCTYPE html>\n{tag('html', *whole, lang='en')}\n"


def _lines(parts: Sequence[Html | object]) -> list[object]:
    return [Html("\n"), *(line for part in parts for line in (part, Html("\n")))]


# Blue for amounts, orange to purple for differences: both are told apart with any colour vision, and in grey.
# Low is close to the paper, in the light and in the dark.
LIGHT = {
    **{
        "paper": "#fcfbf8",
        "card": "#ffffff",
        "soft": "#f3f1ec",
        "line": "#dedad2",
        "ink": "#1c1e22",
        "quiet": "#5a606b",
    },
    **{"accent": "#14549c", "wrong": "#9c3a05", "wrong-soft": "#fdf0e6", "right": "#0a6253", "bar": "#4a7fb5"},
    **{"lo-ink": "#1c1e22", "hi-ink": "#ffffff", "odd": "#e8e4da"},
    **{"q0": "#ebf2fa", "q1": "#dbe8f5", "q2": "#c9ddf0", "q3": "#a6cbe5", "q4": "#7db5da"},
    **{"q5": "#569fce", "q6": "#2b73b3", "q7": "#0d5299", "q8": "#0a3268"},
    **{"d0": "#8f4300", "d1": "#b25a08", "d2": "#f3a95c", "d3": "#fcdcb4", "d4": "#f0eeea"},
    **{"d5": "#dcdcee", "d6": "#b4acd6", "d7": "#6f62a3", "d8": "#4d2a80"},
}
DARK = {
    **{
        "paper": "#14161a",
        "card": "#1b1e23",
        "soft": "#22262c",
        "line": "#343941",
        "ink": "#e8e6e1",
        "quiet": "#a5abb6",
    },
    **{"accent": "#8fbcf2", "wrong": "#ffab7a", "wrong-soft": "#33241b", "right": "#79cfba", "bar": "#6d9fd3"},
    **{"lo-ink": "#f2f0ec", "hi-ink": "#14161a", "odd": "#3d3a34"},
    **{"q0": "#1f2b39", "q1": "#1f354f", "q2": "#1f3d61", "q3": "#234b7a", "q4": "#285a92"},
    **{"q5": "#2f69a8", "q6": "#6ea6da", "q7": "#a0c8ec", "q8": "#d6e9fb"},
    **{"d0": "#ffd9a8", "d1": "#f5ad62", "d2": "#9a5b1c", "d3": "#5a3a1c", "d4": "#292d33"},
    **{"d5": "#38345a", "d6": "#5d5494", "d7": "#ada2e0", "d8": "#d9d2fb"},
}


def _declared(colours: Mapping[str, str]) -> str:
    return ":root{" + ";".join(f"--{name}:{colour}" for name, colour in colours.items()) + "}"


CSS = "\n".join(
    (
        _declared(LIGHT),
        f"@media (prefers-color-scheme:dark){{{_declared(DARK)}}}",
        f"@media print{{{_declared(LIGHT)}}}",
        *(f".{name}{{fill:var(--{name})}}" for name in LIGHT if name[1:].isdigit()),
        (FOLDER / "style.css").read_text(encoding="utf-8").strip(),
    )
)
