"""Loading into a warehouse, and the DuckDB file that processes share."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seed import warehouse
from seed.support import build_if_absent, load

ROOT = Path(__file__).parents[2]
TABLES = ("customers", "agents", "sla", "tickets", "team_months")
Query = Callable[[str], list[tuple[Any, ...]]]


def contents(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    import duckdb

    with duckdb.connect(str(path), read_only=True) as connection:
        return {
            table: connection.execute(f"select * from support.{table}").fetchall()
            for table in TABLES
        }


def test_the_warehouse_holds_the_rows_that_were_generated(
    query: Query, rows: dict[str, list[dict[str, Any]]]
) -> None:
    for table in TABLES:
        columns = ", ".join(rows[table][0])
        stored = query(f"select {columns} from support.{table}")
        assert sorted(map(str, stored)) == sorted(
            str(tuple(row.values())) for row in rows[table]
        )


def test_two_loads_are_equal_and_the_second_replaces_the_first(
    tmp_path: Path,
) -> None:
    path = tmp_path / "desk.duckdb"
    url = f"duckdb+duckdb_sqlalchemy:///{path}"
    load(url, scale=0.05)
    first = contents(path)
    load(url, scale=0.05)
    assert contents(path) == first
    # 3600 tickets times 0.05.
    assert len(first["tickets"]) == 180


def test_the_command_line_loads_an_url(tmp_path: Path) -> None:
    path = tmp_path / "desk.duckdb"
    url = f"duckdb+duckdb_sqlalchemy:///{path}"
    command = [sys.executable, "-m", "seed.support", url, "--seed", "3"]
    subprocess.run([*command, "--scale", "0.02"], cwd=ROOT, check=True)
    assert len(contents(path)["tickets"]) == 72


def test_a_current_file_is_left_alone_and_other_arguments_rebuild_it(
    tmp_path: Path,
) -> None:
    path = build_if_absent(tmp_path / "desk.duckdb", scale=0.02)
    made = path.stat().st_ino
    assert build_if_absent(path, scale=0.02).stat().st_ino == made
    assert len(contents(path)["tickets"]) == 72
    build_if_absent(path, scale=0.03)
    assert len(contents(path)["tickets"]) == 108


def test_a_changed_source_rebuilds_the_file(tmp_path: Path) -> None:
    source = tmp_path / "generator.py"
    built: list[str] = []

    def build(url: str) -> None:
        built.append(url)
        Path(url.removeprefix("duckdb+duckdb_sqlalchemy:///")).touch()

    for text in ("one", "one", "two"):
        source.write_text(text)
        warehouse.build_if_absent(
            tmp_path / "desk.duckdb",
            build,
            sources=[source],
            arguments={},
            schemas=["support"],
        )
    assert len(built) == 2


def test_a_build_that_fails_leaves_the_old_file_and_is_tried_again(
    tmp_path: Path,
) -> None:
    path = build_if_absent(tmp_path / "desk.duckdb", scale=0.02)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="scale must be positive"):
        build_if_absent(path, scale=-1)
    assert path.read_bytes() == before
    assert sorted(p.name for p in tmp_path.glob("*.building")) == []
    build_if_absent(path, scale=0.03)
    assert len(contents(path)["tickets"]) == 108


def test_a_file_named_like_the_schema_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"support_desk\.duckdb"):
        build_if_absent(tmp_path / "support.duckdb")


BUILDER = """
import sys, time
from pathlib import Path
from seed import warehouse
path, log = Path(sys.argv[1]), Path(sys.argv[2])

def build(url):
    with log.open("a") as lines:
        lines.write("built\\n")
    time.sleep(0.2)
    Path(url.removeprefix("duckdb+duckdb_sqlalchemy:///")).write_text("whole")

warehouse.build_if_absent(path, build, sources=[], arguments={}, schemas=[])
assert path.read_text() == "whole"
"""


def test_of_eight_processes_at_once_one_builds(tmp_path: Path) -> None:
    path, log = tmp_path / "desk.duckdb", tmp_path / "log"
    command = [sys.executable, "-c", BUILDER, str(path), str(log)]
    processes = [subprocess.Popen(command, cwd=ROOT) for _ in range(8)]
    assert [process.wait() for process in processes] == [0] * 8
    assert log.read_text() == "built\n"
