"""Which columns a statement reads, and whether given fields occur in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_dataeval.sql.calls import called_functions, node_names
from pytest_dataeval.sql.levels import Level, read_levels
from pytest_dataeval.sql.lex import code_only
from pytest_dataeval.sql.mentions import (
    Field,
    Occurrence,
    mentions_in_code,
    mentions_in_tokens,
    mentions_of,
    occurrence,
    parse_field,
)
from pytest_dataeval.sql.parse import MAX_LENGTH, Unparsable, parse_all, tokens
from pytest_dataeval.sql.resolve import WHOLE_ROW, Resolver, Schema
from pytest_dataeval.sql.tables import base_tables, table_parts

if TYPE_CHECKING:
    from sqlglot import exp


@dataclass(frozen=True, slots=True, order=True)
class ColumnRef:
    """A column that is read; `*` is every column of the table.

    `table` is the name in the schema where it is known there, else as written;
    lower case. None: no table in the statement can have the column.
    """

    table: str | None
    column: str


def columns_read(
    sql: str,
    dialect: str,
    schema: Schema | None = None,
    *,
    default_schema: str | None = None,
) -> frozenset[ColumnRef] | None:
    """Columns of real tables that `sql` reads; None if it cannot be parsed.

    `schema` maps `schema.table` to `{column: type}`. A star, a row used as a
    value, COLUMNS(...) and PIVOT read `*`; `count(*)` and EXISTS (SELECT *)
    read nothing. A name that several tables may have is read from each of them.
    """
    from sqlglot import exp

    statements = parse_all(sql, dialect)
    if isinstance(statements, Unparsable):
        return None
    if any(isinstance(statement, exp.Command) for statement in statements):
        return None
    resolver = Resolver(schema, dialect, default_schema)
    return frozenset(
        ref
        for statement in statements
        for ref in _columns_of(statement, dialect, resolver, default_schema)
    )


def _columns_of(
    tree: exp.Expr, dialect: str, resolver: Resolver, default_schema: str | None
) -> set[ColumnRef]:
    from sqlglot import exp

    found: set[ColumnRef] = set()

    def add(table: exp.Table, column: str, *, renamed: bool = False) -> None:
        names = resolver.table_names(table) or (
            ".".join(table_parts(table, default_schema)),
        )
        # `t AS x(a, b)` gives the columns other names: which one is a guess.
        found.update(
            ColumnRef(name, WHOLE_ROW if renamed else column) for name in names
        )

    reading = read_levels(tree, dialect)
    for use in reading.uses:
        sources = resolver.sources_of(use)
        for source, column in sources:
            if source.table is not None:
                add(source.table, column, renamed=bool(source.renamed))
        if not sources and _is_stray(use.node, use.level):
            found.add(ColumnRef(None, use.node.name.lower()))

    known: set[int] = set()
    for level in reading.levels:
        pivots = isinstance(level.node, exp.Pivot)
        for source in level.sources:
            if source.table is None:
                continue
            known.add(id(source.table))
            if pivots or source.table.args.get("pivots"):
                add(source.table, WHOLE_ROW)
    for table in base_tables(tree, dialect):
        if id(table) not in known:
            add(table, WHOLE_ROW)
    return found


def _is_stray(node: exp.Expr, level: Level) -> bool:
    """Whether a name belongs to no table, no output and no alias in sight."""
    from sqlglot import exp

    return (
        isinstance(node, exp.Column)
        and not isinstance(node.this, exp.Star)
        and not level.outputs_only
        and node.name.lower() not in level.aliases
    )


@dataclass(frozen=True, slots=True)
class FieldHits:
    """Which of the given fields occur; each is in at most one of the three.

    `leaf_hits`: only the bare last name of a dotted path occurs, which may be
    another table's column, so it decides nothing. `unchecked`: prose, or a call
    in a statement that cannot be parsed. A field in none of them is absent.
    """

    hits: tuple[str, ...] = ()
    leaf_hits: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()


def field_hits(sql: str, dialect: str, entries: Sequence[str]) -> FieldHits:
    """Look for fields in the code of `sql`, blind to comments and strings.

    An entry is an identifier, a dotted path, or a call (`YEAR(...)`); case does
    not matter, whole names do. An alias that a query gives is no field; what it
    stands for is. Text that cannot be parsed is read by its tokens, and without
    those by its words. Empty text leaves every entry unchecked.
    """
    if not code_only(sql, dialect).strip():
        return FieldHits(unchecked=tuple(entries))
    search = _search(sql, dialect)
    found: dict[str, list[str]] = {"hit": [], "leaf": [], "unchecked": []}
    for entry in entries:
        field = parse_field(entry)
        seen = "unchecked" if field is None else search.find(field)
        if seen is not None:
            found[seen].append(entry)
    return FieldHits(
        tuple(found["hit"]), tuple(found["leaf"]), tuple(found["unchecked"])
    )


@dataclass(frozen=True, slots=True)
class _Search:
    """The mentions of a statement; `inside` those under each call, if parsed."""

    mentions: frozenset[str]
    inside: tuple[tuple[frozenset[str], frozenset[str]], ...] | None

    def find(self, field: Field) -> Occurrence | str | None:
        if not (field.function and field.path):
            return occurrence(field, self.mentions)
        if self.inside is None:
            return "unchecked"
        under = frozenset(
            mention
            for names, mentions in self.inside
            if field.function in names
            for mention in mentions
        )
        return occurrence(Field(path=field.path), under)


def _search(sql: str, dialect: str) -> _Search:
    from sqlglot import exp

    statements = parse_all(sql, dialect)
    found = tokens(sql, dialect) if len(sql) <= MAX_LENGTH else None
    if (
        isinstance(statements, Unparsable)
        or found is None
        or any(isinstance(statement, exp.Command) for statement in statements)
    ):
        if found is not None:
            return _Search(mentions_in_tokens(found), None)
        code = code_only(sql, dialect, slash_comments=True)
        return _Search(mentions_in_code(code), None)

    mentions = {f"{name}()" for name in called_functions(found, statements)}
    inside: list[tuple[frozenset[str], frozenset[str]]] = []
    resolver = Resolver(None, dialect)
    for tree in statements:
        by_node = {
            id(use.node): mentions_of(use, resolver)
            for use in read_levels(tree, dialect).uses
        }
        mentions.update(*by_node.values())
        mentions.update(".".join(table_parts(t)) for t in base_tables(tree, dialect))
        for call in tree.find_all(exp.Func):
            if isinstance(call, exp.Connector):
                continue
            under = frozenset[str]().union(
                *(by_node.get(id(node), frozenset()) for node in call.walk())
            )
            inside.append((frozenset(node_names(call)), under))
    return _Search(frozenset(mentions), tuple(inside))
