"""A small DuckDB file, and a warehouse opened on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from pytest_dataeval.config import WarehouseConfig
from pytest_dataeval.warehouse.base import Warehouse, open_warehouse


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Schema `shop` with a table of 1,000 orders and a view on it."""
    path = tmp_path / "data.duckdb"
    connection = duckdb.connect(str(path))
    connection.execute("create schema shop")
    connection.execute(
        "create table shop.orders as "
        "select i as id, (i / 4)::decimal(10, 2) as amount, "
        "case when i % 2 = 0 then 'web' else 'pos' end as channel "
        "from range(1000) t(i)"
    )
    connection.execute(
        "create view shop.web as select * from shop.orders where channel = 'web'"
    )
    connection.execute("create schema private")
    connection.execute("create table private.salaries as select 1 as amount")
    connection.close()
    return path


@pytest.fixture
def warehouse(database: Path) -> Iterator[Warehouse]:
    config = WarehouseConfig(url="duckdb:///data.duckdb")
    opened = open_warehouse("shop", config, url=config.url, rootdir=database.parent)
    yield opened
    opened.close()
