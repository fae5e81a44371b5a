"""Options, reasons, events, tools and rules on the pages are those of the code."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any, get_args

import duckdb
import pytest
from mcp import Client
from pages import ROOT, codes, tables

from pytest_dataeval import cmdline
from pytest_dataeval.catalog.load import load_catalog
from pytest_dataeval.config import WarehouseConfig
from pytest_dataeval.engine.outcome import LETTERS
from pytest_dataeval.errors import StatementFailed
from pytest_dataeval.instrument.reasons import REASONS
from pytest_dataeval.ledger import events
from pytest_dataeval.mcp.arms import BUILT_IN
from pytest_dataeval.mcp.personas import Persona
from pytest_dataeval.mcp.prompts import STANDARD
from pytest_dataeval.mcp.servers import catalog as catalog_server
from pytest_dataeval.mcp.servers import warehouse as warehouse_server
from pytest_dataeval.records import Attempt, Score, TrialKey, Usage
from pytest_dataeval.sql.guard import Rule
from pytest_dataeval.warehouse.base import open_warehouse
from pytest_dataeval.warehouse.references import Reference

SOURCE = ROOT / "src" / "pytest_dataeval"
KEY = TrialKey("shop", "L1-orders", 1, "mine", "catalog", 1)
STAMPED = {"kind", *KEY.to_json(), "tier", "nodeid", "question_sha"}


# ------------------------------------------------------------------- options


def test_the_options_are_those_that_pytest_knows() -> None:
    (table,) = tables("options: pytest")
    known = set()
    for name, metavar, _ in cmdline.VALUE_OPTIONS:
        for short in (name, *cmdline.ALIASES.get(name, ())):
            known.add(f"--{short} {metavar}")
    known |= {f"--{name}" for name, _ in cmdline.FLAG_OPTIONS}
    known |= {
        f"--dataeval-{name} {metavar}" for name, metavar, _ in cmdline.LONG_OPTIONS
    }
    assert set(table.names()) == known


def test_the_states_have_their_letters() -> None:
    (table,) = tables("states")
    shown = {codes(row[1])[0]: codes(row[0])[0] for row in table.rows}
    assert shown == LETTERS


# ----------------------------------------------------------- closed vocabularies


def test_every_reason_is_told_once() -> None:
    told = [name for table in tables("reasons") for name in table.names()]
    assert sorted(told) == sorted(REASONS)


def test_every_fault_is_told() -> None:
    (table,) = tables("faults")
    raised = re.compile(r'\b(?:HarnessBroken|Fault)\(\s*"([a-z_]+)"')
    # codes that are handed on as an argument
    handed = re.compile(
        r'"(server_unreachable|tool_call_failed|agent_broken|tool_broken)"'
    )
    found = {
        code
        for path in SOURCE.rglob("*.py")
        for pattern in (raised, handed)
        for code in pattern.findall(path.read_text(encoding="utf-8"))
    }
    assert sorted(table.names()) == sorted(found)


def test_the_guards_rules_are_told() -> None:
    (table,) = tables("rules: guard")
    assert sorted(table.names()) == sorted(get_args(Rule))


def test_the_rules_of_access_are_told() -> None:
    (table,) = tables("rules: access")
    servers = SOURCE / "mcp" / "servers"
    raised = re.compile(r'Refused\(\s*"access",\s*"([a-z_]+)"')
    found = {
        rule
        for path in servers.glob("*.py")
        for rule in raised.findall(path.read_text(encoding="utf-8"))
    }
    assert set(table.names()) == found


def test_the_built_in_arms_have_their_switches() -> None:
    (table,) = tables("arms")
    shown = {codes(row[0])[0]: row[1:5] for row in table.rows}
    assert shown == {
        name: (
            "yes" if arm.catalog else "no",
            {"full": "full", "schema": "emptied"}[arm.descriptions]
            if arm.catalog
            else "–",
            "yes" if arm.prefetch else "no",
            "standard" if arm.prompt == STANDARD else "minimal",
        )
        for name, arm in BUILT_IN.items()
    }


# -------------------------------------------------------------------- events

FULL = Attempt(
    text="4",
    usage=Usage(1),
    cost=0.1,
    hops=1,
    rewrite="r",
    source="s",
    tables=("a",),
    served_revision="v",
)
SCORE = Score("pass", "correct", None, "", 1, 1)
EVENTS = {
    "attempt": events.attempt_event(KEY, FULL, transcript="t", sha256="0"),
    "reference": events.reference_event(
        KEY, 1, Reference(None, StatementFailed("invalid", "no"), None, True, 1.0)
    ),
    "score": events.score_event(KEY, SCORE),
    "fault": events.fault_event(KEY, "w", "x", "d"),
}


@pytest.mark.parametrize("kind", EVENTS)
def test_an_events_fields_are_told(kind: str) -> None:
    (table,) = tables(f"event: {kind}")
    told = [name for row in table.rows for name in codes(row[0])]
    assert sorted(told) == sorted(set(EVENTS[kind]) - STAMPED)


# --------------------------------------------------------------------- tools

ORDERS = """
    create schema shop;
    create table shop.orders (id integer, email varchar);
    insert into shop.orders values (1, 'a');
"""
CATALOG = """
service: shop
tables: [{name: shop.orders, columns: [{name: id, type: INTEGER}]}]
terms: [{name: Order, description: An order., filter: "id > 0"}]
metrics:
  - {name: orders, description: d, expression: count(*), table: shop.orders, filter: "id > 0"}
"""
CALLER = Persona("analyst", ("Data.Analyst",), frozenset({"shop.orders.email"}))
CALLS: dict[str, dict[str, Any]] = {
    "list_sources": {},
    "list_tables": {},
    "describe_table": {"table": "shop.orders"},
    "run_query": {"sql": "select id from shop.orders"},
    "search_metadata": {"query": "orders"},
    "semantic_search": {"query": "orders"},
    "get_entity_details": {
        "entities": ["table:shop.shop.orders"],
    },
    "get_entity_lineage": {"entityType": "table", "fqn": "shop.shop.orders"},
}


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("servers")
    connection = duckdb.connect(str(folder / "data.duckdb"))
    connection.execute(ORDERS)
    connection.close()
    (folder / "catalog.yaml").write_text(CATALOG)
    url = "duckdb+duckdb_sqlalchemy:///data.duckdb"
    opened = open_warehouse("shop", WarehouseConfig(url=url), url=url, rootdir=folder)
    read = load_catalog(folder / "catalog.yaml")
    return {
        "warehouse": warehouse_server.build(opened, CALLER),
        "catalog": catalog_server.build(read, CALLER),
    }


def listed(server: Any) -> list[Any]:
    async def run() -> list[Any]:
        async with Client(server) as client:
            return list((await client.list_tools()).tools)

    return asyncio.run(run())


def payload(server: Any, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    async def run() -> Any:
        async with Client(server) as client:
            return await client.call_tool(tool, arguments)

    result = asyncio.run(run())
    assert not result.is_error, result.content
    return dict(result.structured_content)


@pytest.mark.parametrize("name", ["warehouse", "catalog"])
def test_the_tools_take_the_arguments_that_are_told(
    servers: dict[str, Any], name: str
) -> None:
    (table,) = tables(f"tools: {name}")
    told = {}
    for row in table.rows:
        needed = re.findall(r"`(\w+)` \(needed\)", row[1])
        told[codes(row[0])[0]] = (sorted(codes(row[1])), sorted(needed))
    assert told == {
        tool.name: (
            sorted(tool.input_schema["properties"]),
            sorted(tool.input_schema["required"]),
        )
        for tool in listed(servers[name])
    }


@pytest.mark.parametrize(
    ("name", "tool", "fields"),
    [
        (name, codes(row[0])[0], codes(row[2]))
        for name in ("warehouse", "catalog")
        for table in tables(f"tools: {name}")
        for row in table.rows
        if codes(row[2])
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_tools_payload_has_the_fields_that_are_told(
    servers: dict[str, Any], name: str, tool: str, fields: list[str]
) -> None:
    assert set(payload(servers[name], tool, CALLS[tool])) == set(fields)


COMMON = {
    "entityType",
    "name",
    "displayName",
    "fullyQualifiedName",
    "description",
    "service",
}


@pytest.mark.parametrize("row", tables("entries")[0].rows, ids=lambda row: row[0])
def test_an_entry_has_the_fields_that_are_told(
    servers: dict[str, Any], row: tuple[str, ...]
) -> None:
    kind = codes(row[0])[0]
    server = servers["catalog"]
    (hit,) = payload(server, "search_metadata", {"entityType": kind})["results"]
    assert set(hit) - COMMON == {*codes(row[1]), "score"}
    name = {"entityType": kind, "fqn": hit["fullyQualifiedName"]}
    entry = payload(server, "get_entity_details", name)
    assert set(entry) - (set(hit) - {"columns"}) == set(codes(row[2])) - set(hit)
    assert set(codes(row[2])) <= set(entry)


# ------------------------------------------------------------- server programs


@pytest.mark.parametrize("name", ["warehouse", "catalog"])
def test_the_options_of_a_server_are_told(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from pytest_dataeval.mcp.servers.launch import run_catalog, run_warehouse

    run = {"warehouse": run_warehouse, "catalog": run_catalog}[name]
    with pytest.raises(SystemExit):
        run(["--help"])
    known = set(re.findall(r"--[a-z][a-z-]+", capsys.readouterr().out)) - {"--help"}
    told = {
        option
        for table in tables("options")
        if table.mark != "options: pytest" and name in table.mark
        for option in table.names()
        if option.startswith("--")
    }
    assert told == known


def test_the_error_kinds_of_the_page_are_those_of_statements() -> None:
    # the docstring of StatementFailed lists them; `refused` comes as a refusal
    page = (Path(ROOT) / "docs" / "servers.md").read_text(encoding="utf-8")
    kinds = set(re.findall(r"`([a-z_]+)`", StatementFailed.__doc__ or "")) - {"refused"}
    assert kinds
    assert all(f"`{kind}`" in page for kind in kinds)
