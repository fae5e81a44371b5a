"""Which base tables a statement reads, through CTEs, aliases and subqueries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from pytest_dataeval.sql.ctes import Visible, open_with
from pytest_dataeval.sql.parse import Unparsable, parse_all
from pytest_dataeval.sql.remember import remembered

if TYPE_CHECKING:
    from sqlglot import exp


@remembered(256)
def tables_read(
    sql: str, dialect: str, *, default_schema: str | None = None
) -> frozenset[str] | None:
    """Base tables read by all statements in `sql`; None if it cannot be parsed.

    Names are lower-case and dotted as written (`schema.table`, or with the
    database in front). `default_schema` completes names without a schema. A
    table that is only written to is not read.
    """
    from sqlglot import exp

    statements = parse_all(sql, dialect)
    if isinstance(statements, Unparsable):
        return None
    if any(isinstance(statement, exp.Command) for statement in statements):
        return None
    return frozenset(
        ".".join(table_parts(table, default_schema))
        for statement in statements
        for table in base_tables(statement, dialect)
    )


def missing_tables(
    expected_all: Iterable[str],
    any_of: Iterable[Sequence[str]],
    read: Iterable[str],
    *,
    default_schema: str | None = None,
) -> list[str]:
    """The expectations that `read` does not meet; empty when grounded.

    `support.tickets` is met by `support.tickets` and `db.support.tickets`, and
    by `tickets` if `default_schema` is `support`. A group of which none was
    read is named as `a or b`.
    """
    seen = [_split(name, default_schema) for name in read]

    def is_read(name: str) -> bool:
        wanted = _split(name, None)
        return any(_same_table(wanted, parts) for parts in seen)

    missing = [name for name in expected_all if not is_read(name)]
    missing += [
        " or ".join(group)
        for group in any_of
        if not any(is_read(name) for name in group)
    ]
    return missing


def _split(name: str, default_schema: str | None) -> tuple[str, ...]:
    parts = tuple(part.strip('"[]`') for part in name.lower().split("."))
    if len(parts) == 1 and default_schema:
        return (default_schema.lower(), *parts)
    return parts


def _same_table(wanted: tuple[str, ...], read: tuple[str, ...]) -> bool:
    if read[-len(wanted) :] == wanted:
        return True
    # The connection implies the database, hardly ever the schema.
    return len(read) >= 2 and wanted[-len(read) :] == read


def table_parts(table: exp.Table, default_schema: str | None = None) -> tuple[str, ...]:
    """`(database, schema, table)` in lower case, as many as are known."""
    from sqlglot import exp

    # A fourth part in front makes `this` a chain of two names.
    names = [part.name.lower() for part in table.parts]
    if isinstance(table.this, exp.Identifier) and table.this.args.get("temporary"):
        return (f"#{names[-1]}",)
    if default_schema and (len(names) == 1 or not table.db):
        names.insert(len(names) - 1, default_schema.lower())
    return tuple(name for name in names if name)


def base_tables(tree: exp.Expr, dialect: str) -> list[exp.Table]:
    """The nodes of `tree` that name a table of the warehouse, not a CTE."""
    from sqlglot import exp

    found: list[exp.Table] = []
    stack: list[tuple[exp.Expr, Visible]] = [(tree, Visible())]
    while stack:
        node, visible = stack.pop()
        if isinstance(node, exp.Into | exp.Lock):
            continue
        opened, visible = open_with(node, visible, dialect)
        stack.extend(opened)
        if (
            isinstance(node, exp.Table)
            and isinstance(node.this, exp.Identifier | exp.Dot)
            and visible.meant_by(node, dialect) is None
        ):
            found.append(node)
        for child in node.iter_expressions():
            if not isinstance(child, exp.With) and not _is_written(node, child):
                stack.append((child, visible))
    return found


def _is_written(node: exp.Expr, child: exp.Expr) -> bool:
    from sqlglot import exp

    writes = isinstance(node, exp.DML | exp.DDL) and not isinstance(node, exp.Query)
    return writes and child is node.this and not isinstance(child, exp.Query)
