"""The bundled warehouse server: what a caller may read, over four MCP tools.

Every statement passes the static guard, then the caller's rights on columns, then
runs read-only under a row ceiling. Names and types only: what they mean is the
catalog's to say.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pytest_dataeval.errors import StatementFailed
from pytest_dataeval.mcp.personas import Persona
from pytest_dataeval.mcp.servers.toolkit import (
    Failed,
    Refused,
    Tool,
    json_value,
    make_server,
)

if TYPE_CHECKING:
    from mcp.server import Server

    from pytest_dataeval.warehouse.base import Warehouse

TOOLS = ("list_sources", "list_tables", "describe_table", "run_query")
"""The names that a client may count on."""

_WITHHELD_NOTE = (
    "Some columns are not available to your role and are not listed; do not select "
    "them."
)
_NOT_OFFERED = frozenset({"information_schema", "pg_catalog", "sys", "pg_toast"})
_SOURCE = {"type": "string", "description": "Name of the source (optional)."}


def build(
    warehouse: Warehouse,
    persona: Persona | None,
    *,
    schemas: Sequence[str] = (),
    max_rows: int = 500,
    timeout_s: float = 30.0,
) -> Server[Any]:
    """The server of `warehouse` for `persona` (None: whom the HTTP front verified).

    `schemas` are those that callers may read; without any, all but the engine's own.
    """
    source = _Source(warehouse, schemas, max_rows, timeout_s)
    tools = [
        Tool(
            "list_sources",
            "List the data sources you can query, with their SQL dialect and schemas.",
            {},
            source.list_sources,
            blocks=True,
        ),
        Tool(
            "list_tables",
            "List the tables of the source, as schema.table.",
            {"source": _SOURCE},
            source.list_tables,
            blocks=True,
        ),
        Tool(
            "describe_table",
            "List the columns of one table with their SQL types.",
            {
                "table": {"type": "string", "description": "schema.table"},
                "source": _SOURCE,
            },
            source.describe_table,
            required=("table",),
            blocks=True,
        ),
        Tool(
            "run_query",
            f"Run one read-only {warehouse.dialect} SELECT statement and return its "
            f"rows, {max_rows} at most. Only one statement at a time; writing is "
            "refused.",
            {
                "sql": {"type": "string", "description": "The statement."},
                "source": _SOURCE,
                "maxRows": {
                    "type": "integer",
                    "description": "Return at most so many rows.",
                    "minimum": 1,
                },
            },
            source.run_query,
            required=("sql",),
            blocks=True,
        ),
    ]
    instructions = (
        f"Read-only access to the {warehouse.name} warehouse "
        f"({warehouse.dialect}). Describe a table before you query it."
    )
    return make_server(warehouse.name, instructions, tools, persona)


class _Source:
    """The tools of one warehouse; each takes the caller and checked arguments."""

    def __init__(
        self,
        warehouse: Warehouse,
        schemas: Sequence[str],
        max_rows: int,
        timeout_s: float,
    ) -> None:
        self._warehouse = warehouse
        self._schemas = frozenset(schema.lower() for schema in schemas)
        self._max_rows = max_rows
        self._timeout_s = timeout_s

    def list_sources(
        self, caller: Persona, arguments: Mapping[str, Any]
    ) -> dict[str, Any]:
        source = {
            "name": self._warehouse.name,
            "kind": "warehouse",
            "dialect": self._warehouse.dialect,
            "schemas": sorted({_schema(table) for table in self._tables()}),
        }
        return {"sources": [source], "yourRoles": list(caller.roles)}

    def list_tables(
        self, caller: Persona, arguments: Mapping[str, Any]
    ) -> dict[str, Any]:
        self._check_source(arguments)
        return {"source": self._warehouse.name, "tables": sorted(self._tables())}

    def describe_table(
        self, caller: Persona, arguments: Mapping[str, Any]
    ) -> dict[str, Any]:
        self._check_source(arguments)
        name, columns = self._find(str(arguments["table"]))
        withheld = caller.withheld_of(name)
        payload: dict[str, Any] = {
            "source": self._warehouse.name,
            "qualifiedName": name,
            "columns": [
                {"name": column, "type": sql_type}
                for column, sql_type in columns.items()
                if column.lower() not in withheld
            ],
        }
        hidden = len(columns) - len(payload["columns"])
        payload["withheldColumns"] = hidden
        if hidden:
            payload["note"] = _WITHHELD_NOTE
        return payload

    def run_query(
        self, caller: Persona, arguments: Mapping[str, Any]
    ) -> dict[str, Any]:
        from pytest_dataeval.sql.tables import tables_read
        from pytest_dataeval.warehouse.base import Limits

        self._check_source(arguments)
        sql = str(arguments["sql"]).strip()
        self._guard(sql)
        self._authorise(sql, caller)
        max_rows = min(self._max_rows, int(arguments.get("maxRows", self._max_rows)))
        if max_rows < 1:
            raise Failed("arguments", "argument 'maxRows' must be 1 or more")
        started = time.perf_counter()
        try:
            result = self._warehouse.run(
                sql,
                Limits(timeout_s=self._timeout_s, max_rows=max_rows),
                persona=caller.name,
            )
        except StatementFailed as error:
            raise self._translate(error, caller) from error
        elapsed_ms = (time.perf_counter() - started) * 1000
        tables = tables_read(
            sql,
            self._warehouse.dialect,
            default_schema=self._warehouse.default_schema,
        )
        return {
            "source": self._warehouse.name,
            "sql": sql,
            "tables": sorted(tables or ()),
            "columns": list(result.names),
            "rows": [[json_value(cell) for cell in row] for row in result.rows],
            "rowCount": len(result.rows),
            "truncated": result.truncated,
            "elapsedMs": round(elapsed_ms, 1),
        }

    def _guard(self, sql: str) -> None:
        from pytest_dataeval.sql.guard import check

        refusal = check(
            sql,
            self._warehouse.dialect,
            schemas=self._schemas or self._own_schemas(),
            default_schema=self._warehouse.default_schema,
        )
        if refusal is not None:
            raise Refused("guard", refusal.rule, refusal.message)

    def _own_schemas(self) -> frozenset[str]:
        return frozenset(_schema(table) for table in self._tables())

    def _authorise(self, sql: str, caller: Persona) -> None:
        """Refuse a statement that reads a withheld column, or may do so."""
        if not caller.withheld:
            return
        from pytest_dataeval.sql.protect import withheld_columns_read

        read = withheld_columns_read(
            sql, self._warehouse.dialect, self._warehouse.columns(), caller.withheld
        )
        roles = ", ".join(caller.roles)
        if read is None:
            raise Refused(
                "access",
                "unresolved_columns",
                f"{roles} may read this source only by statements whose columns can "
                "be told; name the tables and columns that you need",
            )
        if read:
            names = ", ".join(sorted(read))
            raise Refused(
                "access",
                "withheld_column",
                f"{roles} may not read {names}; name the columns that you need "
                "instead of *",
            )

    def _translate(self, error: StatementFailed, caller: Persona) -> Refused | Failed:
        if error.kind == "refused":
            return Refused("access", "source", error.message)
        return Failed(
            error.kind, f"the source returned an error: {error.message}", error.message
        )

    def _check_source(self, arguments: Mapping[str, Any]) -> None:
        name = arguments.get("source")
        if name is not None and name != self._warehouse.name:
            raise Failed(
                "arguments",
                f"there is no source {name!r}; the source is {self._warehouse.name!r}",
            )

    def _tables(self) -> dict[str, Mapping[str, str]]:
        try:
            columns = self._warehouse.columns()
        except StatementFailed as error:
            raise Failed(
                error.kind,
                f"the source returned an error: {error.message}",
                error.message,
            ) from error
        return {
            table: types
            for table, types in columns.items()
            if (
                _schema(table) in self._schemas
                if self._schemas
                else _schema(table) not in _NOT_OFFERED
            )
        }

    def _find(self, name: str) -> tuple[str, Mapping[str, str]]:
        tables = self._tables()
        wanted = name.replace('"', "").strip().lower()
        matches = [
            table
            for table in tables
            if table == wanted or table.rpartition(".")[2] == wanted
        ]
        if len(matches) != 1:
            known = ", ".join(sorted(tables))
            raise Failed("not_found", f"there is no table {name!r}; tables: {known}")
        return matches[0], tables[matches[0]]


def _schema(table: str) -> str:
    return table.rpartition(".")[0].rpartition(".")[2]


def main(arguments: Sequence[str] | None = None) -> None:
    """`python -m pytest_dataeval.mcp.servers.warehouse --url URL ...`"""
    from pytest_dataeval.mcp.servers.launch import run_warehouse

    run_warehouse(arguments)


if __name__ == "__main__":
    main()
