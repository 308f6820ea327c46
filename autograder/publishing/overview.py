"""Parts, exercises, points and courses as one table: what `python -m autograder list` prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autograder.checking.courses import Course, Item

WIDTH = 100  # of a table; courses that do not fit stand in another one below
ELSEWHERE = "in no part"
LEGEND = "1+3: points of public and of hidden checks; person, coming: not by the grader; *: extra credit"


def overview(courses: Sequence[Course]) -> str:
    """Rows are exercises, by part; columns are courses; totals are in the last rows."""
    rows = [*_rows(courses)]
    first = max(len(label) for label, _ in rows)
    columns = [[row[index] for _, row in rows] for index in range(len(courses))]
    blocks: list[list[int]] = [[]]
    for index, column in enumerate(columns):
        taken = first + sum(2 + max(map(len, columns[other])) for other in blocks[-1])
        if blocks[-1] and taken + 2 + max(map(len, column)) > WIDTH:
            blocks.append([])
        blocks[-1].append(index)
    tables = []
    for block in blocks:
        widths = [max(map(len, columns[index])) for index in block]
        lines = []
        for label, row in rows:
            cells = [row[index].rjust(width) for index, width in zip(block, widths, strict=True)]
            lines.append("  ".join([label.ljust(first), *cells]).rstrip())
        tables.append("\n".join(lines))
    return "\n\n".join([*tables, LEGEND])


def _rows(courses: Sequence[Course]) -> Iterator[tuple[str, list[str]]]:
    """The label of each row, and its cell for every course."""
    yield "", [course.name for course in courses]
    parts = dict.fromkeys(part for course in _largest_first(courses) for part in course.parts)
    for part in [*parts, ""]:
        items = [item for course in _largest_first(courses) for item in course.items.values() if item.part == part]
        if items:
            yield part or ELSEWHERE, ["" for _ in courses]
        for slug in dict.fromkeys(item.slug for item in items):
            yield f"  {slug}", [_cell(course.items.get(slug)) for course in courses]
    yield "total", [_number(course.required, course.extra_credit) for course in courses]
    for label, by in (("  by the grader", "grader"), ("  by a person", "person"), ("  still coming", "coming")):
        yield label, [_sum([item for item in course.items.values() if item.by == by]) for course in courses]


def _largest_first(courses: Sequence[Course]) -> list[Course]:
    """So that parts and exercises stand in the order of the course that has most of them."""
    return sorted(courses, key=lambda course: -len(course.graded))


def _cell(item: Item | None) -> str:
    if item is None:
        return "-"
    if item.given:
        return "given"
    points = f"{item.public}+{item.hidden}" if item.by == "grader" else f"{item.by} {item.points}"
    return points + "*" * item.extra_credit


def _sum(items: Sequence[Item]) -> str:
    extra = sum(item.points for item in items if item.extra_credit)
    return _number(sum(item.points for item in items) - extra, extra)


def _number(required: int, extra: int) -> str:
    return f"{required} + {extra}*" if extra else str(required)
