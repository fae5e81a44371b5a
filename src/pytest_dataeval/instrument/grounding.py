"""grounding: were the expected tables read?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_dataeval.records import Attempt, Statement

if TYPE_CHECKING:
    from pytest_dataeval.cases.model import Case


@dataclass(frozen=True, slots=True)
class Grounding:
    """`holds`: every expected table was read. `exact`: and no other one."""

    holds: bool | None = None
    exact: bool | None = None
    detail: str = ""


def judge_grounding(
    case: Case, attempt: Attempt, dialect: str | None, default_schema: str | None
) -> Grounding:
    """Compare the tables that all statements read with the expected ones.

    Tables are parsed from the SQL; a server's own report adds those behind
    views, and what the answer says of itself counts only where its SQL cannot
    be parsed.
    """
    from pytest_dataeval.sql.tables import missing_tables

    expected = case.expected_tables
    if expected is None or not (expected.all or expected.any_of):
        return Grounding()
    read, is_told = _tables(attempt, dialect, default_schema)
    if dialect is None and not is_told:
        return Grounding()
    missing = missing_tables(
        expected.all, expected.any_of, read, default_schema=default_schema
    )
    known = [*expected.all, *(name for group in expected.any_of for name in group)]
    extra = _extra(read, known, default_schema)
    seen = ", ".join(sorted(read)) or "no table"
    detail = f"Not read: {', '.join(missing)}; read: {seen}." if missing else ""
    return Grounding(not missing, not missing and not extra, detail)


def _tables(
    attempt: Attempt, dialect: str | None, default_schema: str | None
) -> tuple[set[str], bool]:
    """What was read, and whether a server or the answer said so."""
    from pytest_dataeval.sql.tables import tables_read

    read: set[str] = set()
    is_told = False
    statements = ran(attempt.statements)
    is_unparsed = dialect is None or not statements
    for statement in statements:
        if dialect is not None:
            found = tables_read(statement.sql, dialect, default_schema=default_schema)
            is_unparsed = is_unparsed or found is None
            read |= found or set()
        if statement.tables is not None:
            is_told = True
            read |= {name.lower() for name in statement.tables}
    if is_unparsed and attempt.tables is not None:
        is_told = True
        read |= {name.lower() for name in attempt.tables}
    return read, is_told


def ran(statements: Sequence[Statement]) -> list[Statement]:
    """Statements that succeeded, as far as is known."""
    return [statement for statement in statements if statement.ok is not False]


def _extra(read: set[str], known: list[str], default_schema: str | None) -> list[str]:
    from pytest_dataeval.sql.tables import missing_tables

    return [
        table
        for table in read
        if all(
            missing_tables([name], [], [table], default_schema=default_schema)
            for name in known
        )
    ]
