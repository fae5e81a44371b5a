"""Confidence intervals for a pass rate and for a mean over cases."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist


@dataclass(frozen=True, slots=True)
class Interval:
    """Two bounds on the scale of the estimate, and how they were made.

    `confidence` is a fraction (0.95); `method` is a label fit for a report, for
    example "Wilson" or "bootstrap over cases".
    """

    low: float
    high: float
    confidence: float
    method: str


@dataclass(frozen=True, slots=True)
class MaybeInterval:
    """An interval, or the reason why none is given.

    Exactly one of the two is set: `withheld` is "" when there is an interval.
    """

    interval: Interval | None
    withheld: str = ""


def wilson(passed: int, n: int, confidence: float = 0.95) -> Interval | None:
    """Score interval for a proportion; None for an empty sample.

    `passed` of `n` must be independent observations: cases, not repeats of a
    case. Bounds are fractions 0..1 and always contain passed / n. Raises
    ValueError unless 0 <= passed <= n and 0 < confidence < 1.

    Source: E. B. Wilson, "Probable Inference, the Law of Succession, and
    Statistical Inference", JASA 22 (1927), without continuity correction.
    """
    if not 0 <= passed <= n:
        raise ValueError(f"passed must lie in 0..n, not {passed} of {n}")
    _check_confidence(confidence)
    if n == 0:
        return None
    z_squared = NormalDist().inv_cdf(0.5 + confidence / 2) ** 2
    rate = passed / n
    centre = (passed + z_squared / 2) / (n + z_squared)
    half_width = math.sqrt(z_squared) / (n + z_squared)
    half_width *= math.sqrt(n * rate * (1 - rate) + z_squared / 4)
    # At the two ends the exact bound is 0 or 1; the subtraction leaves dust.
    low = 0.0 if passed == 0 else centre - half_width
    high = 1.0 if passed == n else centre + half_width
    return Interval(low, high, confidence, "Wilson")


def bootstrap_mean(
    per_case: Sequence[float],
    *,
    seed: int,
    resamples: int = 10_000,
    confidence: float = 0.95,
) -> MaybeInterval:
    """Percentile interval for the mean of one value a case, by resampling cases.

    The order of `per_case` never matters: values are sorted before the first
    draw, so the same cases and `seed` give the same interval wherever they ran.
    A sample that can only give zero width (no case, one case, or the same value
    in every case) is withheld: such an interval would exclude whatever it does
    not hit. With few cases the interval is too narrow (see `rates.tier_rate`).
    Raises ValueError for values that are not finite, for `resamples` < 1 and
    unless 0 < confidence < 1.

    Source: B. Efron, "Bootstrap Methods: Another Look at the Jackknife", Annals
    of Statistics 7 (1979); quantiles interpolate linearly between order
    statistics (Hyndman and Fan 1996, type 7).
    """
    _check_confidence(confidence)
    if resamples < 1:
        raise ValueError(f"resamples must be at least 1, not {resamples}")
    if not all(math.isfinite(value) for value in per_case):
        raise ValueError("per_case holds a value that is not finite")
    values = sorted(per_case)
    n = len(values)
    if n == 0:
        return MaybeInterval(None, "there is no case to resample")
    if n == 1:
        return MaybeInterval(None, "one case alone cannot show how cases vary")
    if values[0] == values[-1]:
        return MaybeInterval(None, "every case has the same value, so none varies")
    # random.random() is the one generator that Python promises to keep the same
    # for a seed; choices() and sample() may change between versions. fsum is
    # rounded once, whatever the order; sum() changed its rounding in 3.12.
    draw = random.Random(seed).random
    means = sorted(
        math.fsum([values[int(draw() * n)] for _ in range(n)]) / n
        for _ in range(resamples)
    )
    tail = (1 - confidence) / 2
    return MaybeInterval(
        Interval(
            _quantile(means, tail),
            _quantile(means, 1 - tail),
            confidence,
            "bootstrap over cases",
        )
    )


def mean(values: Iterable[float]) -> float:
    """Arithmetic mean that is the same in any order. Raises ValueError if empty."""
    numbers = list(values)
    if not numbers:
        raise ValueError("the mean of no values does not exist")
    return math.fsum(numbers) / len(numbers)


def _quantile(ordered: Sequence[float], q: float) -> float:
    position = q * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    weight = position - below
    return ordered[below] + weight * (ordered[above] - ordered[below])


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, not {confidence}")
