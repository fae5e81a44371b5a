"""Columns read, and fields looked for as a case writes them."""

from __future__ import annotations

import pytest

from pytest_dataeval.sql.fields import ColumnRef, FieldHits, columns_read, field_hits

SCHEMA = {
    "support.tickets": {"id": "int", "team": "text", "minutes": "int"},
    "support.agents": {"id": "int", "team": "text", "name": "text"},
}


def refs(text: str) -> set[ColumnRef]:
    """`t.c s.t.d ?.e` as column references."""
    pairs = (name.rpartition(".") for name in text.split())
    return {ColumnRef(None if t == "?" else t, c) for t, _, c in pairs}


@pytest.mark.parametrize(
    ("sql", "read"),
    [
        ("select minutes from tickets", "support.tickets.minutes"),
        ("select t.minutes from support.tickets as t", "support.tickets.minutes"),
        ("select * from tickets", "support.tickets.*"),
        ("select count(*) from tickets", ""),
        (
            "select minutes, name from tickets, agents",
            "support.tickets.minutes support.agents.name",
        ),
        (
            "select team from tickets, agents",
            "support.tickets.team support.agents.team",
        ),
        (
            "select 1 from tickets join agents using (team)",
            "support.tickets.team support.agents.team",
        ),
        (
            "select 1 from tickets natural join agents",
            "support.tickets.id support.agents.id support.tickets.team support.agents.team",
        ),
        ("select t from tickets t", "support.tickets.*"),
        ("select columns('m.*') from tickets", "support.tickets.*"),
        (
            "select * exclude (id) from tickets",
            "support.tickets.team support.tickets.minutes",
        ),
        (
            "select a.name from agents a where exists"
            " (select 1 from tickets t where t.team = a.team and name > 'x')",
            "support.agents.name support.tickets.team support.agents.team",
        ),
        (
            "with x as (select minutes as m from tickets) select m from x order by m",
            "support.tickets.minutes",
        ),
        ("select minutes as m from tickets order by m", "support.tickets.minutes"),
        ("select nothing from tickets", "?.nothing"),
        ("select x.anything from elsewhere x", "elsewhere.anything"),
    ],
)
def test_columns_read_with_a_schema(sql: str, read: str) -> None:
    assert columns_read(sql, "duckdb", SCHEMA) == refs(read)


def test_without_a_schema_a_name_is_of_every_table() -> None:
    assert columns_read("select team from a, b", "duckdb") == refs("a.team b.team")


def test_columns_of_unreadable_text() -> None:
    assert columns_read("select (", "duckdb", SCHEMA) is None


def test_a_statement_too_wide_to_resolve_is_unreadable() -> None:
    wide = ", ".join(f"c{i}" for i in range(2_000))
    tables = ", ".join(f"t{i}" for i in range(2_000))
    assert columns_read(f"select {wide} from {tables}", "duckdb") is None


@pytest.mark.parametrize(
    ("sql", "field"),
    [
        ("select a from t where shipped_at > '2024-01-01'", "shipped_at"),
        ("select SHIPPED_AT from t", "Shipped_At"),
        ('select "shipped_at" from t', "shipped_at"),
        ("select 'https://x' as url, shipped_at from t", "shipped_at"),
        ("select a from t join u using (shipped_at)", "shipped_at"),
        ("select p.cost from product p", "product.cost"),
        ("select product.cost from s.product", "product.cost"),
        ("select s.product.cost from s.product", "s.product.cost"),
        ("select cost from product", "cost"),
        ("select p.cost from product p", "cost"),
        ("select a from support.tickets", "support.tickets"),
        ("select a from support.tickets", "tickets"),
        ("select o.items.price from orders o", "items.price"),
        ("with x as (select * from t) select elapsed from x", "elapsed"),
        ("select e.cost from (select cost from product) e", "cost"),
        ("select year(d) from t", "YEAR(...)"),
        ("select year(d) from t", "YEAR("),
        ("select year(d) from t", "year"),
        ("select extract(year from d) from t", "YEAR(...)"),
        ("select date_part('year', d) from t", "year()"),
        ("select avg(cost + 1) from t", "avg(cost)"),
        ("select t.cost from t", "t.cost.avg()"),
        ('select "Order Date" from t', '"Order Date"'),
    ],
)
def test_a_hit(sql: str, field: str) -> None:
    assert field_hits(sql, "duckdb", [field]) == FieldHits(hits=(field,))


@pytest.mark.parametrize(
    ("sql", "field"),
    [
        ("select a from t -- shipped_at", "shipped_at"),
        ("select a /* shipped_at */ from t", "shipped_at"),
        ("select a from t where b = 'shipped_at'", "shipped_at"),
        ("select $$shipped_at$$ from t", "shipped_at"),
        ("select total_sales_2021_adj from t", "total_sales_2021"),
        ("select a from t", "t.cost"),
        ("select year_month from t", "YEAR("),
        ("select date_trunc('year', d) from t", "YEAR("),
        ("select avg(price), cost from t", "avg(cost)"),
        # Naming an output after a field does not use the field.
        ("select a - b as elapsed from t order by elapsed", "elapsed"),
        ("select avg(x.elapsed) from (select a - b as elapsed from t) x", "elapsed"),
        ("with x(elapsed) as (select a - b from t) select elapsed from x", "elapsed"),
    ],
)
def test_no_hit(sql: str, field: str) -> None:
    assert field_hits(sql, "duckdb", [field]) == FieldHits()


def test_a_bare_last_name_is_only_a_leaf() -> None:
    found = field_hits("select cost from product", "duckdb", ["product.cost"])
    assert found == FieldHits(leaf_hits=("product.cost",))
    # The name of another table in front says that it is another column.
    sql = "select o.cost from orders o"
    assert field_hits(sql, "duckdb", ["product.cost"]) == FieldHits()


@pytest.mark.parametrize(
    "entry",
    [
        "revenue as a cumulative series",
        "order_items through orders",
        "the field that Finance uses",
        "a + b",
    ],
)
def test_prose_is_unchecked(entry: str) -> None:
    assert field_hits("select a, b from t", "duckdb", [entry]) == FieldHits(
        unchecked=(entry,)
    )


def test_no_query_leaves_all_unchecked() -> None:
    assert field_hits(" -- none", "duckdb", ["a"]) == FieldHits(unchecked=("a",))


def test_text_that_no_parser_reads_is_read_by_tokens() -> None:
    text = "run: orders -> { where: p.cost > 1 and year(d) = 2 } 'shipped_at' -- late"
    entries = ["p.cost", "cost", "product.cost", "YEAR(", "shipped_at", "late", "f(d)"]
    assert field_hits(text, "duckdb", entries) == FieldHits(
        hits=("p.cost", "cost", "YEAR("), unchecked=("f(d)",)
    )


def test_text_without_tokens_is_read_by_its_words() -> None:
    text = "select cost, p.price // shipped_at\n, 'https://x', year(d) from 'open late"
    entries = ["cost", "p.price", "shipped_at", "year()", "late", "product.cost"]
    assert field_hits(text, "duckdb", entries) == FieldHits(
        hits=("cost", "p.price", "year()"), leaf_hits=("product.cost",)
    )
