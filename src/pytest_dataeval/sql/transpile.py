"""A statement written for one dialect, as another dialect writes it."""

from __future__ import annotations

from pytest_dataeval.sql.parse import Unparsable, deep_recursion, parse_one, quiet


def transpile(sql: str, read: str, write: str) -> str | Unparsable:
    """`sql` of dialect `read` in dialect `write`, or why that cannot be done.

    Raises ValueError for a dialect that does not exist. The text is returned as
    it is where both are the same.
    """
    if read == write:
        return sql
    parsed = parse_one(sql, read)
    if isinstance(parsed, Unparsable):
        return parsed
    try:
        with deep_recursion(), quiet():
            return parsed.tree.sql(dialect=write)
    # sqlglot's generators raise assorted errors for what a dialect lacks
    except Exception as error:
        return Unparsable(
            "unparsable", f"The statement cannot be written as {write}: {error}"
        )
