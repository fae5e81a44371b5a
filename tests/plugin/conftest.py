"""Throw-away projects that whole pytest processes run in."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

HAS_XDIST = importlib.util.find_spec("xdist") is not None

#: plugins of the test environment that a project of a user's need not have
QUIET = (
    *("-p", "no:randomly", "-p", "no:asyncio", "-p", "no:timeout"),
    *("-p", "no:rerunfailures", "-p", "no:repeat", "-p", "no:hypothesispytest"),
)

#: Each integration test runs in all of these ways; the outcome must not differ.
MODES: dict[str, tuple[str, ...]] = {
    "serial": (),
    "no-terminal": ("-p", "no:terminal"),
}
if HAS_XDIST:
    MODES |= {"n0": ("-n", "0"), "n2": ("-n", "2")}

needs_xdist = pytest.mark.skipif(
    not HAS_XDIST, reason="this environment tests the plugin without pytest-xdist"
)


@dataclass
class Result:
    """The end of one pytest process."""

    status: int
    out: str
    err: str
    root: Path

    @property
    def text(self) -> str:
        return self.out + self.err

    @property
    def run(self) -> Path:
        """The newest run folder."""
        folders = sorted((self.root / ".dataeval" / "runs").iterdir())
        assert folders, self.text
        return folders[-1]

    @property
    def summary(self) -> dict[str, Any]:
        return json.loads((self.run / "summary.json").read_text())

    @property
    def info(self) -> dict[str, Any]:
        return json.loads((self.run / "run.json").read_text())

    def events(self, kind: str | None = None) -> list[dict[str, Any]]:
        lines = (self.run / "events.jsonl").read_text().splitlines()
        found = [json.loads(line) for line in lines]
        return [e for e in found if kind is None or e["kind"] == kind]

    def verdicts(self) -> dict[str, str]:
        """Node id -> verdict of every score."""
        return {e["nodeid"]: e["verdict"] for e in self.events("score")}

    def faults(self) -> dict[str, str]:
        """Node id -> what, of every fault."""
        return {e["nodeid"]: e["what"] for e in self.events("fault")}

    def counts(self) -> dict[str, int]:
        """What pytest's last line counts, as {"passed": 3, ...}."""
        lines = [x for x in self.out.splitlines() if re.search(r" in [\d.]+s", x)]
        assert lines, self.text
        found = re.findall(r"(\d+) ([a-z]+)", lines[-1].split(" in ")[0])
        return {word: int(number) for number, word in found}


class Project:
    """A project in a temporary folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.write("pytest.ini", "[pytest]\ntestpaths = cases\n")

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return path

    def cases(self, text: str, name: str = "cases/shop.yaml") -> Path:
        return self.write(name, text)

    def agent(self, body: str, name: str = "mine", attributes: str = "") -> None:
        """A module with one async agent; `body` is the body of its ask."""
        lines = textwrap.indent(textwrap.dedent(body).strip(), " " * 8)
        self.write(
            f"{name}_agent.py",
            "import asyncio\nfrom pytest_dataeval import Answer\n\n"
            f"class Agent:\n    paid = False\n    {attributes or 'pass'}\n\n"
            f"    async def ask(self, question, context):\n{lines}\n",
        )

    def config(self, text: str) -> Path:
        return self.write("dataeval.yaml", text)

    def warehouse(self, sql: str, name: str = "data.duckdb") -> Path:
        """A DuckDB file made by `sql`."""
        import duckdb

        path = self.root / name
        connection = duckdb.connect(str(path))
        connection.execute(textwrap.dedent(sql))
        connection.close()
        return path

    def command(self, *args: str) -> list[str]:
        return [sys.executable, "-m", "pytest", *QUIET, *args]

    def environment(self, env: Mapping[str, str]) -> dict[str, str]:
        # in a tox environment pytest keeps one cache for all of its processes
        outer = ("PYTEST", "TOX_")
        kept = {k: v for k, v in os.environ.items() if not k.startswith(outer)}
        path = os.pathsep.join([str(self.root), os.environ.get("PYTHONPATH", "")])
        return {**kept, "PYTHONPATH": path, "COLUMNS": "100", **env}

    def pytest(self, *args: str, timeout_s: float = 120, **env: str) -> Result:
        done = subprocess.run(
            self.command(*args),
            cwd=self.root,
            env=self.environment(env),
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        return Result(done.returncode, done.stdout, done.stderr, self.root)

    def interrupted(
        self,
        when: Callable[[Path], bool],
        how: signal.Signals,
        *args: str,
        timeout_s: float = 60,
    ) -> Result:
        """Start pytest, and send `how` as soon as `when(root)` holds."""
        import time

        process = subprocess.Popen(
            self.command(*args),
            cwd=self.root,
            env=self.environment({}),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        ends = time.monotonic() + timeout_s
        while not when(self.root) and process.poll() is None:
            if time.monotonic() > ends:
                process.kill()
                raise AssertionError("it never came to the point of the signal")
            time.sleep(0.02)
        process.send_signal(how)
        out, err = process.communicate(timeout=timeout_s)
        return Result(process.returncode, out, err, self.root)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """An empty project."""
    return Project(tmp_path)


SHOP = """
    create schema shop;
    create table shop.orders (id integer, customer varchar, amount decimal(10, 2),
                              status varchar);
    insert into shop.orders values
        (1, 'ann', 10.50, 'paid'), (2, 'ann', 20.00, 'paid'),
        (3, 'bea', 5.25, 'paid'), (4, 'cyd', 99.00, 'cancelled');
"""

SHOP_CASES = """
    suite: shop
    warehouse: shop
    cases:
      - id: L1-orders
        tier: L1
        tags: [counting]
        question: "How many orders are there?"
        reference: {sql: "select count(*) as orders from shop.orders"}
        tables: [shop.orders]
      - id: L2-by-customer
        tier: L2
        question: "What did each customer pay?"
        wordings: [{text: "Paid amount by customer?", reviewed: true}]
        reference:
          sql: |
            select customer, sum(amount) as paid from shop.orders
            where status = 'paid' group by customer
      - id: L4-margin
        tier: L4
        question: "What was the margin?"
        expect: abstain
        gap: [margin]
"""

SHOP_CONFIG = """
    warehouses:
      shop: {url: "duckdb+duckdb_sqlalchemy:///data.duckdb"}
"""


@pytest.fixture
def shop(project: Project) -> Project:
    """A project with one DuckDB file, three cases, and no catalog."""
    project.warehouse(SHOP)
    project.config(SHOP_CONFIG)
    project.cases(SHOP_CASES)
    return project


VALUE_CASES = """
    suite: words
    cases:
      - {id: L1-right, tier: L1, question: "right?", reference: {value: [42]}}
      - {id: L1-wrong, tier: L1, question: "wrong?", reference: {value: [42]}}
      - {id: L2-right, tier: L2, question: "right again?", reference: {value: [42]}}
"""


@pytest.fixture
def words(project: Project) -> Project:
    """A project without a warehouse: fixed values and an agent of its own.

    The agent answers 42 to whatever holds the word "right", else 7.
    """
    project.cases(VALUE_CASES, "cases/words.yaml")
    project.config("agents:\n  mine: {python: 'mine_agent:Agent'}\n")
    project.agent(
        'return Answer(text="It is 42." if "right" in question else "It is 7.")',
        attributes="needs_servers = False",
    )
    return project


@pytest.fixture(params=list(MODES))
def mode(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """Options of each way in which the plugin is run."""
    return MODES[request.param]
