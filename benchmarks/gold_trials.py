"""1,000 gold trials through MCP, guard, warehouse and scorer, one in flight.

Run from the repository's root folder, on its own support desk.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path

from _project import pytest_command, spread, timed

ROOT = Path(__file__).resolve().parent.parent
STDIO = """
servers:
  warehouse:
    command: [{python}, -m, pytest_dataeval.mcp.servers.warehouse, --url, "{url}",
      --name, support, --schemas, support, --persona, alice, --roles, Data.Analyst,
      --withheld, support.customers.email, support.customers.phone,
      support.agents.email, support.agents.phone]
    role: warehouse
    tools: [list_sources, list_tables, describe_table, run_query]
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--stdio", action="store_true", help="over a server process")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dataeval-bench-") as name:
        root = Path(name)
        for part in ("cases", "seed"):
            shutil.copytree(ROOT / part, root / part)
        config = (ROOT / "dataeval.yaml").read_text()
        if options.stdio:
            url = f"duckdb+duckdb_sqlalchemy:///{root}/.build/support_desk.duckdb"
            config += STDIO.format(python=json.dumps(sys.executable), url=url)
        (root / "dataeval.yaml").write_text(config)
        (root / "pytest.ini").write_text("[pytest]\ntestpaths = cases\n")
        command = pytest_command("--agents", "gold", "--arms", "none")
        answers = [*command, "-k", "not L4 and not L5"]
        timed(answers, root)  # builds the warehouse
        figures = []
        for _ in range(options.rounds):
            one = timed([*answers, "-k", "L1-ticket-count"], root, expect=(0, 5))
            many = timed([*answers, "--repeats", "23"], root)
            figures.append((many - one) * 1000 / (44 * 23 - 1))
    print(f"1,012 gold trials  {spread(figures, 'ms a trial')}")


if __name__ == "__main__":
    main()
