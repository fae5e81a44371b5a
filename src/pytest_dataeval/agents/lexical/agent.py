"""The lexical agent: learn, plan, look at values, query, and say what came out."""

from __future__ import annotations

from pytest_dataeval.agents.base import Context
from pytest_dataeval.agents.lexical.knowledge import Knowledge, Table, learn
from pytest_dataeval.agents.lexical.plan import Dimension, Plan, Values
from pytest_dataeval.agents.lexical.planner import make_plan, reachable
from pytest_dataeval.agents.lexical.question import parse
from pytest_dataeval.agents.lexical.render import render
from pytest_dataeval.agents.prose import state_rows
from pytest_dataeval.agents.tools import (
    failure_message,
    find_tool,
    rows_of,
    sql_arguments,
)
from pytest_dataeval.records import Answer, ToolResult

# A column with more different texts than this names no groups.
_MAX_VALUES = 40
_MAX_LOOKS = 24


class LexicalAgent:
    """Answers by matching the words of the question to what its tools tell.

    Works only through `list_tables`, `describe_table`, `run_query` and, where they
    are offered, `search_metadata` and `get_entity_details`. Deterministic; keeps
    nothing from one ask to the next.
    """

    name = "lexical"
    paid = False
    needs_servers = True
    waits = False

    async def ask(self, question: str, context: Context) -> Answer:
        return Answer(await _answer(question, context), cost=0.0)


async def _answer(text: str, context: Context) -> str:
    question = parse(text)
    if question.asks_to_write:
        return "I will not do this: I only read data and change nothing."
    knowledge = await learn(text, context)
    if not knowledge.tables and knowledge.refusal:
        return f"I cannot answer this: access was refused. {knowledge.refusal}"
    planned = make_plan(question, knowledge, {})
    if planned.missing:
        values = await _look_at_values(planned.plan, knowledge, context)
        planned = make_plan(question, knowledge, values)
    if planned.plan is None:
        return _cannot(planned.missing, knowledge)
    result = await _run(render(planned.plan, knowledge), context)
    return _report(planned.plan, result)


async def _look_at_values(
    plan: Plan | None, knowledge: Knowledge, context: Context
) -> Values:
    """The different texts in the columns that could hold a word of the question."""
    base = None if plan is None else knowledge.table(plan.table)
    tables: list[Table] = (
        list(knowledge.tables.values()) if base is None else reachable(knowledge, base)
    )
    columns = [
        (table, column)
        for table in tables
        for column in table.columns
        if column.is_text
    ]
    values: dict[tuple[str, str], tuple[str, ...]] = {}
    for table, column in columns[:_MAX_LOOKS]:
        listing = Plan(
            table.name,
            None,
            column.name,
            dimensions=(Dimension(table.name, column.name),),
        )
        sql = f"{render(listing, knowledge)} limit {_MAX_VALUES + 1}"
        result = await _run(sql, context)
        rows = None if result.is_error else rows_of(result)
        if rows is not None and len(rows.rows) <= _MAX_VALUES:
            values[table.name, column.name] = tuple(
                row[0] for row in rows.rows if row and isinstance(row[0], str)
            )
    return values


async def _run(sql: str, context: Context) -> ToolResult:
    tool = find_tool(context.tools, "run_query")
    if tool is None:
        return ToolResult("there is no tool run_query", is_error=True)
    return await context.call_tool(tool.name, sql_arguments(tool, sql))


def _cannot(missing: tuple[str, ...], knowledge: Knowledge) -> str:
    words = ", ".join(missing) or "what it asks for"
    text = f"I cannot answer this: the data that I can see has nothing on {words}."
    if knowledge.withheld:
        text += " Some columns are withheld from my role."
    return text


def _report(plan: Plan, result: ToolResult) -> str:
    if result.refusal is not None:
        return f"This was refused, so I cannot do it: {failure_message(result)}"
    rows = None if result.is_error else rows_of(result)
    if rows is None:
        return f"I cannot answer this: the query failed. {failure_message(result)}"
    return state_rows(rows, plan.unit)
