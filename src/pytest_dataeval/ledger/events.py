"""The ledger's lines: what is written of an attempt, a reference, a score.

An event is a flat JSON object: its `kind`, the trial's key, and the fields of its
kind. A field that is absent was not measured; one that is null does not apply.
Whoever appends an event adds the trial's `tier`, `nodeid` and `question_sha`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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

KINDS = ("attempt", "reference", "score", "fault")

_USAGE = (
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
)


def attempt_event(
    key: TrialKey,
    attempt: Attempt,
    *,
    transcript: str,
    sha256: str,
    contaminated: bool | None = None,
) -> dict[str, Any]:
    """One ask. `transcript` is the file's path in the run folder, with its hash.

    `sql` holds all statements in order; `sql_ok` and `sql_tables` say of each
    whether it succeeded (null: unknown) and what the server said it read.
    `tool_calls` is their number: the calls themselves are in the transcript.
    """
    statements = attempt.statements
    return {
        "kind": "attempt",
        **key.to_json(),
        "text": attempt.text,
        "sql": [statement.sql for statement in statements],
        "sql_ok": [statement.ok for statement in statements],
        "sql_tables": [
            None if statement.tables is None else list(statement.tables)
            for statement in statements
        ],
        "tool_calls": len(attempt.tool_calls),
        "refusals": [
            {"kind": refusal.kind, "rule": refusal.rule, "message": refusal.message}
            for refusal in attempt.refusals
        ],
        "stop_reason": attempt.stop_reason,
        "error": attempt.error,
        "started": attempt.started,
        "ms": attempt.ms,
        "answered_by": attempt.agent,
        "catalog_had_definitions": attempt.catalog_had_definitions,
        "transcript": {"path": transcript, "sha256": sha256},
        **_measured(
            tables=None if attempt.tables is None else list(attempt.tables),
            rewrite=attempt.rewrite,
            source=attempt.source,
            hops=attempt.hops,
            usage=_usage_json(attempt.usage),
            cost=attempt.cost,
            served_revision=attempt.served_revision,
            contaminated=contaminated,
        ),
    }


def attempt_from_event(
    event: Mapping[str, Any], transcript: Mapping[str, Any]
) -> Attempt:
    """The attempt as it was; `transcript` is the read transcript file."""
    statements = tuple(
        Statement(sql, ok, None if tables is None else tuple(tables))
        for sql, ok, tables in zip(
            event["sql"], event["sql_ok"], event["sql_tables"], strict=True
        )
    )
    tables = event.get("tables")
    usage = event.get("usage")
    return Attempt(
        text=event["text"],
        statements=statements,
        tool_calls=tuple(map(tool_call_from_json, transcript["tool_calls"])),
        stop_reason=event["stop_reason"],
        error=event["error"],
        started=event["started"],
        ms=event["ms"],
        hops=event.get("hops"),
        usage=None if usage is None else Usage(**usage),
        cost=event.get("cost"),
        rewrite=event.get("rewrite"),
        source=event.get("source"),
        tables=None if tables is None else tuple(tables),
        served_revision=event.get("served_revision"),
        agent=event["answered_by"],
        catalog_had_definitions=event["catalog_had_definitions"],
    )


def tool_call_json(call: ToolCall) -> dict[str, Any]:
    """A tool call for the transcript, without loss."""
    result = call.result
    refusal = result.refusal
    return {
        "server": call.server,
        "name": call.name,
        "arguments": dict(call.arguments),
        "result": result.text,
        "is_error": result.is_error,
        "started": call.started,
        "ms": call.ms,
        **_measured(
            structured=None if result.structured is None else dict(result.structured),
            refusal=None
            if refusal is None
            else {
                "kind": refusal.kind,
                "rule": refusal.rule,
                "message": refusal.message,
            },
        ),
    }


def tool_call_from_json(data: Mapping[str, Any]) -> ToolCall:
    """The inverse of `tool_call_json`."""
    refusal = data.get("refusal")
    return ToolCall(
        server=data["server"],
        name=data["name"],
        arguments=data["arguments"],
        result=ToolResult(
            text=data["result"],
            is_error=data["is_error"],
            structured=data.get("structured"),
            refusal=None if refusal is None else Refusal(**refusal),
        ),
        started=data["started"],
        ms=data["ms"],
    )


def reference_event(
    key: TrialKey,
    revision: int,
    reference: Reference,
    *,
    snapshot: str = "",
    as_of: str | None = None,
) -> dict[str, Any]:
    """What a case's reference gave; `key` is the trial that needed it first."""
    error = reference.error
    return {
        "kind": "reference",
        **key.to_json(),
        "revision": revision,
        "snapshot": snapshot,
        "as_of": as_of,
        "result": reference.sha256,
        "error": None
        if error is None
        else {"kind": error.kind, "message": error.message},
        "ms": reference.ms,
    }


def score_event(key: TrialKey, score: Score) -> dict[str, Any]:
    """The instrument's judgement of the trial's latest attempt."""
    return {"kind": "score", **key.to_json(), **score.to_json()}


def fault_event(key: TrialKey, what: str, where: str, detail: str) -> dict[str, Any]:
    """A failure of ours: the trial is not scored, and asked again on resume."""
    return {
        "kind": "fault",
        **key.to_json(),
        "what": what,
        "where": where,
        "detail": detail,
    }


def _measured(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _usage_json(usage: Usage | None) -> dict[str, int] | None:
    if usage is None:
        return None
    return _measured(**{name: getattr(usage, name) for name in _USAGE})
