"""Base tables that a statement reads, and what grounding asks of them."""

from __future__ import annotations

import pytest

from pytest_dataeval.sql.tables import missing_tables, tables_read


@pytest.mark.parametrize(
    ("dialect", "sql", "tables"),
    [
        ("duckdb", "select 1", ""),
        ("duckdb", "select * from Support.Tickets t", "support.tickets"),
        ("duckdb", 'select * from "Support"."Tickets"', "support.tickets"),
        ("tsql", "select * from [My Schema].[My Table]", "my schema.my table"),
        ("duckdb", "select * from db.support.tickets", "db.support.tickets"),
        ("tsql", "select * from srv.db.dbo.t", "srv.db.dbo.t"),
        ("tsql", "select * from db..t", "db.t"),
        ("tsql", "select * from #tmp join @rows r on 1 = 1", "#tmp"),
        ("duckdb", "select * from a, b join c using (i)", "a b c"),
        ("duckdb", "select * from (a join b using (i)) x", "a b"),
        ("duckdb", "select (select max(i) from a) from b where i in (from c)", "a b c"),
        ("duckdb", "select i from a union select i from b order by 1", "a b"),
        ("duckdb", "with x as (select * from a) select * from x", "a"),
        ("duckdb", "with x as (select * from a) select * from s.x", "a s.x"),
        ("duckdb", "with a as (select * from a) select * from a", "a"),
        ("duckdb", "with x as (from a), y as (from x) from y", "a"),
        ("duckdb", "with y as (from x), x as (from a) from y", "a x"),
        ("duckdb", "with recursive x as (from a union all from x) from x", "a"),
        (
            "tsql",
            "with x as (select 1 i union all select i from x) select * from x",
            "",
        ),
        ("duckdb", "select 1 from (with x as (from a) from x), x", "a x"),
        ("duckdb", 'with "X" as (from a) from x', "a"),
        ("postgres", 'with "X" as (select 1) select * from x', "x"),
        (
            "postgres",
            "select * from a, lateral (select * from b where b.i = a.i) x",
            "a b",
        ),
        (
            "tsql",
            "select * from a cross apply (select * from b where b.i = a.i) x",
            "a b",
        ),
        ("duckdb", "select * from a, unnest(a.xs), range(3), read_csv('x')", "a"),
        ("duckdb", "select * from a pivot (sum(i) for j in (1, 2))", "a"),
        ("duckdb", "pivot a on j using sum(i)", "a"),
        ("duckdb", "summarize a", "a"),
        ("duckdb", "select 'from b' from a -- from c", "a"),
        ("postgres", "select * from a for update of a", "a"),
        ("duckdb", "insert into a select * from b", "b"),
        ("duckdb", "create table a as select * from b", "b"),
        ("tsql", "select * into a from b", "b"),
        ("duckdb", "from a; from b", "a b"),
        ("tsql", "declare @i int = 1; select * from a where i = @i", "a"),
    ],
)
def test_tables_read(dialect: str, sql: str, tables: str) -> None:
    expected = frozenset({tables} if "my " in tables else tables.split())
    assert tables_read(sql, dialect) == expected


@pytest.mark.parametrize("sql", ["", "select from", "explain select * from a", "("])
def test_what_cannot_be_read_is_none(sql: str) -> None:
    assert tables_read(sql, "postgres") is None


def test_the_default_schema_completes_bare_names() -> None:
    sql = "with x as (from tickets) from x, other.t, #tmp"
    assert tables_read(
        sql.replace(", #tmp", ""), "duckdb", default_schema="Support"
    ) == {
        "support.tickets",
        "other.t",
    }


@pytest.mark.parametrize(
    ("expected", "read", "missing"),
    [
        (["support.tickets"], ["support.tickets", "support.more"], []),
        (["support.tickets"], ["db.support.tickets"], []),
        (["db.support.tickets"], ["support.tickets"], []),
        (["Support.Tickets"], ["support.tickets"], []),
        (["tickets"], ["support.tickets"], []),
        (["support.tickets"], ["sales.tickets"], ["support.tickets"]),
        (["support.tickets"], ["tickets"], ["support.tickets"]),
        (["support.tickets"], ["support.ticket"], ["support.tickets"]),
        (["a.b", "c.d"], ["a.b"], ["c.d"]),
    ],
)
def test_missing_tables(
    expected: list[str], read: list[str], missing: list[str]
) -> None:
    assert missing_tables(expected, [], read) == missing


def test_any_of_a_group_is_enough() -> None:
    groups = [["support.agents", "support.agent_summary"]]
    assert missing_tables([], groups, ["support.agent_summary"]) == []
    assert missing_tables([], groups, ["support.tickets"]) == [
        "support.agents or support.agent_summary"
    ]


def test_a_bare_read_counts_in_the_default_schema() -> None:
    assert (
        missing_tables(["support.tickets"], [], ["tickets"], default_schema="support")
        == []
    )
