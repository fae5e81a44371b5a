"""DuckDB files as warehouses: one statement at a time, read-only, sealed off."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_dataeval.errors import HarnessBroken, StatementFailed
from pytest_dataeval.records import ResultSet, canonical_json
from pytest_dataeval.warehouse.base import Limits
from pytest_dataeval.warehouse.fetch import fetch
from pytest_dataeval.warehouse.watchdog import watchdog

if TYPE_CHECKING:
    import duckdb
    from sqlalchemy import URL, Engine

    from pytest_dataeval.config import WarehouseConfig

_COLUMNS = """
select table_schema, table_name, column_name, data_type
from information_schema.columns
where table_catalog = current_database()
order by table_schema, table_name, ordinal_position
"""

_BASE_TABLES = """
select table_schema, table_name
from information_schema.tables
where table_catalog = current_database() and table_type = 'BASE TABLE'
order by table_schema, table_name
"""

_NAMESAKE = """
select 1 from information_schema.schemata
where catalog_name = current_database()
and lower(schema_name) = lower(current_database())
"""

#: Longer texts are refused unread: the parser's recursion costs stack.
MAX_STATEMENT_CHARS = 1_000_000

#: DuckDB's classes for trouble that no statement of an agent brings about.
_OUR_SIDE = (
    "IOException",
    "FatalException",
    "InternalException",
    "ConnectionException",
)


class DuckDBWarehouse:
    """A DuckDB file opened read-only, without access to files or the network.

    Statements go to the driver as they stand: SQLAlchemy's `text()` would read
    `:name` in them as a parameter. DuckDB has no users, so `persona` changes
    nothing here; whoever serves a persona checks the columns beforehand.
    """

    dialect = "duckdb"

    def __init__(
        self, name: str, config: WarehouseConfig, url: URL, rootdir: Path
    ) -> None:
        self.name = name
        self.default_schema: str | None = config.default_schema or "main"
        self.path = _file(name, config, url, rootdir)
        self._schemas = {schema.lower() for schema in config.schemas}
        self._limits = Limits(timeout_s=config.timeout_s, max_rows=config.max_rows)
        self._engine = self._make_engine(config.default_schema)
        self._columns: Mapping[str, Mapping[str, str]] | None = None
        self._lock = threading.Lock()
        self._reach()

    def _make_engine(self, default_schema: str | None) -> Engine:
        import sqlalchemy

        engine = sqlalchemy.create_engine(
            sqlalchemy.URL.create("duckdb+duckdb_sqlalchemy", database=str(self.path)),
            connect_args={
                "read_only": True,
                "config": {"enable_external_access": False, "lock_configuration": True},
            },
            pool_size=16,
            max_overflow=-1,
            # Every statement commits by itself and may only read: nothing to undo.
            pool_reset_on_return=None,
        )
        if default_schema is not None:
            quoted = '"' + default_schema.replace('"', '""') + '"'

            @sqlalchemy.event.listens_for(engine, "connect")
            def use_schema(connection: Any, _record: Any) -> None:
                connection.execute(f"use {quoted}")

        return engine

    def _reach(self) -> None:
        import duckdb

        where = f"warehouse {self.name} ({self.path})"
        try:
            self._engine.raw_connection().close()
        except duckdb.Error as error:
            remedy = "Check the file, and that no other process writes to it."
            if isinstance(error, duckdb.CatalogException):
                remedy = f"Mend warehouses.{self.name}.default_schema."
            raise HarnessBroken(
                "warehouse_unreachable",
                where,
                f"it cannot be opened: {_first_line(error)}.",
                remedy,
            ) from error
        if self.run(_NAMESAKE).rows:
            raise HarnessBroken(
                "warehouse_unreachable",
                where,
                f"the file and a schema in it are both named {self.path.stem}, "
                "so that DuckDB finds every table name with that schema ambiguous.",
                "Give the file another name.",
            )

    def run(
        self, sql: str, limits: Limits | None = None, *, persona: str | None = None
    ) -> ResultSet:
        import duckdb

        limits = self._limits if limits is None else limits
        _check_text(sql)
        try:
            pooled = self._engine.raw_connection()
        except duckdb.Error as error:
            raise StatementFailed("broken", _first_line(error)) from error
        try:
            connection: Any = pooled.driver_connection
            with watchdog.limit(limits.timeout_s, connection.interrupt):
                _check_form(connection, sql)
                return fetch(connection.execute(sql), limits)
        except duckdb.Error as error:
            failure = _failure(error, limits)
            if failure.kind == "broken":
                # A new instance is opened next time: this one may stay invalid.
                self._engine.dispose()
            raise failure from error
        except (OverflowError, ValueError, RecursionError) as error:
            # For example an interval of more days than Python's has.
            raise StatementFailed(
                "invalid", f"a value in the result has no form in Python: {error}"
            ) from error
        except MemoryError as error:
            raise StatementFailed("too_large", "the result fills the memory") from error
        finally:
            pooled.close()

    def columns(self) -> Mapping[str, Mapping[str, str]]:
        with self._lock:
            if self._columns is None:
                found: dict[str, dict[str, str]] = {}
                for schema, table, column, sql_type in self._own(_COLUMNS).rows:
                    if not self._schemas or schema.lower() in self._schemas:
                        qualified = f"{schema}.{table}".lower()
                        found.setdefault(qualified, {})[column] = sql_type
                self._columns = found
            return self._columns

    def fingerprint(self) -> str:
        tables = [
            (schema, table)
            for schema, table in self._own(_BASE_TABLES).rows
            if not self._schemas or schema.lower() in self._schemas
        ]
        counts = {}
        for schema, table in tables:
            quoted = ".".join(
                '"' + part.replace('"', '""') + '"' for part in (schema, table)
            )
            counted = self._own(f"select count(*) from {quoted}")
            counts[f"{schema}.{table}".lower()] = counted.rows[0][0]
        facts = {"columns": self.columns(), "rows": counts}
        return hashlib.sha256(canonical_json(facts).encode()).hexdigest()

    def _own(self, sql: str) -> ResultSet:
        return self.run(sql, Limits(self._limits.timeout_s, max_rows=1_000_000))

    def close(self) -> None:
        self._engine.dispose()


def _file(name: str, config: WarehouseConfig, url: URL, rootdir: Path) -> Path:
    where = f"dataeval.yaml: warehouses.{name}.url"
    if url.query:
        raise HarnessBroken(
            "warehouse_url",
            where,
            f"the options {', '.join(sorted(url.query))} are not taken.",
            "A warehouse is always opened read-only; leave out what follows the `?`.",
        )
    if url.database in (None, "", ":memory:"):
        raise HarnessBroken(
            "warehouse_url",
            where,
            "a DuckDB in memory is empty and cannot be opened read-only.",
            "Name a file: duckdb:///support.duckdb.",
        )
    path = rootdir / str(url.database)
    if not path.is_file():
        remedy = (
            f"Its setup command ({' '.join(config.setup)}) did not make it."
            if config.setup
            else f"Build it, or name the command that does: warehouses.{name}.setup."
        )
        raise HarnessBroken(
            "warehouse_unreachable",
            f"warehouse {name} ({path})",
            "there is no such file.",
            remedy,
        )
    return path


def _check_text(sql: str) -> None:
    """Refuse what the driver cannot take as text."""
    if len(sql) > MAX_STATEMENT_CHARS:
        raise StatementFailed(
            "refused",
            f"the statement is longer than {MAX_STATEMENT_CHARS:,} characters",
        )
    try:
        sql.encode()
    except UnicodeEncodeError:
        raise StatementFailed("invalid", "the statement is not valid Unicode") from None


def _check_form(connection: Any, sql: str) -> None:
    """Refuse all but one statement of DuckDB's type SELECT.

    Read-only alone still allows temporary tables, PREPARE and CHECKPOINT, and
    EXPLAIN ANALYZE runs what it explains.
    """
    import duckdb

    statements = connection.extract_statements(sql)
    if not statements:
        raise StatementFailed("invalid", "the text holds no statement")
    if len(statements) > 1:
        raise StatementFailed(
            "refused", f"one statement at a time, not {len(statements)}"
        )
    if statements[0].type != duckdb.StatementType.SELECT:
        kind = statements[0].type.name
        raise StatementFailed("refused", f"{kind} is refused: statements may only read")


def _failure(error: duckdb.Error, limits: Limits) -> StatementFailed:
    """DuckDB's classes, told apart by name, as the kinds of StatementFailed."""
    name = type(error).__name__
    message = str(error).strip()
    if name == "InterruptException":
        return StatementFailed(
            "timed_out", f"stopped after the limit of {limits.timeout_s:g} s"
        )
    if name == "PermissionException":
        return StatementFailed("refused", message)
    if name == "OutOfMemoryException":
        return StatementFailed("too_large", message)
    if name in _OUR_SIDE:
        return StatementFailed("broken", message)
    missing = name == "CatalogException" and not message.startswith(
        ("Catalog Error: Scalar Function", "Catalog Error: Table Function")
    )
    unbound = name == "BinderException" and (
        "not found" in message or "does not have a column" in message
    )
    return StatementFailed("not_found" if missing or unbound else "invalid", message)


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0].rstrip(".")
