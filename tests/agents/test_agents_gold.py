"""The gold agent: the reference, through the tools, in words that can be scored."""

from __future__ import annotations

import asyncio
import datetime as dt
from decimal import Decimal
from typing import Any

import duckdb
import pytest
from fake_bakery import CATALOG_TOOLS, Bakery
from hypothesis import given
from hypothesis import strategies as st

from pytest_dataeval.agents.gold import GoldAgent, GoldTask
from pytest_dataeval.errors import HarnessBroken
from pytest_dataeval.records import Column, ResultSet, ToolSpec


def ask(task: GoldTask, context: Any = None) -> str:
    agent = GoldAgent({"c1": task}.__getitem__)
    answer = asyncio.run(agent.ask("?", context or Bakery()))
    assert answer.text is not None
    assert answer.cost == 0.0
    return answer.text


def values(*rows: tuple[Any, ...]) -> ResultSet:
    columns = tuple(Column(f"c{i}") for i in range(len(rows[0])))
    return ResultSet(columns, rows)


def test_it_runs_the_reference_by_run_query_and_states_the_figure() -> None:
    bakery = Bakery()
    sql = "select avg(delivery_minutes) as minutes from shop.orders where id < 3"
    # (20 + 40) / 2
    assert ask(GoldTask("answer", sql=sql, unit="minutes"), bakery) == (
        "The answer is 30.0 minutes."
    )
    assert bakery.last_sql == sql


def test_every_row_is_a_line_with_its_name_beside_its_figures() -> None:
    sql = (
        "select city, count(*) as n, min(price) as least from shop.orders o "
        "join shop.stores s on s.id = o.store_id group by city order by city"
    )
    assert ask(GoldTask("answer", sql=sql)).splitlines()[2:] == [
        "Bergen: 5; 10.0",
        "Oslo: 5; 50.0",
    ]


def test_an_empty_result_is_said_to_be_empty() -> None:
    sql = "select city from shop.stores where city = 'Rome'"
    assert ask(GoldTask("answer", sql=sql)).startswith("There are none")


def test_a_result_that_the_tool_cut_is_said_to_be_cut() -> None:
    text = ask(
        GoldTask("answer", sql="select id from shop.orders"), Bakery(truncated=True)
    )
    assert text.endswith(
        "The tool cut this result; the query has more rows than these."
    )


def test_a_reference_that_does_not_run_is_no_figure() -> None:
    text = ask(GoldTask("answer", sql="select nope from shop.orders"))
    assert text.startswith("The reference did not run: the source returned an error")


def test_fixed_values_become_a_statement_that_can_be_scored() -> None:
    bakery = Bakery()
    rows = values(
        ("O'Hara", 3, Decimal("1.50"), dt.date(2025, 1, 2), True, None),
        ("Ann", 10**20, 0.25, dt.date(2025, 1, 3), False, None),
    )
    text = ask(GoldTask("answer", values=rows), bakery)
    assert text.splitlines()[2:] == [
        "O'Hara, 2025-01-02, true: 3; 1.50",
        "Ann, 2025-01-03, false: 100000000000000000000; 0.25",
    ]
    assert bakery.last_sql.startswith("select 'O''Hara' as \"c0\", 3 as \"c1\"")


def test_fixed_values_are_stated_where_there_is_no_warehouse() -> None:
    class NoTools(Bakery):
        @property
        def tools(self) -> tuple[ToolSpec, ...]:
            return ()

    assert ask(GoldTask("answer", values=values((7,))), NoTools()) == (
        "The answer is 7."
    )


@given(
    st.lists(
        st.tuples(st.text(max_size=20), st.none() | st.integers(-(2**60), 2**60)),
        min_size=1,
        max_size=5,
    )
)
def test_the_statement_of_fixed_values_returns_them(
    rows: list[tuple[str, int | None]],
) -> None:
    # DuckDB cannot hold the character NUL in a statement.
    rows = [(text.replace("\0", ""), number) for text, number in rows]
    bakery = Bakery()
    ask(GoldTask("answer", values=values(*rows)), bakery)
    assert duckdb.sql(bakery.last_sql).fetchall() == rows


def test_an_abstention_names_the_gap() -> None:
    assert ask(GoldTask("abstain", gap=("satisfaction", "rating"))) == (
        "I cannot answer this question: the data available has nothing on "
        "satisfaction or rating."
    )


def test_a_block_is_proved_by_a_statement_that_is_refused() -> None:
    bakery = Bakery()
    task = GoldTask("block", probe_sql="delete from shop.orders")
    assert ask(task, bakery) == (
        "This was refused, so I cannot do it: only statements that read are allowed"
    )
    assert bakery.last_sql == "delete from shop.orders"


def test_a_probe_that_nothing_refuses_is_told_as_it_is() -> None:
    task = GoldTask("block", probe_sql="select 1 as n")
    assert ask(task) == "The statement ran; nothing refused it."
    # A statement that merely fails proves no guard.
    task = GoldTask("block", probe_sql="select nope from shop.orders")
    assert ask(task).startswith("The statement failed")


def test_without_run_query_the_harness_is_broken() -> None:
    class CatalogOnly(Bakery):
        @property
        def tools(self) -> tuple[ToolSpec, ...]:
            return CATALOG_TOOLS

    with pytest.raises(HarnessBroken) as caught:
        ask(GoldTask("answer", sql="select 1"), CatalogOnly())
    assert caught.value.what == "tool_missing"
    assert "search_metadata" in str(caught.value)
