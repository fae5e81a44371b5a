"""What the rest of the package asks of a warehouse, and how one is opened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pytest_dataeval.errors import HarnessBroken
from pytest_dataeval.records import ResultSet

if TYPE_CHECKING:
    from pytest_dataeval.config import WarehouseConfig


@dataclass(frozen=True, slots=True)
class Limits:
    """What one statement may cost.

    `max_rows` cuts the result and marks it truncated; `timeout_s` and
    `max_bytes` (an estimate of the cells' size) make the statement fail.
    """

    timeout_s: float = 30.0
    max_rows: int = 10_000
    max_bytes: int = 50_000_000


class Warehouse(Protocol):
    """A database that statements are run in, read-only. Threads may share one."""

    @property
    def name(self) -> str:
        """The name in dataeval.yaml."""

    @property
    def dialect(self) -> str:
        """The SQL dialect, by sqlglot's name for it."""

    @property
    def default_schema(self) -> str | None:
        """Where an unqualified table name is looked up."""

    def run(
        self, sql: str, limits: Limits | None = None, *, persona: str | None = None
    ) -> ResultSet:
        """Run one statement that only reads; None means the configured limits.

        Raises StatementFailed, whose kind says whose doing it was.
        """

    def columns(self) -> Mapping[str, Mapping[str, str]]:
        """`schema.table` in lower case -> column -> SQL type, read once."""

    def fingerprint(self) -> str:
        """A hash of the schema and of each table's row count, taken now."""

    def close(self) -> None:
        """Close all connections."""


def open_warehouse(
    name: str, config: WarehouseConfig, *, url: str, rootdir: Path
) -> Warehouse:
    """Open and reach the warehouse `name`; `url` has its secrets filled in.

    Raises HarnessBroken with `warehouse_url` or `warehouse_unreachable`.
    """
    import sqlalchemy

    where = f"dataeval.yaml: warehouses.{name}.url"
    try:
        parsed = sqlalchemy.make_url(url)
        backend = parsed.get_backend_name()
    except (sqlalchemy.exc.ArgumentError, ValueError):
        # The text is not repeated: it may hold a password.
        raise HarnessBroken(
            "warehouse_url",
            where,
            "this is not a SQLAlchemy URL.",
            "Write one such as duckdb:///support.duckdb.",
        ) from None
    if backend == "duckdb":
        from pytest_dataeval.warehouse.duckdb import DuckDBWarehouse

        return DuckDBWarehouse(name, config, parsed, rootdir)
    raise HarnessBroken(
        "warehouse_url",
        where,
        f"{backend!r} warehouses are not supported.",
        "Supported is DuckDB: duckdb:///path/to/file.duckdb.",
    )
