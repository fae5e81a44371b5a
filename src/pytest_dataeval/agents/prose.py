"""Results as sentences: every name and figure, and nothing that reads as one.

Column names are left out of the lines: a name like `top_10` or `fell` beside a
figure could be read as a figure or as its sign.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from pytest_dataeval.agents.tools import Rows

_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")
_SCALES = frozenset(
    {
        *("ratio", "share", "percent", "percentage", "dozen"),
        *("thousand", "thousands", "million", "millions", "billion", "billions"),
    }
)


def state_rows(rows: Rows, unit: str | None = None) -> str:
    """State every row: its names first, then its figures.

    One row is one sentence; several rows are one line each. `unit` is added
    where a row has a single figure and the unit is a plain word.
    """
    if not rows.rows:
        return "There are none: the query returned no rows."
    lines = [_line(row, unit) for row in rows.rows]
    if len(lines) == 1:
        text = f"The answer is {lines[0]}."
    else:
        text = "\n".join(["The answer by row:", "", *lines])
    if rows.truncated:
        text += "\n\nThe tool cut this result; the query has more rows than these."
    return text


def _line(row: Sequence[Any], unit: str | None) -> str:
    cells = [cell for cell in row if cell is not None]
    if not cells:
        return "null"
    if all(isinstance(cell, bool) for cell in cells):
        return ", ".join("yes" if cell else "no" for cell in cells)
    figures = [cell for cell in cells if is_figure(cell)]
    names = [cell for cell in cells if not is_figure(cell)]
    if not names and len(figures) > 1:
        # A key that is a number, such as a year, stands where a name would.
        names, figures = figures[:1], figures[1:]
    named = ", ".join(cell_text(cell) for cell in names)
    stated = "; ".join(cell_text(cell) for cell in figures)
    if len(figures) == 1 and unit is not None and _is_plain_unit(unit):
        stated = f"{stated} {unit}"
    return ": ".join(part for part in (named, stated) if part)


def _is_plain_unit(unit: str) -> bool:
    # A one-letter unit could be read as a scale (m, k), as could these words.
    return len(unit) > 2 and unit.isalpha() and unit.lower() not in _SCALES


def is_figure(cell: object) -> bool:
    """Whether a cell is a number, or the canonical text of one (not '007')."""
    if isinstance(cell, bool):
        return False
    if isinstance(cell, int | float | Decimal):
        return True
    return isinstance(cell, str) and _NUMBER.fullmatch(cell) is not None


def cell_text(cell: object) -> str:
    """One cell in plain words: no exponent, no thousands separators."""
    match cell:
        case None:
            return "null"
        case bool():
            return "true" if cell else "false"
        case float() | Decimal():
            number = Decimal(repr(cell)) if isinstance(cell, float) else cell
            return format(number, "f") if number.is_finite() else str(number)
        case dt.datetime():
            return cell.isoformat(sep=" ")
        case dt.date() | dt.time():
            return cell.isoformat()
        case list() | tuple():
            return ", ".join(cell_text(item) for item in cell)
        case Mapping():
            return ", ".join(cell_text(item) for item in cell.values())
        case _:
            return " ".join(str(cell).split())
