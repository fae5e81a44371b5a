"""Pass rates of a tier: one agent, one arm, the cases of one tier."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

from pytest_dataeval.stats.intervals import (
    Interval,
    MaybeInterval,
    bootstrap_mean,
    mean,
    wilson,
)
from pytest_dataeval.stats.repeats import collapse, pass_hat_k

CaseT = TypeVar("CaseT", bound=Hashable)

Asks: TypeAlias = Mapping[int, Sequence[bool]]
"""Verdicts of the scored asks of one case, by wording number."""

MIN_BOOTSTRAP_CASES = 10
"""Below this a bootstrap over cases is withheld: see `tier_rate`."""


@dataclass(frozen=True, slots=True)
class TierRate:
    """Pass rates of a tier and how sure they are; fractions 0..1.

    `n_cases` cases were scored in `n_trials` asks. By majority over its asks,
    each case passed, failed or tied: `passed` of `n_cases - tied` is `rate`, with
    `interval` around it. `pass_at_1` is the share of asks that passed (cases
    weigh the same, and so do the wordings in a case), with an interval of its
    own or `pass_at_1_withheld`, the reason why there is none ("" otherwise). With
    one ask a case the two rates and the two intervals are the same.
    """

    n_cases: int
    n_trials: int
    passed: int
    tied: int
    rate: float | None
    interval: Interval | None
    pass_at_1: float | None
    pass_at_1_interval: Interval | None
    pass_at_1_withheld: str

    @property
    def n_decided(self) -> int:
        """Cases that passed or failed by majority: what `rate` divides by."""
        return self.n_cases - self.tied

    @property
    def method(self) -> str:
        """How `interval` was made, for a label; "" where there is none."""
        return "" if self.interval is None else self.interval.method


def case_rate(asks: Asks, k: int = 1) -> float:
    """pass^k of one case: the mean over its wordings of pass^k; k = 1 is pass@1.

    Average the result over cases (`intervals.mean`) for the figure of a tier:
    wordings within a case first, then cases, so that a case with many wordings
    weighs no more than one with a single wording. Raises ValueError if a wording
    has fewer than k asks, or if there is no wording.
    """
    return mean(
        pass_hat_k(sum(verdicts), len(verdicts), k) for verdicts in asks.values()
    )


def tier_rate(
    observations: Mapping[CaseT, Asks], *, seed: int, resamples: int = 10_000
) -> TierRate:
    """Both pass rates of a tier with 95% intervals, from verdicts by case.

    `observations` maps a case to its wordings and these to the verdicts of their
    scored asks; wordings and cases without one are left out. Order never matters.

    One ask a case: Wilson over cases. More: asks of a case resemble each other,
    so they are never counted as independent. The rate by majority has Wilson over
    the collapsed cases; pass@1 has a bootstrap over cases, except where every case
    answered all its asks alike: there the two rates are one figure, and Wilson
    holds for both. Simulated coverage of nominal 95% (case rates from five beta
    distributions, 3 and 5 repeats): Wilson over trials falls to 69%, over
    collapsed cases it keeps 90 to 99%; the bootstrap falls to 83% at 5 and 9
    cases and keeps 87 to 95% at 16 and 40, hence none below 10 cases.
    """
    scored: dict[CaseT, Asks] = {}
    for case, wordings in observations.items():
        asked = {wording: asks for wording, asks in wordings.items() if asks}
        if asked:
            scored[case] = asked
    votes = [
        [verdict for asks in wordings.values() for verdict in asks]
        for wordings in scored.values()
    ]
    verdicts = [collapse(case_votes) for case_votes in votes]
    passed, tied = verdicts.count(True), verdicts.count(None)
    n_cases, n_trials = len(votes), sum(map(len, votes))
    n_decided = n_cases - tied
    interval = wilson(passed, n_decided)
    if interval is not None:
        over = "cases" if n_trials == n_cases else "collapsed cases"
        interval = replace(interval, method=f"Wilson over {over}")
    rates = [case_rate(wordings) for wordings in scored.values()]
    at_1 = _pass_at_1_interval(rates, interval, seed, resamples)
    return TierRate(
        n_cases=n_cases,
        n_trials=n_trials,
        passed=passed,
        tied=tied,
        rate=passed / n_decided if n_decided else None,
        interval=interval,
        pass_at_1=mean(rates) if rates else None,
        pass_at_1_interval=at_1.interval,
        pass_at_1_withheld=at_1.withheld,
    )


def _pass_at_1_interval(
    rates: Sequence[float], by_majority: Interval | None, seed: int, resamples: int
) -> MaybeInterval:
    if not rates:
        return MaybeInterval(None, "no case was scored")
    if all(rate in (0.0, 1.0) for rate in rates):
        return MaybeInterval(by_majority)
    if len(rates) < MIN_BOOTSTRAP_CASES:
        return MaybeInterval(
            None,
            f"a bootstrap over cases needs {MIN_BOOTSTRAP_CASES} cases, "
            f"not {len(rates)}",
        )
    return bootstrap_mean(rates, seed=seed, resamples=resamples)
