"""References that are written in another dialect than the warehouse's."""

from __future__ import annotations

import pytest

from pytest_dataeval.sql.parse import Unparsable
from pytest_dataeval.sql.transpile import transpile


def test_a_statement_is_written_anew_with_its_meaning() -> None:
    # SQL Server sorts NULL first, DuckDB last
    found = transpile("select top 3 [a b] from t order by 1", "tsql", "duckdb")
    assert found == 'SELECT "a b" FROM t ORDER BY 1 NULLS FIRST LIMIT 3'


def test_the_same_dialect_keeps_the_text() -> None:
    sql = "select  1 -- as it was"
    assert transpile(sql, "duckdb", "duckdb") == sql


@pytest.mark.parametrize("sql", ["select (", "", "select 1; select 2"])
def test_what_cannot_be_read_says_why(sql: str) -> None:
    found = transpile(sql, "tsql", "duckdb")
    assert isinstance(found, Unparsable)
    assert found.reason


def test_a_dialect_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(ValueError, match="tsqll"):
        transpile("select 1", "tsqll", "duckdb")
