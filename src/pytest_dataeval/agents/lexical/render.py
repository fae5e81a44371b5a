"""A plan as one SQL statement, in SQL that DuckDB and PostgreSQL both read."""

from __future__ import annotations

import re

from pytest_dataeval.agents.lexical import words
from pytest_dataeval.agents.lexical.knowledge import Join, Knowledge, Table
from pytest_dataeval.agents.lexical.plan import Dimension, Filter, Plan

# Literals and quoted names go by whole; a name may be qualified.
_PIECE = re.compile(
    r"'(?:[^']|'')*'|\"[^\"]*\"|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(\s*\()?"
)
_SUBQUERY = re.compile(r"\bselect\b", re.IGNORECASE)


def render(plan: Plan, knowledge: Knowledge) -> str:
    """The statement. Names in the plan's SQL are qualified by their tables, and
    the tables that they need are joined along keys."""
    return _Statement(plan, knowledge).text()


class _Statement:
    def __init__(self, plan: Plan, knowledge: Knowledge) -> None:
        self._plan = plan
        self._knowledge = knowledge
        base = knowledge.table(plan.table)
        self._base = base if base is not None else Table(plan.table)
        self._joined: list[Join] = []

    def text(self) -> str:
        plan = self._plan
        dimensions = [self._dimension(d) for d in plan.dimensions]
        outputs = [
            f"{sql} as {_identifier(d.label)}"
            for sql, d in zip(dimensions, plan.dimensions, strict=True)
        ]
        value_alias = _identifier("_".join(words.tokens(plan.label)) or "value")
        if plan.value is not None:
            outputs.append(f"{self._qualified(plan.value)} as {value_alias}")
        conditions = self._conditions()
        distinct = "distinct " if plan.value is None else ""
        parts = [
            f"select {distinct}{', '.join(outputs)}",
            f"from {_identifier(self._base.name)}",
        ]
        parts += [self._join(join) for join in self._joined]
        if conditions:
            parts.append(f"where {' and '.join(conditions)}")
        if plan.value is not None and dimensions:
            parts.append(f"group by {', '.join(dimensions)}")
        if plan.order is not None:
            direction = "asc" if plan.order.ascending else "desc"
            parts.append(f"order by {value_alias} {direction} nulls last")
            if plan.order.limit is not None:
                parts.append(f"limit {plan.order.limit}")
        elif dimensions:
            parts.append(f"order by {', '.join(dimensions)}")
        return " ".join(parts)

    def _conditions(self) -> list[str]:
        plan = self._plan
        conditions = [self._filter(each) for each in plan.filters]
        for condition in plan.conditions:
            column = self._column(condition.table, condition.column)
            listed = ", ".join(_literal(value) for value in condition.values)
            conditions.append(f"{column} in ({listed})")
        if plan.period is not None:
            column = self._column(plan.period.table, plan.period.column)
            conditions += [
                f"extract({part} from {column}) = {number}"
                for part, number in (
                    ("year", plan.period.year),
                    ("quarter", plan.period.quarter),
                    ("month", plan.period.month),
                )
                if number is not None
            ]
        return conditions

    def _filter(self, each: Filter) -> str:
        table = self._knowledge.table(each.table)
        if table is not None:
            self._reach(table)
        return f"({self._qualified(each.sql, table)})"

    def _dimension(self, dimension: Dimension) -> str:
        column = self._column(dimension.table, dimension.column)
        if dimension.period is None:
            return column
        return f"cast(date_trunc('{dimension.period}', {column}) as date)"

    def _column(self, table_name: str, column: str) -> str:
        table = self._knowledge.table(table_name)
        if table is not None:
            self._reach(table)
        short = table_name.rpartition(".")[2]
        return f"{_identifier(short)}.{_identifier(column)}"

    def _qualified(self, sql: str, table: Table | None = None) -> str:
        """SQL with each known column under its table: under `table`, else under
        the base. SQL that holds a query of its own is left as it is."""
        if _SUBQUERY.search(sql):
            return sql
        start = table if table is not None else self._base
        return _PIECE.sub(lambda piece: self._qualify(piece, start), sql)

    def _qualify(self, piece: re.Match[str], start: Table) -> str:
        text = piece.group()
        if piece.group(1) or text[0] in "'\"":
            return text
        owner, _, name = text.rpartition(".")
        if owner:
            table = self._knowledge.table(owner)
            if table is None or table.column(name) is None:
                return text
        else:
            table = self._owner(name, start)
            if table is None:
                return text
        return self._column(table.name, name)

    def _owner(self, column: str, start: Table) -> Table | None:
        """The nearest table with such a column: `start`, or one its keys reach."""
        front, seen = [start], {start.name}
        while front:
            owning = [table for table in front if table.column(column) is not None]
            if owning:
                return owning[0] if len(owning) == 1 else None
            ahead = []
            for table in front:
                for join in self._knowledge.joins_from(table):
                    other = self._knowledge.table(join.other_table)
                    if other is not None and other.name not in seen:
                        seen.add(other.name)
                        ahead.append(other)
            front = ahead
        return None

    def _reach(self, table: Table) -> None:
        """Join `table` by the shortest way along keys."""
        paths: list[tuple[Table, list[Join]]] = [(self._base, [])]
        seen = {self._base.name}
        for at, path in paths:
            if at.name == table.name:
                self._joined += [join for join in path if join not in self._joined]
                return
            for join in self._knowledge.joins_from(at):
                other = self._knowledge.table(join.other_table)
                if other is not None and other.name not in seen:
                    seen.add(other.name)
                    paths.append((other, [*path, join]))

    def _join(self, join: Join) -> str:
        here = join.table.rpartition(".")[2]
        there = join.other_table.rpartition(".")[2]
        return (
            f"join {_identifier(join.other_table)} on "
            f"{_identifier(here)}.{_identifier(join.column)} = "
            f"{_identifier(there)}.{_identifier(join.other_column)}"
        )


def _identifier(name: str) -> str:
    """A name as SQL reads it; parts that are no plain names are quoted."""
    return ".".join(
        part
        if re.fullmatch(r"[A-Za-z_]\w*", part, re.ASCII)
        else '"' + part.replace('"', '""') + '"'
        for part in name.split(".")
    )


def _literal(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
