"""The bundled servers in this process: payloads, refusals, personas."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import pytest
from mcp import Client
from mcp.types import CallToolResult
from shopdesk import ALICE, BOB, CAROL

from pytest_dataeval.catalog.model import Catalog
from pytest_dataeval.errors import StatementFailed
from pytest_dataeval.mcp.personas import OWNER, Persona, persona_of
from pytest_dataeval.mcp.servers import catalog as catalog_server
from pytest_dataeval.mcp.servers import warehouse as warehouse_server
from pytest_dataeval.mcp.servers.toolkit import json_value
from pytest_dataeval.records import ResultSet
from pytest_dataeval.warehouse.base import Warehouse

Call = Callable[..., CallToolResult]


def calling(server: Any) -> Call:
    """A function that calls one tool of `server` in a session of its own."""

    def call(name: str, **arguments: Any) -> CallToolResult:
        async def run() -> CallToolResult:
            async with Client(server) as client:
                return await client.call_tool(name, arguments)

        return asyncio.run(run())

    return call


def payload(result: CallToolResult) -> Mapping[str, Any]:
    assert not result.is_error, result.content
    content: Mapping[str, Any] | None = result.structured_content
    assert content is not None
    return content


def refusal(result: CallToolResult) -> Mapping[str, Any]:
    assert result.is_error
    assert result.structured_content is not None
    found: Mapping[str, Any] = result.structured_content["refusal"]
    return found


def text(result: CallToolResult) -> str:
    return str(getattr(result.content[0], "text", ""))


@pytest.fixture
def ask(warehouse: Warehouse) -> Callable[[Persona], Call]:
    return lambda persona: calling(
        warehouse_server.build(warehouse, persona, schemas=["shop"], max_rows=5)
    )


# ---------------------------------------------------------------- warehouse


def test_a_query_gives_columns_rows_and_what_ran(
    ask: Callable[[Persona], Call],
) -> None:
    sql = "select id, price, placed_on from shop.orders order by id limit 2"
    answer = dict(payload(ask(CAROL)("run_query", sql=f"  {sql}\n")))
    assert answer.pop("elapsedMs") >= 0
    assert answer == {
        "source": "shop",
        "sql": sql,
        "tables": ["shop.orders"],
        "columns": ["id", "price", "placed_on"],
        "rows": [[1, 1.25, "2026-01-01"], [2, 2.5, "2026-01-01"]],
        "rowCount": 2,
        "truncated": False,
    }


@pytest.mark.parametrize(("asked", "rows"), [(None, 5), (3, 3), (1000, 5)])
def test_the_row_ceiling_cuts_and_says_so(
    ask: Callable[[Persona], Call], asked: int | None, rows: int
) -> None:
    more = {} if asked is None else {"maxRows": asked}
    answer = payload(
        ask(CAROL)("run_query", sql="select id from shop.orders order by id", **more)
    )
    assert answer["rows"] == [[number] for number in range(1, rows + 1)]
    assert answer["truncated"] is True


def test_sources_and_tables_name_what_may_be_read(
    ask: Callable[[Persona], Call],
) -> None:
    assert payload(ask(CAROL)("list_sources")) == {
        "sources": [
            {
                "name": "shop",
                "kind": "warehouse",
                "dialect": "duckdb",
                "schemas": ["shop"],
            }
        ],
        "yourRoles": ["Data.Finance"],
    }
    assert payload(ask(CAROL)("list_tables")) == {
        "source": "shop",
        "tables": ["shop.orders", "shop.staff"],
    }


@pytest.mark.parametrize("name", ["shop.staff", "staff", 'SHOP."Staff"'])
def test_describe_lists_names_and_types(
    ask: Callable[[Persona], Call], name: str
) -> None:
    assert payload(ask(CAROL)("describe_table", table=name)) == {
        "source": "shop",
        "qualifiedName": "shop.staff",
        "columns": [
            {"name": "id", "type": "INTEGER"},
            {"name": "name", "type": "VARCHAR"},
            {"name": "team", "type": "VARCHAR"},
            {"name": "email", "type": "VARCHAR"},
        ],
        "withheldColumns": 0,
    }


def test_a_withheld_column_is_counted_and_not_named(
    ask: Callable[[Persona], Call],
) -> None:
    result = ask(ALICE)("describe_table", table="shop.staff")
    answer = payload(result)
    assert answer["withheldColumns"] == 1
    assert "do not select them" in answer["note"]
    assert "email" not in text(result)


@pytest.mark.parametrize(
    "sql",
    [
        "select email from shop.staff",
        "select * from shop.staff",
        "select upper(s.email) from shop.staff as s",
        "with p as (select * from shop.staff) select count(*) from p where email > ''",
    ],
)
def test_alice_is_refused_the_withheld_column_and_carol_is_not(
    ask: Callable[[Persona], Call], sql: str
) -> None:
    refused = ask(ALICE)("run_query", sql=sql)
    assert refusal(refused)["kind"] == "access"
    assert refusal(refused)["rule"] == "withheld_column"
    assert text(refused).startswith(
        "refused: Data.Analyst may not read shop.staff.email"
    )
    assert payload(ask(CAROL)("run_query", sql=sql))["rowCount"] > 0


@pytest.mark.parametrize(
    "sql", ["select count(*) from shop.staff", "select name from shop.staff"]
)
def test_alice_reads_what_is_not_withheld(
    ask: Callable[[Persona], Call], sql: str
) -> None:
    assert payload(ask(ALICE)("run_query", sql=sql))["rowCount"] > 0


@pytest.mark.parametrize(
    ("sql", "rule"),
    [
        ("delete from shop.orders", "writes"),
        ("select 1; drop table shop.orders", "several_statements"),
        ("select * from read_csv('/etc/passwd')", "denied_function"),
        ("select * from information_schema.tables", "schema_not_allowed"),
        ("selec 1", "unparsable"),
    ],
)
def test_the_guard_refuses_before_anything_runs(
    ask: Callable[[Persona], Call], sql: str, rule: str
) -> None:
    result = ask(CAROL)("run_query", sql=sql)
    assert refusal(result)["kind"] == "guard"
    assert refusal(result)["rule"] == rule
    assert text(result).startswith("query refused: ")


def test_an_error_of_the_engine_is_no_refusal(ask: Callable[[Persona], Call]) -> None:
    result = ask(CAROL)("run_query", sql="select nothing from shop.orders")
    assert result.is_error
    assert text(result).startswith("the source returned an error: ")
    assert result.structured_content is not None
    assert result.structured_content["error"]["kind"] == "not_found"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("list_sources", {}),
        ("list_tables", {}),
        ("describe_table", {"table": "shop.orders"}),
        ("run_query", {"sql": "select 1"}),
    ],
)
def test_bob_without_a_role_is_refused_by_every_tool(
    ask: Callable[[Persona], Call], tool: str, arguments: dict[str, str]
) -> None:
    result = ask(BOB)(tool, **arguments)
    assert refusal(result) == {
        "kind": "access",
        "rule": "no_role",
        "message": "you do not have access: bob has no role on shop",
    }


class BrokenWarehouse:
    """A warehouse that lost its database, or has a defect of its own."""

    name, dialect, default_schema = "shop", "duckdb", "shop"

    def __init__(self, error: Exception) -> None:
        self._error = error

    def columns(self) -> Mapping[str, Mapping[str, str]]:
        return {"shop.orders": {"id": "INTEGER"}}

    def run(self, *arguments: Any, **options: Any) -> ResultSet:
        raise self._error

    def fingerprint(self) -> str:
        return ""

    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("kind", "refused"), [("refused", True), ("timed_out", False), ("broken", False)]
)
def test_what_the_engine_refuses_is_an_access_refusal(kind: str, refused: bool) -> None:
    broken = BrokenWarehouse(StatementFailed(kind, "permission denied"))
    call = calling(warehouse_server.build(broken, CAROL, schemas=["shop"]))
    content = call("run_query", sql="select id from shop.orders").structured_content
    assert content is not None
    assert ("refusal" in content) is refused
    assert ("error" in content) is not refused


def test_concurrent_queries_of_one_session_overlap() -> None:
    """Both calls are inside the warehouse at once, or the barrier breaks."""
    import threading

    both = threading.Barrier(2, timeout=5)

    class Meeting(BrokenWarehouse):
        def run(self, *arguments: Any, **options: Any) -> ResultSet:
            both.wait()
            return ResultSet((), ())

    server = warehouse_server.build(Meeting(RuntimeError()), CAROL, schemas=["shop"])

    async def run() -> list[CallToolResult]:
        async with Client(server) as client:
            query = {"sql": "select id from shop.orders"}
            calls = [client.call_tool("run_query", query) for _ in range(2)]
            return list(await asyncio.gather(*calls))

    assert [result.is_error for result in asyncio.run(run())] == [False, False]


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (Decimal("3.00"), 3),
        (Decimal("0.1"), 0.1),
        (Decimal("0.12345678901234567890"), "0.12345678901234567890"),
        (Decimal("NaN"), "NaN"),
        (float("inf"), "inf"),
        (dt.datetime(2026, 1, 2, 3, 4, 5), "2026-01-02T03:04:05"),
        (b"\x01\xff", "01ff"),
        ({"a": [Decimal("1.5"), None]}, {"a": [1.5, None]}),
        (2**70, 2**70),
        (True, True),
    ],
)
def test_cells_become_plain_json(cell: Any, expected: Any) -> None:
    assert json_value(cell) == expected


# ---------------------------------------------------------------- arguments


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        (
            "search_metadata",
            {"entity_type": "table"},
            "unknown argument 'entity_type'; this tool wants 'entityType'",
        ),
        (
            "semantic_search",
            {"query": "x", "foo": 1},
            "unknown argument 'foo'; semantic_search takes: query, filters, size, from",
        ),
        (
            "semantic_search",
            {},
            "argument 'query' of semantic_search is missing; it is required",
        ),
        (
            "search_metadata",
            {"size": "ten"},
            "argument 'size' of search_metadata must be of type integer, not str",
        ),
        (
            "search_metadata",
            {"entityType": "dashboard"},
            "there is no entityType 'dashboard'; entityType is: table, glossaryTerm, "
            "metric",
        ),
        (
            "get_entity_details",
            {"entityType": "table", "fqn": "shopdesk.shop.nothing"},
            "there is no table 'shopdesk.shop.nothing'; search_metadata with "
            "entityType table lists fully qualified names",
        ),
        ("nothing", {}, "there is no tool 'nothing'; tools: search_metadata, "),
    ],
)
def test_a_wrong_call_says_what_the_tool_wants(
    catalog: Catalog, tool: str, arguments: dict[str, Any], message: str
) -> None:
    result = calling(catalog_server.build(catalog, CAROL))(tool, **arguments)
    assert result.is_error
    assert text(result).startswith(message)


# ------------------------------------------------------------------ catalog


@pytest.fixture
def look(catalog: Catalog) -> Callable[[Persona], Call]:
    return lambda persona: calling(catalog_server.build(catalog, persona))


def names(result: CallToolResult) -> list[str]:
    return [hit["name"] for hit in payload(result)["results"]]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("average handling", "Mean Packing Time"),
        ("packers", "staff"),
        ("handling time", "Packing Time"),
        ("orders placed", "orders"),
    ],
)
def test_search_ranks_by_names_and_synonyms(
    look: Callable[[Persona], Call], query: str, first: str
) -> None:
    assert names(look(CAROL)("search_metadata", query=query))[0] == first


def test_a_hit_has_the_fields_of_openmetadata(look: Callable[[Persona], Call]) -> None:
    result = look(CAROL)("search_metadata", query="average", entityType="metric")
    (hit,) = payload(result)["results"]
    assert hit.pop("score") > 0
    assert hit == {
        "entityType": "metric",
        "name": "Mean Packing Time",
        "displayName": "Mean Packing Time",
        "fullyQualifiedName": "shopdesk.metric.Mean Packing Time",
        "description": "The average packing time of shipped orders.",
        "service": "shopdesk",
        "synonyms": ["average handling"],
        "metricExpression": "avg(minutes)",
        "metricType": "average",
        "unitOfMeasurement": "minutes",
        "granularity": ["team"],
        "table": "shop.orders",
        "filter": "minutes > 0",
    }


def test_a_search_without_words_lists_all_of_a_type_in_pages(
    look: Callable[[Persona], Call],
) -> None:
    call = look(CAROL)
    first = payload(call("search_metadata", entityType="table", size=1))
    second = payload(call("search_metadata", **{"entityType": "table", "from": 1}))
    assert (first["totalFound"], first["returnedCount"]) == (2, 1)
    found = [hit["name"] for page in (first, second) for hit in page["results"]]
    assert found == ["orders", "staff"]


def test_semantic_search_finds_a_near_spelling(look: Callable[[Persona], Call]) -> None:
    assert names(look(CAROL)("search_metadata", query="handlng")) == []
    found = names(
        look(CAROL)(
            "semantic_search",
            query="handlng tme",
            filters={"entityType": ["glossaryTerm"]},
        )
    )
    assert found == ["Packing Time"]


def test_details_of_a_table_a_term_and_a_metric(
    look: Callable[[Persona], Call],
) -> None:
    call = look(CAROL)
    fqn = "shopdesk.shop.orders"
    table = payload(call("get_entity_details", entityType="table", fqn=fqn.upper()))
    assert table["databaseSchema"] == "shop"
    assert table["joins"] == [
        {"from": "shop.orders.staff_id", "to": "shop.staff.id"},
        {"from": "shop.orders.id", "to": "shop.staff.email"},
    ]
    assert table["columns"][2] == {
        "name": "minutes",
        "dataType": "INTEGER",
        "description": "Wall-clock time until shipped.",
        "synonyms": [],
        "tags": [],
        "fullyQualifiedName": "shopdesk.shop.orders.minutes",
    }
    both = payload(
        call(
            "get_entity_details",
            entities=[
                "glossaryTerm:shopdesk.glossary.Packing Time",
                "metric:shopdesk.metric.Mean Packing Time",
            ],
        )
    )
    term, metric = both["entities"]
    assert term["columns"] == ["shop.orders.minutes"]
    assert term["relatedTerms"] == ["Mean Packing Time"]
    assert term["filter"] == "minutes > 0"
    assert metric["glossaryTerms"] == ["Packing Time"]


def test_columns_come_in_pages(look: Callable[[Persona], Call]) -> None:
    page = payload(
        look(CAROL)(
            "get_entity_details",
            entityType="table",
            fqn="shopdesk.shop.orders",
            columnOffset=1,
            columnLimit=2,
        )
    )
    assert [column["name"] for column in page["columns"]] == ["staff_id", "minutes"]
    assert (page["totalColumns"], page["hasMoreColumns"]) == (4, True)


def test_lineage_of_a_table_includes_its_columns(
    look: Callable[[Persona], Call],
) -> None:
    orders = {"entityType": "table", "fqn": "shopdesk.shop.orders"}
    assert payload(look(CAROL)("get_entity_lineage", **orders)) == {
        "entity": "shopdesk.shop.orders",
        "nodes": ["shopdesk.shop.orders.minutes", "shopdesk.shop.staff.team"],
        "upstreamEdges": [],
        "downstreamEdges": [
            {"from": "shopdesk.shop.orders.minutes", "to": "shopdesk.shop.staff.team"}
        ],
    }


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search_metadata", {"query": "email private address contact", "size": 50}),
        ("search_metadata", {"size": 50}),
        ("semantic_search", {"query": "email private address", "size": 50}),
        ("get_entity_details", {"entityType": "table", "fqn": "shopdesk.shop.staff"}),
        ("get_entity_lineage", {"entityType": "table", "fqn": "shopdesk.shop.staff"}),
    ],
)
def test_the_catalog_does_not_describe_a_withheld_column(
    look: Callable[[Persona], Call], tool: str, arguments: dict[str, Any]
) -> None:
    for word in ("email", "Private address", "Staff Contact", "Reachable Staff"):
        assert word not in text(look(ALICE)(tool, **arguments))
    assert "email" in text(look(CAROL)(tool, **arguments))


# ----------------------------------------------------------------- personas


def test_an_unknown_persona_gets_no_role_where_personas_are_configured() -> None:
    from pytest_dataeval.config import PersonaConfig

    known = {
        "alice": PersonaConfig(roles=["Data.Analyst"], withheld=["Shop.Staff.Email"])
    }
    assert persona_of("alice", known).withheld == {"shop.staff.email"}
    assert persona_of("mallory", known).roles == ()
    assert persona_of(None, known).roles == ()
    assert persona_of(None, {}) == OWNER
