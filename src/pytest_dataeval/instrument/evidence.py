"""What the instrument knows of a place, and how it asks for more.

The instrument is a pure function that is called again: `Desk.run` gives what is
there and raises `Missing` for what is not, which becomes the `Need` that is
handed to the caller.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pytest_dataeval.errors import StatementFailed
from pytest_dataeval.records import ResultSet

if TYPE_CHECKING:
    from pytest_dataeval.cases.model import Case

Role = Literal["reference", "answer"]
Evidence = Mapping[str, ResultSet | StatementFailed]


@dataclass(frozen=True)
class Setting:
    """What the instrument must know about the place; plain data.

    `dialect` is None where the suite has no warehouse. `columns` is
    `schema.table` -> column -> type and may be empty. `withheld` holds the
    `schema.table.column`s that the trial's persona may not read, `protected`
    the values of `must_not_contain`, resolved. `today` decides `valid_until`.
    """

    dialect: str | None
    default_schema: str | None
    columns: Mapping[str, Mapping[str, str]]
    withheld: frozenset[str]
    protected: tuple[str, ...]
    today: dt.date


@dataclass(frozen=True)
class Need:
    """A statement to run; call again with its outcome as `evidence[key]`.

    Role `reference` runs as the reference's persona, `answer` as the trial's.
    """

    key: str
    sql: str
    role: Role


class Missing(Exception):
    """Evidence that is not there yet."""

    def __init__(self, need: Need) -> None:
        self.need = need
        super().__init__(need.key)


@dataclass(frozen=True)
class Desk:
    """The evidence at hand, with the way to ask for more."""

    evidence: Evidence
    dialect: str | None

    def run(self, key: str, sql: str, role: Role) -> ResultSet | StatementFailed:
        """The outcome of a statement. Raises Missing until it is known."""
        found = self.evidence.get(key)
        if found is None:
            raise Missing(Need(key, sql, role))
        return found

    def reference_sql(self, case: Case) -> tuple[str, str]:
        """The reference's SQL and its dialect; the case must have one."""
        assert case.reference is not None
        assert case.reference.sql is not None
        dialect = case.reference.dialect or self.dialect
        assert dialect is not None
        return case.reference.sql, dialect
