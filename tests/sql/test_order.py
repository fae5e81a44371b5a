"""ORDER BY keys, made visible; limits, read and taken out."""

from __future__ import annotations

import duckdb
import pytest

from pytest_dataeval.sql.order import (
    OrderKey,
    OrderSpec,
    order_keys,
    with_order_keys,
    without_limit,
)


@pytest.mark.parametrize(
    ("sql", "indexes"),
    [
        ("select a, b from t", []),
        ("select a, b from t order by b, a", [1, 0]),
        ("select a, b from t order by 2", [1]),
        ("select a as x from t order by x", [0]),
        ("select upper(a) as a from t order by a", [0]),
        ("select a, count(*) from t group by a order by COUNT( * ) desc", [1]),
        ("select a from t order by c", [None]),
        ("select a from t order by a + 1", [None]),
        ("select *, a from t order by a", [None]),
        ("select a, * from t order by a", [0]),
        ("select a, b from t order by all", [0, 1]),
        ("(select a, b from t order by b)", [1]),
        ("select a from t union all select b from u order by a", [0]),
        ("select a, rank() over (order by c) from t order by a", [0]),
        ("with x as (select a from t order by c) select a from x order by a", [0]),
    ],
)
def test_key_columns(sql: str, indexes: list[int | None]) -> None:
    spec = order_keys(sql, "duckdb")
    assert spec is not None
    assert [key.index for key in spec.keys] == indexes


@pytest.mark.parametrize(
    ("dialect", "direction", "descending", "nulls_first"),
    [
        # Defaults as documented by each engine.
        ("duckdb", "", False, False),
        ("duckdb", "desc", True, False),
        ("postgres", "", False, False),
        ("postgres", "desc", True, True),
        ("tsql", "", False, True),
        ("tsql", "desc", True, False),
        ("sqlite", "", False, True),
        ("duckdb", "desc nulls first", True, True),
        ("postgres", "desc nulls last", True, False),
    ],
)
def test_direction_and_nulls(
    dialect: str, direction: str, descending: bool, nulls_first: bool
) -> None:
    spec = order_keys(f"select a from t order by a {direction}", dialect)
    assert spec is not None
    assert spec.keys == (OrderKey(0, "a", descending, nulls_first),)


@pytest.mark.parametrize(
    ("dialect", "tail", "limit", "offset", "is_limited", "with_ties"),
    [
        ("duckdb", "", None, None, False, False),
        ("duckdb", "limit 3", 3, None, True, False),
        ("duckdb", "limit 3 offset 2", 3, 2, True, False),
        ("duckdb", "offset 2", None, 2, True, False),
        ("duckdb", "limit 1 + 2", None, None, True, False),
        ("duckdb", "limit 10%", None, None, True, False),
        ("postgres", "fetch first 3 rows only", 3, None, True, False),
        ("postgres", "fetch first 3 rows with ties", 3, None, True, True),
        ("tsql", "offset 2 rows fetch next 3 rows only", 3, 2, True, False),
    ],
)
def test_limits(
    dialect: str,
    tail: str,
    limit: int | None,
    offset: int | None,
    is_limited: bool,
    with_ties: bool,
) -> None:
    spec = order_keys(f"select a from t order by a {tail}", dialect)
    key = OrderKey(0, "a", False, dialect == "tsql")
    assert spec == OrderSpec((key,), limit, offset, is_limited, with_ties)


def test_top() -> None:
    spec = order_keys("select top (5) with ties a from t order by a", "tsql")
    assert spec is not None
    assert (spec.limit, spec.with_ties) == (5, True)


@pytest.mark.parametrize("sql", ["select (", "drop table t", "select 1; select 2"])
def test_no_order_can_be_made_out(sql: str) -> None:
    assert order_keys(sql, "duckdb") is None
    assert with_order_keys(sql, "duckdb") is None
    assert without_limit(sql, "duckdb") is None


@pytest.mark.parametrize(
    ("dialect", "sql", "changed"),
    [
        ("duckdb", "select a from t order by a", "select a from t order by a"),
        (
            "duckdb",
            "select a from t order by b desc, a, upper(c) nulls first limit 3 -- x",
            "select a, b AS dataeval_order_1, upper(c) AS dataeval_order_2 from t"
            " order by b desc, a, upper(c) nulls first limit 3 -- x",
        ),
        (
            "postgres",
            "select a is distinct from b from t order by c;",
            "select a is distinct from b, c AS dataeval_order_1 from t order by c;",
        ),
        (
            "duckdb",
            "with x as (select d from u order by d) select a -- the a\nfrom x order by b",
            "with x as (select d from u order by d) select a, b AS dataeval_order_1"
            " -- the a\nfrom x order by b",
        ),
        (
            "duckdb",
            "from t order by b",
            "SELECT *, b AS dataeval_order_1 from t order by b",
        ),
        (
            "duckdb",
            "from t select a order by b",
            "from t select a, b AS dataeval_order_1 order by b",
        ),
        (
            "tsql",
            "set nocount on; select top 3 a from t order by b option (recompile)",
            "set nocount on; select top 3 a, b AS dataeval_order_1 from t order by b"
            " option (recompile)",
        ),
        (
            "duckdb",
            "(select a from t order by b)",
            "(select a, b AS dataeval_order_1 from t order by b)",
        ),
    ],
)
def test_with_order_keys(dialect: str, sql: str, changed: str) -> None:
    assert with_order_keys(sql, dialect) == changed


@pytest.mark.parametrize(
    "sql",
    [
        "select distinct a from t order by b",
        "select * from t union all select * from u order by a",
        "select * from t order by all",
    ],
)
def test_keys_that_cannot_be_added(sql: str) -> None:
    assert with_order_keys(sql, "duckdb") is None


@pytest.mark.parametrize(
    ("dialect", "sql", "changed"),
    [
        ("duckdb", "select a from t", "select a from t"),
        ("duckdb", "select a from t limit 3 offset 1;", "select a from t ;"),
        ("duckdb", "(select a from t limit 3)", "(select a from t )"),
        (
            "duckdb",
            "select a, (select b limit 1) from (from t limit 9) order by a limit 3",
            "select a, (select b limit 1) from (from t limit 9) order by a ",
        ),
        ("postgres", "select a from t fetch first row only", "select a from t "),
        ("tsql", "select top (5) percent a from t", "select  a from t"),
        (
            "tsql",
            "select distinct top 5 with ties a from t",
            "select distinct  a from t",
        ),
        (
            "tsql",
            "select a from t order by a offset 1 rows option (recompile)",
            "select a from t order by a option (recompile)",
        ),
    ],
)
def test_without_limit(dialect: str, sql: str, changed: str) -> None:
    assert without_limit(sql, dialect) == changed


def test_the_engine_sorts_by_the_keys_that_were_added() -> None:
    connection = duckdb.connect()
    connection.execute(
        "create table t as select i as a, 10 - i as b from range(9) r(i)"
    )
    sql = with_order_keys("select a from t order by b % 4, a desc limit 4", "duckdb")
    assert sql is not None
    # 10 - a is divisible by 4 for a = 6 and 2, and leaves 1 for a = 5 and 1
    assert connection.execute(sql).fetchall() == [(6, 0), (2, 0), (5, 1), (1, 1)]
