"""A statement written for one dialect, as another dialect writes it."""

from __future__ import annotations

from pytest_dataeval.sql.parse import Unparsable, parse_one


def transpile(sql: str, read: str, write: str) -> str | Unparsable:
    """`sql` of dialect `read` in dialect `write`, or why it cannot be read.

    Raises ValueError for a dialect that does not exist. The text is returned as
    it is where both are the same.
    """
    if read == write:
        return sql
    parsed = parse_one(sql, read)
    if isinstance(parsed, Unparsable):
        return parsed
    return parsed.tree.sql(dialect=write)
