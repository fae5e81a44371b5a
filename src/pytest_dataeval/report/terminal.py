"""What a run and a failure look like in a terminal: pure functions to lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_dataeval.ledger.summary import (
    Count,
    GroupSummary,
    Paired,
    Summary,
    Tally,
    TierSummary,
)
from pytest_dataeval.report.tables import side_by_side
from pytest_dataeval.report.text import listed, paragraph, visible
from pytest_dataeval.stats.formatting import interval_text, p_text, percent
from pytest_dataeval.stats.intervals import Interval

if TYPE_CHECKING:
    from pytest_dataeval.engine.outcome import TrialOutcome

MAX_SQL_LINES = 24
MAX_ANSWER_LINES = 12

#: Cases that are named where each of their trials failed.
MAX_NAMED_CASES = 20


def lines(
    summary: Summary,
    run_folder: Path | str,
    commands: Sequence[str] = (),
    *,
    width: int = 80,
) -> list[str]:
    """The summary of a run; `commands` are what a reader may run next."""
    status = summary.status + (f" ({summary.reason})" if summary.reason else "")
    found = [visible(f"run {run_folder}: {status}")]
    found += listed("trials:", _whole(summary.tally), width)
    many = len({group.suite for group in summary.groups}) > 1
    for group in summary.groups:
        found += ["", *_group(group, many, width)]
    if commands:
        found += ["", *(f"  {command}" for command in commands)]
    return found


def _whole(tally: Tally) -> list[str]:
    return [
        f"{tally.planned} planned",
        f"{tally.asked} asked",
        f"{tally.scored} scored",
        *_beside(tally),
    ]


def _beside(tally: Tally) -> list[str]:
    """What stands beside the denominator, where there is any."""
    counts = {
        "declined": tally.declined,
        "unscored": tally.unscored,
        "fault" if tally.faults == 1 else "faults": tally.faults,
        "not run": tally.not_run,
        "not yet scored": tally.waiting,
    }
    return [f"{count} {word}" for word, count in counts.items() if count]


def _group(group: GroupSummary, name_suite: bool, width: int) -> list[str]:
    suite = f"{group.suite}: " if name_suite else ""
    found = [f"{suite}agent {group.agent}, arm {group.arm}"]
    for tier in group.tiers:
        found += _tier(tier, width)
    for tier in group.tiers:
        found += listed(f"{tier.tier}:", _metrics(tier.metrics), width)
    found += listed("per ask:", _effort(group), width)
    found += listed("fails:", _named(group.fail_reasons), width)
    if group.fail_reasons.get("earlier_statement"):
        found.append(
            "  earlier_statement: right figure, but from a statement before the last"
        )
    found += listed("unscored:", _named(group.unscored_reasons), width)
    found += listed("faults:", _named(group.faults), width)
    failed = [f"{c.case} 0/{c.n}" for c in group.always_failed if c.n > 1]
    if len(failed) > MAX_NAMED_CASES:
        left = len(failed) - MAX_NAMED_CASES
        failed = [*failed[:MAX_NAMED_CASES], f"and {left} more"]
    found += listed("failed every time:", failed, width)
    if group.paired:
        found.append(f"  against arm {group.paired[0].against}, the same cases:")
        for tier in group.tiers:
            of_tier = [p for p in group.paired if p.tier == tier.tier]
            for paired in of_tier:
                if paired.p_value is not None:
                    found += _paired(paired, width)
            same = [f"{p.metric} {p.pairs}" for p in of_tier if p.p_value is None]
            found += listed(f"{tier.tier} no question differed:", same, width, "    ")
    return found


def _tier(tier: TierSummary, width: int) -> list[str]:
    rate, tally = tier.rate, tier.tally
    beside = _beside(tally)
    if rate.tied:
        beside.insert(0, f"{rate.tied} tied")
    if rate.rate is None:
        found = listed(f"{tier.tier}  nothing to rate;", beside or ["no trial"], width)
    else:
        head = f"{tier.tier}  {f'{rate.passed}/{rate.n_decided}':>7}"
        head += f"  {percent(rate.rate):>5}%  {_bounds(rate.interval):<11}"
        found = listed(head, beside, width) or [f"  {head}".rstrip()]
    if rate.n_trials > rate.n_cases and rate.pass_at_1 is not None:
        bounds = _bounds(rate.pass_at_1_interval)
        if rate.pass_at_1_interval is None:
            bounds = f"no interval: {rate.pass_at_1_withheld}"
        found += listed(
            f"    pass@1 {percent(rate.pass_at_1)}%  {bounds}",
            [f"{tally.passed}/{tally.scored} asks"],
            width,
        )
    if tally.declined and not tally.scored:
        found.append("      all declined: this says nothing about the guard")
    return found


def _bounds(interval: Interval | None) -> str:
    return interval_text(interval).replace("–", "-")


def _metrics(metrics: Mapping[str, Count]) -> list[str]:
    return [f"{name} {count.true}/{count.n}" for name, count in metrics.items()]


def _named(counts: Mapping[str, int]) -> list[str]:
    return [f"{visible(name)} {count}" for name, count in counts.items()]


def _effort(group: GroupSummary) -> list[str]:
    """Medians an ask; totals of tokens and cost, which are lower bounds."""
    found = []
    if group.tool_calls_median is not None:
        found.append(f"{group.tool_calls_median:g} tool calls")
    if group.hops_median is not None:
        found.append(f"{group.hops_median:g} hops")
    if group.latency_median_ms is not None:
        found.append(f"{group.latency_median_ms / 1000:.2f} s (medians)")
    for name, tokens in group.tokens.items():
        found.append(f"{tokens.total:,.0f} {name.replace('_', ' ')} in all")
    if group.cost is not None and group.cost.total > 0:
        found.append(
            f"cost at least {group.cost.total:.4g} (from {group.cost.reported} asks)"
        )
    return found


def _paired(paired: Paired, width: int) -> list[str]:
    parts = [f"{p_text(paired.p_value)} over {paired.pairs} pairs"]
    if paired.ties_dropped:
        parts.append(f"{paired.ties_dropped} tied")
    if paired.unpaired:
        parts.append(f"{paired.unpaired} unpaired")
    split = f"+{paired.gained}/-{paired.lost}"
    head = f"{paired.tier} {paired.metric:<9} {split:<8}"
    return listed(head, [f"{', '.join(parts)}: {paired.sentence}"], width, "    ")


def failure_lines(outcome: TrialOutcome, *, width: int = 80) -> list[str]:
    """Why one trial did not pass: both results, the scored SQL, what was stated.

    All text is an agent's or a warehouse's, and none of it can act on the
    terminal.
    """
    found = paragraph(outcome.reason, width, MAX_ANSWER_LINES, indent="")
    found.append("question")
    found += paragraph(outcome.question, width, MAX_ANSWER_LINES)
    score = outcome.score
    if score is not None and score.stated_value is not None:
        found += paragraph(f"stated figure: {score.stated_value}", width, 2, "")
    elif score is not None and score.no_value:
        found.append("stated figure: none")
    if outcome.reference is not None or outcome.answer is not None:
        found += side_by_side(
            "reference", outcome.reference, "returned", outcome.answer, width
        )
    if outcome.sql is not None:
        found.append("SQL that was scored")
        found += paragraph(outcome.sql, width, MAX_SQL_LINES)
    if outcome.attempt is not None and outcome.attempt.text is not None:
        found.append("answer")
        found += paragraph(outcome.attempt.text or "(empty)", width, MAX_ANSWER_LINES)
    return found
