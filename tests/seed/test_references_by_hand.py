"""Each reference derived a second time, in Python over the generated rows.

The derivations read the rows before any warehouse has seen them and share no SQL
with the references: a reference that is wrong in the same way twice is unlikely.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
import yaml

from seed.support import generate

Query = Callable[[str], list[tuple[Any, ...]]]
Row = dict[str, Any]

FILE = Path(__file__).parents[2] / "cases" / "support.yaml"
CASES = {
    case["id"]: case
    for case in yaml.safe_load(FILE.read_text(encoding="utf-8"))["cases"]
}

TABLES = generate()
AGENTS, CUSTOMERS = TABLES["agents"], TABLES["customers"]
_AGENT = {agent["id"]: agent for agent in AGENTS}
_CUSTOMER = {customer["id"]: customer for customer in CUSTOMERS}
TARGET = {"P1": 60, "P2": 240, "P3": 1440}
RESPONSE_TARGET = {"P1": 15, "P2": 60, "P3": 240}
PAYING = {"starter", "business", "enterprise"}

# Every ticket with the attributes of its agent and customer beside its own.
RECORDED: list[Row] = [
    ticket
    | {
        "team": _AGENT[ticket["agent_id"]]["team"],
        "plan": _CUSTOMER[ticket["customer_id"]]["plan"],
        "region": _CUSTOMER[ticket["customer_id"]]["region"],
    }
    for ticket in TABLES["tickets"]
]
WORK = [t for t in RECORDED if t["status"] not in ("merged", "spam")]
OPEN = [t for t in WORK if t["closed_at"] is None]
DONE = [t for t in WORK if t["closed_at"] is not None]
ANSWERED = [t for t in WORK if t["first_response_minutes"] is not None]


def worked(ticket: Row) -> int:
    """Minutes between opening and closing, less those of waiting."""
    spent = ticket["closed_at"] - ticket["opened_at"]
    return int(spent.total_seconds()) // 60 - int(ticket["waiting_minutes"])


def is_breach(ticket: Row) -> bool:
    return worked(ticket) > TARGET[ticket["priority"]]


def is_late_on_the_wall_clock(ticket: Row) -> bool:
    spent = ticket["closed_at"] - ticket["opened_at"]
    return bool(spent > dt.timedelta(minutes=TARGET[ticket["priority"]]))


def is_out_of_hours(ticket: Row) -> bool:
    opened = ticket["opened_at"]
    return opened.weekday() >= 5 or not dt.time(8) <= opened.time() < dt.time(18)


def share(tickets: list[Row], holds: Callable[[Row], bool]) -> float:
    return sum(map(holds, tickets)) / len(tickets)


def waiting_share(tickets: list[Row]) -> float:
    waited = sum(int(t["waiting_minutes"]) for t in tickets)
    return waited / (waited + sum(map(worked, tickets)))


def mean_work(tickets: list[Row]) -> float:
    return mean(map(worked, tickets))


def split(
    tickets: list[Row], by: str, figure: Callable[[list[Row]], float]
) -> list[tuple[Any, ...]]:
    """One row a group: its name and the figure of its tickets."""
    groups: dict[str, list[Row]] = {}
    for ticket in tickets:
        groups.setdefault(ticket[by], []).append(ticket)
    return [(name, figure(members)) for name, members in groups.items()]


def lowest(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [min(rows, key=lambda row: row[1])]


def highest(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [max(rows, key=lambda row: row[1])]


def one(figure: float) -> list[tuple[Any, ...]]:
    return [(figure,)]


BY_HAND: dict[str, Callable[[], list[tuple[Any, ...]]]] = {
    "L1-ticket-count": lambda: one(len(RECORDED)),
    "L1-teams": lambda: [("Frontline",), ("Technical",), ("Billing",)],
    "L1-priorities": lambda: list(TARGET.items()),
    "L2-tickets-by-team": lambda: split(RECORDED, "team", len),
    "L2-tickets-by-region": lambda: split(RECORDED, "region", len),
    "L3-mean-resolution-time": lambda: one(mean_work(DONE)),
    "L3-resolution-by-channel": lambda: split(DONE, "channel", mean_work),
    "L3-breach-rate": lambda: one(share(DONE, is_breach)),
    "L3-breach-rate-by-priority": lambda: split(
        DONE, "priority", lambda ts: share(ts, is_breach)
    ),
    "L3-breach-rate-by-team": lambda: split(
        DONE, "team", lambda ts: share(ts, is_breach)
    ),
    "L3-waiting-share": lambda: one(waiting_share(DONE)),
    "L3-waiting-share-by-team": lambda: split(DONE, "team", waiting_share),
    "L3-backlog": lambda: one(len(OPEN)),
    "L3-backlog-by-priority": lambda: split(OPEN, "priority", len),
    "L3-ticket-volume-by-channel": lambda: split(WORK, "channel", len),
    "L3-reopen-rate-by-team": lambda: split(
        DONE, "team", lambda ts: share(ts, lambda t: t["reopen_count"] > 0)
    ),
    "L3-first-contact-resolution": lambda: one(
        share(DONE, lambda t: (t["agent_replies"], t["reopen_count"]) == (1, 0))
    ),
    "L3-escalation-rate-by-team": lambda: split(
        WORK, "team", lambda ts: share(ts, lambda t: t["escalation_level"] in (2, 3))
    ),
    "L3-first-response-by-channel": lambda: split(
        ANSWERED, "channel", lambda ts: mean(t["first_response_minutes"] for t in ts)
    ),
    "L3-fastest-team": lambda: lowest(split(DONE, "team", mean_work)),
    "L3-slowest-team": lambda: highest(split(DONE, "team", mean_work)),
    "L3-fastest-channel": lambda: lowest(split(DONE, "channel", mean_work)),
    "L3-mean-waiting": lambda: one(mean(t["waiting_minutes"] for t in DONE)),
    "L3-least-waiting-channel": lambda: lowest(split(DONE, "channel", waiting_share)),
    "L3-urgent-target": lambda: one(TARGET["P1"]),
    "L3-urgent-breaches": lambda: one(
        sum(is_breach(t) for t in DONE if t["priority"] == "P1")
    ),
    "L3-breach-if-waiting-counted": lambda: one(share(DONE, is_late_on_the_wall_clock)),
    "L3-enterprise-within-target": lambda: one(
        1 - share([t for t in DONE if t["plan"] == "enterprise"], is_breach)
    ),
    "L3-excused-by-waiting": lambda: one(
        sum(map(is_late_on_the_wall_clock, DONE)) - sum(map(is_breach, DONE))
    ),
    "L3-customer-bound": lambda: one(
        sum(t["waiting_minutes"] > worked(t) for t in DONE)
    ),
    "L3-open-billing": lambda: one(sum(t["team"] == "Billing" for t in OPEN)),
    "L3-stale-backlog": lambda: one(
        sum(dt.datetime(2026, 1, 1) - t["opened_at"] > dt.timedelta(30) for t in OPEN)
    ),
    "L3-backlog-age": lambda: one(
        mean(
            (dt.datetime(2026, 1, 1) - t["opened_at"]) / dt.timedelta(days=1)
            for t in OPEN
        )
    ),
    "L3-resolved-tickets": lambda: one(len(DONE)),
    "L3-resolved-in-march": lambda: one(
        sum((t["closed_at"].year, t["closed_at"].month) == (2025, 3) for t in DONE)
    ),
    "L3-volume-fourth-quarter": lambda: one(
        sum(t["opened_at"].month in (10, 11, 12) for t in WORK)
    ),
    "L3-void-share": lambda: one(1 - len(WORK) / len(RECORDED)),
    "L3-paying-volume": lambda: one(sum(t["plan"] in PAYING for t in WORK)),
    "L3-contact-rate": lambda: one(
        sum(t["plan"] in PAYING for t in WORK)
        / sum(c["plan"] in PAYING and not c["churned_at"] for c in CUSTOMERS)
    ),
    "L3-premium-resolution": lambda: one(
        mean_work([t for t in DONE if t["plan"] in ("business", "enterprise")])
    ),
    "L3-urgent-late-response": lambda: one(
        share(
            [t for t in ANSWERED if t["priority"] == "P1"],
            lambda t: t["first_response_minutes"] > RESPONSE_TARGET["P1"],
        )
    ),
    "L3-raised-tickets": lambda: one(
        sum(int(t["priority"][1]) < int(t["initial_priority"][1]) for t in WORK)
    ),
    "L3-out-of-hours-share": lambda: one(share(WORK, is_out_of_hours)),
    "L3-active-agents-by-team": lambda: split(
        [agent for agent in AGENTS if agent["left_at"] is None], "team", len
    ),
}


def test_every_reference_has_a_second_derivation() -> None:
    assert set(BY_HAND) == {i for i, case in CASES.items() if "reference" in case}


@pytest.mark.parametrize("case_id", BY_HAND)
def test_the_reference_agrees_with_its_second_derivation(
    query: Query, case_id: str
) -> None:
    reference = sorted(query(CASES[case_id]["reference"]["sql"]))
    by_hand = sorted(BY_HAND[case_id]())
    assert len(reference) == len(by_hand)
    for row, expected in zip(reference, by_hand, strict=True):
        for cell, figure in zip(row, expected, strict=True):
            if isinstance(figure, str):
                assert cell == figure
            else:
                assert float(cell) == pytest.approx(figure, rel=1e-9)
