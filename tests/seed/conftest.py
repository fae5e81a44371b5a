"""The support desk at seed 1, built once for the whole directory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from seed.support import build_if_absent, generate

ROOT = Path(__file__).parents[2]
Query = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture(scope="session")
def rows() -> dict[str, list[dict[str, Any]]]:
    return generate()


@pytest.fixture(scope="session")
def query(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Query]:
    """Run one statement on the support desk, read-only; its rows as tuples."""
    from sqlalchemy import create_engine

    path = build_if_absent(tmp_path_factory.mktemp("seed") / "support_desk.duckdb")
    engine = create_engine(
        f"duckdb+duckdb_sqlalchemy:///{path}", connect_args={"read_only": True}
    )
    with engine.connect() as connection:
        yield lambda sql: [tuple(r) for r in connection.exec_driver_sql(sql)]
    engine.dispose()


@pytest.fixture(scope="session")
def cases() -> dict[str, dict[str, Any]]:
    """The suite's cases by id."""
    text = (ROOT / "cases" / "support.yaml").read_text(encoding="utf-8")
    return {case["id"]: case for case in yaml.safe_load(text)["cases"]}
