"""Which fields reach which output column, and which decide about rows."""

from __future__ import annotations

import pytest

from pytest_dataeval.sql.outputs import (
    non_output_fields,
    occurs,
    output_fields,
    outputs,
)


@pytest.mark.parametrize(
    ("sql", "columns", "non_output"),
    [
        ("select a, b + c as d from t", "a:a d:b,c", ""),
        ("select a from t where b = 1 order by c", "a:a", "b c"),
        (
            "select a, sum(b) s from t group by 1 having max(c) > 1",
            "a:a s:b,sum()",
            "a c max()",
        ),
        ("select a x, b y from t order by y", "x:a y:b", "b"),
        ("select a x, b y from t order by 2", "x:a y:b", "b"),
        ("select a, count(*) from t group by all", "a:a :count()", "a"),
        ("select distinct on (b) a from t", "a:a", "b"),
        ("select t.a from t join u on t.i = u.j", "a:t.a", "t.i u.j"),
        ("select x.d from (select b + c as d, e from t where f = 1) x", "d:b,c", "f"),
        ("with x as (select b as d, e from t) select d from x where e > 1", "d:b", "e"),
        ("with x(p, q) as (select a, b from t) select q from x", "q:b", ""),
        ("with x as (select a, b as c from t) select * from x", "a:a c:b", ""),
        ("select * exclude (a) from (select a, b from t)", "b:b", ""),
        ("select * from s.t", "*:s.t.*", ""),
        ("with x as (select * from t) select avg(a) m from x", "m:a,avg(),t.*", ""),
        ("select a from t union all select b from u order by a", "a:a,b", "a b"),
        (
            "select (select max(u.b) from u where u.i = t.i) m from t",
            "m:max(),t.i,u.b,u.i",
            "",
        ),
        (
            "select a from t where exists (select 1 from u where b > 1)",
            "a:a",
            "b exists()",
        ),
        (
            "with recursive r as (select a, b from t union all"
            " select t.a, r.b from t join r on r.a = t.c) select b from r",
            "b:b",
            "a t.a t.c",
        ),
        (
            "select sum(a) over (partition by b order by c) s from t",
            "s:a,b,c,sum()",
            "",
        ),
    ],
)
def test_outputs(sql: str, columns: str, non_output: str) -> None:
    found = outputs(sql, "duckdb")
    assert found is not None
    assert (
        " ".join(
            f"{column.name}:{','.join(sorted(column.fields))}"
            for column in found.columns
        )
        == columns
    )
    assert found.non_output == set(non_output.split())


def test_a_forbidden_field_in_a_spare_column_is_told_apart() -> None:
    sql = (
        "select team, avg(resolution_minutes) m, avg(elapsed_minutes) as other"
        " from support.tickets group by team order by m"
    )
    columns = output_fields(sql, "duckdb")
    rows = non_output_fields(sql, "duckdb")
    assert columns is not None
    assert rows is not None
    assert [occurs("elapsed_minutes", column.fields) for column in columns] == [
        False,
        False,
        True,
    ]
    assert not occurs("elapsed_minutes", rows)
    assert occurs("resolution_minutes", rows)


@pytest.mark.parametrize("sql", ["select (", "insert into t select 1", "pivot t on a"])
def test_what_has_no_outputs(sql: str) -> None:
    assert outputs(sql, "duckdb") is None


def test_stars_over_stars_stay_small() -> None:
    # 2 to the power of 40 columns, if they were counted out
    parts = ["c0 as (select *, * from t)"]
    parts += [f"c{i} as (select *, * from c{i - 1})" for i in range(1, 40)]
    columns = output_fields(f"with {', '.join(parts)} select * from c39", "duckdb")
    assert columns is not None
    assert {column.name for column in columns} == {"*"}
