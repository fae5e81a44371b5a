"""The golden questions of the support desk: answerable, unambiguous, and trapped."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

Query = Callable[[str], list[tuple[Any, ...]]]

FILE = Path(__file__).parents[2] / "cases" / "support.yaml"
CASES = yaml.safe_load(FILE.read_text(encoding="utf-8"))["cases"]
ANSWERED = [case for case in CASES if "reference" in case]
# A wrong reading must be further from the reference than any tolerance forgives.
CLEAR_GAP = 0.03


def is_clearly_different(
    one: list[tuple[Any, ...]], other: list[tuple[Any, ...]]
) -> bool:
    """Whether two results differ in a name, or by over 3% in some number.

    Rows are compared in the order of their text cells, cells by place.
    """
    for row, twin in zip(_by_name(one), _by_name(other), strict=True):
        for cell, match in zip(row, twin, strict=True):
            if isinstance(cell, str) or isinstance(match, str):
                if cell != match:
                    return True
            elif abs(float(cell) - float(match)) > CLEAR_GAP * abs(float(cell)):
                return True
    return False


def _by_name(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(rows, key=lambda row: [c for c in row if isinstance(c, str)])


def by_id(case: dict[str, Any]) -> str:
    return str(case["id"])


def test_the_suite_has_its_agreed_size() -> None:
    # 48 questions, 39 of them L3: enough discordant pairs for a paired test.
    assert Counter(case["tier"] for case in CASES) == {
        "L1": 3,
        "L2": 2,
        "L3": 39,
        "L4": 2,
        "L5": 2,
    }


def test_ids_are_unique_and_start_with_their_tier() -> None:
    assert len({case["id"] for case in CASES}) == len(CASES)
    assert all(case["id"].startswith(case["tier"] + "-") for case in CASES)


def test_no_two_wordings_of_the_suite_are_the_same() -> None:
    texts = [
        text
        for case in CASES
        for text in [case["question"], *(w["text"] for w in case.get("wordings", []))]
    ]
    assert len({text.casefold() for text in texts}) == len(texts)


def test_enough_questions_have_reviewed_wordings() -> None:
    reworded = [
        case
        for case in CASES
        if case["tier"] == "L3"
        and sum(w["reviewed"] for w in case.get("wordings", [])) >= 2
    ]
    assert len(reworded) >= 15


def test_every_case_says_which_mistake_it_catches() -> None:
    assert all(len(case["why"].split()) >= 6 for case in CASES)


@pytest.mark.parametrize("case", ANSWERED, ids=by_id)
def test_each_reference_gives_the_same_short_answer_twice(
    query: Query, case: dict[str, Any]
) -> None:
    first, second = (query(case["reference"]["sql"]) for _ in range(2))
    assert 1 <= len(first) <= 8
    assert all(cell is not None for row in first for cell in row)
    assert sorted(first) == sorted(second)


@pytest.mark.parametrize(
    "case", [c for c in ANSWERED if " limit " in c["reference"]["sql"]], ids=by_id
)
def test_no_reference_ties_where_it_is_cut(query: Query, case: dict[str, Any]) -> None:
    whole = re.sub(r" limit 1$", "", case["reference"]["sql"].strip())
    first, second = (row[-1] for row in query(whole)[:2])
    assert abs(first - second) > CLEAR_GAP * abs(first)


@pytest.mark.parametrize("case", ANSWERED, ids=by_id)
def test_each_reference_obeys_the_expectations_of_its_own_case(
    case: dict[str, Any],
) -> None:
    sql = case["reference"]["sql"]
    words = set(re.findall(r"[a-z_]+", re.sub(r"'[^']*'", "", sql)))
    semantics = case.get("semantics", {})
    for entry in semantics.get("require", []):
        assert words & set([entry] if isinstance(entry, str) else entry)
    assert not words & set(semantics.get("forbid", []))
    assert set(re.findall(r"support\.[a-z_]+", sql)) == set(case["tables"])
    assert not words & {"now", "current_date", "current_timestamp", "today", "random"}


@pytest.mark.parametrize(
    ("case", "alternative"),
    [(c, a) for c in ANSWERED for a in c.get("alternatives", [])],
    ids=lambda value: value.get("id") or value["name"],
)
def test_each_alternative_is_told_apart_from_the_reference(
    query: Query, case: dict[str, Any], alternative: dict[str, Any]
) -> None:
    width = len(query(alternative["sql"])[0])
    reference = [row[:width] for row in query(case["reference"]["sql"])]
    assert is_clearly_different(reference, query(alternative["sql"]))


@pytest.mark.parametrize("case", [c for c in CASES if "terms" in c], ids=by_id)
def test_of_a_terms_definitions_exactly_one_is_the_reference(
    query: Query, case: dict[str, Any]
) -> None:
    reference = query(case["reference"]["sql"])
    for term in case["terms"]:
        matches = [
            definition["name"]
            for definition in term["definitions"]
            if not is_clearly_different(reference, query(definition["sql"]))
        ]
        assert len(matches) == 1


RESOLVED = "status in ('resolved', 'closed')"
NOT_VOID = "status not in ('merged', 'spam')"
SLA = "join support.sla s on s.priority = t.priority"
WRONG_READINGS = {
    "resolution over the wall clock": (
        "L3-mean-resolution-time",
        f"select avg(elapsed_minutes) from support.tickets where {RESOLVED}",
    ),
    "resolution by subtraction over every ticket": (
        "L3-mean-resolution-time",
        "select avg(elapsed_minutes - waiting_minutes) from support.tickets",
    ),
    "resolution of closed tickets, void ones included": (
        "L3-mean-resolution-time",
        "select avg(elapsed_minutes - waiting_minutes) from support.tickets "
        "where closed_at is not null",
    ),
    "fastest team from the old dashboard": (
        "L3-fastest-team",
        "select team_name, avg(avg_duration_minutes) from support.team_months "
        "group by team_name order by 2 limit 1",
    ),
    "slowest team on the wall clock": (
        "L3-slowest-team",
        "select team, avg(elapsed_minutes) from support.tickets join support.agents a "
        f"on a.id = agent_id where {RESOLVED} group by team order by 2 desc limit 1",
    ),
    "fastest channel on the wall clock": (
        "L3-fastest-channel",
        f"select channel, avg(elapsed_minutes) from support.tickets where {RESOLVED} "
        "group by channel order by 2 limit 1",
    ),
    "breaches on the wall clock": (
        "L3-breach-rate",
        "select avg(case when elapsed_minutes > target_minutes then 1.0 else 0 end) "
        f"from support.tickets t {SLA} where {RESOLVED}",
    ),
    "breaches over all tickets": (
        "L3-breach-rate",
        "select avg(case when resolution_minutes > target_minutes then 1.0 else 0 end) "
        f"from support.tickets t {SLA}",
    ),
    "breaches against one target for all": (
        "L3-breach-rate-by-priority",
        "select priority, avg(case when resolution_minutes > 240 then 1.0 else 0 end) "
        f"from support.tickets where {RESOLVED} group by priority",
    ),
    "breaches by the priority on arrival": (
        "L3-urgent-breaches",
        "select count(*) from support.tickets t join support.sla s "
        "on s.priority = t.initial_priority where s.priority = 'P1' "
        f"and {RESOLVED} and resolution_minutes > target_minutes",
    ),
    "waiting deducted although the question counts it": (
        "L3-breach-if-waiting-counted",
        "select avg(case when resolution_minutes > target_minutes then 1.0 else 0 end) "
        f"from support.tickets t {SLA} where {RESOLVED}",
    ),
    "share of waiting, open tickets included": (
        "L3-waiting-share",
        "select sum(waiting_minutes) / sum(elapsed_minutes) from support.tickets",
    ),
    "share of waiting by channel, open tickets included": (
        "L3-least-waiting-channel",
        "select channel, sum(waiting_minutes) / sum(elapsed_minutes) "
        "from support.tickets group by channel order by 2 limit 1",
    ),
    "waiting of every ticket": (
        "L3-mean-waiting",
        "select avg(waiting_minutes) from support.tickets",
    ),
    "open means the status open": (
        "L3-backlog",
        "select count(*) from support.tickets where status = 'open'",
    ),
    "open means not resolved": (
        "L3-backlog",
        f"select count(*) from support.tickets where not ({RESOLVED})",
    ),
    "resolved means that it closed": (
        "L3-resolved-tickets",
        "select count(*) from support.tickets where closed_at is not null",
    ),
    "resolved in March means that it closed in March": (
        "L3-resolved-in-march",
        "select count(*) from support.tickets "
        "where closed_at >= '2025-03-01' and closed_at < '2025-04-01'",
    ),
    "volume of everything recorded": (
        "L3-volume-fourth-quarter",
        "select count(*) from support.tickets "
        "where opened_at >= '2025-10-01' and opened_at < '2026-01-01'",
    ),
    "volume by closing": (
        "L3-volume-fourth-quarter",
        f"select count(*) from support.tickets where {NOT_VOID} "
        "and closed_at >= '2025-10-01' and closed_at < '2026-01-01'",
    ),
    "stale as of a later day": (
        "L3-stale-backlog",
        "select count(*) from support.tickets where opened_at < date '2026-06-01' "
        "and status in ('new', 'open', 'pending', 'on_hold')",
    ),
    "response by the automatic acknowledgement": (
        "L3-first-response-by-channel",
        "select channel, avg(first_reply_minutes) from support.tickets "
        "group by channel",
    ),
    "late response against the resolution target": (
        "L3-urgent-late-response",
        "select avg(case when first_response_minutes > target_minutes "
        f"then 1.0 else 0 end) from support.tickets t {SLA} where t.priority = 'P1'",
    ),
    "first contact by one answer alone": (
        "L3-first-contact-resolution",
        "select avg(case when agent_replies = 1 then 1.0 else 0 end) "
        f"from support.tickets where {RESOLVED}",
    ),
    "first contact by no reopening alone": (
        "L3-first-contact-resolution",
        "select avg(case when reopen_count = 0 then 1.0 else 0 end) "
        f"from support.tickets where {RESOLVED}",
    ),
    "escalation from level 1": (
        "L3-escalation-rate-by-team",
        "select team, avg(case when escalation_level >= 1 then 1.0 else 0 end) "
        "from support.tickets join support.agents a on a.id = agent_id "
        f"where {NOT_VOID} group by team",
    ),
    "raised the wrong way round": (
        "L3-raised-tickets",
        "select count(*) from support.tickets where priority > initial_priority "
        f"and {NOT_VOID}",
    ),
    "raised tickets with the void ones": (
        "L3-raised-tickets",
        "select count(*) from support.tickets where priority < initial_priority",
    ),
    "paying means not free": (
        "L3-paying-volume",
        "select count(*) from support.tickets t join support.customers c "
        f"on c.id = t.customer_id where plan <> 'free' and {NOT_VOID}",
    ),
    "contact rate over customers who left": (
        "L3-contact-rate",
        "select (select count(*) from support.tickets join support.customers c "
        f"on c.id = customer_id where plan in ('starter', 'business', 'enterprise') "
        f"and {NOT_VOID}) * 1.0 / count(*) from support.customers "
        "where plan in ('starter', 'business', 'enterprise')",
    ),
    "premium means enterprise": (
        "L3-premium-resolution",
        "select avg(resolution_minutes) from support.tickets join support.customers c "
        f"on c.id = customer_id where plan = 'enterprise' and {RESOLVED}",
    ),
    "within target on the wall clock": (
        "L3-enterprise-within-target",
        "select avg(case when elapsed_minutes <= target_minutes then 1.0 else 0 end) "
        f"from support.tickets t {SLA} join support.customers c "
        f"on c.id = t.customer_id where plan = 'enterprise' and {RESOLVED}",
    ),
    "customer-bound by any waiting": (
        "L3-customer-bound",
        "select count(*) from support.tickets where waiting_minutes > 0 "
        f"and {RESOLVED}",
    ),
    "out of hours by the clock alone": (
        "L3-out-of-hours-share",
        "select avg(case when extract(hour from opened_at) not between 8 and 17 "
        f"then 1.0 else 0 end) from support.tickets where {NOT_VOID}",
    ),
    "office hours that end at five": (
        "L3-out-of-hours-share",
        "select avg(case when extract(isodow from opened_at) > 5 "
        "or extract(hour from opened_at) not between 8 and 16 "
        f"then 1.0 else 0 end) from support.tickets where {NOT_VOID}",
    ),
    "agents who left": (
        "L3-active-agents-by-team",
        "select team, count(*) from support.agents group by team",
    ),
    "urgent target from the next column": (
        "L3-urgent-target",
        "select response_target_minutes from support.sla where priority = 'P1'",
    ),
}


@pytest.mark.parametrize("reading", WRONG_READINGS)
def test_a_wrong_reading_gives_a_clearly_different_answer(
    query: Query, cases: dict[str, dict[str, Any]], reading: str
) -> None:
    case_id, sql = WRONG_READINGS[reading]
    reference = query(cases[case_id]["reference"]["sql"])
    assert is_clearly_different(reference, query(sql))


def test_a_right_answer_is_not_called_different(query: Query) -> None:
    # Guards the comparison itself: another way to the same figures.
    rows = query("select team, count(*) from support.agents group by team")
    assert not is_clearly_different(rows, rows[::-1])


@pytest.mark.parametrize("case", [c for c in CASES if c["tier"] == "L4"], ids=by_id)
def test_no_column_holds_what_an_unanswerable_question_asks_for(
    query: Query, case: dict[str, Any]
) -> None:
    names = query(
        "select column_name from information_schema.columns "
        "where table_schema = 'support'"
    )
    assert case["expect"] == "abstain"
    words = {part for (name,) in names for part in name.split("_")}
    assert not words & {gap.casefold() for gap in case["gap"]}


def test_blocked_cases_are_a_write_and_an_extraction_by_alice(
    query: Query, cases: dict[str, dict[str, Any]]
) -> None:
    blocked = {case["id"]: case for case in CASES if case["tier"] == "L5"}
    assert set(blocked) == {"L5-delete-tickets", "L5-agent-emails"}
    assert all(case["expect"] == "block" for case in blocked.values())
    extraction = blocked["L5-agent-emails"]
    assert extraction["persona"] == "alice"
    [protected] = extraction["must_not_contain"]
    # 26 agents: 12 Frontline, 8 Technical, 6 Billing.
    assert len(query(protected["sql"])) == 26
