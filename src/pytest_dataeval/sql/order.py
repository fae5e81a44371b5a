"""The order that a query asks for, and its text with the order made visible.

Ordered comparison needs the keys that rows were sorted by, even those that are
not selected, and at a LIMIT the rows that were cut off although they tie.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_dataeval.sql.levels import is_open, output_name
from pytest_dataeval.sql.parse import deep_recursion, quiet
from pytest_dataeval.sql.remember import remembered
from pytest_dataeval.sql.toplevel import TopLevel, top_level

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.tokenizer_core import Token

ORDER_COLUMN = "dataeval_order_"

_AFTER_SELECT_LIST = frozenset(
    {
        "FROM",
        "WHERE",
        "GROUP_BY",
        "HAVING",
        "QUALIFY",
        "WINDOW",
        "ORDER_BY",
        "LIMIT",
        "OFFSET",
        "FETCH",
    }
)
_LIMITS = frozenset({"LIMIT", "OFFSET", "FETCH"})

# Each place that an edit is tried at costs a parse, and such words may be names.
_MOST_TRIES = 6


@dataclass(frozen=True, slots=True)
class OrderKey:
    """One key. `index` is its output column, from 0, or None if it is not selected.

    `nulls_first` is what the engine does, whether written or by default.
    """

    index: int | None
    expression: str
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class OrderSpec:
    """The outermost ORDER BY and how its rows are cut.

    `limit` and `offset` are numbers of rows, None where there is none or it is
    no plain number; `is_limited` tells the two apart.
    """

    keys: tuple[OrderKey, ...]
    limit: int | None
    offset: int | None
    is_limited: bool
    with_ties: bool


@remembered(256)
def order_keys(sql: str, dialect: str) -> OrderSpec | None:
    """The order of the single query in `sql`; None if it cannot be made out."""
    from sqlglot import exp

    found = top_level(sql, dialect)
    if found is None:
        return None
    keys = _keys(found)
    if keys is None:
        return None
    limit = found.tree.args.get("limit")
    offset = found.tree.args.get("offset")
    options = limit.args.get("limit_options") if limit is not None else None
    percent = options is not None and bool(options.args.get("percent"))
    count = None
    if isinstance(limit, exp.Limit):
        count = _plain_number(limit.expression)
    elif isinstance(limit, exp.Fetch):
        count = _plain_number(limit.args.get("count"))
    return OrderSpec(
        keys,
        None if percent else count,
        _plain_number(offset.expression) if offset is not None else None,
        limit is not None or offset is not None,
        options is not None and bool(options.args.get("with_ties")),
    )


def with_order_keys(sql: str, dialect: str) -> str | None:
    """The statement with every unselected order key as an output at the end.

    They are named `dataeval_order_1`, ... in the order of the keys whose index
    is None. Unchanged if there are none; None if they cannot be added, as under
    DISTINCT and around a set operation.
    """
    from sqlglot import exp

    found = top_level(sql, dialect)
    keys = _keys(found) if found is not None else None
    if found is None or keys is None:
        return None
    if all(key.index is not None for key in keys):
        return sql
    if not isinstance(found.tree, exp.Select):
        return None
    distinct = found.tree.args.get("distinct")
    if distinct is not None and not distinct.args.get("on"):
        return None
    texts = _key_texts(found)
    if len(texts) != len(keys):
        return None
    added = [text for text, key in zip(texts, keys, strict=True) if key.index is None]
    columns = ", ".join(
        f"{text} AS {ORDER_COLUMN}{number}" for number, text in enumerate(added, 1)
    )

    def expect(tree: exp.Expr) -> None:
        items = [
            ordered.this
            for ordered, key in zip(tree.args["order"].expressions, keys, strict=True)
            if key.index is None
        ]
        for number, item in enumerate(items, 1):
            name = exp.to_identifier(f"{ORDER_COLUMN}{number}")
            tree.append("expressions", exp.Alias(this=item.copy(), alias=name))

    selects = found.find({"SELECT"})
    if not selects:
        changed = found.replaced(
            found.top[0].start, found.top[0].start, f"SELECT *, {columns} "
        )
        return found.if_same(changed, expect)
    for place in _list_ends(found, selects[0]):
        changed = found.replaced(place, place, f", {columns}")
        if found.if_same(changed, expect) is not None:
            return changed
    return None


def without_limit(sql: str, dialect: str) -> str | None:
    """The statement without its outermost LIMIT, OFFSET, FETCH and TOP.

    Unchanged if it has none; None if they cannot be taken out.
    """
    found = top_level(sql, dialect)
    if found is None:
        return None
    if not (found.tree.args.get("limit") or found.tree.args.get("offset")):
        return sql

    def expect(tree: exp.Expr) -> None:
        tree.set("limit", None)
        tree.set("offset", None)

    for first in found.find(_LIMITS)[-_MOST_TRIES:]:
        end = tail_start(found, first)
        changed = found.replaced(first.start, end, "")
        if found.if_same(changed, expect) is not None:
            return changed
    for top in found.find({"TOP"})[:1]:
        behind = [token for token in found.top if token.start > top.start]
        for last in behind[:_MOST_TRIES]:
            changed = found.replaced(top.start, last.end + 1, "")
            if found.if_same(changed, expect) is not None:
                return changed
    return None


def tail_start(found: TopLevel, after: Token | None = None) -> int:
    """Where T-SQL's closing OPTION clause starts, or else the end of the query."""
    place = after.start if after is not None else -1
    if found.dialect in {"tsql", "fabric"}:
        for token, following in zip(found.top, found.top[1:], strict=False):
            is_option = token.text.lower() == "option" and following.text == "("
            if is_option and token.start > place:
                return token.start
    return found.end


def _plain_number(node: exp.Expr | None) -> int | None:
    from sqlglot import exp

    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Literal) and node.is_int:
        return int(node.name)
    return None


def _keys(found: TopLevel) -> tuple[OrderKey, ...] | None:
    from sqlglot import exp

    order = found.tree.args.get("order")
    if order is None:
        return ()
    outputs = _first_select(found.tree)
    projections = outputs.expressions if outputs is not None else []
    keys: list[OrderKey] = []
    for ordered in order.expressions:
        descending = bool(ordered.args.get("desc"))
        nulls_first = bool(ordered.args.get("nulls_first"))
        if isinstance(ordered.this, exp.Var) and ordered.this.name.upper() == "ALL":
            if not projections or any(is_open(item) for item in projections):
                return None
            keys += [
                OrderKey(index, _text(item.unalias(), found), descending, nulls_first)
                for index, item in enumerate(projections)
            ]
            continue
        keys.append(
            OrderKey(
                _index(ordered.this, projections, found),
                _text(ordered.this, found),
                descending,
                nulls_first,
            )
        )
    return tuple(keys)


def _first_select(tree: exp.Expr) -> exp.Select | None:
    from sqlglot import exp

    while isinstance(tree, exp.SetOperation | exp.Subquery):
        tree = tree.this
    return tree if isinstance(tree, exp.Select) else None


def _index(key: exp.Expr, projections: list[exp.Expr], found: TopLevel) -> int | None:
    """The output column that a key means: by number, name, or as an expression."""
    from sqlglot import exp

    number = _plain_number(key)
    if number:
        return number - 1
    bare = isinstance(key, exp.Column) and not key.table
    text = _text(key, found)
    by_name = [
        index
        for index, item in enumerate(projections)
        if bare and output_name(item) == key.name.lower()
    ]
    by_text = [
        index
        for index, item in enumerate(projections)
        if _text(item.unalias(), found) == text
    ]
    for index in [*by_name, *by_text]:
        # Behind a star, the place of a column is not known.
        if not any(is_open(item) for item in projections[:index]):
            return index
    return None


def _text(node: exp.Expr, found: TopLevel) -> str:
    try:
        with deep_recursion(), quiet():
            return node.sql(found.dialect, comments=False)
    # Printing has holes of its own: then the expression equals no other.
    except Exception:
        return f"unprintable {id(node)}"


def _key_texts(found: TopLevel) -> list[str]:
    """The order expressions as written, without direction and NULLS."""
    order = found.find({"ORDER_BY"})
    if not order:
        return []
    start = order[-1].end + 1
    ends = [token.start for token in found.find(_LIMITS, start)]
    end = min([*ends, tail_start(found, order[-1])])
    commas = [t.start for t in found.find({"COMMA"}, start) if t.start < end]
    texts: list[str] = []
    for left, right in zip(
        [start, *[c + 1 for c in commas]], [*commas, end], strict=True
    ):
        inside = [t for t in found.top if left <= t.start < right]
        while inside and inside[-1].text.lower() in {"asc", "desc"}:
            inside.pop()
        if len(inside) > 2 and inside[-2].text.lower() == "nulls":
            inside = inside[:-2]
        while inside and inside[-1].text.lower() in {"asc", "desc"}:
            inside.pop()
        if not inside:
            return []
        texts.append(found.text(inside[0].start, inside[-1].end + 1))
    return texts


def _list_ends(found: TopLevel, select: Token) -> list[int]:
    """Places that may be the end of the select list, the likeliest first."""
    places: list[int] = []
    before = select
    for token in found.top:
        if token.start <= select.start:
            continue
        if token.token_type.name in _AFTER_SELECT_LIST:
            places.append(before.end + 1)
        before = token
    return [*places[:_MOST_TRIES], tail_start(found, select)]
