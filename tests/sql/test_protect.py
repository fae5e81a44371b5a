"""Withheld columns: what a query reads, and that nothing slips through."""

from __future__ import annotations

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_dataeval.sql.protect import withheld_columns_read

SCHEMA = {
    "main.customers": {"id": "int", "name": "text", "email": "text", "region": "text"},
    "main.orders": {"id": "int", "customer_id": "int", "total": "int"},
    "main.leads": {"id": "int", "email": "text"},
}
WITHHELD = ["main.customers.email"]

READS = [
    "select email from customers",
    "select EMAIL from main.Customers",
    'select "email" from customers',
    "select c.email from customers c",
    "select customers.email from main.customers",
    "select main.customers.email from main.customers",
    "select * from customers",
    "from customers",
    "table customers",
    "select c.* from customers c join orders o on o.customer_id = c.id",
    "select customers.* from main.customers",
    "select * exclude (name) from customers",
    "select * replace (email || '' as name) from customers",
    "select * like 'e%' from customers",
    "select columns('e.*') from customers",
    "select columns(c -> c like 'em%') from customers",
    "select columns(* exclude (id)) from customers",
    "select *columns('e.*') from customers",
    "select count(columns(*)) from customers",
    "select min(columns(*)) from customers",
    "select c from customers c",
    "select customers from customers",
    "select c::varchar from customers c",
    "select to_json(c) from customers c",
    "select (c).email from customers c",
    "select struct_extract(c, 'email') from customers c",
    "select unnest(c) from customers c",
    "select {'a': c} from customers c",
    "select list(c) from customers c",
    "select hash(c.*) from customers c",
    "select #3 from customers",
    "select 1 from customers where email like 'a%'",
    "select count(*) from customers group by email",
    "select id from customers order by email",
    "select id from customers order by upper(email)",
    "select region from customers group by region having max(email) > 'b'",
    "select id from customers qualify row_number() over (order by email) = 1",
    "select count(*) filter (where email is null) from customers",
    "select sum(id) over w from customers window w as (partition by email)",
    "select distinct on (email) id from customers",
    "select id from customers join leads using (email)",
    "select c.id from customers c natural join leads l",
    "select c.id from customers c join leads l on l.email = c.email",
    "with x as (select * from customers) select id from x",
    "with x as (select id, email as e from customers) select id from x",
    "with x(a, b) as (select id, email from customers) select b from x",
    "with recursive x as (select email e from customers union select e from x)"
    " select e from x",
    "select (select max(email) from customers)",
    "select id from orders o where exists"
    " (select 1 from customers c where c.id = o.customer_id and email > 'a')",
    "select o.id from orders o where (select email from customers limit 1) > 'a'",
    "select id from leads where email in (select email from customers)",
    "select x.e from orders o, lateral (select email e from customers) x",
    "select l.e from customers c, lateral (select c.email e) l",
    "select l.e from customers c, lateral (select email e) l",
    "select u.x from customers c, unnest([c.email]) u(x)",
    "select id from customers union all select length(email) from customers",
    "select a.id from customers as a(id, name, mail, region) where mail > 'a'",
    "pivot customers on region using max(email)",
    "pivot customers on region using count(*)",
    "select * from customers pivot (count(*) for region in ('a'))",
    "unpivot customers on columns(*)",
    "from (unpivot customers on email) select value",
    "select id as n, email n2 from customers order by n",
    "select email as id from customers",
    "select id as email from customers where email > 'a'",
    "select coalesce(nullif(email, ''), name) from customers",
    "select list_transform([1], x -> email) from customers",
    "select case when email > 'm' then 1 else 0 end from customers",
    "select c.id from (customers c join orders o on o.customer_id = c.id)"
    " where c.email > 'a'",
    "select z.email from (customers c join orders o on o.customer_id = c.id) z",
    "select id from customers where (id, email) in ((1, 'a'))",
    "select id from customers tablesample 10% where email = 'a'",
    "summarize customers",
    # DuckDB calls the inner column CAST(email AS VARCHAR), so the name goes outward.
    "select (select email from (select email::text from leads) q) from customers c",
]

LETS_THROUGH = [
    "select count(*) from customers",
    "select id, name from customers",
    "select c.id, o.total from customers c join orders o on o.customer_id = c.id",
    "select * from (select id from customers)",
    "select * from (select id, name from customers) t",
    "with x as (select id from customers) select * from x",
    "with x as (select id as email from customers) select email from x",
    "with customers as (select 1 as email) select * from customers",
    "select email from leads",
    "select * from leads",
    "select * from orders",
    "select email from (select id as email from customers) t",
    "select id as email from customers order by email",
    "select * exclude (email) from customers",
    "select c.* exclude (email) from customers c",
    "select columns(* exclude (email)) from customers",
    "select id from customers where exists (select * from orders)",
    "select o.id from orders o where exists"
    " (select * from customers c where c.id = o.customer_id)",
    "select 'email' as e, id from customers -- email",
    "select l.email from customers c join leads l on l.id = c.id",
    "select region, count(*) from customers group by all order by all",
    "select id from customers c natural join orders o",
    "select (select max(email) from leads) as m, id from customers",
    "select 1",
    "values (1)",
    "select o.* from orders o join customers c on c.id = o.customer_id",
]


@pytest.mark.parametrize("sql", READS)
def test_a_way_to_read_the_column(sql: str) -> None:
    assert withheld_columns_read(sql, "duckdb", SCHEMA, WITHHELD) == {
        "main.customers.email"
    }


@pytest.mark.parametrize("sql", LETS_THROUGH)
def test_a_query_that_does_not_read_the_column(sql: str) -> None:
    assert withheld_columns_read(sql, "duckdb", SCHEMA, WITHHELD) == frozenset()


@pytest.mark.parametrize("sql", LETS_THROUGH)
def test_what_is_let_through_does_not_depend_on_the_column(sql: str) -> None:
    """The engine is the oracle: other values in the column change nothing."""
    assert answer(sql, emails=EMAILS) == answer(sql, emails=OTHER_EMAILS)


@pytest.mark.parametrize(
    "sql",
    [
        "select c.to_json from customers c",
        "select c.email from customers c",
        "select row_to_json(customers) from customers",
    ],
)
def test_postgres_calls_a_function_by_a_dot(sql: str) -> None:
    assert withheld_columns_read(sql, "postgres", SCHEMA, WITHHELD) == {
        "main.customers.email"
    }


def test_tsql_apply_and_brackets() -> None:
    sql = "select x.e from [orders] o cross apply (select [email] e from customers) x"
    assert withheld_columns_read(sql, "tsql", SCHEMA, WITHHELD) == {
        "main.customers.email"
    }


def test_without_a_schema_every_candidate_counts() -> None:
    sql = "select email from customers, orders"
    both = ["main.customers.email", "main.orders.email"]
    assert withheld_columns_read(sql, "duckdb", None, both) == set(both)


def test_the_default_schema_tells_tables_of_one_name_apart() -> None:
    schema = {"a.t": {"id": "int", "x": "int"}, "b.t": {"id": "int", "x": "int"}}
    withheld = ["b.t.x"]
    sql = "select x from t"
    assert withheld_columns_read(sql, "duckdb", schema, withheld) == {"b.t.x"}
    assert (
        withheld_columns_read(sql, "duckdb", schema, withheld, default_schema="a")
        == frozenset()
    )


def test_unparsable_is_none() -> None:
    assert withheld_columns_read("select from", "duckdb", SCHEMA, WITHHELD) is None


EMAILS = ("'a@x'", "'b@x'")
OTHER_EMAILS = ("'z@y'", "null")


def answer(sql: str, *, emails: tuple[str, str]) -> list[tuple[object, ...]] | str:
    """Sorted rows of `sql`, or the kind of error, with these withheld values."""
    connection = duckdb.connect()
    connection.execute("set python_enable_replacements = false")
    connection.execute(
        "create table customers (id int, name text, email text, region text);"
        "insert into customers values "
        f"(1, 'Ann', {emails[0]}, 'N'), (2, 'Bob', {emails[1]}, 'S');"
        "create table orders (id int, customer_id int, total int);"
        "insert into orders values (1, 1, 5), (2, 2, 7);"
        "create table leads (id int, email text); insert into leads values (1, 'l@x');"
    )
    try:
        return sorted(connection.execute(sql).fetchall(), key=repr)
    except duckdb.Error as error:
        return type(error).__name__
    finally:
        connection.close()


NAMES = st.sampled_from(
    [
        "email",
        "c.email",
        "c",
        "x.email",
        "x",
        "e",
        "id",
        "c.id",
        "customers",
        "*",
        "c.*",
    ]
)
SOURCES = st.sampled_from(
    [
        "customers c",
        "customers",
        "main.customers c",
        "(select id, name as email from customers) c",
        "(select * from leads) x",
        "leads x",
        "(select email as e, id from customers) x",
        "(values (1, 'a')) x(id, email)",
        "orders",
    ]
)
CLAUSES = st.sampled_from(
    [
        "",
        "where {}::varchar > 'b'",
        "order by {}",
        "group by all order by {}",
        "qualify row_number() over (order by {}) = 1",
        "where exists (select {} from leads l)",
        "where (select count({}) from orders o) > 1",
    ]
)


@settings(max_examples=100, deadline=None)
@given(NAMES, NAMES, st.lists(SOURCES, min_size=1, max_size=2), CLAUSES, NAMES)
def test_no_combination_reads_what_is_said_to_be_unread(
    first: str, second: str, sources: list[str], clause: str, third: str
) -> None:
    sql = f"select {first}, {second} as e from {', '.join(sources)} " + clause.format(
        third
    )
    read = withheld_columns_read(sql, "duckdb", SCHEMA, WITHHELD)
    if read == frozenset():
        assert answer(sql, emails=EMAILS) == answer(sql, emails=OTHER_EMAILS)
