"""The static guard: one reading query, over allowed schemas, or a refusal.

This is the first of three layers. The engine's own read-only mode and the
grants of the persona stand behind it; a parser alone proves nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

from pytest_dataeval.sql.calls import called_functions, node_names
from pytest_dataeval.sql.functions import (
    is_denied,
    is_denied_as_table,
    is_system_table,
)
from pytest_dataeval.sql.lex import code_only, dialect_name
from pytest_dataeval.sql.parse import (
    MAX_DEPTH,
    MAX_LENGTH,
    Parsed,
    Unparsable,
    parse_one,
    tokens,
)
from pytest_dataeval.sql.tables import base_tables

if TYPE_CHECKING:
    from sqlglot import exp

Rule = Literal[
    "empty",
    "too_long",
    "too_deep",
    "unparsable",
    "several_statements",
    "not_a_query",
    "writes",
    "locks",
    "denied_function",
    "reads_file",
    "cross_database",
    "schema_not_allowed",
]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a statement may not run; `message` is a sentence for the agent."""

    rule: Rule
    message: str


# T-SQL needs no semicolon between statements, so `select 1 delete from t` reads
# as a column called delete. None of these can be an unquoted name there.
_TSQL_STATEMENT_WORDS = re.compile(
    r"(alter|backup|begin|bulk|checkpoint|close|commit|create|dbcc|deallocate|declare"
    r"|delete|deny|drop|dump|exec|execute|goto|grant|if|insert|into|kill|load|merge"
    r"|open|print|raiserror|readtext|reconfigure|restore|return|revert|revoke"
    r"|rollback|save|set|setuser|shutdown|tran|transaction|truncate|update|updatetext"
    r"|use|waitfor|while|writetext)"
)

_TSQL_LOCK_HINTS = frozenset(
    {
        "holdlock",
        "paglock",
        "repeatableread",
        "rowlock",
        "serializable",
        "tablock",
        "tablockx",
        "updlock",
        "xlock",
    }
)

_FILE_NAME = re.compile(
    r"[/\\*?]|\.(csv|tsv|txt|json|jsonl|ndjson|geojson|parquet|arrow|feather|avro"
    r"|xlsx|db|duckdb|sqlite|gz|zst)$",
    re.IGNORECASE,
)

_DEFAULT_SCHEMA = {
    "duckdb": "main",
    "fabric": "dbo",
    "postgres": "public",
    "sqlite": "main",
    "tsql": "dbo",
}

# Unquoted names that the engine decodes after any scanner has looked at them.
_UNICODE_NAME = re.compile(r'\bu&"', re.IGNORECASE)


def check(
    sql: str,
    dialect: str,
    *,
    schemas: Collection[str] | None = None,
    default_schema: str | None = None,
    denied_functions: Collection[str] = (),
    max_length: int = MAX_LENGTH,
    max_depth: int = MAX_DEPTH,
) -> Refusal | None:
    """None if `sql` is one statement that only reads; else why it is refused.

    `schemas` are the allowed ones (`schema` or `database.schema`); None checks
    no names. A table without a schema is in `default_schema`, which is the
    engine's usual one if not given. `denied_functions` adds to the built-in
    list. `max_length` is in characters. Raises ValueError for an unknown
    dialect, and nothing for what the text holds.
    """
    name = dialect_name(dialect)
    parsed = parse_one(sql, name, max_length=max_length, max_depth=max_depth)
    if isinstance(parsed, Unparsable):
        # A hidden second statement often fails to parse: name the real reason.
        hidden = _hidden_statement(sql, name) if parsed.rule == "unparsable" else None
        return hidden or Refusal(cast(Rule, parsed.rule), parsed.reason)
    return (
        _kind(parsed.tree)
        or _hidden_statement(sql, name)
        or _functions(sql, parsed, name, denied_functions)
        or _qualified_calls(sql, name, schemas)
        or _tables(parsed.tree, name, schemas, default_schema)
    )


def _kind(tree: exp.Expr) -> Refusal | None:
    """Refuse every root that is no query and every node that is no reading."""
    from sqlglot import exp

    writes = (
        exp.DML,
        exp.DDL,
        exp.Alter,
        exp.Drop,
        exp.TruncateTable,
        exp.Into,
        exp.Grant,
        exp.Revoke,
        exp.Comment,
        exp.Export,
        exp.LoadData,
        exp.NextValueFor,
    )
    others = (
        exp.Command,
        exp.Set,
        exp.SetItem,
        exp.Use,
        exp.Pragma,
        exp.Attach,
        exp.Detach,
        exp.Install,
        exp.Transaction,
        exp.Commit,
        exp.Rollback,
        exp.Kill,
        exp.Describe,
        exp.Show,
        exp.Summarize,
        exp.Analyze,
        exp.Execute,
        exp.Declare,
        exp.Block,
        exp.IfBlock,
        exp.Cache,
        exp.Uncache,
        exp.Refresh,
        exp.Put,
        exp.Get,
    )
    for node in tree.walk():
        if isinstance(node, writes):
            return Refusal(
                "writes",
                f"The statement writes ({node.key.upper()}); only a query that reads"
                " is allowed.",
            )
        if isinstance(node, others):
            return _not_a_query(node)
        if isinstance(node, exp.Lock):
            return Refusal("locks", "The query locks rows; leave FOR UPDATE away.")
        if isinstance(node, exp.WithTableHint):
            hints = {hint.name.lower() for hint in node.expressions}
            if hints & _TSQL_LOCK_HINTS:
                return Refusal("locks", "The query holds locks; leave the hint away.")
    query = tree.unnest() if isinstance(tree, exp.Subquery) else tree
    if not isinstance(query, exp.Select | exp.SetOperation | exp.Values | exp.Pivot):
        return _not_a_query(query)
    return None


def _not_a_query(node: exp.Expr) -> Refusal:
    from sqlglot import exp

    kind = str(node.this) if isinstance(node, exp.Command) else node.key
    return Refusal(
        "not_a_query",
        f"The statement is no query ({kind.upper()}); send one SELECT.",
    )


def _hidden_statement(sql: str, dialect: str) -> Refusal | None:
    """Refuse what the engine would read in another way than the parser did."""
    code = code_only(sql, dialect)
    if dialect == "postgres" and _UNICODE_NAME.search(code):
        return Refusal(
            "unparsable", 'The statement holds a name written as U&"..."; write it out.'
        )
    if dialect not in {"tsql", "fabric"}:
        return None
    found = tokens(sql, dialect)
    if found is None:
        return Refusal("unparsable", "The statement cannot be split into tokens.")
    start = 0
    for index, token in enumerate(found):
        if token.text == ";":
            start = index + 1
        word = token.text.lower()
        if _TSQL_STATEMENT_WORDS.fullmatch(word) is None:
            continue
        quoted = sql[token.start : token.end + 1].lower() != word
        # parse_one has found that an opening SET or DECLARE is harmless.
        if quoted or (word in {"set", "declare"} and index == start):
            continue
        return Refusal(
            "several_statements",
            f"The word {word.upper()} starts another statement in T-SQL; send one"
            f" SELECT, and write [{word}] if it is a name.",
        )
    return None


def _functions(
    sql: str, parsed: Parsed, dialect: str, denied: Collection[str]
) -> Refusal | None:
    from sqlglot import exp

    more = {name.lower() for name in denied}
    found = tokens(sql, dialect)
    if found is None:
        return Refusal("unparsable", "The statement cannot be split into tokens.")
    for name in called_functions(found, [parsed.tree]):
        if name in more or is_denied(name, dialect):
            return _denied(name)
    for table in parsed.tree.find_all(exp.Table):
        called = table.this
        if isinstance(called, exp.Func):
            names = sorted(node_names(called))
            if all(is_denied_as_table(name, dialect) for name in names):
                return _denied(names[0])
    return None


def _denied(name: str) -> Refusal:
    return Refusal("denied_function", f"The function {name}() may not be called here.")


def _qualified_calls(
    sql: str, dialect: str, schemas: Collection[str] | None
) -> Refusal | None:
    """Refuse functions of other schemas: what they do is not known here."""
    if schemas is None or dialect not in {"postgres", "tsql", "fabric"}:
        return None
    allowed = {schema.lower() for schema in schemas}
    texts = [token.text.lower() for token in tokens(sql, dialect) or ()]
    for index, text in enumerate(texts[:-3]):
        if texts[index + 1] != "." or texts[index + 3] != "(":
            continue
        if dialect == "postgres":
            refused = text not in allowed | {"pg_catalog"}
        else:
            # `column.value(...)` is a method there, so only known names count.
            in_database = index > 0 and texts[index - 1] == "."
            refused = text == "sys" or (in_database and text in allowed | {"dbo"})
            if in_database and refused:
                return Refusal(
                    "cross_database",
                    f"The function {texts[index - 2]}.{text}.{texts[index + 2]}() is in"
                    " another database; use this one's.",
                )
        if refused:
            return Refusal(
                "schema_not_allowed",
                f"The function {text}.{texts[index + 2]}() may not be called here.",
            )
    return None


def _tables(
    tree: exp.Expr,
    dialect: str,
    schemas: Collection[str] | None,
    default_schema: str | None,
) -> Refusal | None:
    from sqlglot import exp

    allowed = None if schemas is None else {schema.lower() for schema in schemas}
    default = (default_schema or _DEFAULT_SCHEMA.get(dialect, "")).lower()
    called = [
        table
        for table in tree.find_all(exp.Table)
        if isinstance(table.this, exp.Func) and table.db
    ]
    for table in [*base_tables(tree, dialect), *called]:
        written = ".".join(part.name for part in table.parts)
        if isinstance(table.this, exp.Dot):
            return Refusal(
                "cross_database", f"{written} is on another server; use this one's."
            )
        if dialect == "duckdb" and _is_file(table, allowed):
            return Refusal("reads_file", f"{written} is a file; read tables only.")
        if allowed is None:
            continue
        refusal = _outside(table, written, dialect, allowed, default)
        if refusal is not None:
            return refusal
    return None


def _is_file(table: exp.Table, allowed: set[str] | None) -> bool:
    # DuckDB joins the parts again and looks for a file when no table is found.
    if table.db and allowed is not None and table.db.lower() in allowed:
        return bool(_FILE_NAME.search(f"{table.name}"))
    return bool(_FILE_NAME.search(".".join(part.name for part in table.parts)))


def _outside(
    table: exp.Table, written: str, dialect: str, allowed: set[str], default: str
) -> Refusal | None:
    schema, database = table.db.lower(), table.catalog.lower()
    if database:
        if f"{database}.{schema or default}" in allowed:
            return None
        return Refusal(
            "cross_database",
            f"{written} names a database; write schema.table with one of"
            f" {_listed(allowed)}.",
        )
    if not schema and is_system_table(table.name, dialect):
        return Refusal(
            "schema_not_allowed",
            f"{written} is a system table; read only from {_listed(allowed)}.",
        )
    if (schema or default) in allowed:
        return None
    if schema:
        return Refusal(
            "schema_not_allowed",
            f"The schema {schema} may not be read; use {_listed(allowed)}.",
        )
    return Refusal(
        "schema_not_allowed",
        f"{written} has no schema; write one of {_listed(allowed)} in front of it.",
    )


def _listed(names: Collection[str]) -> str:
    return ", ".join(sorted(names)) or "no schema"
