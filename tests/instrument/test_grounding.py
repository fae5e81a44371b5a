"""Which tables were read, and which fields the scored statement uses."""

from __future__ import annotations

import pytest

from pytest_dataeval.cases.model import Semantics
from pytest_dataeval.instrument.grounding import judge_grounding
from pytest_dataeval.instrument.semantics import judge_semantics
from pytest_dataeval.records import Attempt, Statement

from .conftest import ask, case

SUMMARY = case(tables=["mart.fct_revenue_summary"])


@pytest.mark.parametrize(
    ("sql", "holds", "exact"),
    [
        ("select 1 from mart.fct_revenue_summary", True, True),
        ("select 1 from MART.FCT_REVENUE_SUMMARY", True, True),
        ("select 1 from mart.fct_revenue_summary, mart.fct_sales", True, False),
        ("select 1 from mart.fct_sales", False, False),
        (
            "with fct_revenue_summary as (select 1) select * from fct_revenue_summary",
            False,
            False,
        ),
        ("select 1 -- from mart.fct_revenue_summary", False, False),
    ],
)
def test_tables_are_parsed_from_the_statements(
    sql: str, holds: bool, exact: bool
) -> None:
    found = judge_grounding(SUMMARY, ask("x", sql), "duckdb", "main")
    assert (found.holds, found.exact) == (holds, exact)


def test_all_statements_that_ran_count_and_those_that_failed_do_not() -> None:
    read = "select 1 from mart.fct_revenue_summary"
    first = Attempt("x", (Statement(read, True), Statement("select 1", True)))
    failed = Attempt("x", (Statement(read, False), Statement("select 1", True)))
    assert judge_grounding(SUMMARY, first, "duckdb", "main").holds is True
    assert judge_grounding(SUMMARY, failed, "duckdb", "main").holds is False


def test_a_servers_report_adds_the_tables_behind_a_view() -> None:
    seen = Statement("select 1 from v", True, ("mart.fct_revenue_summary",))
    found = judge_grounding(SUMMARY, Attempt("x", (seen,)), "duckdb", "main")
    assert (found.holds, found.exact) == (True, False)


@pytest.mark.parametrize(
    ("sql", "holds"), [("select 1 from other", False), ("selec ((", True)]
)
def test_what_an_answer_says_it_read_counts_only_for_sql_that_cannot_be_parsed(
    sql: str, holds: bool
) -> None:
    attempt = ask("x", sql, tables=("mart.fct_revenue_summary",))
    assert judge_grounding(SUMMARY, attempt, "duckdb", "main").holds is holds


def test_one_table_of_each_group_is_enough() -> None:
    either = case(tables={"any_of": [["s.agents", "s.agent_summary"]]})
    one = ask("x", "select 1 from s.agent_summary")
    none = ask("x", "select 1 from s.tickets")
    assert judge_grounding(either, one, "duckdb", "main").holds is True
    assert "s.agents or s.agent_summary" in (
        judge_grounding(either, none, "duckdb", "main").detail
    )


def test_no_expectation_is_no_judgement() -> None:
    found = judge_grounding(case(), ask("x", "select 1"), "duckdb", "main")
    assert (found.holds, found.exact) == (None, None)


@pytest.mark.parametrize(
    ("sql", "holds", "reason"),
    [
        ("select avg(resolution_minutes) from t", True, None),
        ("select avg(elapsed_minutes) from t", False, "field_forbidden"),
        ("select count(*) from t", False, "field_missing"),
        ("select count(*) from t -- resolution_minutes", False, "field_missing"),
        ("select avg(resolution_minutes) from t -- not elapsed_minutes", True, None),
        (
            "select avg(resolution_minutes) from t where elapsed_minutes > 0",
            False,
            "field_forbidden",
        ),
        ("select avg(resolution_minutes_adj) from t", False, "field_missing"),
    ],
)
def test_fields_of_the_statement(sql: str, holds: bool, reason: str | None) -> None:
    wanted = Semantics(require=["resolution_minutes"], forbid=["elapsed_minutes"])
    found = judge_semantics(wanted, sql, "duckdb", None)
    assert (found.holds, found.reason) == (holds, reason)


def test_a_forbidden_field_in_a_column_beside_the_answer_is_only_a_hit() -> None:
    wanted = Semantics(forbid=["elapsed_minutes"])
    sql = "select avg(resolution_minutes) as a, avg(elapsed_minutes) as b from t"
    beside = judge_semantics(wanted, sql, "duckdb", {0})
    inside = judge_semantics(wanted, sql, "duckdb", {0, 1})
    assert (beside.holds, beside.hits) == (True, ("elapsed_minutes",))
    assert (inside.holds, inside.reason) == (False, "field_forbidden")


def test_an_entry_that_is_a_list_means_any_of_them() -> None:
    wanted = Semantics(require=[["resolution_minutes", "net_minutes"]])
    sql = "select avg(net_minutes) from t"
    assert judge_semantics(wanted, sql, "duckdb", None).holds is True


def test_prose_is_not_checked_and_so_is_no_pass() -> None:
    wanted = Semantics(require=["revenue as a running total"])
    assert judge_semantics(wanted, "select 1", "duckdb", None).holds is None
