"""Which fields reach which output column, and which decide about the rows.

A forbidden field that only reaches a column nobody asked for does less harm
than one in a filter; this is what tells the two apart.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from pytest_dataeval.sql.calls import node_names
from pytest_dataeval.sql.levels import (
    Level,
    Reading,
    Source,
    Use,
    output_name,
    read_levels,
)
from pytest_dataeval.sql.mentions import mentions_of, occurrence, parse_field
from pytest_dataeval.sql.parse import Unparsable, deep_recursion, parse_one
from pytest_dataeval.sql.resolve import WHOLE_ROW, Resolver
from pytest_dataeval.sql.tables import table_parts

if TYPE_CHECKING:
    from sqlglot import exp

Fields = frozenset[str]

# Stars over stars double the columns with every CTE.
_MOST_COLUMNS = 2_000


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """One output column and the mentions that reach it (see `mentions`).

    The name is lower-case, empty if the engine makes one up, and `*` where a
    star over a table stands for columns that are not known.
    """

    name: str
    fields: Fields


@dataclass(frozen=True, slots=True)
class Outputs:
    """Output columns in order, and the fields that decide about rows and order:
    those in WHERE, JOIN, GROUP BY, HAVING, QUALIFY, ORDER BY, DISTINCT ON."""

    columns: tuple[OutputColumn, ...]
    non_output: Fields


def outputs(sql: str, dialect: str) -> Outputs | None:
    """Trace the single query in `sql`; None if it cannot be read as one."""
    from sqlglot import exp

    parsed = parse_one(sql, dialect)
    if isinstance(parsed, Unparsable):
        return None
    reading = read_levels(parsed.tree, dialect)
    main = parsed.tree.unnest()
    if not isinstance(main, exp.Select | exp.SetOperation) or reading.is_too_wide:
        return None
    trace = _Trace(reading, Resolver(None, dialect))
    try:
        with deep_recursion():
            columns = trace.columns_of(main)
            return Outputs(tuple(columns), trace.non_output(parsed.tree, columns))
    except RecursionError:  # thousands of CTEs, each over the one before
        return None


def output_fields(sql: str, dialect: str) -> list[OutputColumn] | None:
    """The output columns of the outermost query, each with what reaches it."""
    found = outputs(sql, dialect)
    return None if found is None else list(found.columns)


def non_output_fields(sql: str, dialect: str) -> Fields | None:
    """The fields that decide which rows come out, and in which order."""
    found = outputs(sql, dialect)
    return None if found is None else found.non_output


def occurs(entry: str, fields: Fields) -> bool:
    """Whether a field as written in a case is among `fields`, whole names only."""
    field = parse_field(entry)
    return field is not None and occurrence(field, fields) == "hit"


class _Trace:
    def __init__(self, reading: Reading, resolver: Resolver) -> None:
        self._reading = reading
        self._resolver = resolver
        self._level_of = {id(level.node): level for level in reading.levels}
        self._source_queries = {
            id(part)
            for level in reading.levels
            for source in level.sources
            if source.query is not None
            for part in _branches(source.query)
        }
        self._columns: dict[int, list[OutputColumn]] = {}
        self._open: set[int] = set()
        self._uses: dict[tuple[int, str, int], list[Use]] = defaultdict(list)
        for use in reading.uses:
            self._uses[self._home(use)].append(use)

    def _home(self, use: Use) -> tuple[int, str, int]:
        """The place in the main query, or in one of a FROM, that a use belongs to.

        A subquery in an expression belongs to the expression as a whole.
        """
        level, clause, index = use.level, use.clause, use.index
        while not self._is_source(level):
            outer = level.parent
            if outer is None or outer.parent is None:
                break
            level, clause, index = outer, level.clause, level.index
        return id(level), clause, index

    def _is_source(self, level: Level) -> bool:
        return id(level.node) in self._source_queries

    def columns_of(self, query: exp.Expr) -> list[OutputColumn]:
        """Output columns of a query; branches of a set operation are merged."""
        if id(query) in self._open:
            return []  # a recursive CTE reads itself: its start has said it all
        if id(query) not in self._columns:
            self._open.add(id(query))
            self._columns[id(query)] = self._merged(query)
            self._open.discard(id(query))
        return self._columns[id(query)]

    def _merged(self, query: exp.Expr) -> list[OutputColumn]:
        from sqlglot import exp

        branches = [
            list(
                islice(
                    self._select_columns(self._level_of[id(select)]), _MOST_COLUMNS + 1
                )
            )
            for select in _branches(query)
            if isinstance(select, exp.Select) and id(select) in self._level_of
        ]
        if not branches:
            return [OutputColumn("*", frozenset({"*"}))]
        first, *others = branches
        if len(first) > _MOST_COLUMNS:
            fields = frozenset[str]().union(*(column.fields for column in first))
            return [OutputColumn("*", fields)]
        return [
            OutputColumn(
                column.name,
                column.fields.union(
                    *(b[at].fields for b in others if at < len(b)),
                ),
            )
            for at, column in enumerate(first)
        ]

    def _select_columns(self, level: Level) -> Iterator[OutputColumn]:
        for index, projection in enumerate(level.node.expressions):
            inner = projection.unalias()
            if inner.is_star:
                yield from self._star(level, inner)
                continue
            fields = self._fields_at(level, "expressions", index)
            yield OutputColumn(
                output_name(projection),
                fields | _functions(projection, self._source_queries),
            )

    def _star(self, level: Level, node: exp.Expr) -> Iterator[OutputColumn]:
        from sqlglot import exp

        star = node.this if isinstance(node, exp.Column) else node
        wanted = node.table.lower() if isinstance(node, exp.Column) else ""
        left_out = {name.name.lower() for name in star.args.get("except_") or ()}
        for source in level.sources:
            if wanted and source.alias != wanted:
                continue
            for column in self._source_columns(source):
                if column.name not in left_out:
                    yield column

    def _source_columns(self, source: Source) -> list[OutputColumn]:
        if source.table is not None:
            name = ".".join(table_parts(source.table))
            return [OutputColumn("*", frozenset({f"{name}.*"}))]
        if source.query is None:
            named = [OutputColumn(name, frozenset()) for name in source.renamed]
            return named or [OutputColumn("*", frozenset())]
        columns = self.columns_of(source.query)
        renamed = [
            OutputColumn(name, column.fields)
            for name, column in zip(source.renamed, columns, strict=False)
        ]
        return renamed + columns[len(renamed) :]

    def _fields_at(self, level: Level, clause: str, index: int) -> Fields:
        uses = self._uses.get((id(level), clause, index), [])
        return frozenset[str]().union(*(self._reach(use) for use in uses))

    def _reach(self, use: Use) -> Fields:
        """What a name stands for in the end: through aliases and queries."""
        found = set(mentions_of(use, self._resolver))
        sources = self._resolver.sources_of(use)
        for source, column in sources:
            if source.query is None:
                continue
            columns = self._source_columns(source)
            named = [output for output in columns if output.name == column]
            if not named:
                named = [output for output in columns if output.name in {"", "*"}]
            for output in columns if column == WHOLE_ROW else named:
                found |= output.fields
        name = use.node.name.lower()
        if not sources and name in use.level.aliases:
            found |= self._alias(use.level, name)
        return frozenset(found)

    def _alias(self, level: Level, name: str) -> Fields:
        found: set[str] = set()
        for index, projection in enumerate(level.node.expressions):
            key = id(projection)
            if projection.alias.lower() != name or key in self._open:
                continue
            self._open.add(key)
            found |= self._fields_at(level, "expressions", index)
            found |= _functions(projection, self._source_queries)
            self._open.discard(key)
        return frozenset(found)

    # ------------------------------------------------------- rows and their order

    def non_output(self, tree: exp.Expr, columns: list[OutputColumn]) -> Fields:
        from sqlglot import exp

        found: set[str] = set()
        main = {id(part) for part in _branches(tree)}
        for (_, clause, _), uses in self._uses.items():
            if clause != "expressions":
                found = found.union(*(self._reach(use) for use in uses))
        for level in self._reading.levels:
            if not isinstance(level.node, exp.Select):
                continue
            if id(level.node) in main or self._is_source(level):
                found |= self._by_position(level)
        for order in _outer_orders(tree):
            found |= _ordered_outputs(order, columns)
        return frozenset(found)

    def _by_position(self, level: Level) -> Fields:
        """Fields that GROUP BY and ORDER BY name by number, by ALL, or call on."""
        from sqlglot import exp

        found: set[str] = set()
        columns = list(islice(self._select_columns(level), _MOST_COLUMNS))
        group = level.node.args.get("group")
        if isinstance(group, exp.Group):
            found |= _ordered_outputs(group, columns)
            if group.args.get("all"):
                keys = [
                    column.fields
                    for column, projection in zip(
                        columns, level.node.expressions, strict=False
                    )
                    if projection.find(exp.AggFunc) is None
                ]
                found = found.union(*keys)
        order = level.node.args.get("order")
        if isinstance(order, exp.Order):
            found |= _ordered_outputs(order, columns)
        for clause, value in level.node.args.items():
            if clause == "expressions":
                continue
            for item in value if isinstance(value, list) else [value]:
                if isinstance(item, exp.Expr) and not isinstance(item, exp.With):
                    found |= _functions(item, self._source_queries)
        return frozenset(found)


def _branches(query: exp.Expr) -> list[exp.Expr]:
    """A query without its brackets; the branches of a set operation, in order."""
    from sqlglot import exp

    found: list[exp.Expr] = []
    stack = [query]
    while stack:
        node = stack.pop()
        if isinstance(node, exp.Subquery):
            stack.append(node.this)
        elif isinstance(node, exp.SetOperation):
            stack += [node.expression, node.this]
        else:
            found.append(node)
    return found


def _functions(node: exp.Expr, pruned: set[int]) -> Fields:
    """Functions called in an expression, not in the queries of a FROM."""
    from sqlglot import exp

    found: set[str] = set()
    stack = [node]
    while stack:
        child = stack.pop()
        if id(child) in pruned:
            continue
        if isinstance(child, exp.Func) and not isinstance(child, exp.Connector):
            found |= {f"{name}()" for name in node_names(child)}
        stack.extend(child.iter_expressions())
    return frozenset(found)


def _outer_orders(tree: exp.Expr) -> Iterator[exp.Expr]:
    """ORDER BY clauses around the branches of a set operation, or of brackets."""
    from sqlglot import exp

    node: exp.Expr = tree
    while isinstance(node, exp.Subquery | exp.SetOperation):
        order = node.args.get("order")
        if isinstance(order, exp.Order):
            yield order
        if isinstance(node, exp.SetOperation):
            return
        node = node.this


def _ordered_outputs(clause: exp.Expr, columns: list[OutputColumn]) -> Fields:
    """Fields of the output columns that a clause names by number or by name."""
    from sqlglot import exp

    found: set[str] = set()
    for item in clause.expressions:
        key = item.this if isinstance(item, exp.Ordered) else item
        if isinstance(key, exp.Literal) and key.is_int:
            position = int(key.name) - 1
            if 0 <= position < len(columns):
                found |= columns[position].fields
        elif isinstance(key, exp.Column):
            found = found.union(
                *(c.fields for c in columns if c.name == key.name.lower())
            )
        elif isinstance(key, exp.Var) and key.name.upper() == "ALL":
            found = found.union(*(column.fields for column in columns))
    return frozenset(found)
