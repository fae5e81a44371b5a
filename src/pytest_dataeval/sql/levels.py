"""A statement as levels: every query with its sources, and where names are used.

A level is one SELECT (or PIVOT, or the ORDER BY around a set operation) with
what stands in its FROM. Names are resolved from the inside out, as engines do,
but never to less than the engine might read: in doubt a name belongs to every
candidate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_dataeval.sql.ctes import Visible, open_with

if TYPE_CHECKING:
    from sqlglot import exp

_MOST_PAIRS = 1_000_000


@dataclass(slots=True, eq=False)
class Source:
    """One item of a FROM clause: a real table, a query, or something opaque.

    `renamed` are the column names in `t AS x(a, b)`.
    """

    alias: str
    table: exp.Table | None = None
    query: exp.Expr | None = None
    renamed: tuple[str, ...] = ()


@dataclass(slots=True, eq=False)
class Level:
    """One query. `outputs_only`: names here mean output columns, not sources.

    `aliases` are the names that its own select list gives (`expr AS name`).
    `clause` and `index` say where the query stands in its parent.
    """

    node: exp.Expr
    parent: Level | None
    clause: str = ""
    index: int = 0
    sources: list[Source] = field(default_factory=list)
    aliases: frozenset[str] = frozenset()
    outputs_only: bool = False

    def and_outer(self) -> Iterator[Level]:
        level: Level | None = self
        while level is not None:
            yield level
            level = level.parent


@dataclass(frozen=True, slots=True, eq=False)
class Use:
    """A node that reads columns, and where it stands.

    The node is a Column, Star, Columns or PositionalColumn, the Identifier of a
    USING, or a NATURAL Join. `clause` is the argument of the level's node that
    holds it, `index` the place in the select list.
    """

    node: exp.Expr
    level: Level
    clause: str
    index: int


@dataclass(frozen=True, slots=True)
class Reading:
    """All levels and uses of a statement, outermost level first."""

    levels: tuple[Level, ...]
    uses: tuple[Use, ...]

    @property
    def is_too_wide(self) -> bool:
        """Whether resolving each name against each source would take minutes."""
        widest = max((len(level.sources) for level in self.levels), default=0)
        return len(self.uses) * widest > _MOST_PAIRS


@dataclass(frozen=True, slots=True)
class _Place:
    visible: Visible
    level: Level
    clause: str = ""
    index: int = 0


def read_levels(tree: exp.Expr, dialect: str) -> Reading:
    """Walk a statement once, without recursion: chains of AND can be very long."""
    from sqlglot import exp

    root = Level(tree, None, outputs_only=True)
    levels: list[Level] = []
    uses: list[Use] = []
    stack: list[tuple[exp.Expr, _Place]] = [(tree, _Place(Visible(), root))]
    while stack:
        node, place = stack.pop()
        if isinstance(node, exp.With | exp.TableAlias | exp.Into | exp.Lock):
            continue
        opened, visible = open_with(node, place.visible, dialect)
        for cte, seen in opened:
            stack.append((cte.this, _Place(seen, place.level)))
        if isinstance(node, exp.Select) or _is_pivot_statement(node):
            level = Level(node, place.level, place.clause, place.index)
            level.sources = _sources(node, visible, dialect)
            level.aliases = frozenset(
                projection.alias.lower()
                for projection in node.expressions
                if isinstance(projection, exp.Alias)
            )
            levels.append(level)
            stack.extend(_children(node, visible, level))
            continue
        if isinstance(node, exp.SetOperation):
            outputs = Level(
                node, place.level, place.clause, place.index, outputs_only=True
            )
            levels.append(outputs)
            for child, inner in _children(node, visible, outputs):
                if inner.clause in {"this", "expression"}:
                    inner = _Place(visible, place.level, place.clause, place.index)
                stack.append((child, inner))
            continue
        if isinstance(node, exp.Subquery) and node.args.get("order"):
            outputs = Level(node, place.level, outputs_only=True)
            stack.append((node.args["order"], _Place(visible, outputs, clause="order")))
        if _reads_columns(node):
            uses.append(Use(node, place.level, place.clause, place.index))
        if isinstance(node, exp.Join):
            for name in node.args.get("using") or ():
                uses.append(Use(name, place.level, place.clause, place.index))
        for child in _inner(node):
            stack.append(
                (child, _Place(visible, place.level, place.clause, place.index))
            )
    return Reading(tuple(levels), tuple(uses))


def _children(
    node: exp.Expr, visible: Visible, level: Level
) -> Iterator[tuple[exp.Expr, _Place]]:
    from sqlglot import exp

    for clause, value in node.args.items():
        items = value if isinstance(value, list) else [value]
        for index, item in enumerate(items):
            if isinstance(item, exp.Expr):
                yield item, _Place(visible, level, clause, index)


def _is_pivot_statement(node: exp.Expr) -> bool:
    from sqlglot import exp

    return isinstance(node, exp.Pivot) and node.this is not None


def _reads_columns(node: exp.Expr) -> bool:
    from sqlglot import exp

    if isinstance(node, exp.Star):
        # The star of `t.*` is told by its Column.
        return not isinstance(node.parent, exp.Count | exp.Column)
    if isinstance(node, exp.Join):
        return str(node.args.get("method", "")).upper() == "NATURAL"
    return isinstance(node, exp.Column | exp.Columns | exp.PositionalColumn)


def _inner(node: exp.Expr) -> Iterator[exp.Expr]:
    """The children that can use names, less those that only take names away."""
    from sqlglot import exp

    if isinstance(node, exp.Column):
        if isinstance(node.this, exp.Star):
            yield from node.this.args.get("replace") or ()
        return
    if isinstance(node, exp.Star):
        yield from node.args.get("replace") or ()
        return
    order = node.args.get("order") if isinstance(node, exp.Subquery) else None
    for child in node.iter_expressions():
        if child is not order:
            yield child


# --------------------------------------------------------------------- sources


def _sources(node: exp.Expr, visible: Visible, dialect: str) -> list[Source]:
    from sqlglot import exp

    if isinstance(node, exp.Pivot):
        return list(_items(node.this, visible, dialect))
    found: list[Source] = []
    from_ = node.args.get("from_")
    if isinstance(from_, exp.From):
        found += _items(from_.this, visible, dialect)
    for join in node.args.get("joins") or ():
        found += _items(join.this, visible, dialect)
    for lateral in node.args.get("laterals") or ():
        found += _items(lateral, visible, dialect)
    return found


def _items(item: exp.Expr, visible: Visible, dialect: str) -> Iterator[Source]:
    """The sources in one item of FROM, through brackets and nested joins."""
    from sqlglot import exp

    alias = item.alias_or_name.lower()
    renamed = tuple(name.lower() for name in item.alias_column_names)
    for join in item.args.get("joins") or ():
        yield from _items(join.this, visible, dialect)
    if isinstance(item, exp.Table):
        cte = visible.meant_by(item, dialect)
        if cte is not None:
            names = renamed or tuple(name.lower() for name in cte.alias_column_names)
            yield Source(alias, query=cte.this, renamed=names)
        elif isinstance(item.this, exp.Identifier | exp.Dot):
            yield Source(alias, table=item, renamed=renamed)
        else:
            yield Source(alias, renamed=renamed)
        return
    inner = item.this if isinstance(item, exp.Subquery | exp.Lateral) else None
    if isinstance(inner, exp.Subquery) and isinstance(item, exp.Lateral):
        inner = inner.this
    if isinstance(inner, exp.Table) or (
        isinstance(inner, exp.Subquery) and isinstance(item, exp.Subquery)
    ):
        # `(a JOIN b) AS z`: z stands for both, and their own names may show too.
        for source in _items(inner, visible, dialect):
            yield source
            if item.alias:
                yield Source(alias, source.table, source.query, renamed)
        return
    if isinstance(inner, exp.Query | exp.Pivot):
        yield Source(alias, query=inner, renamed=renamed)
    else:
        yield Source(alias, renamed=renamed)


def output_names(query: exp.Expr) -> list[str] | None:
    """Lower-case output names of a query; None if a star or the like hides them.

    A name that the engine makes up is empty: each engine has its own rule.
    """
    from sqlglot import exp

    while True:
        if isinstance(query, exp.Subquery) or (
            isinstance(query, exp.SetOperation) and not query.args.get("by_name")
        ):
            query = query.this
        else:
            break
    if not isinstance(query, exp.Select):
        return None
    if any(is_open(projection) for projection in query.expressions):
        return None
    return [output_name(projection) for projection in query.expressions]


def output_name(projection: exp.Expr) -> str:
    """The lower-case name that a statement itself gives to an output column."""
    from sqlglot import exp

    if isinstance(projection, exp.Alias | exp.Column):
        return projection.alias_or_name.lower()
    return ""


def is_open(projection: exp.Expr) -> bool:
    """Whether a projection can be more than one column, or one of unknown name."""
    from sqlglot import exp

    stack = [projection]
    while stack:
        node = stack.pop()
        if isinstance(
            node,
            exp.Star | exp.Columns | exp.PositionalColumn | exp.Explode | exp.Unnest,
        ):
            return True
        if not isinstance(node, exp.Query | exp.Count):
            stack.extend(node.iter_expressions())
    return False
