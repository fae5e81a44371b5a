"""Load generated rows into a warehouse, and keep a built DuckDB file up to date."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlalchemy import MetaData

Rows = list[dict[str, Any]]

# A driver takes at most 65,535 bound values a statement (PostgreSQL's protocol).
VALUES_PER_STATEMENT = 8_000


def load_tables(
    url: str, metadata: MetaData, tables: Mapping[str, Sequence[Mapping[str, Any]]]
) -> None:
    """Drop and rebuild every table of `metadata` at `url`, with its rows.

    `tables` maps a table's bare name to its rows. Everything happens in one
    transaction: whoever reads meanwhile sees the old tables or the new ones.
    Raises KeyError when a table of the metadata has no entry, and SQLAlchemy's
    errors when the warehouse refuses.
    """
    from sqlalchemy import create_engine, insert
    from sqlalchemy.schema import CreateSchema

    engine = create_engine(url)
    try:
        with engine.begin() as connection:
            for schema in sorted(
                {t.schema for t in metadata.sorted_tables if t.schema}
            ):
                connection.execute(CreateSchema(schema, if_not_exists=True))
            metadata.drop_all(connection)
            metadata.create_all(connection)
            for table in metadata.sorted_tables:
                rows = tables[table.name]
                # DuckDB plans each row of an executemany anew, so several rows
                # stand in one statement.
                size = max(1, VALUES_PER_STATEMENT // len(table.columns))
                for start in range(0, len(rows), size):
                    connection.execute(
                        insert(table).values(list(rows[start : start + size]))
                    )
    finally:
        engine.dispose()


def build_if_absent(
    path: Path,
    build: Callable[[str], None],
    *,
    sources: Iterable[Path],
    arguments: Mapping[str, Any],
    schemas: Iterable[str],
) -> Path:
    """The DuckDB file at `path`, built by `build(url)` unless it is current.

    It is current when the stamp beside it holds the digest of `sources`,
    `arguments` and DuckDB's version. Any number of processes may call this at
    once: one builds, under a lock, into a file of another name that then takes
    the place of the old one, so that no reader meets half a file.

    Raises ValueError when the file's stem is one of `schemas`: DuckDB names the
    database after the file, and `support.tickets` would be ambiguous.
    """
    from filelock import FileLock

    path = path.resolve()
    if path.stem in set(schemas):
        raise ValueError(
            f"{path}: DuckDB names the database after the file, and a database "
            f"{path.stem!r} makes the schema of that name ambiguous; "
            f"choose another file name, such as {path.stem}_desk.duckdb"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    stamp_path = path.with_name(path.name + ".stamp")
    stamp = _stamp(sources, arguments)
    with FileLock(path.with_name(path.name + ".lock")):
        if path.exists() and stamp_path.exists() and stamp_path.read_text() == stamp:
            return path
        # Without its stamp a file counts as stale, whatever happens from here on.
        stamp_path.unlink(missing_ok=True)
        scratch = path.with_name(f"{path.stem}_{os.getpid()}.building")
        scratch.unlink(missing_ok=True)
        try:
            build(f"duckdb+duckdb_sqlalchemy:///{scratch}")
            os.replace(scratch, path)
        finally:
            scratch.unlink(missing_ok=True)
        stamp_path.write_text(stamp)
    return path


def _stamp(sources: Iterable[Path], arguments: Mapping[str, Any]) -> str:
    digest = hashlib.sha256()
    for source in sorted(sources):
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    digest.update(json.dumps(dict(arguments), sort_keys=True).encode())
    digest.update(version("duckdb").encode())
    return digest.hexdigest()
