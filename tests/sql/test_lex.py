"""Text as code, comments and strings; and how deep it nests."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dataeval.sql.lex import code_only, has_template_mark, nesting


@pytest.mark.parametrize(
    ("dialect", "sql", "code"),
    [
        ("duckdb", "a -- b\nc", "a     \nc"),
        ("duckdb", "a /* b */ c", "a         c"),
        ("duckdb", "a /* /* */ b */ c", "a               c"),
        ("sqlite", "a /* /* */ b", "a          b"),
        ("duckdb", "a 'it''s' b", "a         b"),
        ("duckdb", "'-- no' b", "        b"),
        ("duckdb", "-- it's\nb", "       \nb"),
        ("duckdb", "'https://x' b", "            b"),
        ("duckdb", '"a -- b" c', '"a -- b" c'),
        ("duckdb", '"it\'s" c', '"it\'s" c'),
        ("postgres", "E'a\\'b' c", "E       c"),
        ("postgres", "'a\\' c", "     c"),
        ("mysql", "'a\\'b' c", "       c"),
        ("postgres", "$$a'b$$ c", "        c"),
        ("postgres", "$x$a$$b$x$ c", "           c"),
        ("postgres", "a$x$b", "a$x$b"),
        ("postgres", "$1 + $2", "$1 + $2"),
        ("tsql", "[it's] c", "[it's] c"),
        ("tsql", "[a]]'b] c", "[a]]'b] c"),
        ("duckdb", "a['k'] c", "a[   ] c"),
        ("duckdb", "a 'open", "a      "),
        ("duckdb", "a // 2", "a // 2"),
    ],
)
def test_comments_and_strings_are_blanked(dialect: str, sql: str, code: str) -> None:
    assert code_only(sql, dialect) == code


def test_slash_comments_of_modelling_languages() -> None:
    text = "url is 'https://x' // note\nshipped_at"
    assert code_only(text, "duckdb", slash_comments=True).split() == [
        "url",
        "is",
        "shipped_at",
    ]


@given(st.text(), st.sampled_from(["duckdb", "postgres", "tsql", "sqlite", "mysql"]))
def test_places_do_not_move(sql: str, dialect: str) -> None:
    code = code_only(sql, dialect)
    assert len(code) == len(sql)
    assert all(new in {old, " "} for old, new in zip(sql, code, strict=True))


@pytest.mark.parametrize(
    ("code", "depth"),
    [
        ("select 1", 1),
        ("((1))", 2),
        ("f(a[{b}])", 3),
        (")))(", 1),
        ("case when a then case when b then 1 end end", 2),
        ("case a end case b end case c end", 1),
        ("if(a, b, c)", 1),
        ("not not not a", 3),
        ("null, null, null, null", 1),
        ("from a |> select b |> select c |> select d", 3),
    ],
)
def test_nesting(code: str, depth: int) -> None:
    assert nesting(code) == depth


def test_template_marks() -> None:
    assert has_template_mark("select {{ x }}")
    assert not has_template_mark("select {'a': {'b': 1}}")
