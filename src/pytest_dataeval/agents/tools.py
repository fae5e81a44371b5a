"""How the built-in agents find and read the tools that they are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_dataeval.records import ToolResult, ToolSpec

_SQL_ARGUMENTS = ("sql", "query", "statement")


def find_tool(tools: Sequence[ToolSpec], name: str) -> ToolSpec | None:
    """The tool called `name`, else the first called `<server>__<name>`."""
    for tool in tools:
        if tool.name == name:
            return tool
    for tool in tools:
        if tool.name.endswith(f"__{name}"):
            return tool
    return None


def sql_arguments(tool: ToolSpec, sql: str) -> dict[str, Any]:
    """Arguments that run `sql` by `tool`, under the name its schema uses."""
    properties = tool.input_schema.get("properties")
    known = properties if isinstance(properties, Mapping) else {}
    name = next((n for n in _SQL_ARGUMENTS if n in known), _SQL_ARGUMENTS[0])
    return {name: sql}


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows as a tool gave them: column names and cells as JSON has them."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    truncated: bool = False


def rows_of(result: ToolResult) -> Rows | None:
    """The rows in the payload of a `run_query` result; None if it has none.

    Rows may be lists or objects, columns names or objects with a `name`.
    """
    data = result.payload
    raw = data.get("rows")
    if not isinstance(raw, list):
        return None
    columns = data.get("columns")
    names = [
        str(column.get("name", "")) if isinstance(column, Mapping) else str(column)
        for column in (columns if isinstance(columns, list) else [])
    ]
    rows: list[tuple[Any, ...]] = []
    for row in raw:
        if isinstance(row, Mapping):
            names = names or [str(key) for key in row]
            rows.append(tuple(row.get(name) for name in names))
        elif isinstance(row, list):
            rows.append(tuple(row))
        else:
            rows.append((row,))
    return Rows(tuple(names), tuple(rows), bool(data.get("truncated")))


def failure_message(result: ToolResult) -> str:
    """What a tool said when it did not do what it was asked, on one line."""
    if result.refusal is not None:
        return " ".join(result.refusal.message.split())
    return " ".join(result.text.split()) or "the tool gave no reason"
