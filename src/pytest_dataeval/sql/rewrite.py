"""A row ceiling in the statement itself, so that the engine can stop early."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_dataeval.sql.order import order_keys, tail_start
from pytest_dataeval.sql.toplevel import TopLevel, top_level

if TYPE_CHECKING:
    from sqlglot import exp


def limited(sql: str, dialect: str, rows: int) -> str | None:
    """A statement that gives the first `rows` rows of `sql`, in its order.

    The outermost LIMIT is added, or lowered; what cannot be lowered in place (a
    percentage, an expression) is wrapped. None if there is no safe way, as for
    TOP n PERCENT and TOP n WITH TIES: refuse it, or count rows when fetching.
    Raises ValueError for a number of rows below 1.
    """
    if rows < 1:
        raise ValueError(f"a row ceiling is at least 1, not {rows}")
    found = top_level(sql, dialect)
    spec = order_keys(sql, dialect)
    if found is None:
        return None
    tsql = found.dialect in {"tsql", "fabric"}
    has_limit = found.tree.args.get("limit") is not None
    if has_limit and spec is not None and spec.limit is not None and not spec.with_ties:
        if spec.limit <= rows:
            return sql
        lowered = _lowered(found, spec.limit, rows)
        if lowered is not None:
            return lowered
    if has_limit:
        return None if tsql else _wrapped(found, rows)
    if tsql:
        return _with_top(found, rows)
    return _appended(found, rows) or _wrapped(found, rows)


def _lowered(found: TopLevel, limit: int, rows: int) -> str | None:
    """Exchange the number of the outermost LIMIT, FETCH or TOP."""
    from sqlglot import exp

    def expect(tree: exp.Expr) -> None:
        node = tree.args["limit"]
        key = "count" if isinstance(node, exp.Fetch) else "expression"
        number = next(
            literal
            for literal in node.args[key].find_all(exp.Literal)
            if literal.name == str(limit)
        )
        number.replace(exp.Literal.number(rows))

    # TOP stands in front, LIMIT and FETCH at the end; such words may be names too.
    words = [*found.find({"TOP"})[:1], *found.find({"LIMIT", "FETCH"})[-3:]]
    for word in words:
        numbers = [
            token
            for token in found.tokens
            if token.start > word.start and token.text == str(limit)
        ]
        for number in numbers[:2]:
            changed = found.replaced(number.start, number.end + 1, str(rows))
            if found.if_same(changed, expect) is not None:
                return changed
    return None


def _appended(found: TopLevel, rows: int) -> str | None:
    from sqlglot import exp

    def expect(tree: exp.Expr) -> None:
        tree.set("limit", exp.Limit(expression=exp.Literal.number(rows)))

    changed = found.replaced(found.end, found.end, f"\nLIMIT {rows}")
    return found.if_same(changed, expect)


def _wrapped(found: TopLevel, rows: int) -> str:
    body = found.text(found.start, found.end)
    return f"SELECT * FROM (\n{body}\n) AS limited\nLIMIT {rows}"


def _with_top(found: TopLevel, rows: int) -> str | None:
    """T-SQL: TOP for a plain SELECT, OFFSET ... FETCH behind an ORDER BY."""
    from sqlglot import exp

    end = tail_start(found)
    before = found.text(found.start, end).rstrip()
    end = found.start + len(before)
    fetch = f"FETCH NEXT {rows} ROWS ONLY"
    if found.tree.args.get("offset") is not None:
        changed = found.replaced(end, end, f" {fetch}")
    elif isinstance(found.tree, exp.Select):
        place = _after_select(found)
        if place is None:
            return None
        changed = found.replaced(place, place, f" TOP ({rows})")
    elif found.tree.args.get("order") is not None:
        changed = found.replaced(end, end, f" OFFSET 0 ROWS {fetch}")
    else:
        # A set operation can only be cut in some order; it asked for none.
        changed = found.replaced(end, end, f" ORDER BY 1 OFFSET 0 ROWS {fetch}")
    spec = order_keys(changed, found.dialect)
    return changed if spec is not None and spec.limit == rows else None


def _after_select(found: TopLevel) -> int | None:
    """The place behind SELECT, or SELECT DISTINCT, where TOP stands."""
    place: int | None = None
    before = ""
    for token in found.top:
        kind = token.token_type.name
        if kind == "SELECT" or (kind in {"DISTINCT", "ALL"} and before == "SELECT"):
            place = token.end + 1
        before = kind
    return place
