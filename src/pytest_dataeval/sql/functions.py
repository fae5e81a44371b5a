"""Functions that a query may not call: side effects, files, settings, SQL text.

Read-only modes of the engines do not stop these. A name that ends in `*` is a
prefix; `_ALLOWED` lifts single names out of a prefix.
"""

from __future__ import annotations

from pytest_dataeval.sql.lex import dialect_name

_EVERYWHERE = frozenset({"http*", "load_extension", "nextval", "setval"})

_DENIED = {
    "duckdb": frozenset(
        {
            # files and other databases
            "arrow_scan*",
            "csv_scan",
            "delta_scan",
            "glob",
            "iceberg*",
            "json_scan",
            "mysql*",
            "pandas_scan",
            "parquet*",
            "postgres*",
            "python_map_function",
            "read*",
            "scan_*",
            "seq_scan",
            "sniff_csv",
            "sqlite*",
            "st_read*",
            "st_drivers",
            "load_aws_credentials",
            "shapefile*",
            # SQL given as text, which this guard would not see
            "from_substrait*",
            "get_substrait*",
            "json_execute_serialized_sql",
            "query",
            "query_table",
            # settings, secrets and the inside of the engine
            "add_parquet_key",
            "all_profiling_output",
            "checkpoint",
            "copy_database",
            "current_query",
            "current_setting",
            "database_list",
            "database_size",
            "disable_*",
            "duckdb_*",
            "enable_*",
            "extension_versions",
            "force_checkpoint",
            "getenv",
            "getvariable",
            "import_database",
            "metadata_info",
            "pg_sleep",
            "pragma*",
            "show*",
            "sleep_ms",
            "stats",
            "storage_info",
            "summary",
            "table_info",
            "test_*",
            "truncate_duckdb_logs",
            "verify_*",
            "which_secret",
            "write_log",
            "currval",
            "txid_current",
        }
    ),
    "postgres": frozenset(
        {
            "pg_*",
            "lo_*",
            "loread",
            "lowrite",
            "dblink*",
            "aws_*",
            "query_export_to_s3",
            "table_import_from_s3",
            "set_config",
            "current_setting",
            "current_query",
            "currval",
            "lastval",
            "txid_*",
            # SQL given as text or as the name of a table
            "connectby",
            "crosstab*",
            "cursor_to_xml*",
            "database_to_xml*",
            "query_to_xml*",
            "schema_to_xml*",
            "table_to_xml*",
            "ts_rewrite",
            "ts_stat",
            "xpath_table",
            "binary_upgrade_*",
            "inet_server_*",
            "inet_client_*",
        }
    ),
    "tsql": frozenset(
        {
            "xp_*",
            "sp_*",
            "opendatasource",
            "openquery",
            "openrowset",
            "openxml",
            "fn_dblog",
            "fn_dump_dblog",
            "fn_get_audit_file*",
            "fn_get_sql",
            "fn_my_permissions",
            "fn_trace_*",
            "fn_virtualfilestats",
            "fn_xe_file_target_read_file",
        }
    ),
    "sqlite": frozenset(
        {
            "edit",
            "fts3_tokenizer",
            "fsdir",
            "lsdir",
            "pragma_*",
            "readfile",
            "sqlite_*",
            "writefile",
            "zipfile",
        }
    ),
}
_DENIED["fabric"] = _DENIED["tsql"]

_ALLOWED = {
    "postgres": frozenset({"pg_typeof", "pg_size_pretty", "pg_column_size"}),
}

# DuckDB reaches tables, files and settings through functions in FROM, and more
# arrive with each release, so here it is the harmless ones that are named.
_TABLE_FUNCTIONS = {
    "duckdb": frozenset(
        {"generate_series", "json_each", "json_tree", "range", "repeat", "unnest"}
    ),
}

# Names that hold no data of the user's and still answer without a schema.
_SYSTEM_TABLES = {
    "duckdb": frozenset({"duckdb_*", "pg_*", "pragma_*", "sqlite_*"}),
    "postgres": frozenset({"pg_*"}),
    "sqlite": frozenset({"sqlite_*", "pragma_*", "dbstat"}),
    "tsql": frozenset(
        {
            "syscolumns",
            "syscomments",
            "sysconfigures",
            "syscurconfigs",
            "sysdatabases",
            "sysdepends",
            "sysfiles",
            "sysindexes",
            "syslogins",
            "sysmembers",
            "sysobjects",
            "sysperfinfo",
            "syspermissions",
            "sysprocesses",
            "sysprotects",
            "sysreferences",
            "sysservers",
            "systypes",
            "sysusers",
        }
    ),
}
_SYSTEM_TABLES["fabric"] = _SYSTEM_TABLES["tsql"]


def is_denied(name: str, dialect: str) -> bool:
    """Whether a function of this name may not be called in this dialect."""
    name = name.lower()
    dialect = dialect_name(dialect)
    if name in _ALLOWED.get(dialect, frozenset()):
        return False
    return _listed(name, _EVERYWHERE | _DENIED.get(dialect, frozenset()))


def is_denied_as_table(name: str, dialect: str) -> bool:
    """Whether a function of this name may not stand in FROM in this dialect."""
    known = _TABLE_FUNCTIONS.get(dialect_name(dialect))
    return known is not None and name.lower() not in known


def is_system_table(name: str, dialect: str) -> bool:
    """Whether an unqualified name reaches the engine's own catalog."""
    return _listed(name.lower(), _SYSTEM_TABLES.get(dialect_name(dialect), frozenset()))


def _listed(name: str, entries: frozenset[str]) -> bool:
    return name in entries or any(
        entry.endswith("*") and name.startswith(entry[:-1]) for entry in entries
    )
