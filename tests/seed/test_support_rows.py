"""The generated support desk: its determinism and the shape that makes the traps."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from statistics import mean
from typing import Any

import pytest

from seed.draws import stream
from seed.support import generate

RESOLVED = {"resolved", "closed"}
VOID = {"merged", "spam"}


def digest(rows: list[dict[str, Any]]) -> str:
    return hashlib.sha256(json.dumps(rows, default=str).encode()).hexdigest()[:16]


@pytest.mark.parametrize(
    ("table", "expected"),
    # The first build's own digests: a change of a figure must be meant.
    [
        ("customers", "0c483f54ddfc744c"),
        ("agents", "b0c24118f3a59a92"),
        ("sla", "4b31d6df499e6e92"),
        ("tickets", "24b83c797d47311c"),
        ("team_months", "87ec53f4d7206299"),
    ],
)
def test_seed_1_gives_these_very_rows(
    rows: dict[str, list[dict[str, Any]]], table: str, expected: str
) -> None:
    assert digest(rows[table]) == expected


def test_equal_arguments_give_equal_rows_and_another_seed_gives_others() -> None:
    assert generate(7, 0.1) == generate(7, 0.1)
    assert generate(7, 0.1)["tickets"] != generate(8, 0.1)["tickets"]


def test_scale_multiplies_tickets_and_customers() -> None:
    # 3600 tickets and 420 customers at scale 1.
    tables = generate(1, 0.5)
    assert len(tables["tickets"]) == 1800
    assert len(tables["customers"]) == 210


@pytest.mark.parametrize("scale", [0, -1.0])
def test_a_scale_that_is_not_positive_is_refused(scale: float) -> None:
    with pytest.raises(ValueError, match="scale must be positive"):
        generate(1, scale)


def test_families_of_attributes_draw_from_streams_of_their_own() -> None:
    alone, beside, other = stream(1, "a"), stream(1, "a"), stream(1, "b")
    expected = [alone.random() for _ in range(3)]
    drawn, others = [], []
    for _ in range(3):
        others.append(other.random())
        drawn.append(beside.random())
    assert drawn == expected
    assert others != expected


@pytest.mark.parametrize("seed", range(1, 11))
def test_billing_is_last_on_the_wall_clock_and_first_by_resolution_time(
    seed: int,
) -> None:
    """The ranking flip is a property of the definitions, not of one draw."""
    tables = generate(seed)
    assert len(tables["tickets"]) >= 3000
    team_of = {a["id"]: a["team"] for a in tables["agents"]}
    elapsed: dict[str, list[int]] = {}
    resolution: dict[str, list[int]] = {}
    for ticket in tables["tickets"]:
        if ticket["status"] in RESOLVED:
            team = team_of[ticket["agent_id"]]
            elapsed.setdefault(team, []).append(ticket["elapsed_minutes"])
            resolution.setdefault(team, []).append(ticket["resolution_minutes"])
    assert set(elapsed) == {"Frontline", "Technical", "Billing"}
    assert max(elapsed, key=lambda team: mean(elapsed[team])) == "Billing"
    assert min(resolution, key=lambda team: mean(resolution[team])) == "Billing"


def test_the_three_clocks_of_a_ticket_agree(
    rows: dict[str, list[dict[str, Any]]],
) -> None:
    snapshot = dt.datetime(2026, 1, 1)
    for ticket in rows["tickets"]:
        end = ticket["closed_at"] or snapshot
        spent = dt.timedelta(minutes=ticket["elapsed_minutes"])
        assert end - ticket["opened_at"] == spent
        assert 0 <= ticket["waiting_minutes"] <= ticket["elapsed_minutes"]
        if ticket["status"] in RESOLVED:
            assert ticket["resolution_minutes"] == (
                ticket["elapsed_minutes"] - ticket["waiting_minutes"]
            )
        else:
            assert ticket["resolution_minutes"] is None
        is_closed = ticket["status"] in RESOLVED | VOID
        assert (ticket["closed_at"] is not None) == is_closed


def test_every_date_lies_before_the_snapshot(
    rows: dict[str, list[dict[str, Any]]],
) -> None:
    snapshot = dt.datetime(2026, 1, 1)
    for ticket in rows["tickets"]:
        assert dt.datetime(2025, 1, 1) <= ticket["opened_at"] < snapshot
        assert ticket["closed_at"] is None or ticket["closed_at"] < snapshot


def test_a_person_never_answers_before_the_first_reply_or_after_the_end(
    rows: dict[str, list[dict[str, Any]]],
) -> None:
    for ticket in rows["tickets"]:
        if (response := ticket["first_response_minutes"]) is not None:
            assert ticket["first_reply_minutes"] <= response
            assert response <= ticket["elapsed_minutes"]


def test_people_take_and_bring_tickets_only_while_they_are_here(
    rows: dict[str, list[dict[str, Any]]],
) -> None:
    agents = {a["id"]: a for a in rows["agents"]}
    customers = {c["id"]: c for c in rows["customers"]}
    for ticket in rows["tickets"]:
        agent = agents[ticket["agent_id"]]
        opened = ticket["opened_at"]
        assert agent["hired_at"] < opened.date()
        assert agent["left_at"] is None or opened.date() < agent["left_at"]
        customer = customers[ticket["customer_id"]]
        assert customer["created_at"] < opened
        assert customer["churned_at"] is None


@pytest.mark.parametrize("table", ["customers", "agents"])
def test_contact_data_exists_to_be_withheld(
    rows: dict[str, list[dict[str, Any]]], table: str
) -> None:
    emails = [person["email"] for person in rows[table]]
    assert all(email.endswith(".example") and "@" in email for email in emails)
    assert len(set(emails)) == len(emails)
    assert all(person["phone"].startswith("+1-555-") for person in rows[table])
