"""The built-in agents through the bundled servers, as a run gives them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import fake_bakery
import pytest
import yaml

from pytest_dataeval.agents.gold import GoldAgent, GoldTask
from pytest_dataeval.agents.lexical import LexicalAgent
from pytest_dataeval.catalog.load import load_catalog
from pytest_dataeval.config import load_settings
from pytest_dataeval.mcp.arms import BUILT_IN
from pytest_dataeval.mcp.provide import Provider
from pytest_dataeval.mcp.toolbox import Toolbox
from pytest_dataeval.records import Answer
from pytest_dataeval.warehouse.base import Warehouse, open_warehouse

CONFIG = """
warehouses:
  bakery: {url: "duckdb+duckdb_sqlalchemy:///desk.duckdb", schemas: [shop]}
catalogs:
  bakery: {file: catalog.yaml}
personas:
  alice: {roles: [Data.Analyst], withheld: [shop.stores.phone]}
  bob: {}
"""


def catalog() -> dict[str, Any]:
    """The bakery's catalog as a file of the bundled catalog server."""
    tables = [
        {
            "name": "shop.orders",
            "synonyms": ["purchase"],
            "columns": [
                {"name": name, "type": kind}
                for name, kind in (
                    ("store_id", "INTEGER"),
                    ("status", "VARCHAR"),
                    ("channel", "VARCHAR"),
                    ("price", "DOUBLE"),
                    ("delivery_minutes", "INTEGER"),
                )
            ],
        },
        {
            "name": "shop.stores",
            "columns": [
                {"name": "id", "type": "INTEGER"},
                {"name": "city", "type": "VARCHAR"},
            ],
        },
    ]
    metrics = [
        {
            "name": metric["name"],
            "description": metric["description"],
            "expression": metric["metricExpression"],
            "table": metric["table"],
            "filter": metric["filter"],
            "unit": metric["unitOfMeasurement"],
            "type": metric["metricType"],
            "synonyms": metric["synonyms"],
        }
        for metric in fake_bakery.METRICS
    ]
    joins = [{"from": "shop.orders.store_id", "to": "shop.stores.id"}]
    return {"service": "bakery", "tables": tables, "metrics": metrics, "joins": joins}


@dataclass
class ToolboxContext:
    """A Context over the toolbox of one trial."""

    toolbox: Toolbox
    persona: str | None
    conversation: str = "c1"
    system_prompt: str = ""
    max_steps: int = 16
    timeout_s: float = 30.0
    model: str | None = None
    effort: str | None = None

    @property
    def tools(self) -> Any:
        return self.toolbox.tools

    async def call_tool(self, name: str, arguments: Any) -> Any:
        return await self.toolbox.call(name, arguments)


@dataclass
class Asked:
    text: str
    sql: str | None


Ask = Callable[..., Asked]


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    """Ask an agent in an arm, as a persona, over the bakery in a DuckDB file."""
    with duckdb.connect(str(tmp_path / "desk.duckdb")) as database:
        database.execute(fake_bakery.SETUP)
    (tmp_path / "dataeval.yaml").write_text(CONFIG)
    (tmp_path / "catalog.yaml").write_text(yaml.safe_dump(catalog()))
    settings = load_settings(tmp_path, {})

    def open_bakery(name: str) -> Warehouse:
        config = settings.config.warehouses[name]
        return open_warehouse(name, config, url=config.url, rootdir=tmp_path)

    async def asked(agent: Any, question: str, arm: str, persona: str) -> Asked:
        provider = Provider(
            settings, open_bakery, lambda name: load_catalog(tmp_path / "catalog.yaml")
        )
        try:
            toolbox = await provider.open(BUILT_IN[arm], persona, "bakery")
            answer: Answer = await agent.ask(question, ToolboxContext(toolbox, persona))
            statements = toolbox.statements()
            await toolbox.aclose()
        finally:
            await provider.aclose()
        last = statements[-1].sql if statements else None
        return Asked(answer.text or "", last)

    def run(
        agent: Any, question: str, arm: str = "catalog", persona: str = "alice"
    ) -> Asked:
        return asyncio.run(asked(agent, question, arm, persona))

    return run


def test_lexical_follows_the_catalog_where_the_arm_has_one(ask: Ask) -> None:
    question = "Which city has the fastest delivery time?"
    # Paid orders alone: Bergen 25 minutes. All of them: Bergen 38, Oslo 44.2.
    assert ask(LexicalAgent(), question).text == "The answer is Bergen: 25.0 minutes."
    assert ask(LexicalAgent(), question, "none").text == "The answer is Bergen: 38.0."


def test_names_without_meaning_leave_lexical_with_the_schema(ask: Ask) -> None:
    asked = ask(LexicalAgent(), "What is our net revenue?", "schema-only")
    assert asked.text.startswith("I cannot answer this")
    assert ask(LexicalAgent(), "What is our net revenue?").text == (
        "The answer is 275.0 EUR."
    )


def test_lexical_leaves_withheld_columns_alone(ask: Ask) -> None:
    asked = ask(LexicalAgent(), "List the phone numbers of our stores")
    assert "withheld" in asked.text
    assert "stores.phone" not in (asked.sql or "")


def test_lexical_reports_that_a_persona_has_no_access(ask: Ask) -> None:
    asked = ask(LexicalAgent(), "How many orders are there?", persona="bob")
    assert "access was refused" in asked.text


@pytest.mark.parametrize("arm", ["catalog", "schema-only", "none", "floor"])
def test_gold_gives_the_reference_in_every_arm(ask: Ask, arm: str) -> None:
    sql = "select sum(price) as revenue from shop.orders where status = 'paid'"
    agent = GoldAgent(lambda conversation: GoldTask("answer", sql=sql))
    assert ask(agent, "?", arm) == Asked("The answer is 275.0.", sql)


@pytest.mark.parametrize(
    ("probe", "said"),
    [
        ("delete from shop.orders", "DELETE"),
        ("select phone from shop.stores", "shop.stores.phone"),
    ],
)
def test_gold_proves_the_guard_and_the_grants(ask: Ask, probe: str, said: str) -> None:
    agent = GoldAgent(lambda conversation: GoldTask("block", probe_sql=probe))
    text = ask(agent, "?").text
    assert text.startswith("This was refused, so I cannot do it")
    assert said in text
