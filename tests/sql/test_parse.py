"""Parsing: one statement, within limits, and nothing raises or leaks."""

from __future__ import annotations

import logging

import pytest

from pytest_dataeval.sql.parse import (
    Parsed,
    Unparsable,
    parse_all,
    parse_one,
    statement_count,
    tokens,
)


@pytest.mark.parametrize(
    ("sql", "count"),
    [("", 0), ("-- x", 0), ("select 1;", 1), ("select 1; select 2", 2), ("(", None)],
)
def test_statement_count(sql: str, count: int | None) -> None:
    assert statement_count(sql, "duckdb") == count


@pytest.mark.parametrize(
    ("sql", "rule"),
    [
        ("", "empty"),
        ("select 1; select 2", "several_statements"),
        ("select (", "unparsable"),
        ("select " + "[" * 101, "too_deep"),
        ("select 1" + " " * 100_000, "too_long"),
    ],
)
def test_what_is_not_one_statement(sql: str, rule: str) -> None:
    parsed = parse_one(sql, "duckdb")
    assert isinstance(parsed, Unparsable)
    assert parsed.rule == rule


def test_a_hundred_levels_are_read() -> None:
    # Pure sqlglot needs about 20 frames a level; the usual limit is 1000 frames.
    assert isinstance(
        parse_one("select " + "(" * 100 + "1" + ")" * 100, "duckdb"), Parsed
    )


def test_harmless_openings_belong_to_the_query() -> None:
    parsed = parse_one("set nocount on; declare @a int = 1; select @a", "tsql")
    assert isinstance(parsed, Parsed)
    assert len(parsed.preamble) == 2
    assert parsed.tree.key == "select"


def test_the_same_text_is_parsed_once() -> None:
    assert parse_all("select 1 as once", "duckdb") is parse_all(
        "select 1 as once", "duckdb"
    )


def test_statements_do_not_reach_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        parse_one("explain select 'secret'", "postgres")
        logging.getLogger("sqlglot").warning("a word of another caller")
    assert [record.getMessage() for record in caplog.records] == [
        "a word of another caller"
    ]


def test_tokens_of_text_without_a_grammar() -> None:
    found = tokens("selec a.b /* c */", "duckdb")
    assert found is not None
    assert [token.text for token in found] == ["selec", "a", ".", "b"]
    assert tokens("'open", "duckdb") is None
