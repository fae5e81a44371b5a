"""Which withheld columns a query would read: personas on engines without grants."""

from __future__ import annotations

from collections.abc import Collection

from pytest_dataeval.sql.fields import columns_read
from pytest_dataeval.sql.resolve import WHOLE_ROW, Schema


def withheld_columns_read(
    sql: str,
    dialect: str,
    schema: Schema | None,
    withheld: Collection[str],
    *,
    default_schema: str | None = None,
) -> frozenset[str] | None:
    """The entries of `withheld` (`schema.table.column`) that `sql` may read.

    None if the statement cannot be parsed: refuse it. Like a column grant, a
    star over a table reads all its columns, wherever in the statement it
    stands; `count(*)` reads none. Where a name cannot be resolved, it counts
    as every withheld column that it could mean. A view in `schema` is a table
    of its own: withhold its columns too.
    """
    columns_of: dict[str, dict[str, str]] = {
        name.lower(): {column.lower(): kind for column, kind in columns.items()}
        for name, columns in (schema or {}).items()
    }
    entries: dict[tuple[str, str], str] = {}
    for entry in withheld:
        table, _, column = entry.lower().rpartition(".")
        entries[table, column] = entry
        columns_of.setdefault(table, {}).setdefault(column, "")
    read = columns_read(sql, dialect, columns_of, default_schema=default_schema)
    if read is None:
        return None
    return frozenset(
        entry
        for (table, column), entry in entries.items()
        if any(
            ref.column in {column, WHOLE_ROW} and _same(ref.table, table)
            for ref in read
        )
    )


def _same(read: str | None, withheld: str) -> bool:
    """Whether two dotted names can be one table; more parts may be written."""
    if read is None:
        return False
    a, b = read.split("."), withheld.split(".")
    return a[-len(b) :] == b or b[-len(a) :] == a
