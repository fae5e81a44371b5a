"""Figures as they are printed."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_dataeval.stats.formatting import interval_text, p_text, percent
from pytest_dataeval.stats.intervals import Interval
from pytest_dataeval.stats.paired import mcnemar


@pytest.mark.parametrize(
    ("passed", "n", "printed"),
    [
        # Published rates of the arms of two warehouses, 48 and 27 trials each.
        (4, 5, "80.0"),
        (2, 5, "40.0"),
        (1, 5, "20.0"),
        (0, 5, "0.0"),
        (5, 5, "100.0"),
        (27, 48, "56.2"),
        (28, 48, "58.3"),
        (31, 48, "64.6"),
        (35, 48, "72.9"),
        (37, 48, "77.1"),
        (38, 48, "79.2"),
        (40, 48, "83.3"),
        (41, 48, "85.4"),
        (45, 48, "93.8"),
        (2, 27, "7.4"),
        (4, 27, "14.8"),
        (7, 27, "25.9"),
        (8, 27, "29.6"),
        (9, 27, "33.3"),
        (10, 27, "37.0"),
        (11, 27, "40.7"),
        (12, 27, "44.4"),
        (13, 27, "48.1"),
        (16, 27, "59.3"),
        (21, 27, "77.8"),
        (24, 27, "88.9"),
        (25, 27, "92.6"),
        (26, 27, "96.3"),
        # Range over single passes of 72 wordings.
        (53, 72, "73.6"),
        (62, 72, "86.1"),
    ],
)
def test_published_rates(passed: int, n: int, printed: str) -> None:
    assert percent(passed / n) == printed


@pytest.mark.parametrize(
    ("passed", "n", "printed"),
    [
        # Ties go to the even digit: 56.25, 93.75, 11.25, 0.05 and 0.15.
        (9, 16, "56.2"),
        (15, 16, "93.8"),
        (9, 80, "11.2"),
        (1, 2000, "0.0"),
        (3, 2000, "0.2"),
    ],
)
def test_a_tie_is_judged_in_decimal_not_in_binary(
    passed: int, n: int, printed: str
) -> None:
    assert percent(passed / n) == printed


@settings(deadline=None)
@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_a_printed_rate_is_the_nearest_tenth(counts: tuple[int, int]) -> None:
    passed, n = counts
    tenths = round(float(percent(passed / n)) * 10)
    # In whole numbers: |1000 passed / n - tenths| <= 1/2, and a tie is even.
    distance = abs(2 * (1000 * passed - tenths * n))
    assert distance <= n
    if distance == n:
        assert tenths % 2 == 0


def test_a_fall_keeps_its_sign_and_zero_has_none() -> None:
    assert percent(-0.125) == "-12.5"
    assert percent(-0.0001) == "0.0"


@pytest.mark.parametrize("fraction", [math.nan, math.inf])
def test_a_rate_that_is_no_number_is_refused(fraction: float) -> None:
    with pytest.raises(ValueError, match="must be finite"):
        percent(fraction)


def test_an_interval_prints_both_bounds() -> None:
    assert interval_text(Interval(0.59, 0.8343, 0.95, "Wilson")) == "59.0–83.4"


def test_no_interval_is_a_dash_never_0_to_100() -> None:
    assert interval_text(None) == "–"


@pytest.mark.parametrize(
    ("only_first", "only_second", "printed"),
    [
        # Published p-values: 1.0, 0.0312, 0.0039, 0.0001, below 0.001, none.
        (2, 2, "p = 1.0000"),
        (6, 0, "p = 0.0312"),
        (9, 0, "p = 0.0039"),
        (15, 0, "p = 0.0001"),
        (40, 0, "p < 0.0001"),
        (0, 0, "no p"),
    ],
)
def test_p_values_print_to_four_decimals(
    only_first: int, only_second: int, printed: str
) -> None:
    assert p_text(mcnemar(only_first, only_second).p_value) == printed
