"""The toolbox of one trial: all its servers behind one list of tools."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_dataeval.errors import HarnessBroken
from pytest_dataeval.mcp.bridge import Bridge, CallLog
from pytest_dataeval.records import (
    Statement,
    ToolCall,
    ToolResult,
    ToolSpec,
)

MAX_PREFETCHED_TABLES = 60
_QUERY_TOOL = "run_query"
_MEMO = "schema_text"


class Toolbox:
    """What one trial may call. A name that two servers offer reads `server__name`."""

    def __init__(
        self,
        bridges: Sequence[Bridge],
        log: CallLog,
        release: Callable[[], None] = lambda: None,
    ) -> None:
        self._bridges = tuple(bridges)
        self._log = log
        self._release = release
        self._closed = False
        self._routes: dict[str, tuple[Bridge, str]] = {}
        self.tools: tuple[ToolSpec, ...] = self._merge()

    def _merge(self) -> tuple[ToolSpec, ...]:
        offered = [(b, tool) for b in self._bridges for tool in b.tools()]
        names = [tool.name for _, tool in offered]
        merged = []
        for bridge, tool in offered:
            shared = names.count(tool.name) > 1
            name = f"{tool.server}__{tool.name}" if shared else tool.name
            self._routes[name] = (bridge, tool.name)
            merged.append(
                ToolSpec(tool.server, name, tool.description, tool.input_schema)
            )
        return tuple(merged)

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Call a tool by its name in `tools`; the call is recorded.

        An unknown name or arguments that are no JSON come back as an error result; a lost server
        raises HarnessBroken.
        """
        if self._closed:
            raise HarnessBroken(
                "session_closed", f"tool {name!r}", "it was called after its ask ended"
            )
        if name not in self._routes:
            offered = ", ".join(self._routes) or "none"
            return self._refuse(
                name, arguments, f"there is no tool {name!r}; tools: {offered}"
            )
        problem = _not_json(arguments)
        if problem is not None:
            return self._refuse(
                name, {}, f"the arguments of {name} must be JSON: {problem}"
            )
        bridge, own_name = self._routes[name]
        return await bridge.call(own_name, arguments)

    def _refuse(self, name: str, arguments: Mapping[str, Any], text: str) -> ToolResult:
        """Answer a call that no server can be asked; it is recorded too."""
        result = ToolResult(text, is_error=True)
        call = ToolCall("", name, dict(arguments), result, time.time(), 0.0)
        self._log.end(self._log.begin(), call)
        return result

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """Every call so far, in the order in which they began."""
        return self._log.calls

    def statements(self) -> tuple[Statement, ...]:
        """The SQL that ran: what the server says it ran, or else what was asked.

        `ok` says whether the call gave a result. Tables are the server's report.
        """
        found = []
        for call in self.calls:
            statement = _statement(call)
            if statement is not None:
                found.append(statement)
        return tuple(found)

    async def schema_text(self) -> str:
        """The schema as list_tables and describe_table tell it to this caller.

        Fetched once for a session, never recorded as calls of the agent. Raises
        HarnessBroken if no server can tell it or there are too many tables.
        """
        for bridge in self._bridges:
            names = {tool.name for tool in bridge.tools()}
            if {"list_tables", "describe_table"} <= names:
                memo = bridge.session.memo
                if _MEMO not in memo:
                    memo[_MEMO] = await _schema_text(bridge)
                return str(memo[_MEMO])
        raise HarnessBroken(
            "prefetch_failed",
            "the arm's prefetched schema",
            "no server offers list_tables and describe_table.",
            "Leave out the arms that prefetch, or give them such a server.",
        )

    async def aclose(self) -> None:
        """End the trial: no more calls, and its sessions go back to the pool."""
        if not self._closed:
            self._closed = True
            self._release()


def _not_json(arguments: Mapping[str, Any]) -> str | None:
    """Why the arguments cannot be sent, or None if they can."""
    try:
        json.dumps(dict(arguments), ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        return str(error)
    return None


def _statement(call: ToolCall) -> Statement | None:
    asked = call.arguments.get("sql")
    payload = call.result.payload
    ran = payload.get("sql")
    runs = call.name == _QUERY_TOOL or call.name.endswith("__" + _QUERY_TOOL)
    if not runs and not (isinstance(asked, str) and "rows" in payload):
        return None
    sql = ran if isinstance(ran, str) else asked
    if not isinstance(sql, str):
        return None
    tables = payload.get("tables")
    reported = (
        tuple(str(table).lower() for table in tables)
        if isinstance(tables, list | tuple)
        else None
    )
    return Statement(sql=sql, ok=not call.result.is_error, tables=reported)


async def _schema_text(bridge: Bridge) -> str:
    place = bridge.session.spec.place
    listed = await bridge.fetch("list_tables", {})
    if listed.refusal is not None:
        return f"The schema is not available to you: {listed.refusal.message}"
    tables = listed.payload.get("tables")
    if listed.is_error or not isinstance(tables, list | tuple):
        raise HarnessBroken(
            "prefetch_failed", place, f"list_tables gave no tables: {listed.text[:200]}"
        )
    if len(tables) > MAX_PREFETCHED_TABLES:
        raise HarnessBroken(
            "prefetch_failed",
            place,
            f"it has {len(tables)} tables, more than the {MAX_PREFETCHED_TABLES} that "
            "can be put into a prompt.",
            "Narrow `schemas` of the warehouse, or leave out the arms that prefetch.",
        )
    lines = ["The tables that you can query, with their columns and SQL types:"]
    for table in tables:
        name = _table_name(table)
        described = await bridge.fetch("describe_table", {"table": name})
        if described.is_error:
            raise HarnessBroken(
                "prefetch_failed",
                place,
                f"describe_table failed for {name}: {described.text[:200]}",
            )
        lines.append(_table_line(name, described.payload))
    return "\n".join(lines)


def _table_name(table: Any) -> str:
    if isinstance(table, Mapping):
        return str(table.get("qualifiedName") or table.get("name"))
    return str(table)


def _table_line(name: str, payload: Mapping[str, Any]) -> str:
    columns = ", ".join(
        f"{column.get('name')} {column.get('type', '')}".strip()
        for column in payload.get("columns", ())
    )
    line = f"- {payload.get('qualifiedName', name)}({columns})"
    if payload.get("withheldColumns"):
        line += f" {payload.get('note') or 'Some columns are withheld from you.'}"
    return line
