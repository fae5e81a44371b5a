from __future__ import annotations

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from pytest_dataeval.ledger.events import attempt_event, fault_event, score_event
from pytest_dataeval.ledger.read import Planned, RunView, load
from pytest_dataeval.ledger.run import Run
from pytest_dataeval.ledger.summary import (
    AlwaysFailed,
    Count,
    GroupSummary,
    Sum,
    Summary,
    TierSummary,
    summarise,
)
from pytest_dataeval.records import Attempt, Score, TrialKey, Usage


def trial(
    case: str, arm: str = "catalog", repeat: int = 1, wording: int = 1
) -> TrialKey:
    return TrialKey("support", case, wording, "claude", arm, repeat)


def score(verdict: str, **fields: Any) -> Score:
    outcome = {"pass": "correct", "fail": "wrong", "declined": "declined"}
    return Score(
        **{
            "verdict": verdict,
            "outcome": outcome.get(verdict),
            "reason": None if verdict == "pass" else "wrong_rows",
            "detail": "",
            "instrument": 1,
            "reference_revision": 1,
            **fields,
        }
    )


PLAIN = Attempt("text")


def asked(
    key: TrialKey, judged: Score | None, attempt: Attempt = PLAIN
) -> list[dict[str, Any]]:
    events = [attempt_event(key, attempt, transcript="t", sha256="s")]
    return events if judged is None else [*events, score_event(key, judged)]


class Runs:
    """Makes run folders of a plan and its events."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.count = 0

    def view(
        self, plan: Iterable[TrialKey], events: Iterable[dict[str, Any]]
    ) -> RunView:
        self.count += 1
        folder = self.folder / str(self.count)
        run = Run.create(folder, {"instrument": 1})
        run.write_plan([Planned(key, key.case[:2], f"c::{key}") for key in plan])
        for event in events:
            run.append(event)
        run.finish("complete")
        return load(folder)

    def summary(self, *arguments: Any) -> Summary:
        return summarise(self.view(*arguments))


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


def only_group(summary: Summary) -> GroupSummary:
    (group,) = summary.groups
    return group


def tier_of(group: GroupSummary, name: str) -> TierSummary:
    (tier,) = (tier for tier in group.tiers if tier.tier == name)
    return tier


def test_every_planned_trial_is_counted_in_one_place(runs: Runs) -> None:
    keys = {word: trial(f"L1-{word}") for word in "abcdefg"}
    events = [
        *asked(keys["a"], score("pass")),
        *asked(keys["b"], score("fail")),
        *asked(keys["c"], score("declined")),
        *asked(keys["d"], score("unscored", reason="valid_until")),
        fault_event(keys["e"], "token_expired", "personas", "expired"),
        *asked(keys["f"], None),
    ]
    summary = runs.summary(keys.values(), events)
    tally = summary.tally
    assert (tally.planned, tally.asked) == (7, 5)
    assert (tally.scored, tally.passed) == (2, 1)
    assert (tally.declined, tally.unscored, tally.faults) == (1, 1, 1)
    assert (tally.not_run, tally.waiting) == (1, 1)
    group = only_group(summary)
    assert group.unscored_reasons == {"valid_until": 1}
    assert group.fail_reasons == {"wrong_rows": 1}
    assert group.faults == {"token_expired": 1}
    assert tier_of(group, "L1").outcomes == {"correct": 1, "declined": 1, "wrong": 1}


def test_declined_and_unscored_leave_the_denominator(runs: Runs) -> None:
    # Three block cases, two declines and one pass: 1/1, Wilson 20.7 to 100.0
    # (Wilson 1927, z = 1.959964)
    keys = [trial(f"L5-{n}") for n in range(3)]
    verdicts = ["pass", "declined", "declined"]
    events = [
        event
        for key, verdict in zip(keys, verdicts, strict=True)
        for event in asked(key, score(verdict))
    ]
    tier = tier_of(only_group(runs.summary(keys, events)), "L5")
    assert (tier.tally.planned, tier.tally.scored, tier.tally.declined) == (3, 1, 2)
    assert tier.rate.rate == 1.0
    assert tier.rate.interval is not None
    assert round(tier.rate.interval.low * 100, 1) == 20.7
    assert tier.rate.interval.high == 1.0


def test_tiers_are_never_pooled(runs: Runs) -> None:
    keys = [trial("L1-a"), trial("L3-a"), trial("L3-b")]
    verdicts = ["pass", "fail", "pass"]
    events = [
        event
        for key, verdict in zip(keys, verdicts, strict=True)
        for event in asked(key, score(verdict))
    ]
    summary = runs.summary(keys, events)
    group = only_group(summary)
    assert [(tier.tier, tier.rate.rate) for tier in group.tiers] == [
        ("L1", 1.0),
        ("L3", 0.5),
    ]
    whole = json.dumps({**summary.to_json(), "groups": []})
    assert "rate" not in whole


def test_suites_are_never_pooled(runs: Runs) -> None:
    first = trial("L1-a")
    other = TrialKey("contoso", "L1-a", 1, "claude", "catalog", 1)
    events = [*asked(first, score("pass")), *asked(other, score("fail"))]
    groups = runs.summary([first, other], events).groups
    assert [(g.suite, g.tiers[0].rate.rate) for g in groups] == [
        ("support", 1.0),
        ("contoso", 0.0),
    ]


def test_a_metric_counts_only_where_it_applies(runs: Runs) -> None:
    keys = [trial(f"L3-{n}") for n in range(3)]
    events = [
        *asked(keys[0], score("pass", execution=True, grounding=True)),
        *asked(keys[1], score("fail", execution=False, grounding=True)),
        *asked(keys[2], score("fail", execution=False, grounding=None)),
    ]
    tier = tier_of(only_group(runs.summary(keys, events)), "L3")
    assert tier.metrics == {"execution": Count(1, 3), "grounding": Count(2, 2)}


def pair_events(
    cases: int, passes: dict[str, int]
) -> tuple[list[TrialKey], list[dict[str, Any]]]:
    """Of `cases` cases the first n pass in each arm."""
    keys, events = [], []
    for arm, passed in passes.items():
        for n in range(cases):
            key = trial(f"L3-{n:02}", arm)
            keys.append(key)
            verdict = "pass" if n < passed else "fail"
            events += asked(key, score(verdict, execution=n < passed))
    return keys, events


def test_later_arms_are_paired_with_the_first(runs: Runs) -> None:
    # Six cases lost, none gained: exact McNemar p = 2 * (1/2)^6 = 0.03125
    keys, events = pair_events(9, {"catalog": 9, "none": 3})
    first, second = runs.summary(keys, events).groups
    assert first.paired == ()
    by_metric = {paired.metric: paired for paired in second.paired}
    assert list(by_metric) == ["pass", "execution"]
    paired = by_metric["pass"]
    assert (paired.arm, paired.against, paired.tier) == ("none", "catalog", "L3")
    assert (paired.gained, paired.lost, paired.pairs) == (0, 6, 9)
    assert paired.p_value == 0.03125


def test_repeats_are_one_pair_and_a_tie_is_dropped(runs: Runs) -> None:
    keys, events = [], []
    verdicts = {
        ("catalog", "L3-a"): ["pass", "pass", "fail"],
        ("none", "L3-a"): ["fail", "fail", "pass"],
        ("catalog", "L3-b"): ["pass", "fail"],
        ("none", "L3-b"): ["pass", "pass"],
    }
    for (arm, case), each in verdicts.items():
        for repeat, verdict in enumerate(each, start=1):
            key = trial(case, arm, repeat)
            keys.append(key)
            events += asked(key, score(verdict))
    _, second = runs.summary(keys, events).groups
    (paired,) = second.paired
    assert (paired.gained, paired.lost, paired.ties_dropped) == (0, 1, 1)
    assert paired.pairs == 1


def test_medians_and_sums_are_over_those_that_reported(runs: Runs) -> None:
    keys = [trial(f"L1-{n}") for n in range(3)]
    attempts = [
        Attempt("a", ms=100.0, hops=2, cost=0.1, usage=Usage(input_tokens=10)),
        Attempt("b", ms=300.0, hops=6, cost=0.2),
        Attempt("c", ms=200.0),
    ]
    events = [
        event
        for key, attempt in zip(keys, attempts, strict=True)
        for event in asked(key, score("pass"), attempt)
    ]
    group = only_group(runs.summary(keys, events))
    assert group.tool_calls_median == 0.0
    assert group.hops_median == 4.0
    assert group.latency_median_ms == 200.0
    assert group.tokens == {"input_tokens": Sum(10, 1)}
    assert group.cost == Sum(pytest.approx(0.3), 2)  # type: ignore[arg-type]


def test_what_was_not_measured_is_absent_not_zero(runs: Runs) -> None:
    key = trial("L1-a")
    summary = runs.summary([key], asked(key, score("pass")))
    (group,) = summary.to_json()["groups"]
    assert "hops_median" not in group
    assert "cost" not in group
    assert group["tokens"] == {}
    assert group["tool_calls_median"] == 0.0


def test_cases_that_failed_every_time_are_listed(runs: Runs) -> None:
    keys, events = [], []
    for case, verdicts in {"L3-a": ["fail"] * 3, "L3-b": ["fail", "pass"]}.items():
        for repeat, verdict in enumerate(verdicts, start=1):
            keys.append(trial(case, repeat=repeat))
            events += asked(keys[-1], score(verdict))
    group = only_group(runs.summary(keys, events))
    assert group.always_failed == (AlwaysFailed("L3-a", "L3", 3),)


def test_a_score_before_a_fault_does_not_count(runs: Runs) -> None:
    key = trial("L1-a")
    fault = fault_event(key, "wrong_agent", "fixture", "another agent answered")
    summary = runs.summary([key], [*asked(key, score("pass")), fault])
    assert (summary.tally.scored, summary.tally.faults) == (0, 1)
    assert tier_of(only_group(summary), "L1").rate.rate is None


def test_the_order_of_events_changes_nothing(runs: Runs) -> None:
    keys, events = [], []
    draw = random.Random(1)
    for arm in ("catalog", "schema-only"):
        for case in range(12):
            for repeat in (1, 2, 3):
                key = trial(f"L3-{case:02}", arm, repeat)
                keys.append(key)
                verdict = draw.choice(["pass", "fail", "fail", "declined"])
                attempt = Attempt("t", ms=draw.random(), cost=draw.random())
                events += asked(key, score(verdict), attempt)
    expected = runs.summary(keys, events).to_json()
    for seed in range(5):
        shuffled = random.Random(seed).sample(events, len(events))
        assert runs.summary(keys, shuffled).to_json() == expected


def test_the_summary_is_plain_json(runs: Runs) -> None:
    keys, events = pair_events(9, {"catalog": 9, "none": 3})
    data = runs.summary(keys, events).to_json()
    assert json.loads(json.dumps(data, allow_nan=False))["status"] == "complete"
    assert data["groups"][0]["tiers"][0]["rate"]["interval"]["method"] == (
        "Wilson over cases"
    )
