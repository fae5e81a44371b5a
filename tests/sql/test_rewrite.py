"""The row ceiling in the statement."""

from __future__ import annotations

import duckdb
import pytest

from pytest_dataeval.sql.guard import check
from pytest_dataeval.sql.rewrite import limited


@pytest.mark.parametrize(
    ("dialect", "sql", "changed"),
    [
        ("duckdb", "select a from t", "select a from t\nLIMIT 10"),
        ("duckdb", "select a from t; -- x", "select a from t\nLIMIT 10; -- x"),
        ("duckdb", "select a from t -- x", "select a from t\nLIMIT 10 -- x"),
        ("duckdb", "select a from t limit 3", "select a from t limit 3"),
        ("duckdb", "select a from t limit 300", "select a from t limit 10"),
        (
            "duckdb",
            "select 300 from (from t limit 300) where a = 300 limit 300 offset 300",
            "select 300 from (from t limit 300) where a = 300 limit 10 offset 300",
        ),
        ("duckdb", "(select a from t limit 300)", "(select a from t limit 10)"),
        ("duckdb", "(from t limit 9) limit 300", "(from t limit 9) limit 10"),
        (
            "duckdb",
            "select a from t union select b from u",
            "select a from t union select b from u\nLIMIT 10",
        ),
        ("duckdb", "values (1), (2)", "values (1), (2)\nLIMIT 10"),
        ("duckdb", "select a from t offset 5", "select a from t offset 5\nLIMIT 10"),
        (
            "duckdb",
            "select a from t limit 50%",
            "SELECT * FROM (\nselect a from t limit 50%\n) AS limited\nLIMIT 10",
        ),
        (
            "duckdb",
            "select a from t limit 5 + 100;",
            "SELECT * FROM (\nselect a from t limit 5 + 100\n) AS limited\nLIMIT 10",
        ),
        (
            "postgres",
            "select a from t fetch first 30 rows only",
            "select a from t fetch first 10 rows only",
        ),
        (
            "postgres",
            "select a from t order by a fetch first 3 rows with ties",
            "SELECT * FROM (\nselect a from t order by a fetch first 3 rows with ties\n)"
            " AS limited\nLIMIT 10",
        ),
        ("tsql", "select a from t order by a", "select TOP (10) a from t order by a"),
        ("tsql", "select distinct a from t", "select distinct TOP (10) a from t"),
        ("tsql", "select top (300) a from t", "select top (10) a from t"),
        ("tsql", "select top 3 a from t", "select top 3 a from t"),
        (
            "tsql",
            "with x as (select top 300 a from t) select a from x",
            "with x as (select top 300 a from t) select TOP (10) a from x",
        ),
        (
            "tsql",
            "select a from t order by a offset 5 rows fetch next 300 rows only",
            "select a from t order by a offset 5 rows fetch next 10 rows only",
        ),
        (
            "tsql",
            "select a from t order by a offset 5 rows",
            "select a from t order by a offset 5 rows FETCH NEXT 10 ROWS ONLY",
        ),
        (
            "tsql",
            "select a from t union select b from u order by a option (recompile)",
            "select a from t union select b from u order by a OFFSET 0 ROWS FETCH NEXT"
            " 10 ROWS ONLY option (recompile)",
        ),
        (
            "tsql",
            "set nocount on; select a from t union select b from u",
            "set nocount on; select a from t union select b from u ORDER BY 1 OFFSET 0"
            " ROWS FETCH NEXT 10 ROWS ONLY",
        ),
        ("tsql", "select top 5 percent a from t", None),
        ("tsql", "select top 5 with ties a from t order by a", None),
        ("tsql", "select top (@n) a from t", None),
        ("duckdb", "select (", None),
    ],
)
def test_limited(dialect: str, sql: str, changed: str | None) -> None:
    assert limited(sql, dialect, 10) == changed


def test_a_ceiling_of_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        limited("select 1", "duckdb", 0)


@pytest.mark.parametrize(
    "sql",
    [
        "select a from t order by b desc",
        "select a from t order by b desc limit 4",
        "select a from t order by b desc limit 1",
        "select a from t order by b limit 90%",
        "select a, a from t order by a limit 2 + 2 offset 1",
        "select a from t union all select b from t order by 1",
        "from t order by a -- the end",
        "(select a from t order by a desc limit 8)",
        "with x as (from t) select * from x order by b",
        "values (3), (1), (2), (0)",
    ],
)
def test_the_first_rows_are_the_same(sql: str) -> None:
    connection = duckdb.connect()
    connection.execute(
        "create table t as select i as a, 10 - i as b from range(9) r(i)"
    )
    ceiling = limited(sql, "duckdb", 3)
    assert ceiling is not None
    assert check(ceiling, "duckdb") is None
    assert (
        connection.execute(ceiling).fetchall()
        == (connection.execute(sql).fetchall()[:3])
    )
