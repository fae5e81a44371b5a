from __future__ import annotations

import json

from pytest_dataeval.errors import StatementFailed
from pytest_dataeval.ledger.events import (
    attempt_event,
    attempt_from_event,
    fault_event,
    reference_event,
    score_event,
    tool_call_json,
)
from pytest_dataeval.records import (
    Attempt,
    Refusal,
    Score,
    Statement,
    ToolCall,
    ToolResult,
    TrialKey,
    Usage,
)
from pytest_dataeval.warehouse.references import Reference

REFUSED = ToolCall(
    "warehouse",
    "run_query",
    {"sql": "delete from tickets"},
    ToolResult(
        "refused",
        is_error=True,
        structured={"code": "writes"},
        refusal=Refusal("guard", "writes", "statements may only read"),
    ),
    started=1_700_000_000.0,
    ms=1.5,
)
PLAIN = ToolCall("warehouse", "list_tables", {}, ToolResult("tickets"), 1.0, 0.5)

FULL = Attempt(
    text="Billing, 210 minutes.",
    statements=(
        Statement("select 1", True, ("support.tickets",)),
        Statement("select x", False),
        Statement("select 2", None),
    ),
    tool_calls=(PLAIN, REFUSED),
    stop_reason="end_turn",
    started=1_700_000_000.0,
    ms=1234.5,
    hops=3,
    usage=Usage(input_tokens=100, output_tokens=20),
    cost=0.01,
    rewrite="fastest team by resolution time",
    source="support",
    tables=("support.tickets",),
    served_revision="abc",
    agent="claude",
    catalog_had_definitions=True,
)
BARE = Attempt(text=None, error="TimeoutError", stop_reason="timeout")


def through_json(event: dict[str, object]) -> dict[str, object]:
    read: dict[str, object] = json.loads(json.dumps(event))
    return read


def written(key: TrialKey, attempt: Attempt) -> dict[str, object]:
    event = attempt_event(key, attempt, transcript="transcripts/a.json", sha256="f00")
    return through_json(event)


def transcript(attempt: Attempt) -> dict[str, object]:
    calls = [tool_call_json(call) for call in attempt.tool_calls]
    return through_json({"tool_calls": calls})


def test_an_attempt_comes_back_as_it_was(key: TrialKey) -> None:
    for attempt in (FULL, BARE):
        event = written(key, attempt)
        assert attempt_from_event(event, transcript(attempt)) == attempt


def test_an_attempt_event_is_flat_and_holds_the_key(key: TrialKey) -> None:
    event = written(key, FULL)
    assert event["kind"] == "attempt"
    assert TrialKey.from_json(event) == key
    assert event["sql"] == ["select 1", "select x", "select 2"]
    assert event["sql_ok"] == [True, False, None]
    assert event["tool_calls"] == 2
    assert event["refusals"] == [
        {"kind": "guard", "rule": "writes", "message": "statements may only read"}
    ]
    assert event["usage"] == {"input_tokens": 100, "output_tokens": 20}
    assert event["transcript"] == {"path": "transcripts/a.json", "sha256": "f00"}


def test_what_was_not_measured_is_absent_and_what_does_not_apply_is_null(
    key: TrialKey,
) -> None:
    event = written(key, BARE)
    assert event["text"] is None
    absent = ("hops", "usage", "cost", "tables", "served_revision", "contaminated")
    assert [name for name in absent if name in event] == []


def test_a_score_comes_back_as_it_was(key: TrialKey, score: Score) -> None:
    event = through_json(score_event(key, score))
    assert Score.from_json(event) == score
    assert event["headline"] is None


def test_a_reference_names_its_result_or_its_error(key: TrialKey) -> None:
    good = reference_event(key, 3, Reference(None, None, "f00", True, 1.0))
    assert (good["revision"], good["result"], good["error"]) == (3, "f00", None)
    error = StatementFailed("not_found", "no table t")
    bad = reference_event(key, 3, Reference(None, error, None, True, 1.0))
    assert bad["result"] is None
    assert bad["error"] == {"kind": "not_found", "message": "no table t"}


def test_a_fault_is_an_event_of_a_trial(key: TrialKey) -> None:
    assert fault_event(key, "server_missing", "warehouse", "exited") == {
        "kind": "fault",
        **key.to_json(),
        "what": "server_missing",
        "where": "warehouse",
        "detail": "exited",
    }
