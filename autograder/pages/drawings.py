"""Pictures as SVG, with words for those who do not see them: heat maps and histograms."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autograder.pages.markup import Html, sideways, tag

Json = Mapping[str, Any]


def picture(data: Json) -> Html:
    """A picture as SVG, with words for those who do not see it."""
    return _histogram(data) if data["kind"] == "bars" else _maps(data)


def _histogram(data: Json) -> Html:
    counts = data["counts"]
    missing = [must and not count for count, must in zip(counts, data["needed"], strict=True)]
    told = ", ".join(f"{label}: {count}" for label, count in zip(data["labels"], counts, strict=True))
    key = [" ✗ never occurs, but must."] if any(missing) else []
    drawn = bars(data["caption"], told, data["x"], data["labels"], counts, missing)
    return tag("figure", drawn, tag("figcaption", "".join([f"{data['caption']}.", *key])))


BAR_HEIGHT = 120
NARROW = 330  # pixels that a telephone has for a drawing
LETTER = 7  # pixels to a letter, or a little less


def bars(title: str, told: str, x: str, labels: Sequence[str], counts: Sequence[int], missing: Sequence[bool]) -> Html:
    """A histogram; `missing` marks the values that must occur and do not.

    It shrinks with the page and its letters do not: places across are percentages. Texts that have no room then are
    'roomy', and the style sheet leaves them out.
    """
    number = max(1, len(labels))
    pitches = pitch, _ = max(18, min(44, 640 // number)), min(44.0, NARROW / number)
    every, rarer = _strides(max(map(len, labels), default=1), pitches)
    reach, further = (_bars_under(len(str(max([0, *counts]))), width) for width in pitches)
    tallest, floor = max([1, *counts]), BAR_HEIGHT + 24
    drawn = []
    for i, (label, count, lacks) in enumerate(zip(labels, counts, missing, strict=True)):
        middle = _percent((i + 0.5) / number)
        high = 0 if count <= 0 else max(2, BAR_HEIGHT * count // tallest)
        kind, spoken, sign = (" missing", ", but must occur", "✗") if lacks else ("", "", str(count or ""))
        across = {"x": _percent((i + 0.08) / number), "width": _percent(0.84 / number)}
        up = BAR_HEIGHT if lacks else high
        name = tag("title", f"{label}: {count}{spoken}")
        drawn.append(tag("rect", name, y=floor - up, height=up, class_=f"bar{kind}", **across))
        if lacks or _stands_out(counts, i, reach):
            roomy = "" if lacks or _stands_out(counts, i, further) else " roomy"
            drawn.append(tag("text", sign, x=middle, y=floor - high - 5, class_=f"count{kind}{roomy}"))
        if i % every == 0:
            drawn.append(tag("text", label, x=middle, y=floor + 14, class_="roomy" if i % rarer else None))
    drawn.append(tag("line", x1="0", x2="100%", y1=floor + 0.5, y2=floor + 0.5, class_="axis"))
    drawn.append(tag("text", x, x="50%", y=floor + 32, class_="name"))
    size = {"width": "100%", "height": floor + 40, "style": f"max-width:{pitch * len(labels)}px"}
    return tag("svg", tag("title", title), tag("desc", told), *drawn, role="img", class_="bars", **size)


def _percent(share: float) -> str:
    return f"{100 * share:.2f}%"


def _bars_under(letters: int, pitch: float) -> int:
    """How many bars of this width a text of so many letters needs."""
    return max(1, math.ceil(letters * LETTER / pitch))


def _strides(letters: int, pitches: tuple[float, float]) -> tuple[int, int]:
    """Every how many bars there is room for a label, on a wide page and on a narrow one; the few are among the many."""
    every, rarer = (_bars_under(letters, pitch) for pitch in pitches)
    return every, every * math.ceil(rarer / every)


def _stands_out(counts: Sequence[int], i: int, reach: int) -> bool:
    """No bar so near is higher, nor as high and further left: its number may take their room."""
    near = range(max(0, i - reach + 1), min(len(counts), i + reach))
    return all((counts[j], -j) <= (counts[i], -i) for j in near)


NUMBERED = 6  # columns, at most, of a map whose cells have room for numbers
STEPS = 4  # on each side of the middle colour
STRANGE = {"nan": "NaN", "inf": "∞", "-inf": "−∞"}


@dataclass(frozen=True)
class Scale:
    """From numbers to the nine colours of the style sheet."""

    low: float
    high: float
    diverging: bool

    def colour(self, value: float) -> str:
        if self.diverging:
            share = value / self.high if self.high else 0.0
            # Rounded away from zero: a small difference is a difference.
            step = 0 if abs(share) < 1e-3 else math.copysign(math.ceil(STEPS * abs(share)), share)
            return f"d{STEPS + int(step)}"
        span = self.high / 2 - self.low / 2  # halves, because the span of two huge numbers is infinite
        return f"q{round(2 * STEPS * ((value / 2 - self.low / 2) / span)) if span else STEPS - 2}"

    def ink(self, value: float) -> str:
        step = int(self.colour(value)[1])
        return "hi" if (abs(step - STEPS) > 2 if self.diverging else step > 5) else "lo"


def _maps(data: Json) -> Html:
    *shown, last = data["panels"]
    apart = last["title"] == "difference"
    amounts = [value for panel in (shown if apart else data["panels"]) for value in _finite(panel)]
    shared = Scale(min(amounts, default=0.0), max(amounts, default=0.0), diverging=False)
    furthest = max((abs(value) for value in _finite(last)), default=0.0)
    scales = [shared] * len(shown) + [Scale(-furthest, furthest, diverging=True) if apart else shared]
    drawn = [_panel(panel, data, scale) for panel, scale in zip(data["panels"], scales, strict=True)]
    told = f"{data['caption']}. Each row is a {data['rows']}, each column a {data['columns']}."
    if apart:
        told += " Difference: yours − expected."
    return tag("figure", sideways(data["caption"], tag("div", *drawn, class_="panels")), tag("figcaption", told))


def _finite(panel: Json) -> list[float]:
    return [value for row in panel["values"] for value in row if not isinstance(value, str)]


LEFT, TOP = 34, 48  # room for the names of rows and columns


def _panel(panel: Json, data: Json, scale: Scale) -> Html:
    """One matrix: cells, their indices, and a scale if there are no numbers in the cells."""
    values = panel["values"]
    down, across = len(values), max(len(row) for row in values)
    numbered = across <= NUMBERED
    wide, high = (48, 30) if numbered else (20, 20)
    below, right = TOP + down * high, LEFT + across * wide
    cells = [
        _cell(value, LEFT + j * wide, TOP + i * high, wide, high, scale, f"{data['rows']} {i}, {data['columns']} {j}")
        for i, row in enumerate(values)
        for j, value in enumerate(row)
    ]
    names = [tag("text", j, x=LEFT + j * wide + wide // 2, y=TOP - 6) for j in range(across)]
    names += [tag("text", i, x=LEFT - 6, y=TOP + i * high + high // 2 + 4, class_="end") for i in range(down)]
    names.append(tag("text", f"{data['columns']} →", x=LEFT, y=TOP - 20, class_="start"))
    middle = (TOP + below) // 2
    names.append(tag("text", f"← {data['rows']}", x=10, y=middle, transform=f"rotate(-90 10 {middle})"))
    key = Html() if numbered else _key(scale, LEFT, below + 10, right)
    width, height = max(right + 2, 124), below + (4 if numbered else 40)
    return tag(
        "svg",
        tag("title", f"{data['caption']}: {panel['title']}"),
        tag("desc", _spoken(panel, data)),
        tag("text", panel["title"], x=LEFT, y=13, class_="title"),
        *(*cells, *names, key),
        role="img",
        width=width,
        height=height,
        viewBox=f"0 0 {width} {height}",
    )


def _cell(value: float | str, x: int, y: int, wide: int, high: int, scale: Scale, where: str) -> Html:
    """One entry: a colour for a number, hatching for what is none."""
    told = tag("title", f"{where}: {value}")
    box = {"x": x, "y": y, "width": wide, "height": high}
    middle = {"x": x + wide // 2, "y": y + high // 2 + 4}
    numbered = wide > high
    if isinstance(value, str):
        half = high // 2
        hatch = tag(
            "path", d=f"M{x} {y + half}l{half} -{half}M{x + wide - half} {y + high}l{half} -{half}", class_="hatch"
        )
        kind = "strange" if numbered or value != "nan" else "strange small"
        text = tag("text", STRANGE.get(value, "?"), class_=kind, **middle)
        return tag("g", told, tag("rect", class_="cell odd", **box), hatch, text)
    number = brief(value) if numbered else _side(value, scale)
    text = tag("text", number, class_=scale.ink(value), **middle) if number else Html()
    return tag("g", told, tag("rect", class_=f"cell {scale.colour(value)}", **box), text)


def _side(value: float, scale: Scale) -> str:
    """Which way a difference goes, for those who cannot tell it from the colour."""
    if not scale.diverging or scale.colour(value) == f"d{STEPS}":
        return ""
    return "+" if value > 0 else "−"


def _key(scale: Scale, left: int, y: int, right: int) -> Html:
    letter = "d" if scale.diverging else "q"
    step = (right - left) // (2 * STEPS + 1)
    boxes = [
        tag("rect", x=left + i * step, y=y, width=step, height=8, class_=f"{letter}{i}") for i in range(2 * STEPS + 1)
    ]
    low = tag("text", brief(scale.low), x=left, y=y + 22, class_="start")
    high = tag("text", brief(scale.high), x=left + (2 * STEPS + 1) * step, y=y + 22, class_="end")
    return tag("g", *boxes, low, high)


def _spoken(panel: Json, data: Json) -> str:
    """A matrix in words: a small one in full, a large one by its extremes."""
    values = panel["values"]
    if len(values) <= NUMBERED and len(values[0]) <= NUMBERED:
        rows = (", ".join(STRANGE.get(v, "?") if isinstance(v, str) else brief(v) for v in row) for row in values)
        return "; ".join(f"{data['rows']} {i}: {row}" for i, row in enumerate(rows))
    finite, strange = _finite(panel), [v for row in values for v in row if isinstance(v, str)]
    told = [f"{len(values)} rows and {len(values[0])} columns"]
    told += [f"from {brief(min(finite))} to {brief(max(finite))}"] if finite else []
    told += [f"{strange.count(kind)} times {STRANGE[kind]}" for kind in STRANGE if kind in strange]
    return ", ".join(told)


def brief(value: float) -> str:
    """A number in at most six characters or so."""
    text = f"{value:.3g}"
    if "e" in text or len(text.lstrip("-")) > 6:
        mantissa, _, exponent = f"{value:.1e}".partition("e")
        text = f"{mantissa.removesuffix('.0')}e{int(exponent)}"
    return text.replace("-", "−")
