"""Rows as sentences."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dataeval.agents.prose import is_figure, state_rows
from pytest_dataeval.agents.tools import Rows, rows_of
from pytest_dataeval.records import ToolResult


def state(*rows: tuple[Any, ...], unit: str | None = None) -> str:
    return state_rows(Rows((), rows), unit)


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ((94931,), "94931"),
        ((-5,), "-5"),
        ((0.044991,), "0.044991"),
        ((1e-07,), "0.0000001"),
        ((1e20,), "100000000000000000000"),
        ((Decimal("210.30"),), "210.30"),
        (("Billing", 210.3), "Billing: 210.3"),
        (("Billing", 210.3, 4), "Billing: 210.3; 4"),
        # a year that is a key stands where a name would
        ((2024, 100), "2024: 100"),
        (("Billing", "Email"), "Billing, Email"),
        ((dt.date(2025, 3, 1), 8), "2025-03-01: 8"),
        # Decimals that JSON cannot hold come as text, and are figures
        (("Billing", "0.10"), "Billing: 0.10"),
        (("007", 2), "007: 2"),
        ((True, None), "yes"),
        ((None, None), "null"),
        (("Billing", None), "Billing"),
        (("two\nlines", 1), "two lines: 1"),
    ],
)
def test_one_row_is_one_sentence(row: tuple[Any, ...], text: str) -> None:
    assert state(row) == f"The answer is {text}."


def test_several_rows_are_a_line_each() -> None:
    assert state(("a", 1), ("b", 2)).splitlines()[2:] == ["a: 1", "b: 2"]


@pytest.mark.parametrize(
    ("unit", "text"),
    [
        ("minutes", "The answer is 3.5 minutes."),
        # these could be read as a scale of the figure
        ("ratio", "The answer is 3.5."),
        ("percent", "The answer is 3.5."),
        ("m", "The answer is 3.5."),
        ("million", "The answer is 3.5."),
        ("EUR/h", "The answer is 3.5."),
    ],
)
def test_a_unit_is_added_only_where_it_cannot_change_the_figure(
    unit: str, text: str
) -> None:
    assert state((3.5,), unit=unit) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_stated_with_all_its_digits(number: float) -> None:
    stated = state((number,)).removeprefix("The answer is ").removesuffix(".")
    assert float(stated) == number
    assert "e" not in stated


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        *((5, True), ("5", True), ("-0.5", True), ("1e3", True)),
        *(("007", False), ("P1", False), (True, False), ("", False), (None, False)),
    ],
)
def test_what_a_figure_is(cell: object, expected: bool) -> None:
    assert is_figure(cell) is expected


@pytest.mark.parametrize(
    "payload",
    [
        {"columns": ["k", "n"], "rows": [["a", 1]]},
        {"columns": [{"name": "k"}, {"name": "n"}], "rows": [["a", 1]]},
        {"columns": ["k", "n"], "rows": [{"n": 1, "k": "a"}]},
        {"rows": [{"k": "a", "n": 1}]},
    ],
)
def test_rows_are_read_in_every_form_that_servers_use(payload: dict[str, Any]) -> None:
    rows = rows_of(ToolResult("", structured=payload))
    assert rows == Rows(("k", "n"), (("a", 1),))


def test_rows_are_read_from_text_where_there_is_no_structured_content() -> None:
    assert rows_of(ToolResult('{"columns": ["n"], "rows": [[1]]}')) == Rows(
        ("n",), ((1,),)
    )
    assert rows_of(ToolResult("| n |\n| 1 |")) is None
