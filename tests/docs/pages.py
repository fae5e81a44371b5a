"""The pages of docs/ as what a test can compare: blocks and tables."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = ("cases", "catalog", "configuration", "running", "scoring", "servers")

_BLOCK = re.compile(r"^```([a-z ]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_TABLE = re.compile(
    r"^<!-- (?P<mark>[^\n]*) -->\n\n(?P<rows>(?:\|[^\n]*\n)+)", re.MULTILINE
)
_CODE = re.compile(r"`([^`]+)`")


@dataclass(frozen=True)
class Block:
    """A fenced block; `line` is that of its first line, `kind` what stands behind
    the fence."""

    page: str
    line: int
    kind: str
    text: str

    @property
    def id(self) -> str:
        return f"{self.page}:{self.line}"


@dataclass(frozen=True)
class Table:
    """A marked table: `mark` is the comment above it, rows are without the head."""

    page: str
    mark: str
    rows: tuple[tuple[str, ...], ...]

    def names(self, column: int = 0) -> list[str]:
        """Every `code` in a column, from top to bottom."""
        return [name for row in self.rows for name in _CODE.findall(row[column])]


def read(page: str) -> str:
    return (DOCS / f"{page}.md").read_text(encoding="utf-8")


def blocks(*kinds: str, pages: tuple[str, ...] = PAGES) -> list[Block]:
    """Fenced blocks of these kinds, in the order in which they stand."""
    found = []
    for page in pages:
        text = read(page)
        for match in _BLOCK.finditer(text):
            line = text[: match.start(2)].count("\n") + 1
            if match[1] in kinds:
                found.append(Block(page, line, match[1], match[2]))
    return found


def tables(mark: str, pages: tuple[str, ...] = PAGES) -> list[Table]:
    """Tables whose mark is `mark`, or begins with it and a colon."""
    return [
        Table(page, match["mark"], _rows(match["rows"]))
        for page in pages
        for match in _TABLE.finditer(read(page))
        if match["mark"] == mark or match["mark"].startswith(f"{mark}: ")
    ]


def codes(cell: str) -> list[str]:
    return _CODE.findall(cell)


def _rows(text: str) -> tuple[tuple[str, ...], ...]:
    lines = text.strip().splitlines()[2:]
    return tuple(
        tuple(cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1])
        for line in lines
    )
