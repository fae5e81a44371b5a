"""Which columns a statement reads, and whether given fields occur in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from pytest_dataeval.sql.calls import called_functions, node_names
from pytest_dataeval.sql.levels import Level, Reading, read_levels
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
from pytest_dataeval.sql.remember import remembered
from pytest_dataeval.sql.resolve import WHOLE_ROW, Resolver, Schema
from pytest_dataeval.sql.tables import base_tables, table_parts

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.tokenizer_core import Token


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
    """Columns of real tables that `sql` reads; None if it cannot be made out.

    `schema` maps `schema.table` to `{column: type}`. A star, a row used as a
    value, COLUMNS(...) and PIVOT read `*`; `count(*)` and EXISTS (SELECT *)
    read nothing. A name that several tables may have is read from each of them.
    """
    readings = _readings(sql, dialect)
    if readings is None:
        return None
    resolver = Resolver(schema, dialect, default_schema)
    found: set[ColumnRef] = set()
    for _, reading, tables in readings:
        found |= _columns_of(reading, tables, resolver, default_schema)
    return frozenset(found)


@remembered(256)
def _readings(
    sql: str, dialect: str
) -> tuple[tuple[exp.Expr, Reading, list[exp.Table]], ...] | None:
    """Each statement with its levels and tables; None if they cannot be read."""
    from sqlglot import exp

    statements = parse_all(sql, dialect)
    if isinstance(statements, Unparsable):
        return None
    if any(isinstance(statement, exp.Command) for statement in statements):
        return None
    found = []
    for statement in statements:
        reading = read_levels(statement, dialect)
        if reading.is_too_wide:
            return None
        found.append((statement, reading, base_tables(statement, dialect)))
    return tuple(found)


def _columns_of(
    reading: Reading,
    tables: list[exp.Table],
    resolver: Resolver,
    default_schema: str | None,
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
    for table in tables:
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
        wanted = parse_field(entry)
        seen = "unchecked" if wanted is None else search.find(wanted)
        if seen is not None:
            found[seen].append(entry)
    return FieldHits(
        tuple(found["hit"]), tuple(found["leaf"]), tuple(found["unchecked"])
    )


@dataclass(frozen=True, slots=True)
class _Search:
    """The mentions of a statement; `trees` and `by_node` only if it was parsed."""

    mentions: frozenset[str]
    trees: tuple[exp.Expr, ...] = ()
    by_node: Mapping[int, frozenset[str]] = field(default_factory=dict)

    def find(self, wanted: Field) -> Occurrence | Literal["unchecked"] | None:
        if not (wanted.function and wanted.path):
            return occurrence(wanted, self.mentions)
        if not self.trees:
            return "unchecked"
        return occurrence(Field(path=wanted.path), self._inside(wanted.function))

    def _inside(self, function: str) -> set[str]:
        """Mentions in the arguments of a function."""
        from sqlglot import exp

        found: set[str] = set()
        stack = [(tree, False) for tree in self.trees]
        while stack:
            node, inside = stack.pop()
            inside = inside or (
                isinstance(node, exp.Func) and function in node_names(node)
            )
            if inside:
                found |= self.by_node.get(id(node), frozenset())
            stack.extend((child, inside) for child in node.iter_expressions())
        return found


@remembered(256)
def _search(sql: str, dialect: str) -> _Search:
    found = tokens(sql, dialect) if len(sql) <= MAX_LENGTH else None
    if found is None:
        code = code_only(sql, dialect, slash_comments=True)
        return _Search(mentions_in_code(code))
    parsed = _search_parsed(sql, dialect, found)
    return parsed or _Search(mentions_in_tokens(found))


def _search_parsed(sql: str, dialect: str, found: tuple[Token, ...]) -> _Search | None:
    readings = _readings(sql, dialect)
    if readings is None:
        return None
    statements = tuple(statement for statement, _, _ in readings)
    mentions = {f"{name}()" for name in called_functions(found, statements)}
    by_node: dict[int, frozenset[str]] = {}
    resolver = Resolver(None, dialect)
    for _, reading, tables in readings:
        for use in reading.uses:
            by_node[id(use.node)] = mentions_of(use, resolver)
        mentions.update(".".join(table_parts(table)) for table in tables)
    mentions.update(*by_node.values())
    return _Search(frozenset(mentions), statements, by_node)
