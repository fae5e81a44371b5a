"""Does a figure state a reference number? Rounding, percent and signs."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_dataeval.instrument.cells import NumberRule, numbers_equal, scaled
from pytest_dataeval.instrument.figures import Figure

#: A rounded figure must show two digits and lie at most this far off.
ROUNDED_AT_MOST_OFF = 0.05


@dataclass(frozen=True, slots=True)
class Target:
    """A reference number that a figure may state, and how it is to be read.

    `scale` says what a percent sign means here: `ratio` (38% is 0.38),
    `percent` (38% is 38) or `none`. `bare_percent` also lets a bare 38 state
    0.38. `falling`: the column or the question speaks of a decrease, so that
    "fell by 5" states 5.
    """

    value: int | float
    rule: NumberRule
    scale: str = "none"
    bare_percent: bool = False
    falling: bool = False


def states(figure: Figure, target: Target) -> bool:
    """Whether a figure states a reference number. A negated one states nothing."""
    if figure.negated:
        return False
    return any(
        _agrees(value, quantum, figure.digits, target)
        for value, quantum in _readings(figure, target)
    )


def _readings(figure: Figure, target: Target) -> list[tuple[int | float, float]]:
    """The values that a figure may mean beside this target, with their quantum."""
    value, quantum = figure.value, figure.quantum
    values = [value]
    if figure.plain_value is not None:
        values.append(figure.plain_value)
    if figure.direction < 0:
        size = [abs(v) for v in values]
        values = [-v for v in size] + (size if target.falling else [])
    elif figure.either_sign:
        values += [-v for v in values]
    readings: list[tuple[int | float, float]] = [(v, quantum) for v in values]
    hundredths = [(scaled(v, 0.01), quantum / 100) for v in values]
    if figure.percent:
        if target.scale == "ratio":
            return hundredths
        return readings if target.scale == "percent" else []
    if target.bare_percent:
        if target.scale == "ratio":
            return readings + hundredths
        return readings + [(scaled(v, 100), quantum * 100) for v in values]
    return readings


def _agrees(value: int | float, quantum: float, digits: int, target: Target) -> bool:
    if numbers_equal(target.value, value, target.rule):
        return True
    if digits < 2 or target.value == 0:
        return False
    off = abs(target.value - value)
    return off <= quantum / 2 * (1 + 1e-9) and off <= ROUNDED_AT_MOST_OFF * abs(
        target.value
    )
