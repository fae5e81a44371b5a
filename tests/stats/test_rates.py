"""Rates of a tier: averaging order, the choice of interval, what is withheld."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_dataeval.stats.formatting import interval_text, percent
from pytest_dataeval.stats.intervals import Interval, mean, wilson
from pytest_dataeval.stats.rates import Asks, case_rate, tier_rate

T, F = True, False


def single_asks(passed: int, n: int) -> dict[str, Asks]:
    return {f"case-{i}": {1: [i < passed]} for i in range(n)}


def text(interval: Interval | None) -> tuple[str, str]:
    return interval_text(interval), interval.method if interval else ""


# ------------------------------------------------------------- averaging order


def test_wordings_are_averaged_in_a_case_before_cases() -> None:
    # Pooling the three wordings would give 2/3.
    a: Asks = {1: [T, T, T], 2: [F, F, F]}
    b: Asks = {1: [T, T, T]}
    assert case_rate(a, k=3) == 0.5
    assert case_rate(b, k=3) == 1.0
    assert mean([case_rate(a, k=3), case_rate(b, k=3)]) == 0.75


def test_pass_hat_1_is_the_accuracy() -> None:
    asks: Asks = {1: [T, T, F], 2: [T, F, F, F]}
    assert case_rate(asks) == pytest.approx((2 / 3 + 1 / 4) / 2)


def test_a_wording_asked_too_seldom_for_k_is_refused() -> None:
    with pytest.raises(ValueError, match=r"pass\^3 needs at least 3 scored asks"):
        case_rate({1: [T, T, T], 2: [T, T]}, k=3)


def test_cases_weigh_the_same_however_often_they_were_asked() -> None:
    tier = tier_rate({"a": {1: [T] * 9, 2: [T] * 9}, "b": {1: [F]}}, seed=1)
    assert tier.pass_at_1 == 0.5
    assert (tier.n_cases, tier.n_trials) == (2, 19)


# --------------------------------------------------------- the choice of method


def test_one_ask_a_case_is_wilson_over_cases() -> None:
    # 35 of 48: a published arm, 72.9% (59.0 to 83.4).
    tier = tier_rate(single_asks(35, 48), seed=1)
    assert (tier.n_cases, tier.n_trials, tier.passed, tier.tied) == (48, 48, 35, 0)
    assert percent(tier.rate or 0) == "72.9"
    assert text(tier.interval) == ("59.0–83.4", "Wilson over cases")
    assert tier.method == "Wilson over cases"
    assert (tier.pass_at_1, tier.pass_at_1_interval) == (tier.rate, tier.interval)
    assert tier.pass_at_1_withheld == ""


def test_repeats_never_narrow_the_interval() -> None:
    """Five cases asked nine times are five observations, not forty-five."""
    once = tier_rate(single_asks(4, 5), seed=1)
    often = tier_rate(
        {case: {1: list(asks[1]) * 9} for case, asks in single_asks(4, 5).items()},
        seed=1,
    )
    assert (once.n_trials, often.n_trials) == (5, 45)
    # 4 of 5: published, 37.6 to 96.4.
    assert text(once.interval) == ("37.6–96.4", "Wilson over cases")
    assert text(often.interval) == ("37.6–96.4", "Wilson over collapsed cases")
    # Every case answered alike, so pass@1 is the same figure.
    assert (often.pass_at_1, often.pass_at_1_interval) == (0.8, often.interval)


def test_repeats_have_a_rate_by_majority_and_a_bootstrapped_pass_at_1() -> None:
    # 12 cases right 2 of 3 times, 4 cases never: by majority 12 of 16 (Wilson
    # 50.5 to 89.8 from statsmodels), pass@1 = 12 * (2/3) / 16 = 0.5.
    cases: dict[str, Asks] = {f"case-{i}": {1: [T, F, T]} for i in range(12)}
    cases |= {f"never-{i}": {1: [F, F, F]} for i in range(4)}
    tier = tier_rate(cases, seed=1)
    assert (tier.n_cases, tier.n_trials, tier.passed, tier.rate) == (16, 48, 12, 0.75)
    assert text(tier.interval) == ("50.5–89.8", "Wilson over collapsed cases")
    assert tier.pass_at_1 == pytest.approx(0.5)
    # The count of "12" cases drawn is Binomial(16, 3/4), whose 2.5% and 97.5%
    # quantiles are 8 and 15: 8 * (2/3) / 16 = 1/3 and 15 * (2/3) / 16 = 5/8.
    assert text(tier.pass_at_1_interval) == ("33.3–62.5", "bootstrap over cases")


def test_a_tie_is_dropped_and_counted() -> None:
    cases: dict[str, Asks] = {
        "right": {1: [T, T]},
        "tied": {1: [T, F]},
        "tied-over-wordings": {1: [T], 2: [F]},
        "wrong": {1: [F, F]},
    }
    tier = tier_rate(cases, seed=1)
    assert (tier.n_cases, tier.tied, tier.n_decided, tier.passed) == (4, 2, 2, 1)
    assert tier.rate == 0.5
    assert tier.interval is not None
    plain = wilson(1, 2)
    assert plain is not None
    assert (tier.interval.low, tier.interval.high) == (plain.low, plain.high)


def test_nothing_but_ties_leaves_pass_at_1_alone() -> None:
    tier = tier_rate({"a": {1: [T, F]}, "b": {1: [F, T]}}, seed=1)
    assert (tier.rate, tier.interval, tier.method) == (None, None, "")
    assert tier.pass_at_1 == 0.5


# ------------------------------------------------------------ what is withheld


@pytest.mark.parametrize(
    ("cases", "reason"),
    [
        (9, "a bootstrap over cases needs 10 cases, not 9"),
        (10, ""),
    ],
)
def test_few_cases_have_no_bootstrap(cases: int, reason: str) -> None:
    observations: dict[str, Asks] = {
        f"case-{i}": {1: [T, T, i > 0]} for i in range(cases)
    }
    tier = tier_rate(observations, seed=1)
    assert tier.pass_at_1_withheld == reason
    assert (tier.pass_at_1_interval is None) == bool(reason)
    assert tier.interval is not None


def test_cases_that_all_waver_alike_have_no_bootstrap() -> None:
    tier = tier_rate({i: {1: [T, T, F]} for i in range(12)}, seed=1)
    assert tier.pass_at_1 == pytest.approx(2 / 3)
    assert tier.pass_at_1_interval is None
    assert tier.pass_at_1_withheld == "every case has the same value, so none varies"


def test_a_tier_at_its_ceiling_keeps_an_interval_with_width() -> None:
    # 5 of 5: 56.6 to 100.0 from the formula; a bootstrap would have no width.
    tier = tier_rate({i: {1: [T, T, T]} for i in range(5)}, seed=1)
    assert interval_text(tier.pass_at_1_interval) == "56.6–100.0"


def test_nothing_scored_gives_no_figure() -> None:
    for nothing in ({}, {"a": {}}, {"a": {1: []}}):
        tier = tier_rate(nothing, seed=1)
        assert (tier.n_cases, tier.n_trials, tier.passed) == (0, 0, 0)
        assert (tier.rate, tier.interval) == (None, None)
        assert (tier.pass_at_1, tier.pass_at_1_interval) == (None, None)
        assert tier.pass_at_1_withheld == "no case was scored"


def test_a_declined_case_leaves_the_denominator() -> None:
    # Three block cases, two declined: 100% of 1, 20.7 to 100.0 from the formula.
    tier = tier_rate({"a": {1: [T]}, "b": {1: []}, "c": {}}, seed=1)
    assert (tier.n_cases, tier.rate) == (1, 1.0)
    assert interval_text(tier.interval) == "20.7–100.0"


# ------------------------------------------------------------------ properties

wordings = st.dictionaries(st.integers(1, 3), st.lists(st.booleans(), max_size=4))
asked = st.dictionaries(
    st.integers(1, 3), st.lists(st.booleans(), min_size=1, max_size=4), min_size=1
)
# Few cases, some without an ask; and enough cases for a bootstrap.
tiers = st.dictionaries(st.text(max_size=3), wordings, max_size=8) | st.dictionaries(
    st.text(max_size=3), asked, min_size=10, max_size=14
)


@settings(deadline=None)
@given(tiers, st.integers(0, 9), st.randoms(use_true_random=False))
def test_order_never_matters_and_rates_lie_in_their_intervals(
    cases: dict[str, Asks], seed: int, shuffler: random.Random
) -> None:
    items = [
        (
            case,
            [(w, shuffler.sample(v, len(v))) for w, v in wordings.items()],
        )
        for case, wordings in cases.items()
    ]
    shuffler.shuffle(items)
    shuffled = {case: dict(reversed(wordings)) for case, wordings in items}
    tier = tier_rate(cases, seed=seed, resamples=300)
    assert tier == tier_rate(shuffled, seed=seed, resamples=300)
    if tier.rate is not None:
        assert tier.interval is not None
        assert tier.interval.low <= tier.rate <= tier.interval.high
    if tier.pass_at_1_interval is not None:
        assert tier.pass_at_1 is not None
        low, high = tier.pass_at_1_interval.low, tier.pass_at_1_interval.high
        assert 0 <= low <= tier.pass_at_1 <= high <= 1
    assert (tier.pass_at_1_interval is None) == bool(tier.pass_at_1_withheld)
