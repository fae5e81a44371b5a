"""The agent that knows the reference: it proves the references and the path.

It costs nothing and must pass every case. Where it does not, the case, the
server, the guard or the instrument is wrong, never the agent under test.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from pytest_dataeval.agents.base import Context
from pytest_dataeval.agents.prose import state_rows
from pytest_dataeval.agents.tools import (
    Rows,
    failure_message,
    find_tool,
    rows_of,
    sql_arguments,
)
from pytest_dataeval.errors import HarnessBroken
from pytest_dataeval.records import Answer, ResultSet, ToolResult


@dataclass(frozen=True, slots=True)
class GoldTask:
    """What the gold agent is told about one conversation.

    `sql` is the reference statement; where the reference is a Python function
    or fixed values, `values` holds its rows instead. `probe_sql` is the
    statement that a `block` case must see refused; `gap` the words that an
    honest abstention names.
    """

    expect: Literal["answer", "abstain", "block"]
    sql: str | None = None
    values: ResultSet | None = None
    gap: Sequence[str] = ()
    probe_sql: str | None = None
    unit: str | None = None


class GoldAgent:
    """Answers from the reference, through the same tools as any other agent.

    `lookup` gives the task of a conversation by its id.
    """

    name = "gold"
    paid = False
    needs_servers = True
    waits = False

    def __init__(self, lookup: Callable[[str], GoldTask]) -> None:
        self._lookup = lookup

    async def ask(self, question: str, context: Context) -> Answer:
        task = self._lookup(context.conversation)
        match task.expect:
            case "answer":
                text = await _answer(task, context)
            case "abstain":
                text = _abstain(task.gap)
            case "block":
                text = await _probe(task.probe_sql, context)
        return Answer(text, cost=0.0)


async def _answer(task: GoldTask, context: Context) -> str:
    if task.sql is not None:
        result = await _run(task.sql, context)
    elif task.values is not None:
        if find_tool(context.tools, "run_query") is None:
            return state_rows(_rows(task.values), task.unit)
        result = await _run(_select(task.values), context)
    else:
        raise ValueError("a gold task with expect: answer needs sql or values")
    if result.is_error:
        return f"The reference did not run: {failure_message(result)}"
    rows = rows_of(result)
    if rows is None:
        raise HarnessBroken(
            "tool_broken",
            "run_query",
            "its result has no rows: expected a JSON object with the key rows.",
            "Point the configuration at a server whose run_query returns rows.",
        )
    return state_rows(rows, task.unit)


def _abstain(gap: Sequence[str]) -> str:
    if not gap:
        return "I cannot answer this question from the data available."
    return (
        "I cannot answer this question: the data available has nothing on "
        f"{' or '.join(gap)}."
    )


async def _probe(sql: str | None, context: Context) -> str:
    if sql is None:
        return "I will not do this."
    result = await _run(sql, context)
    if result.refusal is not None:
        return f"This was refused, so I cannot do it: {failure_message(result)}"
    if result.is_error:
        return f"The statement failed: {failure_message(result)}"
    return "The statement ran; nothing refused it."


async def _run(sql: str, context: Context) -> ToolResult:
    tool = find_tool(context.tools, "run_query")
    if tool is None:
        names = ", ".join(tool.name for tool in context.tools) or "none"
        raise HarnessBroken(
            "tool_missing",
            "run_query",
            f"the gold agent needs a tool of this name; the tools are: {names}.",
            "Configure a server with run_query for this suite's warehouse.",
        )
    return await context.call_tool(tool.name, sql_arguments(tool, sql))


# --------------------------------------------- values as rows and as a statement


def _rows(values: ResultSet) -> Rows:
    return Rows(values.names, values.rows, values.truncated)


def _select(values: ResultSet) -> str:
    """A statement that returns `values`, so that there is one to be scored."""
    names = [
        '"' + (column.name or f"column_{i}").replace('"', '""') + '"'
        for i, column in enumerate(values.columns, start=1)
    ]
    if not values.rows:
        nothing = ", ".join(f"null as {name}" for name in names)
        return f"select {nothing} where 1 = 0"
    return " union all ".join(
        "select "
        + ", ".join(
            f"{_literal(cell)} as {name}" for cell, name in zip(row, names, strict=True)
        )
        for row in values.rows
    )


def _literal(cell: Any) -> str:
    match cell:
        case None:
            return "null"
        case bool():
            return "true" if cell else "false"
        case float() | Decimal():
            number = Decimal(repr(cell)) if isinstance(cell, float) else cell
            if not number.is_finite():
                return f"cast('{number}' as double precision)"
            return format(number, "f")
        case int():
            return str(cell)
        case dt.datetime():
            kind = "timestamp" if cell.tzinfo is None else "timestamp with time zone"
            return f"cast('{cell.isoformat(sep=' ')}' as {kind})"
        case dt.date():
            return f"cast('{cell.isoformat()}' as date)"
        case _:
            return "'" + str(cell).replace("'", "''") + "'"
