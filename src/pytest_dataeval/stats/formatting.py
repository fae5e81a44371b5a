"""Figures as text: one way to print a rate, an interval and a p-value."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_EVEN, Decimal

from pytest_dataeval.stats.intervals import Interval

NOTHING = "–"
"""Stands where a figure does not exist: never 0, never 0–100."""


def percent(fraction: float) -> str:
    """A fraction as a percentage to one decimal, ties to even: 0.5625 is "56.2".

    The tie is judged on the shortest decimal that stands for the float. Judged on
    the binary value, 0.0005 (stored a little above) would print as 0.1 although
    half a tenth of a percent is a tie. Raises ValueError if not finite.
    """
    if not math.isfinite(fraction):
        raise ValueError(f"a rate must be finite, not {fraction}")
    exact = Decimal(repr(float(fraction))) * 100
    rounded = exact.quantize(Decimal("0.1"), rounding=ROUND_HALF_EVEN)
    return str(rounded.copy_abs() if rounded.is_zero() else rounded)


def interval_text(interval: Interval | None) -> str:
    """Bounds as percentages, "59.0–83.4"; a dash where there is no interval."""
    if interval is None:
        return NOTHING
    return f"{percent(interval.low)}–{percent(interval.high)}"


def p_text(p_value: float | None) -> str:
    """A p-value to four decimals: "p = 0.0312", "p < 0.0001", "no p"."""
    if p_value is None:
        return "no p"
    rounded = f"{p_value:.4f}"
    return "p < 0.0001" if rounded == "0.0000" else f"p = {rounded}"
