"""What a run says, counted from its ledger: nothing here depends on its order.

A group is one suite asked of one agent under one arm. Rates stand per tier; there
is no rate over tiers, and suites are never pooled.
"""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_dataeval.ledger.read import Planned, RunView, TrialRecord
from pytest_dataeval.records import Score, TrialKey
from pytest_dataeval.stats.paired import mcnemar
from pytest_dataeval.stats.rates import TierRate, tier_rate
from pytest_dataeval.stats.repeats import paired_collapse

#: Metrics of a score that are counted beside the verdict.
METRICS = (
    "execution",
    "exact",
    "headline",
    "grounding",
    "grounding_exact",
    "semantics",
    "behaviour",
    "attribution",
)

#: What later arms are compared by with the first.
PAIRED_METRICS = ("pass", "execution", "grounding", "semantics")

#: Resampling starts here, so that a run's intervals are the same each time.
SEED = 20_260_401

TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")

Ended = tuple[Planned, TrialRecord]


@dataclass(frozen=True, slots=True)
class Count:
    """How often a metric held, of the trials that it applies to."""

    true: int
    n: int


@dataclass(frozen=True, slots=True)
class Tally:
    """What became of the planned trials; all but `planned` and `asked` add up."""

    planned: int
    asked: int
    scored: int
    passed: int
    declined: int
    unscored: int
    faults: int
    not_run: int
    waiting: int


@dataclass(frozen=True, slots=True)
class TierSummary:
    """One tier of a group. `outcomes` also count declined and unscored trials."""

    tier: str
    tally: Tally
    rate: TierRate
    metrics: Mapping[str, Count]
    outcomes: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Paired:
    """A later arm against the first, over the cases that both were scored on.

    `gained` cases passed only under `arm`, `lost` only under `against`.
    """

    tier: str
    metric: str
    arm: str
    against: str
    pairs: int
    gained: int
    lost: int
    ties_dropped: int
    unpaired: int
    p_value: float | None
    sentence: str


@dataclass(frozen=True, slots=True)
class AlwaysFailed:
    """A case that failed each of its `n` scored trials."""

    case: str
    tier: str
    n: int


@dataclass(frozen=True, slots=True)
class Sum:
    """A total over the asks that reported the figure."""

    total: float
    reported: int


@dataclass(frozen=True, slots=True)
class GroupSummary:
    """One suite, agent and arm. Medians and sums are absent (None) if unmeasured."""

    suite: str
    agent: str
    arm: str
    tiers: tuple[TierSummary, ...]
    paired: tuple[Paired, ...]
    tool_calls_median: float | None
    hops_median: float | None
    latency_median_ms: float | None
    tokens: Mapping[str, Sum]
    cost: Sum | None
    fail_reasons: Mapping[str, int]
    unscored_reasons: Mapping[str, int]
    faults: Mapping[str, int]
    stop_reasons: Mapping[str, int]
    always_failed: tuple[AlwaysFailed, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """The whole run."""

    status: str
    reason: str | None
    instruments: tuple[int, ...]
    tally: Tally
    groups: tuple[GroupSummary, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain data; what was not measured is left out."""
        data: dict[str, Any] = {"schema": 1, **dataclasses.asdict(self)}
        for group in data["groups"]:
            for name in ("tool_calls_median", "hops_median", "latency_median_ms"):
                if group[name] is None:
                    del group[name]
            if group["cost"] is None:
                del group["cost"]
        return data


def summarise(view: RunView) -> Summary:
    """Count the run. Groups stand in the order of the plan, tiers in their own."""
    ended = [
        (planned, view.trials.get(planned.key, TrialRecord())) for planned in view.plan
    ]
    groups: dict[tuple[str, str, str], list[Ended]] = {}
    for planned, record in ended:
        key = planned.key
        group = groups.setdefault((key.suite, key.agent, key.arm), [])
        group.append((planned, record))
    firsts: dict[tuple[str, str], str] = {}
    for suite, agent, arm in groups:
        firsts.setdefault((suite, agent), arm)
    summaries = []
    for (suite, agent, arm), trials in groups.items():
        first = firsts[suite, agent]
        against = groups[suite, agent, first] if first != arm else None
        summaries.append(_group(suite, agent, arm, trials, first, against))
    scores = [record.score for _, record in ended if record.score is not None]
    return Summary(
        view.info.status,
        view.info.reason,
        tuple(sorted({score.instrument for score in scores})),
        _tally(ended),
        tuple(summaries),
    )


def _group(
    suite: str,
    agent: str,
    arm: str,
    trials: Sequence[Ended],
    first: str,
    against: Sequence[Ended] | None,
) -> GroupSummary:
    by_tier = _by_tier(trials)
    paired: list[Paired] = []
    if against is not None:
        others = _by_tier(against)
        for tier, own in by_tier.items():
            paired += _paired(tier, arm, own, first, others.get(tier, []))
    attempts = [record.attempt for _, record in trials if record.attempt is not None]
    scores = [s for _, record in trials if (s := _score(record))]
    return GroupSummary(
        suite=suite,
        agent=agent,
        arm=arm,
        tiers=tuple(_tier(tier, own) for tier, own in by_tier.items()),
        paired=tuple(paired),
        tool_calls_median=_median(attempts, "tool_calls"),
        hops_median=_median(attempts, "hops"),
        latency_median_ms=_median(attempts, "ms"),
        tokens={
            name: total
            for name in TOKENS
            if (total := _sum(a.get("usage", {}).get(name) for a in attempts))
        },
        cost=_sum(attempt.get("cost") for attempt in attempts),
        fail_reasons=_counts(
            score.reason or "unnamed" for score in scores if score.verdict == "fail"
        ),
        unscored_reasons=_counts(
            score.reason or "unnamed" for score in scores if score.verdict == "unscored"
        ),
        faults=_counts(
            record.fault.what for _, record in trials if record.fault is not None
        ),
        stop_reasons=_counts(attempt["stop_reason"] for attempt in attempts),
        always_failed=_always_failed(trials),
    )


def _by_tier(trials: Sequence[Ended]) -> dict[str, list[Ended]]:
    tiers: dict[str, list[Ended]] = {}
    for planned, record in sorted(trials, key=lambda t: (t[0].tier, t[0].key)):
        tiers.setdefault(planned.tier, []).append((planned, record))
    return tiers


def _score(record: TrialRecord) -> Score | None:
    """The score that counts: none where a fault came after it."""
    return record.score if record.fault is None else None


def _verdicts(trials: Sequence[Ended]) -> list[tuple[TrialKey, Score]]:
    """Scores with a verdict of pass or fail: the denominator of every rate."""
    return [
        (planned.key, score)
        for planned, record in trials
        if (score := _score(record)) is not None and score.verdict in ("pass", "fail")
    ]


def _tally(trials: Sequence[Ended]) -> Tally:
    verdicts = Counter(
        score.verdict for _, record in trials if (score := _score(record)) is not None
    )
    faults = sum(record.fault is not None for _, record in trials)
    asked = sum(record.attempt is not None for _, record in trials)
    not_run = sum(
        record.attempt is None and record.score is None and record.fault is None
        for _, record in trials
    )
    return Tally(
        planned=len(trials),
        asked=asked,
        scored=verdicts["pass"] + verdicts["fail"],
        passed=verdicts["pass"],
        declined=verdicts["declined"],
        unscored=verdicts["unscored"],
        faults=faults,
        not_run=not_run,
        waiting=len(trials) - sum(verdicts.values()) - faults - not_run,
    )


def _tier(tier: str, trials: Sequence[Ended]) -> TierSummary:
    scored = _verdicts(trials)
    observations: dict[str, dict[int, list[bool]]] = {}
    for key, judged in sorted(scored, key=lambda pair: pair[0]):
        wordings = observations.setdefault(key.case, {})
        wordings.setdefault(key.wording, []).append(judged.verdict == "pass")
    return TierSummary(
        tier=tier,
        tally=_tally(trials),
        rate=tier_rate(observations, seed=SEED),
        metrics={
            metric: count
            for metric in METRICS
            if (count := _metric(metric, [score for _, score in scored])).n
        },
        outcomes=_counts(
            score.outcome
            for _, record in trials
            if (score := _score(record)) is not None and score.outcome is not None
        ),
    )


def _metric(metric: str, scores: Iterable[Score]) -> Count:
    applying = [value for s in scores if (value := getattr(s, metric)) is not None]
    return Count(sum(applying), len(applying))


def _paired(
    tier: str, arm: str, own: Sequence[Ended], first: str, other: Sequence[Ended]
) -> list[Paired]:
    found = []
    for metric in PAIRED_METRICS:
        ours, theirs = _held(own, metric), _held(other, metric)
        if not ours or not theirs:
            continue
        counts = paired_collapse(theirs, ours)
        test = mcnemar(counts.only_first, counts.only_second)
        found.append(
            Paired(
                tier=tier,
                metric=metric,
                arm=arm,
                against=first,
                pairs=counts.compared,
                gained=counts.only_second,
                lost=counts.only_first,
                ties_dropped=counts.ties_dropped,
                unpaired=counts.unpaired,
                p_value=test.p_value,
                sentence=test.sentence,
            )
        )
    return found


def _held(
    trials: Sequence[Ended], metric: str
) -> dict[str, dict[tuple[int, int], bool]]:
    """Case -> (wording, repeat) -> whether the metric held, where it applies."""
    held: dict[str, dict[tuple[int, int], bool]] = {}
    for key, score in _verdicts(trials):
        value = score.verdict == "pass" if metric == "pass" else getattr(score, metric)
        if value is not None:
            held.setdefault(key.case, {})[key.wording, key.repeat] = value
    return held


def _always_failed(trials: Sequence[Ended]) -> tuple[AlwaysFailed, ...]:
    verdicts: dict[tuple[str, str], list[bool]] = {}
    for planned, record in trials:
        place = (planned.tier, planned.key.case)
        if (score := _score(record)) and score.verdict in ("pass", "fail"):
            verdicts.setdefault(place, []).append(score.verdict == "pass")
    return tuple(
        AlwaysFailed(case, tier, len(passes))
        for (tier, case), passes in sorted(verdicts.items())
        if not any(passes)
    )


def _median(attempts: Sequence[Mapping[str, Any]], name: str) -> float | None:
    values = [attempt[name] for attempt in attempts if name in attempt]
    return float(statistics.median(values)) if values else None


def _sum(values: Iterable[float | None]) -> Sum | None:
    reported = [value for value in values if value is not None]
    return Sum(math.fsum(reported), len(reported)) if reported else None


def _counts(names: Iterable[str]) -> dict[str, int]:
    """Counts, the most frequent first, then by name."""
    counted = Counter(names)
    return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))
