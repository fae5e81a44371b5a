"""Text of others made fit for a terminal: nothing in it can act on one."""

from __future__ import annotations

import datetime as dt
import textwrap
import unicodedata
from typing import Any

#: Control, format (bidirectional, invisible), surrogate, private, separators.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})

CUT = ".."


def visible(text: str) -> str:
    """One line in which every character that would act or hide is spelled out.

    A newline becomes `\\n`, an escape `\\x1b`, a right-to-left override `\\u202e`.
    """
    return "".join(
        ascii(character)[1:-1]
        if unicodedata.category(character) in _HIDDEN
        else character
        for character in text
    )


def paragraph(text: str, width: int, max_lines: int, indent: str = "  ") -> list[str]:
    """Text with its own line breaks, wrapped, indented and cut to `max_lines`."""
    found: list[str] = []
    for line in text.expandtabs(4).splitlines():
        found += textwrap.wrap(
            visible(line),
            max(width - len(indent), 20),
            drop_whitespace=False,
            replace_whitespace=False,
            break_on_hyphens=False,
        ) or [""]
    if len(found) > max_lines:
        left = len(found) - max_lines
        found = [*found[:max_lines], f"({left} more lines)"]
    return [(indent + line).rstrip() for line in found]


def listed(label: str, parts: list[str], width: int, indent: str = "  ") -> list[str]:
    """`label part, part, ...` wrapped under its label; nothing without parts."""
    if not parts:
        return []
    return textwrap.wrap(
        f"{label} " + ", ".join(parts),
        width,
        initial_indent=indent,
        subsequent_indent=indent + " " * 4,
        break_on_hyphens=False,
    )


def display_width(text: str) -> int:
    """Columns of a terminal that `text` takes."""
    return sum(
        0
        if unicodedata.combining(character)
        else 2
        if unicodedata.east_asian_width(character) in "WF"
        else 1
        for character in text
    )


def fitted(text: str, width: int) -> str:
    """`text` padded or cut to exactly `width` columns."""
    if display_width(text) > width:
        while text and display_width(text) > width - len(CUT):
            text = text[:-1]
        text = (text + CUT)[:width] if width <= len(CUT) else text + CUT
    return text + " " * (width - display_width(text))


def cell_text(value: Any) -> str:
    """A cell as SQL would show it, on one line."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return "0x" + value.hex()
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    return visible(str(value))
