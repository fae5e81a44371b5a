"""Rows of the support desk, drawn from a seed alone."""

from __future__ import annotations

import datetime as dt
import math
import random
from collections import defaultdict
from typing import Any, TypeVar

from seed.draws import stream
from seed.support import names

Row = dict[str, Any]
T = TypeVar("T")

# The data ends here; nothing in it depends on the day on which it is built.
SNAPSHOT = dt.datetime(2026, 1, 1)
YEAR_START = dt.datetime(2025, 1, 1)
# Resolved tickets open early enough to close before the snapshot.
LAST_RESOLVED_OPENING = dt.datetime(2025, 12, 20)

TICKETS = 3600
CUSTOMERS = 420

PLANS = {"free": 28, "starter": 32, "business": 22, "enterprise": 10, "partner": 8}
REGIONS = {"Americas": 40, "Europe": 38, "Asia Pacific": 22}
# A larger plan writes more, and is served a little sooner.
PLAN_ACTIVITY = {
    "free": 0.7,
    "starter": 1.0,
    "business": 1.5,
    "enterprise": 2.6,
    "partner": 1.2,
}
PLAN_PACE = {
    "free": 1.12,
    "starter": 1.04,
    "business": 0.97,
    "enterprise": 0.86,
    "partner": 1.02,
}

# team: agents, share of tickets, factor on the elapsed time, and how its
# customers keep it waiting: how often, and from and to which share of the time.
# Billing waits for paperwork most of the time: last on the wall clock, first on
# the time that counts.
TEAMS: dict[str, tuple[int, int, float, float, float, float]] = {
    "Frontline": (12, 50, 1.00, 0.20, 0.05, 0.20),
    "Technical": (8, 30, 1.25, 0.45, 0.15, 0.40),
    "Billing": (6, 20, 1.90, 0.85, 0.55, 0.80),
}
LEAVERS = {"Frontline": 2, "Technical": 1, "Billing": 1}
CHANNELS = {
    "Frontline": {"email": 33, "chat": 37, "phone": 25, "web": 5},
    "Technical": {"email": 50, "chat": 26, "phone": 14, "web": 10},
    "Billing": {"email": 30, "chat": 5, "phone": 10, "web": 55},
}
CATEGORIES = {
    "Frontline": {"how-to": 45, "account": 35, "feedback": 20},
    "Technical": {"bug": 45, "integration": 35, "outage": 20},
    "Billing": {"invoice": 50, "payment": 30, "refund": 20},
}
CHANNEL_PACE = {"email": 1.06, "chat": 0.98, "phone": 0.96, "web": 0.92}
PRIORITY_PACE = {"P1": 0.60, "P2": 0.90, "P3": 1.12}
PRIORITIES = {"P1": 10, "P2": 30, "P3": 60}

SLA = {"P1": (60, 15), "P2": (240, 60), "P3": (1440, 240)}

STATUSES = {
    "closed": 54,
    "resolved": 26,
    "new": 2,
    "open": 5,
    "pending": 4,
    "on_hold": 2,
    "merged": 4,
    "spam": 3,
}
RESOLVED = ("resolved", "closed")
VOID = ("merged", "spam")
# status: days open at most and (before that cut) on average, share of the time spent waiting.
OPEN_SHAPE = {
    "new": (2.0, 0.7, 0.0, 0.0),
    "open": (120.0, 14.0, 0.0, 0.2),
    "pending": (120.0, 24.0, 0.4, 0.95),
    "on_hold": (120.0, 40.0, 0.1, 0.5),
}
# channel: minutes to the automatic acknowledgement, median to a person's reply.
ACKNOWLEDGEMENT = {"email": (1, 3), "web": (1, 2), "chat": (0, 1)}
RESPONSE_MEDIAN = {"email": 70.0, "web": 90.0, "chat": 7.0, "phone": 5.0}
RESPONSE_PACE = {"P1": 0.35, "P2": 0.8, "P3": 1.3}


def generate(seed: int = 1, scale: float = 1.0) -> dict[str, list[Row]]:
    """Rows of each table of the schema `support`, by the table's bare name.

    `scale` multiplies customers and tickets; 1.0 is 3600 tickets. Equal
    arguments give equal rows. Raises ValueError unless `scale` is positive.
    """
    if scale <= 0:
        raise ValueError(f"scale must be positive, not {scale}")
    customers = _customers(seed, max(20, round(CUSTOMERS * scale)))
    agents = _agents(seed)
    tickets = _tickets(seed, max(1, round(TICKETS * scale)), customers, agents)
    return {
        "customers": customers,
        "agents": agents,
        "sla": [
            {"priority": p, "target_minutes": t, "response_target_minutes": r}
            for p, (t, r) in SLA.items()
        ],
        "tickets": tickets,
        "team_months": _team_months(tickets, agents),
    }


def _pick(rng: random.Random, weights: dict[T, int] | dict[T, float]) -> T:
    return rng.choices(list(weights), list(weights.values()))[0]


def _customers(seed: int, count: int) -> list[Row]:
    who, terms, life = (
        stream(seed, f"customers/{family}") for family in ("who", "terms", "life")
    )
    rows = []
    for number in range(1, count + 1):
        head = who.choice(names.COMPANY_HEADS)
        company = f"{head} {who.choice(names.COMPANY_TAILS)}"
        contact = f"{who.choice(names.FIRST)}.{who.choice(names.LAST)}"
        created = dt.datetime(2021, 1, 1) + dt.timedelta(
            minutes=life.randrange(3 * 365 * 1440)
        )
        # Whoever left did so before the year of the tickets.
        left = life.random() < 0.12
        until_start = (YEAR_START - created).total_seconds() / 60
        stay_minutes = int(until_start * life.uniform(0.2, 0.95))
        rows.append(
            {
                "id": number,
                "name": company,
                "email": f"{contact.lower()}{number}@{head.lower()}.example",
                "phone": f"+1-555-{who.randrange(10**7):07d}",
                "plan": _pick(terms, PLANS),
                "region": _pick(terms, REGIONS),
                "created_at": created,
                "churned_at": (
                    created + dt.timedelta(minutes=stay_minutes) if left else None
                ),
            }
        )
    return rows


def _agents(seed: int) -> list[Row]:
    who, life = stream(seed, "agents/who"), stream(seed, "agents/life")
    first = who.sample(names.FIRST, sum(shape[0] for shape in TEAMS.values()))
    rows: list[Row] = []
    for team, (size, *_) in TEAMS.items():
        for place in range(size):
            given, family = first[len(rows)], who.choice(names.LAST)
            hired = dt.date(2019, 1, 1) + dt.timedelta(days=life.randrange(5 * 365))
            left = dt.date(2025, 5, 1) + dt.timedelta(days=life.randrange(180))
            rows.append(
                {
                    "id": len(rows) + 1,
                    "name": f"{given} {family}",
                    "team": team,
                    "email": f"{given}.{family}@desk.example".lower(),
                    "phone": f"+1-555-{who.randrange(10**7):07d}",
                    "hired_at": hired,
                    "left_at": left if place < LEAVERS[team] else None,
                }
            )
    return rows


def _tickets(
    seed: int, count: int, customers: list[Row], agents: list[Row]
) -> list[Row]:
    kind, route, moment, pace, wait, answer, effort = (
        stream(seed, f"tickets/{family}")
        for family in ("kind", "route", "moment", "pace", "wait", "answer", "effort")
    )
    buyers = [c for c in customers if c["churned_at"] is None]
    activity = [
        PLAN_ACTIVITY[c["plan"]] * route.lognormvariate(0.0, 0.6) for c in buyers
    ]
    rows = []
    for _ in range(count):
        team = _pick(kind, {name: shape[1] for name, shape in TEAMS.items()})
        status = _pick(kind, STATUSES)
        channel = _pick(kind, CHANNELS[team])
        if status == "spam":
            channel = kind.choice(["email", "web"])
        category = _pick(kind, CATEGORIES[team])
        priority = _pick(kind, PRIORITIES)
        initial = priority
        if kind.random() < 0.18:
            initial = kind.choice([p for p in PRIORITIES if p != priority])
        customer = route.choices(buyers, activity)[0]

        work = pace.lognormvariate(5.2, 0.9) * TEAMS[team][2]
        work *= CHANNEL_PACE[channel] * PRIORITY_PACE[priority]
        work *= PLAN_PACE[customer["plan"]]
        opened, elapsed = _times(moment, status, max(2, round(work)))
        waiting = _waiting(wait, team, status, elapsed)
        is_open = status not in RESOLVED and status not in VOID
        reply, response = _first_answers(answer, channel, priority, status, elapsed)
        on_duty = [
            a["id"]
            for a in agents
            if a["team"] == team
            and (a["left_at"] is None or a["left_at"] > opened.date())
        ]
        rows.append(
            {
                "customer_id": customer["id"],
                "agent_id": route.choice(on_duty),
                "channel": channel,
                "category": category,
                "initial_priority": initial,
                "priority": priority,
                "status": status,
                "opened_at": opened,
                "closed_at": (
                    None if is_open else opened + dt.timedelta(minutes=elapsed)
                ),
                "elapsed_minutes": elapsed,
                "waiting_minutes": waiting,
                "resolution_minutes": elapsed - waiting if status in RESOLVED else None,
                "first_reply_minutes": reply,
                "first_response_minutes": response,
                **_effort(effort, team, status),
            }
        )
    rows.sort(key=lambda row: row["opened_at"])
    return [{"id": number, **row} for number, row in enumerate(rows, start=1)]


def _times(
    rng: random.Random, status: str, worked_minutes: int
) -> tuple[dt.datetime, int]:
    """When the ticket opened and its minutes until closing or the snapshot."""
    if status in OPEN_SHAPE:
        most, mean, *_ = OPEN_SHAPE[status]
        # Exponential ages cut off at `most`, by inversion: no heap at the end.
        age_days = -mean * math.log1p(rng.random() * math.expm1(-most / mean))
        elapsed = max(5, round(age_days * 1440))
        return SNAPSHOT - dt.timedelta(minutes=elapsed), elapsed
    day = YEAR_START + dt.timedelta(
        days=rng.randrange((LAST_RESOLVED_OPENING - YEAR_START).days)
    )
    if day.isoweekday() > 5 and rng.random() < 0.6:
        day -= dt.timedelta(days=2)
    office = rng.random() < 0.8
    minute = rng.randrange(8 * 60, 18 * 60) if office else rng.randrange(24 * 60)
    opened = max(YEAR_START, day) + dt.timedelta(minutes=minute)
    # Merged and spam tickets are closed by a rule within the hour.
    return opened, rng.randrange(1, 60) if status in VOID else worked_minutes


def _waiting(rng: random.Random, team: str, status: str, elapsed: int) -> int:
    _, _, _, chance, low, high = TEAMS[team]
    waits, share = rng.random() < chance, rng.uniform(low, high)
    spread = rng.random()
    if status in VOID:
        return 0
    if status in OPEN_SHAPE:
        _, _, least, most = OPEN_SHAPE[status]
        return round(elapsed * (least + (most - least) * spread))
    return round(elapsed * share) if waits else 0


def _first_answers(
    rng: random.Random, channel: str, priority: str, status: str, elapsed: int
) -> tuple[int | None, int | None]:
    """Minutes to the first reply of any kind, and to the first by a person."""
    typical = RESPONSE_MEDIAN[channel] * RESPONSE_PACE[priority]
    response = min(elapsed, max(1, round(typical * rng.lognormvariate(0.0, 0.8))))
    low, high = ACKNOWLEDGEMENT.get(channel, (0, 0))
    acknowledged = rng.randint(low, high) if channel in ACKNOWLEDGEMENT else None
    answered = status not in VOID and status != "new"
    if acknowledged is None:
        return (response, response) if answered else (None, None)
    return min(acknowledged, response), response if answered else None


def _effort(rng: random.Random, team: str, status: str) -> Row:
    replies = 1 + min(9, int(rng.expovariate(1.1)))
    reopened = rng.choices([0, 1, 2, 3], [86, 9, 3, 2])[0]
    levels = [60, 22, 13, 5] if team == "Technical" else [74, 18, 6, 2]
    level = rng.choices([0, 1, 2, 3], levels)[0]
    if status in VOID or status == "new":
        return {"agent_replies": 0, "reopen_count": 0, "escalation_level": 0}
    return {
        "agent_replies": replies,
        "reopen_count": reopened,
        "escalation_level": level,
    }


def _team_months(tickets: list[Row], agents: list[Row]) -> list[Row]:
    """The dashboard's table: wall-clock means of all that closed, by month."""
    team_of = {a["id"]: a["team"] for a in agents}
    minutes: dict[tuple[str, dt.date], list[int]] = defaultdict(list)
    for ticket in tickets:
        if ticket["closed_at"] is not None:
            month = ticket["closed_at"].date().replace(day=1)
            key = (team_of[ticket["agent_id"]], month)
            minutes[key].append(ticket["elapsed_minutes"])
    return [
        {
            "team_name": team,
            "closed_month": month,
            "closed_tickets": len(spent),
            "avg_duration_minutes": round(sum(spent) / len(spent), 2),
        }
        for (team, month), spent in sorted(minutes.items())
    ]
