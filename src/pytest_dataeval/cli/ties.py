"""References whose LIMIT cuts through rows that nothing tells apart."""

from __future__ import annotations

from collections.abc import Callable

from pytest_dataeval.records import ResultSet
from pytest_dataeval.sql.order import order_keys, with_order_keys, without_limit


def tie_at_limit(
    sql: str, dialect: str, result: ResultSet, run: Callable[[str], ResultSet]
) -> str | None:
    """Why it is chance which rows the LIMIT of `sql` gives; None where it is not.

    `result` is what `sql` gave. `run` is called with the statement without its
    LIMIT, if it has one. Also None where the SQL is too unusual to be told.
    """
    order = order_keys(sql, dialect)
    if order is None or not order.limit or order.with_ties:
        return None
    whole = without_limit(sql, dialect)
    keyed = None if whole is None else with_order_keys(whole, dialect)
    if keyed is None:
        return None
    rows = run(keyed).rows
    shown = len(result.columns)
    # order keys that are not selected come behind the columns of `sql`
    behind = iter(range(shown, shown + len(order.keys)))
    places = [next(behind) if k.index is None else k.index for k in order.keys]
    keys = [tuple(row[place] for place in places) for row in rows]
    first = order.offset or 0
    for end in (first, first + order.limit):
        if not 0 < end < len(rows) or keys[end - 1] != keys[end]:
            continue
        tied = [
            row[:shown] for row, key in zip(rows, keys, strict=True) if key == keys[end]
        ]
        if any(row != tied[0] for row in tied):
            return (
                "rows tie where its LIMIT cuts, so which of them it gives is chance; "
                "add keys to its ORDER BY until none tie"
                if order.keys
                else "it has a LIMIT and no ORDER BY, so which rows it gives is "
                "chance; add one"
            )
    return None
