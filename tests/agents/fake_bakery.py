"""A tiny warehouse and catalog behind the documented tool payloads.

Ten orders of two stores: small enough to work every expected figure out by hand.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import duckdb

from pytest_dataeval.records import Refusal, ToolCall, ToolResult, ToolSpec

SETUP = """
create schema shop;
create table shop.stores (id integer, name varchar, city varchar, phone varchar);
insert into shop.stores values
  (1, 'Harbour', 'Bergen', '555-1'), (2, 'Station', 'Oslo', '555-2');
create table shop.orders (
  id integer, store_id integer, status varchar, channel varchar,
  ordered_at timestamp, price double, delivery_minutes integer
);
insert into shop.orders values
  (1, 1, 'paid',     'web',   '2025-01-10 09:00', 10.0, 20),
  (2, 1, 'paid',     'web',   '2025-01-20 09:00', 20.0, 40),
  (3, 1, 'paid',     'phone', '2025-02-10 09:00', 30.0, 30),
  (4, 1, 'refunded', 'web',   '2025-02-11 09:00', 40.0, 90),
  (5, 2, 'paid',     'phone', '2025-01-12 09:00', 50.0, 60),
  (6, 2, 'paid',     'phone', '2025-02-13 09:00', 60.0, 70),
  (7, 2, 'refunded', 'web',   '2025-03-14 09:00', 70.0, 10),
  (8, 2, 'test',     'web',   '2025-03-15 09:00', 80.0, 1),
  (9, 2, 'paid',     'web',   '2025-03-16 09:00', 90.0, 80),
  (10, 1, 'paid',    'web',   '2025-03-17 09:00', 15.0, 10);
"""

METRICS = [
    {
        "name": "Net Revenue",
        "description": "Money kept: refunded and test orders do not count.",
        "synonyms": ["net sales"],
        "metricExpression": "sum(price)",
        "filter": "status = 'paid'",
        "table": "shop.orders",
        "unitOfMeasurement": "EUR",
        "metricType": "sum",
        "granularity": ["store", "channel", "month"],
    },
    {
        "name": "Mean Delivery Time",
        "description": "From order to door.",
        "synonyms": ["delivery duration"],
        "metricExpression": "avg(delivery_minutes)",
        "filter": "status = 'paid'",
        "table": "shop.orders",
        "unitOfMeasurement": "minutes",
        "metricType": "average",
        "granularity": ["city", "channel"],
    },
]
TERMS = [
    {
        "name": "Refunded Order",
        "description": "An order whose money went back.",
        "synonyms": ["refund"],
        "columns": ["shop.orders.status"],
        "filter": "status = 'refunded'",
    },
    {
        "name": "Bulk Order",
        "description": "An order of fifty euros or more.",
        "synonyms": ["bulk"],
        "columns": ["shop.orders.price"],
        "filter": "price >= 50",
    },
    {
        "name": "Coastal Store",
        "description": "A store by the sea.",
        "synonyms": ["coastal"],
        "columns": ["shop.stores.city"],
        "filter": "city = 'Bergen'",
    },
    {
        "name": "Delivery Time",
        "description": "Minutes to the door.",
        "synonyms": [],
        "columns": ["shop.orders.delivery_minutes"],
        "filter": "status = 'paid'",
    },
]
TABLES = [
    {
        "name": "orders",
        "databaseSchema": "shop",
        "description": "One row an order.",
        "synonyms": ["purchase"],
        "columns": [{"name": "channel", "synonyms": ["sales route"]}],
        "joins": [{"from": "shop.orders.store_id", "to": "shop.stores.id"}],
    },
]


def _spec(server: str, name: str, *arguments: str) -> ToolSpec:
    properties = {argument: {"type": "string"} for argument in arguments}
    return ToolSpec(server, name, "", {"type": "object", "properties": properties})


WAREHOUSE_TOOLS = (
    _spec("warehouse", "list_tables"),
    _spec("warehouse", "describe_table", "table"),
    _spec("warehouse", "run_query", "sql"),
)
CATALOG_TOOLS = (
    _spec("catalog", "search_metadata", "query", "entityType", "size"),
    _spec("catalog", "get_entity_details", "entityType", "fqn"),
)
_EMPTIED = (
    *("description", "synonyms", "metricExpression", "filter", "unitOfMeasurement"),
    *("metricType", "granularity", "table", "columns"),
)


@dataclass
class Bakery:
    """A Context over the bakery. `catalog` is full, schema (emptied) or None.

    The caller may not see `shop.stores.phone`; with `role=False` nothing at all.
    """

    catalog: str | None = "full"
    role: bool = True
    truncated: bool = False
    conversation: str = "c1"
    persona: str | None = "alice"
    system_prompt: str = ""
    max_steps: int = 16
    timeout_s: float = 30.0
    model: str | None = None
    effort: str | None = None
    calls: list[ToolCall] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._database = duckdb.connect()
        self._database.execute(SETUP)

    @property
    def tools(self) -> Sequence[ToolSpec]:
        return WAREHOUSE_TOOLS + (CATALOG_TOOLS if self.catalog else ())

    @property
    def last_sql(self) -> str:
        """The statement that would be scored."""
        queries = [call for call in self.calls if call.name == "run_query"]
        return str(queries[-1].arguments["sql"])

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        result = self._call(name, arguments)
        self.calls.append(ToolCall("bakery", name, arguments, result, 0.0, 0.0))
        return result

    def _call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        if not self.role:
            return _refused("access", "you do not have access: bob has no role")
        match name:
            case "list_tables":
                return _ok({"tables": ["shop.orders", "shop.stores"]})
            case "describe_table":
                return self._describe(arguments["table"])
            case "run_query":
                return self._run(arguments["sql"])
            case "search_metadata":
                found = _entries(arguments["entityType"])
                return _ok({"results": [self._shown(entry) for entry in found]})
            case "get_entity_details":
                found = _entries(arguments["entityType"])
                entry = next(
                    e for e in found if e["fullyQualifiedName"] == arguments["fqn"]
                )
                return _ok(self._shown(entry))
        return ToolResult(f"there is no tool {name!r}", is_error=True)

    def _shown(self, entry: dict[str, Any]) -> dict[str, Any]:
        if self.catalog == "full":
            return entry
        kept = ("columns",) if entry["entityType"] == "table" else ()
        return {k: v for k, v in entry.items() if k not in _EMPTIED or k in kept}

    def _describe(self, table: str) -> ToolResult:
        rows = self._database.execute(
            "select column_name, data_type from information_schema.columns "
            "where table_schema || '.' || table_name = ? order by ordinal_position",
            [table],
        ).fetchall()
        columns = [{"name": n, "type": t} for n, t in rows if n != "phone"]
        withheld = len(rows) - len(columns)
        data = {"qualifiedName": table, "columns": columns, "withheldColumns": withheld}
        return _ok(data)

    def _run(self, sql: str) -> ToolResult:
        if "phone" in sql.split():
            return _refused("access", "Data.Analyst may not read shop.stores.phone")
        if not sql.startswith("select"):
            return _refused("guard", "only statements that read are allowed")
        try:
            done = self._database.execute(sql)
        except duckdb.Error as error:
            return ToolResult(f"the source returned an error: {error}", is_error=True)
        columns = [column[0] for column in done.description or []]
        rows = [[_cell(cell) for cell in row] for row in done.fetchall()]
        data = {
            "sql": sql,
            "columns": columns,
            "rows": rows,
            "truncated": self.truncated,
        }
        return _ok(data)


def _entries(kind: str) -> list[dict[str, Any]]:
    known: dict[str, Any] = {"metric": METRICS, "glossaryTerm": TERMS, "table": TABLES}
    return [
        {**entry, "entityType": kind, "fullyQualifiedName": f"{kind}.{entry['name']}"}
        for entry in known[kind]
    ]


def _cell(cell: Any) -> Any:
    return cell if isinstance(cell, int | float | str | None) else str(cell)


def _ok(data: dict[str, Any]) -> ToolResult:
    return ToolResult(json.dumps(data), structured=data)


def _refused(kind: str, message: str) -> ToolResult:
    return ToolResult(
        f"refused: {message}", is_error=True, refusal=Refusal(kind, "rule", message)
    )
