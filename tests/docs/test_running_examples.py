"""The fixtures and hooks that docs/running.md shows, in a project of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from pages import blocks

CASE = """
suite: {suite}
warehouse: shop
cases:
  - id: {id}
    tier: L1
    question: "How many?"
    reference: {{sql: "{sql}"}}
"""
ORDERS = "create schema shop; create table shop.orders (id integer);"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run folder of one session over all examples of the page."""
    root = tmp_path_factory.mktemp("project")

    def write(name: str, text: str) -> None:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    for name, rows in (("data", 3), ("edge", 1)):
        connection = duckdb.connect(str(root / f"{name}.duckdb"))
        connection.execute(f"{ORDERS} insert into shop.orders from range({rows})")
        connection.close()
    write(
        "dataeval.yaml",
        'warehouses: {shop: {url: "duckdb+duckdb_sqlalchemy:///data.duckdb"}}',
    )
    count = "select count(*) as n from shop.orders"
    write("cases/shop.yaml", CASE.format(suite="shop", id="L1-orders", sql=count))
    write(
        "cases/pilot/pilot.yaml",
        CASE.format(suite="pilot", id="L1-pilot", sql="select 42 as n"),
    )
    edge = "select 41 + count(*) as n from shop.orders"
    write("cases/edge/edge.yaml", CASE.format(suite="edge", id="L1-edge", sql=edge))
    for block in blocks("python", pages=("running",)):
        write(block.text.splitlines()[0].removeprefix("# "), block.text)
    (hooks,) = blocks("python hooks", pages=("running",))
    write("conftest.py", hooks.text)
    shown = blocks("python run", pages=("running",))
    write("tests/test_page.py", "\n\n".join(block.text for block in shown))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:randomly", "--run-dir", "run"],
        cwd=root,
        env={k: v for k, v in os.environ.items() if not k.startswith("PYTEST")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "6 passed" in done.stdout
    return root / "run"


def test_overrides_hold_for_the_cases_of_their_folder(run: Path) -> None:
    who: dict[str, str] = {}
    ends: dict[str, tuple[str, str, object]] = {}
    for line in (run / "events.jsonl").read_text().splitlines():
        event = json.loads(line)
        if event["kind"] == "attempt":
            who[event["nodeid"]] = event["answered_by"]
        if event["kind"] == "score":
            stored = run / "results" / f"{event['reference_result']}.json"
            ends[f"{event['suite']}/{event['case']}"] = (
                who[event["nodeid"]],
                event["verdict"],
                json.loads(stored.read_text())["rows"],
            )
    assert ends == {
        # the project's own warehouse has three orders
        "shop/L1-orders": ("gold", "pass", [[3]]),
        "pilot/L1-pilot": ("pilot", "pass", [[42]]),
        # 41 and the one order of the folder's own warehouse
        "edge/L1-edge": ("gold", "pass", [[42]]),
        "test_page.test_answers_are_short/L1-orders": ("gold", "pass", [[3]]),
    }
