"""No text makes a reader of SQL raise, and none takes it minutes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_dataeval.sql.fields import columns_read, field_hits
from pytest_dataeval.sql.guard import check
from pytest_dataeval.sql.order import order_keys, with_order_keys, without_limit
from pytest_dataeval.sql.outputs import outputs
from pytest_dataeval.sql.protect import withheld_columns_read
from pytest_dataeval.sql.rewrite import limited
from pytest_dataeval.sql.tables import tables_read

WORDS = (
    "select from where group by order having limit offset fetch top 1 10 * t.* c c.d"
    " a.b.c.d.e ( ) , ; ' \" ` $$ /* */ -- [ ] { } {# . := :: -> |> case when then end"
    " not with recursive as t union all except in exists insert into delete exec set"
    " values pivot unpivot on using join natural lateral cross apply U&\" E'\\ #1"
    " columns(*) exclude @x #t distinct over partition percent ties rows only option"
    " for update is null nulls first desc extract(year unnest(t) lambda x:"
)

# Statements that parse, to be cut about: random words alone hardly ever do.
STATEMENTS = [
    "with recursive x ( a , b ) as ( select c , d from s.t union all select * from x )"
    " select a , sum ( b ) over ( partition by a order by c desc ) as s from x"
    " group by all having count ( * ) > 1 order by 1 nulls first limit 3 offset 1",
    "select t.* exclude ( a ) , u.b.c , year ( d ) from t join u using ( a )"
    " natural join v , lateral ( select t.a ) l where exists ( select * from w )"
    " qualify row_number ( ) over ( order by e ) = 1 order by f , upper ( g ) limit 9",
    "select distinct top 5 [a] , b as c from dbo.t cross apply ( select max ( d ) e"
    " from #u where u.i = t.i ) x where f = @g order by h option ( recompile )",
    "from ( pivot t on a using sum ( b ) ) select columns ( * ) , ( c ) . d , #1"
    " order by all limit 10 %",
    "select extract ( year from d ) , array_agg ( e order by f ) filter ( where g )"
    " from ( t join u on t.a = u.a ) z ( p , q ) where ( a , b ) in ( values ( 1 , 2 ) )"
    " intersect ( select 1 limit 2 ) order by 2 fetch first 3 rows with ties",
    "select case when a then b else c end , list_transform ( x , y -> y + z ) , {'k': t}"
    " , unnest ( t ) from only_t as t pivot ( sum ( a ) for b in ( 1 , 2 ) ) , range ( 3 )",
]


@st.composite
def cut_about(draw: st.DrawFn) -> str:
    """A statement with some words taken out, doubled, or put in."""
    words = draw(st.sampled_from(STATEMENTS)).split()
    for _ in range(draw(st.integers(0, 5))):
        place = draw(st.integers(0, len(words) - 1))
        new = draw(st.sampled_from([[], words[place : place + 1] * 2, WORDS.split()]))
        words[place : place + 1] = new if len(new) < 3 else [draw(st.sampled_from(new))]
        if not words:
            break
    return " ".join(words)


PIECES = st.lists(st.sampled_from(WORDS.split()), max_size=30).map(" ".join)
DIALECTS = st.sampled_from(["duckdb", "postgres", "tsql", "sqlite"])


def read_in_every_way(sql: str, dialect: str) -> None:
    check(sql, dialect, schemas=["main"])
    tables_read(sql, dialect)
    columns_read(sql, dialect)
    withheld_columns_read(sql, dialect, {"main.t": {"a": ""}}, ["main.t.b"])
    field_hits(sql, dialect, ["a", "t.b", "year(", "sum(c)"])
    outputs(sql, dialect)
    order_keys(sql, dialect)
    with_order_keys(sql, dialect)
    without_limit(sql, dialect)
    limited(sql, dialect, 5)


@settings(max_examples=200, deadline=None)
@given(st.one_of(cut_about(), PIECES, st.text(max_size=80)), DIALECTS)
def test_no_text_raises(sql: str, dialect: str) -> None:
    read_in_every_way(sql, dialect)


@pytest.mark.parametrize(
    "sql",
    [
        "select " + "1+" * 8_000 + "1",
        "select a from t where " + "a and " * 3_000 + "a",
        "select " + "a." * 8_000 + "a from t",
        "select a" + "::int" * 4_000 + " from t",
        "select 1" + " union select 1" * 1_500,
        "select " + "- " * 8_000 + "1",
        "select " + "case " * 4_000 + "1",
        "select " + ", ".join(["limit"] * 2_000) + " from t limit 3",
        "select a from t order by " + ", ".join(["limit"] * 2_000) + " limit 300",
        "select a from " + ", ".join(["t"] * 5_000),
        "select " + ", ".join(["a"] * 4_000) + " from " + ", ".join(["t"] * 2_000),
        "with "
        + ", ".join(f"c{i} as (from c{i - 1})" for i in range(1_000))
        + " from c1",
        "select 1 from t " + "join t " * 3_000 + "on 1 " * 3,
        "select " + "'a'" * 5_000,
        "/*" * 49_000,
        "select " + '"' * 49_999,
        "select $" + "$a" * 8_000,
    ],
    ids=lambda sql: sql[:24],
)
def test_long_text_is_read_or_given_up(sql: str) -> None:
    read_in_every_way(sql, "duckdb")
