"""Two results side by side, in as many columns as a terminal has."""

from __future__ import annotations

from itertools import zip_longest

from pytest_dataeval.records import ResultSet
from pytest_dataeval.report.text import cell_text, display_width, fitted, visible

MAX_ROWS = 8

_GAP = "  "
_BETWEEN = " | "
_NARROWEST = 6


def side_by_side(
    left_title: str,
    left: ResultSet | None,
    right_title: str,
    right: ResultSet | None,
    width: int,
) -> list[str]:
    """The first rows of both results; None stands for one that is not there."""
    half = (width - len(_BETWEEN)) // 2
    columns = [
        result_lines(title, result, half)
        for title, result in ((left_title, left), (right_title, right))
    ]
    return [
        f"{fitted(a, half)}{_BETWEEN}{b}".rstrip()
        for a, b in zip_longest(*columns, fillvalue="")
    ]


def result_lines(title: str, result: ResultSet | None, width: int) -> list[str]:
    """A title that says how much there is, the header and the first rows."""
    if result is None:
        return [fitted(f"{title}: none", width).rstrip()]
    count = len(result.rows)
    more = " or more" if result.truncated else ""
    plural = "" if count == 1 and not more else "s"
    heading = f"{title}: {count}{more} row{plural}"
    shown = result.rows[:MAX_ROWS]
    table = [
        [visible(name) for name in result.names],
        *([cell_text(cell) for cell in row] for row in shown),
    ]
    widths = _widths(table, width)
    body = [
        _GAP.join(fitted(cell, w) for cell, w in zip(row, widths, strict=False))
        for row in table
    ]
    if widths:
        body.insert(1, _GAP.join("-" * w for w in widths))
    if count > len(shown):
        body.append(f"({count - len(shown)} more)")
    hidden = len(result.names) - len(widths)
    if hidden:
        body.append(f"({hidden} of {len(result.names)} columns not shown)")
    return [fitted(line, width).rstrip() for line in (heading, *body)]


def _widths(table: list[list[str]], width: int) -> list[int]:
    """Widths of the columns that fit, the widest narrowed first."""
    natural = [max(map(display_width, column)) for column in zip(*table, strict=True)]
    widths = [max(w, 1) for w in natural]
    while widths and _total([min(w, _NARROWEST) for w in widths]) > width:
        widths.pop()
    while _total(widths) > width:
        widest = widths.index(max(widths))
        widths[widest] -= 1
    return widths


def _total(widths: list[int]) -> int:
    return sum(widths) + len(_GAP) * max(len(widths) - 1, 0)
