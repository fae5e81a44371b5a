"""From a name in a statement to the real columns that the engine may read.

The rule is fail-closed: a name that could mean a column of a real table is
taken to mean it. Only what surely means something else is let go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pytest_dataeval.sql.levels import Level, Source, Use, output_names
from pytest_dataeval.sql.lex import dialect_name
from pytest_dataeval.sql.tables import table_parts

if TYPE_CHECKING:
    from sqlglot import exp

WHOLE_ROW = "*"

Schema = Mapping[str, Mapping[str, str]]
ColumnOf = tuple[Source, str]

# Clauses in which a name may mean an alias of the same select list.
_ALIAS_CLAUSES = frozenset(
    {"expressions", "group", "having", "order", "qualify", "windows", "distinct"}
)


class Resolver:
    """Resolves uses against what is known of the tables.

    `schema` maps `schema.table` (more or fewer parts are fine) to its columns;
    a table that it does not name may have any column.
    """

    def __init__(
        self, schema: Schema | None, dialect: str, default_schema: str | None = None
    ) -> None:
        self._dialect = dialect_name(dialect)
        self._default_schema = default_schema
        self._tables = {
            tuple(name.lower().split(".")): frozenset(map(str.lower, columns))
            for name, columns in (schema or {}).items()
        }
        self._found: dict[int, tuple[str, ...]] = {}
        self._outputs: dict[int, frozenset[str] | None] = {}

    def table_names(self, table: exp.Table) -> tuple[str, ...]:
        """The tables of the schema that a reference can mean; none if unknown."""
        if id(table) not in self._found:
            parts = table_parts(table, self._default_schema)
            self._found[id(table)] = tuple(
                ".".join(known)
                for known in self._tables
                if known[-len(parts) :] == parts or parts[-len(known) :] == known
            )
        return self._found[id(table)]

    def columns(self, source: Source) -> frozenset[str] | None:
        """Names that a source surely has, an empty one for each that the engine
        makes up; None if it may have any others."""
        if source.table is not None:
            names = self.table_names(source.table)
            if source.renamed or not names:
                return None
            return frozenset().union(
                *(self._tables[tuple(name.split("."))] for name in names)
            )
        if source.query is None:
            return None
        if id(source) not in self._outputs:
            outputs = output_names(source.query)
            if outputs is not None:
                outputs[: len(source.renamed)] = source.renamed
            self._outputs[id(source)] = None if outputs is None else frozenset(outputs)
        return self._outputs[id(source)]

    def sources_of(self, use: Use) -> list[ColumnOf]:
        """Every (source, column) that a use may read; `*` is the whole row.

        Sources are real tables and queries alike; a query's columns lead on to
        uses inside it.
        """
        from sqlglot import exp

        node = use.node
        if isinstance(node, exp.Column):
            parts = [part.name.lower() for part in node.parts]
            if isinstance(node.this, exp.Star):
                return self._star_of(node.this, parts[:-1], use.level)
            if len(parts) == 1:
                return self._bare(parts[0], use)
            return self._qualified(parts, use.level)
        if isinstance(node, exp.Star):
            if _only_counts(node):
                return []
            return self._star(node, use.level.sources)
        if isinstance(node, exp.Columns):
            # Inside COLUMNS(* EXCLUDE ...) the star itself is a use.
            if node.this.is_star:
                return []
            return [(source, WHOLE_ROW) for source in use.level.sources]
        if isinstance(node, exp.Join):
            return self._natural(use.level)
        if isinstance(node, exp.PositionalColumn):
            return [(source, WHOLE_ROW) for source in use.level.sources]
        name = node.name.lower()
        return [
            (source, name)
            for source in use.level.sources
            if self.has(source, name) is not False
        ]

    def has(self, source: Source, name: str) -> bool | None:
        """Whether the source has the column; None if that is not known."""
        if name in source.renamed and source.table is None:
            return True
        columns = self.columns(source)
        if columns is None:
            return None
        return name in columns or (None if "" in columns else False)

    def _bare(self, name: str, use: Use) -> list[ColumnOf]:
        level = use.level
        if level.outputs_only:
            return []
        if _is_output_name(use, name):
            return []
        found, sure = self._unqualified(name, level)
        # In DuckDB a WHERE may use an alias as well.
        aliased = use.clause in _ALIAS_CLAUSES or (
            use.clause == "where" and self._dialect == "duckdb"
        )
        if not sure and aliased and name in level.aliases:
            return [(s, c) for s, c in found if self.has(s, c)]
        if not sure:
            found += self._whole_rows(name, level)
        return found

    def _unqualified(self, name: str, level: Level) -> tuple[list[ColumnOf], bool]:
        """Candidates from the inside out, up to the first sure one."""
        found: list[ColumnOf] = []
        for outer in level.and_outer():
            has = [(source, self.has(source, name)) for source in outer.sources]
            found += [(source, name) for source, it in has if it is not False]
            if any(it for _, it in has):
                return found, True
        return found, False

    def _whole_rows(self, name: str, level: Level) -> list[ColumnOf]:
        for outer in level.and_outer():
            rows = [(s, WHOLE_ROW) for s in outer.sources if s.alias == name]
            if rows:
                return rows
        return []

    def _qualified(self, parts: list[str], level: Level) -> list[ColumnOf]:
        for outer in level.and_outer():
            found = [
                self._known_column(source, column)
                for source in outer.sources
                for column in self._column_after_name(source, parts)
            ]
            if found:
                struct, _ = self._unqualified(parts[0], level)
                return found + [(s, c) for s, c in struct if self.has(s, c)]
        # No such source: a field of a column that holds a struct.
        return self._unqualified(parts[0], level)[0]

    def _known_column(self, source: Source, column: str) -> ColumnOf:
        # PostgreSQL reads `t.f` as f(t) where t has no column f.
        if self._dialect == "postgres" and self.has(source, column) is False:
            return source, WHOLE_ROW
        return source, column

    def _column_after_name(self, source: Source, parts: list[str]) -> Iterator[str]:
        if parts[0] == source.alias:
            yield parts[1]
        if source.table is None:
            return
        name = list(table_parts(source.table, self._default_schema))
        for length in (2, 3):
            if len(name) >= length and parts[:length] == name[-length:]:
                yield parts[length] if len(parts) > length else WHOLE_ROW

    def _star_of(
        self, star: exp.Star, qualifier: list[str], level: Level
    ) -> list[ColumnOf]:
        for outer in level.and_outer():
            named = [
                source
                for source in outer.sources
                if list(self._column_after_name(source, [*qualifier, WHOLE_ROW]))
            ]
            if named:
                return self._star(star, named)
        return self._unqualified(qualifier[0], level)[0]

    def _star(self, star: exp.Star, sources: list[Source]) -> list[ColumnOf]:
        left_out = {name.name.lower() for name in star.args.get("except_") or ()}
        found: list[ColumnOf] = []
        for source in sources:
            columns = self.columns(source) if left_out else None
            if columns is None:
                found.append((source, WHOLE_ROW))
            else:
                found += [(source, name) for name in sorted(columns - left_out)]
        return found

    def _natural(self, level: Level) -> list[ColumnOf]:
        """A NATURAL JOIN reads the columns that its sides have in common."""
        found: list[ColumnOf] = []
        for source in level.sources:
            columns = self.columns(source)
            others = [other for other in level.sources if other is not source]
            if columns is None:
                found.append((source, WHOLE_ROW))
            else:
                found += [
                    (source, name)
                    for name in sorted(columns)
                    if any(self.has(other, name) is not False for other in others)
                ]
        return found


def _is_output_name(use: Use, name: str) -> bool:
    """Whether a use is an ORDER BY item that is the name of an output column."""
    from sqlglot import exp

    return (
        use.clause == "order"
        and isinstance(use.node.parent, exp.Ordered)
        and isinstance(use.node.parent.parent, exp.Order)
        and use.node.parent.parent.parent is use.level.node
        and name in use.level.aliases
    )


def _only_counts(star: exp.Star) -> bool:
    """Whether a star is the list of an EXISTS query, which reads no column."""
    from sqlglot import exp

    select = star.parent
    return isinstance(select, exp.Select) and isinstance(select.parent, exp.Exists)
