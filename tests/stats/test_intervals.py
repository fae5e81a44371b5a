"""Wilson and bootstrap intervals, against published figures and oracles."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from scipy.stats import bootstrap as scipy_bootstrap
from statsmodels.stats.proportion import proportion_confint

from pytest_dataeval.stats.formatting import interval_text
from pytest_dataeval.stats.intervals import bootstrap_mean, mean, wilson

# ---------------------------------------------------------------------- Wilson


@pytest.mark.parametrize(
    ("passed", "n", "printed"),
    [
        # Published evaluation of a warehouse agent: one arm per line.
        (4, 5, "37.6–96.4"),
        (2, 5, "11.8–76.9"),
        (1, 5, "3.6–62.4"),
        (0, 5, "0.0–43.4"),
        (35, 48, "59.0–83.4"),
        (37, 48, "63.5–86.7"),
        (0, 48, "0.0–7.4"),
        (21, 27, "59.2–89.4"),
        (24, 27, "71.9–96.1"),
        (7, 27, "13.2–44.7"),
        (0, 27, "0.0–12.5"),
        # The normal approximation would have no width here; value from the formula.
        (5, 5, "56.6–100.0"),
        # One block case scored, two declined; value from the formula.
        (1, 1, "20.7–100.0"),
    ],
)
def test_published_intervals(passed: int, n: int, printed: str) -> None:
    assert interval_text(wilson(passed, n)) == printed


def test_an_empty_sample_has_no_interval() -> None:
    assert wilson(0, 0) is None


def test_a_wider_confidence_gives_a_wider_interval() -> None:
    # 430 of 500: 0.826833..0.887677 at 95% (scipy's binomtest, method "wilson").
    at_95 = wilson(430, 500)
    at_99 = wilson(430, 500, confidence=0.99)
    assert at_95 is not None
    assert at_99 is not None
    assert (at_95.low, at_95.high) == pytest.approx((0.826833, 0.887677), abs=5e-7)
    assert at_99.low < at_95.low < at_95.high < at_99.high
    assert (at_99.confidence, at_99.method) == (0.99, "Wilson")


@settings(deadline=None)
@given(
    st.integers(1, 3000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    st.sampled_from([0.5, 0.8, 0.95, 0.999]),
)
def test_wilson_agrees_with_statsmodels_and_contains_its_estimate(
    counts: tuple[int, int], confidence: float
) -> None:
    passed, n = counts
    interval = wilson(passed, n, confidence)
    assert interval is not None
    oracle = proportion_confint(passed, n, alpha=1 - confidence, method="wilson")
    assert (interval.low, interval.high) == pytest.approx(oracle, abs=1e-12)
    assert 0 <= interval.low <= passed / n <= interval.high <= 1
    assert interval.low < interval.high


@settings(deadline=None)
@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_failures_mirror_passes(counts: tuple[int, int]) -> None:
    passed, n = counts
    of_passes, of_failures = wilson(passed, n), wilson(n - passed, n)
    assert of_passes is not None
    assert of_failures is not None
    assert of_passes.low == pytest.approx(1 - of_failures.high, abs=1e-12)


@pytest.mark.parametrize(("passed", "n"), [(6, 5), (-1, 5), (0, -1)])
def test_impossible_counts_are_refused(passed: int, n: int) -> None:
    with pytest.raises(ValueError, match=r"passed must lie in 0\.\.n"):
        wilson(passed, n)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95.0])
def test_a_confidence_is_a_fraction(confidence: float) -> None:
    with pytest.raises(ValueError, match="confidence must lie between 0 and 1"):
        wilson(4, 5, confidence)
    with pytest.raises(ValueError, match="confidence must lie between 0 and 1"):
        bootstrap_mean([0.0, 1.0], seed=1, confidence=confidence)


# ------------------------------------------------------------------- bootstrap


def test_a_bootstrap_of_pass_and_fail_finds_the_binomial_quantiles() -> None:
    """Resampling 0/1 cases draws a binomial count: its quantiles are known."""
    interval = bootstrap_mean([1.0] * 30 + [0.0] * 20, seed=7).interval
    assert interval is not None
    # 0.46 and 0.74: neither count sits on a step of the distribution.
    assert binom.ppf([0.025, 0.975], 50, 0.6).tolist() == [23, 37]
    assert (interval.low, interval.high) == (0.46, 0.74)
    assert (interval.confidence, interval.method) == (0.95, "bootstrap over cases")


def test_a_bootstrap_of_rates_agrees_with_scipy() -> None:
    rates = [i / 40 for i in range(40)] + [1.0] * 20
    ours = bootstrap_mean(rates, seed=11).interval
    assert ours is not None
    theirs = scipy_bootstrap(
        (rates,), lambda x, axis: x.mean(axis=axis), method="percentile", rng=3
    ).confidence_interval
    # Two sets of 10,000 draws: the bounds have a Monte Carlo error of about 0.002.
    assert (ours.low, ours.high) == pytest.approx(theirs, abs=0.008)


def test_a_seed_gives_the_same_figures_on_every_python() -> None:
    interval = bootstrap_mean([0.0, 0.25, 0.5, 1.0], seed=1, resamples=99).interval
    assert interval is not None
    # Pinned from this implementation; it rests on random.random() alone.
    assert (interval.low, interval.high) == pytest.approx((0.125, 0.81875), abs=1e-12)


def test_another_seed_gives_another_draw() -> None:
    values = [i / 7 for i in range(8)] + [0.1, 0.35, 0.77]
    first = bootstrap_mean(values, seed=1, resamples=200)
    second = bootstrap_mean(values, seed=2, resamples=200)
    assert first != second


@settings(deadline=None)
@given(
    st.lists(st.floats(0, 1), min_size=2, max_size=12),
    st.integers(0, 2**32),
    st.randoms(use_true_random=False),
)
def test_the_order_of_cases_never_matters(
    values: list[float], seed: int, shuffler: random.Random
) -> None:
    shuffled = list(values)
    shuffler.shuffle(shuffled)
    first = bootstrap_mean(values, seed=seed, resamples=50)
    assert first == bootstrap_mean(shuffled, seed=seed, resamples=50)


@settings(deadline=None)
@given(
    st.lists(st.sampled_from([0.0, 1 / 3, 0.5, 2 / 3, 1.0]), min_size=2, max_size=15),
    st.integers(0, 2**32),
)
def test_a_bootstrap_contains_its_estimate_or_is_withheld(
    values: list[float], seed: int
) -> None:
    result = bootstrap_mean(values, seed=seed, resamples=500)
    if len(set(values)) == 1:
        assert result.interval is None
    else:
        assert result.interval is not None
        assert result.interval.low <= mean(values) <= result.interval.high
        assert result.interval.low < result.interval.high


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([], "there is no case to resample"),
        ([0.4], "one case alone cannot show how cases vary"),
        ([1.0, 1.0, 1.0], "every case has the same value, so none varies"),
        ([-0.1] * 6, "every case has the same value, so none varies"),
    ],
)
def test_an_interval_of_zero_width_is_withheld(
    values: list[float], reason: str
) -> None:
    """Six times -0.1 would otherwise read as a fall proven beyond any doubt."""
    result = bootstrap_mean(values, seed=1)
    assert (result.interval, result.withheld) == (None, reason)


def test_a_given_interval_has_no_reason_to_be_withheld() -> None:
    assert bootstrap_mean([0.0, 1.0], seed=1, resamples=10).withheld == ""


def test_values_that_are_not_finite_are_refused() -> None:
    with pytest.raises(ValueError, match="not finite"):
        bootstrap_mean([0.5, math.nan], seed=1)


def test_no_resamples_are_refused() -> None:
    with pytest.raises(ValueError, match="resamples must be at least 1"):
        bootstrap_mean([0.0, 1.0], seed=1, resamples=0)


def test_a_mean_is_rounded_once() -> None:
    # Summed from the left, the 1 is lost beside 1e16; exactly it is 1/3.
    assert mean([1e16, 1.0, -1e16]) == 1 / 3
    with pytest.raises(ValueError, match="mean of no values"):
        mean([])
