"""HTML for the pages: what is not HTML already is escaped, and nothing is ever fetched."""

from __future__ import annotations

import hashlib
import html
import unicodedata
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from urllib.parse import quote

_ACTIVE = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}  # as in report.inert, which may not have seen this text
SHORT = 200  # characters that are remembered
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
        """
*{box-sizing:border-box}
html{color-scheme:light dark;-webkit-text-size-adjust:100%}
body{margin:0 auto;padding:2.5rem 1.25rem 4rem;max-width:62rem;background:var(--paper);color:var(--ink);
 font:1rem/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;overflow-wrap:break-word}
body.class{max-width:84rem}
h1,h2,h3,h4{line-height:1.25;margin:0;font-weight:650;text-wrap:balance}
h1{font-size:clamp(1.6rem,5vw,2.25rem);letter-spacing:-.02em;overflow-wrap:anywhere}
h2{font-size:1.25rem;letter-spacing:-.01em;margin-bottom:.75rem}
h3{font-size:1.0625rem}
h4{font-size:1rem;font-weight:600}
p,ul,ol,dl,pre,figure,table{margin:0 0 .75rem}
main>section,footer{margin-top:2.75rem}
a{color:var(--accent);text-underline-offset:.18em;text-decoration-thickness:.06em}
code,pre,.slug{font-family:ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:.9em}
.slug{overflow-wrap:break-word}
a.to{text-underline-offset:.34em}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px;border-radius:2px}
.skip{position:absolute;left:-99rem}
.skip:focus{left:1rem;top:1rem;background:var(--card);padding:.5rem .75rem;z-index:9}
.spoken{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.quiet,caption,figcaption{color:var(--quiet);font-size:.9rem}
.eyebrow{color:var(--quiet);margin:0 0 .25rem}
.who{margin:.35rem 0 0;overflow-wrap:anywhere}
.mark{font-weight:700}.mark.no{color:var(--wrong)}.mark.yes{color:var(--right)}
.tag{display:inline-block;border:1px solid var(--line);border-radius:1em;padding:0 .55em;font-size:.78rem;
 font-weight:400;line-height:1.5;color:var(--quiet);white-space:nowrap}
.score{display:flex;align-items:baseline;gap:.5rem;flex-wrap:wrap;margin:.75rem 0 .5rem;
 font-variant-numeric:tabular-nums}
.score b{font-size:1.5rem;letter-spacing:-.01em}
.track{display:block;height:.5rem;border-radius:.25rem;background:var(--soft);box-shadow:inset 0 0 0 1px var(--line);
 overflow:hidden}
.track i{display:block;height:100%;width:var(--share);background:var(--bar)}
.card,.first{background:var(--card);border:1px solid var(--line);border-radius:.6rem;padding:1.1rem 1.25rem;
 margin-bottom:1rem}
.first{border-left:.3rem solid var(--accent)}
.first .lead{font-size:1.125rem;margin-bottom:.4rem}
.first ol,.first p:last-child,.card>:last-child{margin-bottom:0}
.trouble{border-left-color:var(--wrong)}
.wide{overflow-x:auto;max-width:100%}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;width:100%}
caption{text-align:left;padding-bottom:.5rem;text-wrap:pretty}
th,td{text-align:left;padding:.32rem .6rem;vertical-align:baseline;border-bottom:1px solid var(--line);font-weight:400}
thead th{font-size:.85rem;color:var(--quiet);vertical-align:bottom}
th.group{padding-top:1.1rem;font-weight:650;border-bottom-color:var(--quiet)}
.n{text-align:right;white-space:nowrap}
.lost{color:var(--wrong);font-weight:650}
tfoot :is(th,td){font-weight:650;border-bottom:0}
.exercise>header{display:flex;flex-wrap:wrap;align-items:baseline;gap:.35rem .75rem;margin-bottom:.25rem}
:is(.exercise>header,.about,.score,.tiles,footer dl div)>*{min-width:0;overflow-wrap:anywhere}
.exercise>header .n{margin-left:auto}
.check{border-top:1px solid var(--line);margin-top:.9rem;padding-top:.9rem}
.check h4{margin-bottom:.4rem;text-wrap:wrap}
.check h4:has(.mark){padding-left:1.5rem}
.check h4 .mark{float:left;margin-left:-1.5rem}
.check>p{margin-bottom:.5rem}
.check>:last-child{margin-bottom:0}
.says{background:var(--wrong-soft);border-left:.25rem solid var(--wrong);border-radius:.15rem;padding:.5rem .8rem}
pre{background:var(--soft);border-radius:.35rem;padding:.6rem .8rem;white-space:pre-wrap;overflow-wrap:anywhere;
 line-height:1.5}
pre span{display:block;padding-left:2ch;text-indent:-2ch}
.brief{list-style:none;padding:0}
.brief li{padding:.12rem 0 .12rem 1.5rem}
.brief .mark{float:left;margin-left:-1.5rem}
th.signed{padding-left:1.9rem}
th.signed .mark{float:left;margin-left:-1.3rem}
.rows{list-style:none;padding:0}
.rows>li{padding:.6rem 0;border-bottom:1px solid var(--line)}
.rows :is(p,ul){margin:0}
summary{cursor:pointer;width:fit-content}
details[open]>summary{margin-bottom:.6rem}
.panels{display:flex;flex-wrap:wrap;gap:1.25rem 1.75rem;margin-bottom:.4rem}
svg{display:block;forced-color-adjust:none;print-color-adjust:exact}
svg text{fill:var(--quiet);font:11px system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;
 text-anchor:middle;font-variant-numeric:tabular-nums}
svg .title{fill:var(--ink);font-weight:650;font-size:13px;text-anchor:start}
svg .name{font-size:12px}
svg .start{text-anchor:start}
svg .end{text-anchor:end}
.cell{stroke:var(--card);stroke-width:1}
svg .lo{fill:var(--lo-ink)}
svg .hi{fill:var(--hi-ink)}
svg .odd{fill:var(--odd)}
svg .strange{fill:var(--lo-ink);font-weight:700}
svg .small{font-size:7.5px;font-weight:600}
.hatch{stroke:var(--quiet);stroke-width:1;opacity:.55;fill:none}
.axis{stroke:var(--quiet)}
.bars{overflow:visible}
@media (max-width:44rem){.bars .roomy{display:none}}
.bar{fill:var(--bar)}
.bar.missing{fill:none;stroke:var(--wrong);stroke-dasharray:3 3}
svg .count{fill:var(--ink)}
svg .count.missing{fill:var(--wrong);font-weight:700}
.tiles{display:flex;flex-wrap:wrap;gap:.75rem 2.5rem;margin:1.25rem 0 0}
.tiles dt{color:var(--quiet);font-size:.9rem}
.tiles dd{margin:0;font-variant-numeric:tabular-nums}
.tiles b{font-size:1.75rem;letter-spacing:-.02em;line-height:1.2}
.tiles small{color:var(--quiet)}
.about{display:flex;flex-wrap:wrap;align-items:baseline;gap:.2rem 1rem;color:var(--quiet);font-size:.9rem}
.about details[open]{flex-basis:100%;order:9}
.rates{max-width:52rem}
.rate{display:flex;align-items:center;gap:.6rem;min-width:9rem}
.rate .track{flex:1}
.rate .n{min-width:3.2em}
button,input{font:inherit;color:inherit}
button.tools,.tools button{background:none;border:1px solid var(--line);border-radius:.3rem;padding:.05rem .5rem;
 cursor:pointer;color:var(--accent)}
.tools button[aria-pressed=true]{background:var(--accent);border-color:var(--accent);color:var(--paper)}
:is(p,div).tools{display:flex;flex-wrap:wrap;align-items:center;gap:.4rem .75rem;margin-bottom:.75rem;
 scroll-margin-top:1rem}
[hidden]{display:none!important}
input{flex:0 1 20rem;min-width:0;padding:.4rem .6rem;background:var(--card);border:1px solid var(--quiet);
 border-radius:.35rem}
.wide.tall{max-height:85vh;overflow:auto;border:1px solid var(--line);border-radius:.4rem}
#students{font-size:.875rem;width:max-content;min-width:100%;border-collapse:separate;border-spacing:0}
#students caption span{display:block;position:sticky;left:9px;width:fit-content;max-width:calc(100vw - 4rem);
 padding:9px 0}
#students :is(th,td){padding:5px 9px;line-height:20px}
.scripted #students tbody tr:nth-child(n+101){display:none}
#students td{white-space:nowrap}
#students td.told{white-space:normal;min-width:20rem;max-width:28rem}
#students .c{text-align:center;padding-inline:.2rem}
#students .c:not(.lost){color:var(--quiet)}
#students tbody th{position:sticky;left:0;background:var(--paper);z-index:1;max-width:min(14rem,38vw)}
#students thead th{position:sticky;top:0;background:var(--soft);z-index:2}
#students thead th:first-child{left:0;z-index:3}
#students thead button{all:unset;cursor:pointer;color:var(--ink);font-weight:600;white-space:nowrap}
#students thead button:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
#students thead button:disabled{cursor:default}
th[aria-sort=ascending] button::after{content:" ↑"}
th[aria-sort=descending] button::after{content:" ↓"}
#students .exercise{padding-inline:.2rem;text-align:center}
#students .exercise button{writing-mode:vertical-rl;transform:rotate(180deg);font-weight:400}
footer{border-top:1px solid var(--line);padding-top:1.25rem;color:var(--quiet);font-size:.875rem}
footer h2{font-size:1rem}
footer dl{margin:0}
footer dl div{display:flex;flex-wrap:wrap;gap:0 .6rem}
footer dt{min-width:6.5rem}
footer dd{margin:0;overflow-wrap:anywhere}
@media (max-width:30rem){
 body{padding:1.5rem .9rem 3rem}
 .card,.first{padding:.9rem}
 th,td{padding:.32rem .35rem;font-size:.92rem}
 th.signed{padding-left:1.4rem}
}
@media print{
 html{font-size:10pt}
 body,body.class{max-width:none;padding:0}
 .skip,.tools{display:none}
 .check,figure,tr,.rows>li{break-inside:avoid}
 h2,h3,h4{break-after:avoid}
 body:not(.class) details::details-content{content-visibility:visible;block-size:auto}
 .wide,.wide.tall{overflow:visible;max-height:none;border:0}
 #students{font-size:7pt}
 #students :is(th,td){position:static;padding:1pt 2pt}
}
""".strip(),
    )
)
