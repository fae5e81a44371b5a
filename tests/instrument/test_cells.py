"""When two cells are the same value."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from pytest_dataeval.cases.model import Tolerance
from pytest_dataeval.instrument.cells import (
    NumberRule,
    cells_equal,
    numbers_equal,
    read,
    rule_for,
)

DEFAULT = NumberRule()
UTC = dt.UTC


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        (1, Decimal("1.00")),
        (1, True),
        (0, -0.0),
        (Decimal("1.10"), 1.1),
        (0.3, 0.1 + 0.2),
        (float("nan"), Decimal("NaN")),
        (float("inf"), Decimal("Infinity")),
        ("Café", "CAFE\u0301 "),
        ("Straße", "STRASSE"),
        (dt.date(2024, 4, 1), dt.datetime(2024, 4, 1)),
        (dt.date(2024, 4, 1), "2024-04-01"),
        (dt.datetime(2024, 4, 1, 12, tzinfo=UTC), "2024-04-01T14:00:00+02:00"),
        (dt.datetime(2024, 4, 1, 12), "2024-04-01 12:00:00Z"),
        (b"\x01\x02", bytearray(b"\x01\x02")),
        (UUID(int=7), str(UUID(int=7)).upper()),
        ([1, 2.0], (1.0, 2)),
        ({"a": 1}, {"A": 1.0}),
        (dt.timedelta(hours=24), dt.timedelta(days=1)),
        (33.333333, 33.33),  # a hundredth of a percent off
        (200.0, 200.9),  # 0.45%, and 200.9 is no whole number
    ],
)
def test_the_same_value(one: Any, other: Any) -> None:
    assert cells_equal(read(one), read(other), DEFAULT)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (None, 0),
        (None, ""),
        (None, False),
        (float("nan"), None),
        (float("inf"), float("-inf")),
        (2024, 2025),  # within half a percent, but both whole
        (2024.0, 2025.0),
        (5, -5),
        (0, 0.4),
        (0.0, 1e-8),
        (0.004, 0.012),
        (0.30, 0.315),
        ("007", "7"),
        ("3.0", "3"),
        ("1e3", "1000"),
        ("a b", "ab"),
        (dt.datetime(2024, 4, 1, 9), dt.datetime(2024, 4, 1, 17)),
        (dt.time(12), dt.timedelta(hours=12)),
        ([1, 2], [2, 1]),
        ({"a": 1}, {"b": 1}),
        (10**25, 10**25 + 1),
        (Decimal(10**25), 10**25 + 1),
    ],
)
def test_another_value(one: Any, other: Any) -> None:
    assert not cells_equal(read(one), read(other), DEFAULT)


@pytest.mark.parametrize("text", ["5", "5.0", "-0.5", "1e3", "210.30"])
def test_canonical_text_is_a_number_beside_numbers(text: str) -> None:
    assert read(text, numbers=True) == float(text)


@pytest.mark.parametrize("text", ["007", "+5", "5.", ".5", "1,000", "0x10", "5 ", "٣"])
def test_other_text_is_no_number(text: str) -> None:
    # "5 " is trimmed first and is the exception.
    expected = 5 if text == "5 " else text
    assert read(text, numbers=True) == expected


@pytest.mark.parametrize(
    ("rule", "reference", "returned", "equal"),
    [
        # relative: the published guard of an older scorer, at two percent
        (NumberRule(rel=0.02), 903636.6466, 903636.6466 * 1.015, True),
        (NumberRule(rel=0.02), 903636.6466, 903636.6466 * 1.05, False),
        # an absolute tolerance counts for at most the reference itself
        (NumberRule(rel=0, abs=0.02), 100.5, 100.515, True),
        (NumberRule(rel=0, abs=0.02), 0.004, 0.007, True),
        (NumberRule(rel=0, abs=0.02), 0.004, 0.0085, False),
        (NumberRule(rel=0, abs=0.02), 0.0, 0.0005, False),
        (NumberRule(rel=0, abs=0.02), 0.0, 1e-10, True),
        # a half is rounded up by one engine and to even by another
        (NumberRule(rel=0, decimals=2), 0.125, 0.12, True),
        (NumberRule(rel=0, decimals=2), 0.125, 0.13, True),
        (NumberRule(rel=0, decimals=2), 0.125, 0.14, False),
        (NumberRule(integers=2), 407, 405, True),
        (NumberRule(integers=2), 407, 404, False),
    ],
)
def test_rules(
    rule: NumberRule, reference: float, returned: float, equal: bool
) -> None:
    assert numbers_equal(reference, returned, rule) is equal


def test_a_columns_own_keys_win_over_the_cases() -> None:
    tolerance = Tolerance.model_validate(
        {"rel": 0.01, "integers": 1, "columns": {"Revenue": {"rel": 0.1}}}
    )
    assert rule_for("revenue", tolerance) == NumberRule(rel=0.1, integers=1)
    assert rule_for("n", tolerance) == NumberRule(rel=0.01, integers=1)
