"""The shop as fixtures: a DuckDB warehouse, a catalog file, settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest
from shopdesk import CATALOG, CONFIG, TABLES

from pytest_dataeval.catalog.load import load_catalog
from pytest_dataeval.catalog.model import Catalog
from pytest_dataeval.config import Settings, load_settings
from pytest_dataeval.mcp.provide import Provider
from pytest_dataeval.warehouse.base import Warehouse, open_warehouse


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the warehouse, the catalog file and dataeval.yaml."""
    folder = tmp_path_factory.mktemp("shop")
    connection = duckdb.connect(str(folder / "desk.duckdb"))
    connection.execute(TABLES)
    connection.close()
    (folder / "dataeval.yaml").write_text(CONFIG)
    (folder / "catalog.yaml").write_text(CATALOG)
    return folder


@pytest.fixture(scope="session")
def settings(shop: Path) -> Settings:
    return load_settings(shop, {})


@pytest.fixture(scope="session")
def warehouse(shop: Path, settings: Settings) -> Iterator[Warehouse]:
    config = settings.config.warehouses["shop"]
    opened = open_warehouse("shop", config, url=config.url, rootdir=shop)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def catalog(shop: Path) -> Catalog:
    return load_catalog(shop / "catalog.yaml")


@pytest.fixture
def provider_of(
    shop: Path, warehouse: Warehouse, catalog: Catalog
) -> Callable[[str], Provider]:
    """A provider for the shop with more text appended to its dataeval.yaml."""

    def make(more: str = "") -> Provider:
        folder = shop / f"project{len(list(shop.iterdir()))}"
        folder.mkdir()
        (folder / "dataeval.yaml").write_text(CONFIG + more)
        settings = load_settings(folder, {"TEST_SECRET": "s3cret"})
        return Provider(settings, lambda name: warehouse, lambda name: catalog)

    return make
