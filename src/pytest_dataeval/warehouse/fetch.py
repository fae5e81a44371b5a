"""Reading a cursor under a row and a byte limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from pytest_dataeval.errors import StatementFailed
from pytest_dataeval.records import Column, ResultSet
from pytest_dataeval.warehouse.base import Limits

#: Batches start small, so that one of very wide rows cannot fill the memory.
FIRST_BATCH_ROWS = 64
LAST_BATCH_ROWS = 4096

#: Deeper lists and structs are refused: what reads them later is recursive.
MAX_NESTING = 50


class Cursor(Protocol):
    @property
    def description(self) -> Sequence[Sequence[Any]] | None:
        """PEP 249: one entry a column; its first two parts are name and type."""

    def fetchmany(self, size: int, /) -> Sequence[Sequence[Any]]:
        """PEP 249: at most `size` rows, none at the end."""


def fetch(cursor: Cursor, limits: Limits) -> ResultSet:
    """At most `limits.max_rows` rows; one row more there is, and it is truncated.

    Raises StatementFailed `too_large` once the cells exceed `limits.max_bytes` or
    one is nested too deep.
    """
    columns = tuple(
        Column(str(part[0]), str(part[1])) for part in cursor.description or ()
    )
    rows: list[tuple[Any, ...]] = []
    size = 0
    batch_rows = FIRST_BATCH_ROWS
    while len(rows) <= limits.max_rows:
        wanted = min(batch_rows, limits.max_rows + 1 - len(rows))
        batch = cursor.fetchmany(wanted)
        rows.extend(tuple(row) for row in batch)
        size += sum(_size(cell) for row in batch for cell in row)
        if size > limits.max_bytes:
            raise StatementFailed(
                "too_large",
                f"the result is larger than {limits.max_bytes:,} bytes",
            )
        if len(batch) < wanted:
            break
        batch_rows = min(batch_rows * 2, LAST_BATCH_ROWS)
    truncated = len(rows) > limits.max_rows
    return ResultSet(columns, tuple(rows[: limits.max_rows]), truncated)


def _size(cell: Any, depth: int = 0) -> int:
    if isinstance(cell, str | bytes):
        return len(cell) + 8
    if isinstance(cell, dict):
        parts = [*cell.keys(), *cell.values()]
    elif isinstance(cell, list | tuple):
        parts = list(cell)
    else:
        return 8
    if depth == MAX_NESTING:
        raise StatementFailed(
            "too_large", f"a value is nested more than {MAX_NESTING} deep"
        )
    return 8 + sum(_size(part, depth + 1) for part in parts)
