"""When it is chance which rows a LIMIT gives."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dataeval.cli.ties import tie_at_limit
from pytest_dataeval.records import Column, ResultSet

Rows = list[tuple[int, str]]

rows = st.lists(
    st.tuples(st.integers(1, 2), st.sampled_from("xy")), min_size=1, max_size=5
)


def ranked(of: Rows) -> Rows:
    """`order by a` for an engine that keeps the order of ties."""
    return sorted(of, key=lambda row: row[0])


@given(rows, st.integers(0, 4), st.integers(1, 4))
def test_a_tie_is_told_exactly_where_engines_may_differ(
    of: Rows, offset: int, limit: int
) -> None:
    # An engine may keep ties in whatever order it met the rows.
    given_by_engines = {
        tuple(sorted(ranked(list(met))[offset : offset + limit]))
        for met in permutations(of)
    }
    columns = (Column("a"), Column("b"))
    whole = ResultSet(columns, tuple(ranked(of)))
    cut = ResultSet(columns, tuple(ranked(of)[offset : offset + limit]))
    sql = f"select a, b from t order by a limit {limit} offset {offset}"
    told = tie_at_limit(sql, "duckdb", cut, lambda _: whole)
    assert (told is not None) == (len(given_by_engines) > 1)


@pytest.mark.parametrize(
    "sql",
    [
        "select a from t order by b",
        "select a from t order by b limit (select 1)",
        "select a from t order by b fetch first 1 rows with ties",
        "select distinct a from t order by b limit 1",
        "select",
    ],
)
def test_nothing_is_run_where_nothing_can_be_told(sql: str) -> None:
    def run(_: str) -> ResultSet:
        raise AssertionError("it was run")

    result = ResultSet((Column("a"),), ((1,),))
    assert tie_at_limit(sql, "duckdb", result, run) is None


def test_a_key_that_is_not_selected_is_asked_for() -> None:
    asked: list[str] = []

    def run(sql: str) -> ResultSet:
        asked.append(sql)
        columns = (Column("a"), Column("dataeval_order_1"))
        return ResultSet(columns, (("x", 7), ("y", 7)))

    result = ResultSet((Column("a"),), (("x",),))
    assert tie_at_limit("select a from t order by b limit 1", "duckdb", result, run)
    assert asked == ["select a, b AS dataeval_order_1 from t order by b "]
