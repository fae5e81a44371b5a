"""One trial's toolbox: what the agent sees, and what is written down of it."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from shopdesk import CAROL

from pytest_dataeval.errors import HarnessBroken, StatementFailed, UsageError
from pytest_dataeval.mcp.arms import BUILT_IN, Arm
from pytest_dataeval.mcp.provide import Provider
from pytest_dataeval.mcp.sessions import Session
from pytest_dataeval.mcp.toolbox import Toolbox
from pytest_dataeval.records import Refusal, Statement, ToolResult

MakeProvider = Callable[..., Provider]
WAREHOUSE_TOOLS = ["list_sources", "list_tables", "describe_table", "run_query"]
CATALOG_TOOLS = [
    "search_metadata",
    "semantic_search",
    "get_entity_details",
    "get_entity_lineage",
]
PLAIN = Path(__file__).with_name("plain_server.py")


def with_toolbox(
    provider: Provider,
    use: Callable[[Toolbox], Awaitable[Any]],
    *,
    arm: str = "catalog",
    persona: str | None = "carol",
) -> Any:
    """What `use` makes of the toolbox of one trial."""

    async def run() -> Any:
        try:
            toolbox = await provider.open(BUILT_IN[arm], persona, "shop")
            try:
                return await use(toolbox)
            finally:
                await toolbox.aclose()
        finally:
            await provider.aclose()

    return asyncio.run(run())


def one_call(name: str, **arguments: Any) -> Callable[[Toolbox], Awaitable[ToolResult]]:
    return lambda toolbox: toolbox.call(name, arguments)


# --------------------------------------------------------------------- arms


@pytest.mark.parametrize(
    ("arm", "tools"),
    [
        ("catalog", WAREHOUSE_TOOLS + CATALOG_TOOLS),
        ("prefetch", WAREHOUSE_TOOLS + CATALOG_TOOLS),
        ("schema-only", WAREHOUSE_TOOLS + CATALOG_TOOLS),
        ("none", WAREHOUSE_TOOLS),
        ("floor", WAREHOUSE_TOOLS),
    ],
)
def test_an_arm_without_catalog_lacks_its_server_and_nothing_else(
    provider_of: MakeProvider, arm: str, tools: list[str]
) -> None:
    async def names(toolbox: Toolbox) -> list[str]:
        return [tool.name for tool in toolbox.tools]

    assert with_toolbox(provider_of(), names, arm=arm) == tools


def test_schema_only_offers_the_very_same_tool_list(provider_of: MakeProvider) -> None:
    async def specs(toolbox: Toolbox) -> Any:
        return toolbox.tools

    full = with_toolbox(provider_of(), specs, arm="catalog")
    assert with_toolbox(provider_of(), specs, arm="schema-only") == full
    assert "agreed definitions" in full[4].description


@pytest.mark.parametrize(
    ("tool", "arguments", "meaning", "kept"),
    [
        ("search_metadata", {"query": "orders"}, "One row for each order", "minutes"),
        (
            "semantic_search",
            {"query": "packing time"},
            "idle time included",
            "Mean Packing Time",
        ),
        (
            "get_entity_details",
            {"entityType": "table", "fqn": "shopdesk.shop.orders"},
            "Wall-clock time until shipped",
            "shop.orders.staff_id",
        ),
        (
            "get_entity_details",
            {"entityType": "metric", "fqn": "shopdesk.metric.Mean Packing Time"},
            "avg(minutes)",
            "Mean Packing Time",
        ),
        (
            "get_entity_details",
            {"entities": ["glossaryTerm:shopdesk.glossary.Packing Time"]},
            "shop.orders.minutes",
            "Packing Time",
        ),
        (
            "get_entity_details",
            {"entityType": "glossaryTerm", "fqn": "shopdesk.glossary.Packing Time"},
            "shop.orders.minutes",
            "Packing Time",
        ),
    ],
)
def test_schema_only_empties_every_catalog_tool(
    provider_of: MakeProvider,
    tool: str,
    arguments: dict[str, Any],
    meaning: str,
    kept: str,
) -> None:
    use = one_call(tool, **arguments)
    full = with_toolbox(provider_of(), use, arm="catalog")
    stripped = with_toolbox(provider_of(), use, arm="schema-only")
    assert meaning in full.text
    for text in (stripped.text, json.dumps(stripped.structured)):
        assert meaning not in text
        assert kept in text
    assert len(stripped.text) < len(full.text)
    assert json.loads(stripped.text) == stripped.structured


def test_schema_only_leaves_lineage_queries_and_error_texts_alone(
    provider_of: MakeProvider,
) -> None:
    async def use(toolbox: Toolbox) -> list[str]:
        orders = {"entityType": "table", "fqn": "shopdesk.shop.orders"}
        results = [
            await toolbox.call("get_entity_lineage", orders),
            await toolbox.call("search_metadata", {"entity_type": "table"}),
            await toolbox.call("describe_table", {"table": "shop.orders"}),
        ]
        return [result.text for result in results]

    full = with_toolbox(provider_of(), use, arm="catalog")
    assert with_toolbox(provider_of(), use, arm="schema-only") == full


def test_an_arm_with_a_catalog_needs_one(provider_of: MakeProvider) -> None:
    provider = provider_of("servers: {db: {bundled: warehouse, warehouse: shop}}\n")
    with pytest.raises(UsageError, match="arm 'catalog' gives the agent a catalog"):
        with_toolbox(provider, one_call("list_tables"))


# ---------------------------------------------------------------- prefetch


def test_the_prefetched_schema_is_what_the_tools_tell_this_caller(
    provider_of: MakeProvider,
) -> None:
    async def use(toolbox: Toolbox) -> tuple[str, int]:
        return await toolbox.schema_text(), len(toolbox.calls)

    text, calls = with_toolbox(provider_of(), use, arm="prefetch", persona="alice")
    assert text.splitlines() == [
        "The tables that you can query, with their columns and SQL types:",
        "- shop.orders(id INTEGER, staff_id INTEGER, minutes INTEGER, "
        "price DECIMAL(8,2), placed_on DATE)",
        "- shop.staff(id INTEGER, name VARCHAR, team VARCHAR) Some columns are not "
        "available to your role and are not listed; do not select them.",
    ]
    assert calls == 0
    carols, _ = with_toolbox(provider_of(), use, arm="prefetch", persona="carol")
    assert "email VARCHAR" in carols


def test_the_schema_is_fetched_once_for_a_persona_and_arm(
    provider_of: MakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    call = Session.call

    async def counting(session: Session, name: str, arguments: Any) -> Any:
        asked.append(name)
        return await call(session, name, arguments)

    monkeypatch.setattr(Session, "call", counting)

    async def run() -> list[int]:
        provider = provider_of()
        fetched = []
        for arm, persona in [
            ("prefetch", "alice"),
            ("prefetch", "alice"),
            ("prefetch", "carol"),
            ("catalog", "alice"),
        ]:
            asked.clear()
            toolbox = await provider.open(BUILT_IN[arm], persona, "shop")
            await toolbox.schema_text()
            await toolbox.aclose()
            fetched.append(len(asked))
        await provider.aclose()
        return fetched

    # one list_tables and two describe_table each time that it is not known yet
    assert asyncio.run(run()) == [3, 0, 3, 3]


def test_a_caller_without_a_role_prefetches_the_refusal(
    provider_of: MakeProvider,
) -> None:
    text = with_toolbox(
        provider_of(), lambda toolbox: toolbox.schema_text(), persona="bob"
    )
    assert text == (
        "The schema is not available to you: you do not have access: bob has no role "
        "on shop"
    )


def test_more_tables_than_a_prompt_holds_are_a_fault(
    provider_of: MakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_dataeval.mcp.toolbox.MAX_PREFETCHED_TABLES", 1)
    with pytest.raises(HarnessBroken, match="2 tables, more than the 1") as caught:
        with_toolbox(provider_of(), lambda toolbox: toolbox.schema_text())
    assert caught.value.what == "prefetch_failed"


# ------------------------------------------------------------------- record


def test_calls_and_statements_are_recorded_in_order(provider_of: MakeProvider) -> None:
    queries = [
        "select count(*) from shop.orders",
        "delete from shop.orders",
        "select no_such from shop.orders",
        "select name from shop.staff join shop.orders on staff.id = orders.staff_id",
    ]

    async def use(toolbox: Toolbox) -> Toolbox:
        await toolbox.call("list_tables", {})
        for sql in queries:
            await toolbox.call("run_query", {"sql": sql})
        return toolbox

    toolbox = with_toolbox(provider_of(), use)
    assert [call.name for call in toolbox.calls] == ["list_tables"] + ["run_query"] * 4
    assert {call.server for call in toolbox.calls} == {"warehouse"}
    assert all(call.ms > 0 and call.started > 0 for call in toolbox.calls)
    assert toolbox.statements() == (
        Statement(queries[0], True, ("shop.orders",)),
        Statement(queries[1], False, None),
        Statement(queries[2], False, None),
        Statement(queries[3], True, ("shop.orders", "shop.staff")),
    )


@pytest.mark.parametrize(
    ("persona", "sql", "kind", "rule"),
    [
        ("alice", "select email from shop.staff", "access", "withheld_column"),
        ("bob", "select 1", "access", "no_role"),
        ("carol", "drop table shop.staff", "guard", "writes"),
    ],
)
def test_a_refusal_is_told_apart_from_an_error(
    provider_of: MakeProvider, persona: str, sql: str, kind: str, rule: str
) -> None:
    result = with_toolbox(
        provider_of(), one_call("run_query", sql=sql), persona=persona
    )
    assert result.is_error
    assert (result.refusal.kind, result.refusal.rule) == (kind, rule)


@pytest.mark.parametrize(
    "sql", ["select x from shop.staff", "select error('query refused: no')"]
)
def test_an_error_of_the_source_is_no_refusal(
    provider_of: MakeProvider, sql: str
) -> None:
    result = with_toolbox(provider_of(), one_call("run_query", sql=sql))
    assert result.is_error
    assert result.refusal is None


def test_an_unknown_tool_is_an_answer_and_is_recorded(
    provider_of: MakeProvider,
) -> None:
    async def use(toolbox: Toolbox) -> Any:
        result = await toolbox.call("run_sql", {"sql": "select 1"})
        return result, toolbox.calls

    result, calls = with_toolbox(provider_of(), use, arm="none")
    assert result.is_error
    assert result.text == (
        "there is no tool 'run_sql'; tools: list_sources, list_tables, "
        "describe_table, run_query"
    )
    assert [call.name for call in calls] == ["run_sql"]


@pytest.mark.parametrize(
    "arguments",
    [{"sql": object()}, {"sql": float("nan")}, {"sql": "\ud800"}, {1j: "x"}],
)
def test_arguments_that_are_no_json_are_the_agents_error(
    provider_of: MakeProvider, arguments: dict[str, Any]
) -> None:
    result = with_toolbox(
        provider_of(), lambda toolbox: toolbox.call("run_query", arguments)
    )
    assert result.is_error
    assert result.text.startswith("the arguments of run_query must be JSON: ")


def test_no_tool_can_be_called_after_the_ask(provider_of: MakeProvider) -> None:
    async def use(toolbox: Toolbox) -> None:
        await toolbox.aclose()
        await toolbox.call("list_tables", {})

    with pytest.raises(HarnessBroken, match="after its ask ended"):
        with_toolbox(provider_of(), use)


def test_a_call_cut_short_by_the_end_of_the_ask_is_in_the_record(
    provider_of: MakeProvider,
) -> None:
    provider = provider_of(plain_server("role: warehouse"))

    async def use(toolbox: Toolbox) -> Any:
        task = asyncio.create_task(toolbox.call("echo", {"do": "hang"}))
        await asyncio.sleep(0.1)
        task.cancel()
        await asyncio.wait({task})
        return toolbox.calls

    (call,) = with_toolbox(provider, use, arm="none")
    assert call.result == ToolResult("the ask ended before this call did", True)


# --------------------------------------------------------------- own servers


def plain_server(*more: str, name: str = "plain") -> str:
    command = json.dumps([sys.executable, str(PLAIN), "serve"])
    lines = [f"    command: {command}", *(f"    {line}" for line in more)]
    return f"servers:\n  {name}:\n" + "\n".join(lines) + "\n"


def test_a_name_that_two_servers_offer_is_told_apart(provider_of: MakeProvider) -> None:
    provider = provider_of(
        plain_server() + "  shop: {bundled: warehouse, warehouse: shop}\n"
    )

    async def use(toolbox: Toolbox) -> Any:
        await toolbox.call("shop__run_query", {"sql": "select 1 as one"})
        return [tool.name for tool in toolbox.tools], toolbox.statements()

    names, statements = with_toolbox(provider, use, arm="none")
    assert names == [
        "echo",
        "plain__run_query",
        "list_sources",
        "list_tables",
        "describe_table",
        "shop__run_query",
    ]
    assert statements == (Statement("select 1 as one", True, ()),)


def test_the_words_of_an_own_server_tell_a_refusal(provider_of: MakeProvider) -> None:
    use = one_call("run_query", do="refuse")
    result = with_toolbox(provider_of(plain_server()), use, arm="none")
    assert result.refusal == Refusal("guard", "", "only SELECT is allowed")


def test_own_servers_may_report_what_they_ran(provider_of: MakeProvider) -> None:
    async def use(toolbox: Toolbox) -> Any:
        await toolbox.call("run_query", {"sql": "select 1", "tables": ["Shop.Orders"]})
        await toolbox.call("echo", {"sql": "select 2", "rows": []})
        await toolbox.call("echo", {"sql": "not a query"})
        return toolbox.statements()

    assert with_toolbox(provider_of(plain_server()), use, arm="none") == (
        Statement("select 1", True, ("shop.orders",)),
        Statement("select 2", True, None),
    )


def test_a_stdio_server_is_told_the_persona_and_its_secrets(
    provider_of: MakeProvider,
) -> None:
    provider = provider_of(plain_server("env: {KEY: '${TEST_SECRET}'}"))
    (spec,) = provider.specs(BUILT_IN["none"], "alice", "shop", lambda name: "t0ken")
    assert getattr(spec.transport, "env", None) == {
        "KEY": "s3cret",
        "DATAEVAL_PERSONA": "alice",
        "DATAEVAL_PERSONA_TOKEN": "t0ken",
    }
    assert "s3cret" not in repr(spec)


def test_preflight_names_the_tools_or_the_fault(provider_of: MakeProvider) -> None:
    def check(provider: Provider, arm: Arm) -> list[str]:
        async def run() -> list[str]:
            try:
                return await provider.check(arm, "carol", "shop")
            finally:
                await provider.aclose()

        return asyncio.run(run())

    assert check(provider_of(), BUILT_IN["none"]) == WAREHOUSE_TOOLS
    lacking = provider_of(plain_server("tools: [echo, describe_table]"))
    with pytest.raises(HarnessBroken) as caught:
        check(lacking, BUILT_IN["none"])
    assert caught.value.what == "tool_missing"
    blind = provider_of(plain_server("role: warehouse"))
    prefetching = Arm("p", False, "full", True, "")
    with pytest.raises(HarnessBroken, match="no server offers list_tables") as caught:
        check(blind, prefetching)
    assert caught.value.what == "prefetch_failed"


def test_a_warehouse_that_is_lost_is_a_fault_and_no_answer(
    provider_of: MakeProvider, monkeypatch: pytest.MonkeyPatch, warehouse: Any
) -> None:
    def lost(*arguments: Any, **options: Any) -> None:
        raise StatementFailed("broken", "the connection was reset")

    monkeypatch.setattr(type(warehouse), "run", lost)
    with pytest.raises(HarnessBroken) as caught:
        with_toolbox(provider_of(), one_call("run_query", sql="select 1"))
    assert caught.value.what == "warehouse_unreachable"
    assert "the connection was reset" in caught.value.detail


def test_a_crash_inside_our_own_server_is_a_fault(
    provider_of: MakeProvider, monkeypatch: pytest.MonkeyPatch, warehouse: Any
) -> None:
    def defect(*arguments: Any, **options: Any) -> None:
        raise KeyError("column")

    monkeypatch.setattr(type(warehouse), "run", defect)
    with pytest.raises(HarnessBroken, match="run_query crashed: KeyError") as caught:
        with_toolbox(provider_of(), one_call("run_query", sql="select 1"))
    assert caught.value.what == "tool_call_failed"


def test_without_personas_the_owner_asks(warehouse: Any, tmp_path: Path) -> None:
    from pytest_dataeval.config import load_settings

    (tmp_path / "dataeval.yaml").write_text(
        "warehouses: {shop: {url: 'duckdb:///x.duckdb', schemas: [shop]}}\n"
    )
    settings = load_settings(tmp_path, {})
    provider = Provider(settings, lambda name: warehouse, lambda name: None)  # type: ignore[arg-type, return-value]
    use = one_call("run_query", sql="select email from shop.staff order by id")
    result = with_toolbox(provider, use, arm="none", persona=None)
    assert result.structured["rows"] == [["ann@example.com"], ["bo@example.com"]]


def test_carol_is_who_the_configuration_says(settings: Any) -> None:
    from pytest_dataeval.mcp.personas import persona_of

    assert persona_of("carol", settings.config.personas) == CAROL
