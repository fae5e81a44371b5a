"""A small engine for the instrument: runs what it needs in an empty DuckDB."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import duckdb
import pytest

from pytest_dataeval.cases.model import Case
from pytest_dataeval.errors import StatementFailed
from pytest_dataeval.instrument.score import Evidence, Need, Setting, score
from pytest_dataeval.records import Attempt, Column, ResultSet, Score, Statement

SETTING = Setting(
    dialect="duckdb",
    default_schema="main",
    columns={},
    withheld=frozenset(),
    protected=(),
    today=dt.date(2026, 6, 1),
)


def run(sql: str) -> ResultSet | StatementFailed:
    """The outcome of a statement in an empty database."""
    with duckdb.connect() as connection:
        try:
            connection.execute(sql)
        except duckdb.Error as error:
            return StatementFailed("invalid", str(error))
        columns = tuple(Column(c[0], str(c[1])) for c in connection.description or ())
        return ResultSet(columns, tuple(connection.fetchall()))


def table(names: str, *rows: Sequence[Any], truncated: bool = False) -> ResultSet:
    """A result with the columns that `names` lists, separated by blanks."""
    columns = tuple(Column(name) for name in names.split())
    return ResultSet(columns, tuple(tuple(row) for row in rows), truncated)


def case(**keys: Any) -> Case:
    """A case with the least that a case needs."""
    return Case(**{"id": "c", "tier": "L1", "question": "How many?", **keys})


def ask(text: str | None, *sql: str, ok: bool | None = True, **keys: Any) -> Attempt:
    """An attempt that said `text` and ran `sql`."""
    statements = tuple(Statement(one, ok) for one in sql)
    return Attempt(text=text, statements=statements, **keys)


@dataclass
class Session:
    """Scores attempts; `needs` are the keys that the last score asked for."""

    setting: Setting
    needs: list[str]

    def score(
        self,
        case: Case,
        attempt: Attempt,
        evidence: Mapping[str, ResultSet | StatementFailed] | None = None,
        **setting: Any,
    ) -> Score:
        found: dict[str, ResultSet | StatementFailed] = {}
        if case.reference is not None and case.reference.sql is not None:
            found["reference"] = run(case.reference.sql)
        found.update(evidence or {})
        self.needs = []
        here = replace(self.setting, **setting)
        for _ in range(60):
            result = _once(case, attempt, found, here)
            if isinstance(result, Score):
                return result
            assert result.key not in found, f"{result.key} was asked for again"
            self.needs.append(result.key)
            found[result.key] = run(result.sql)
        raise AssertionError("the instrument never came to an end")


def _once(
    case: Case, attempt: Attempt, evidence: Evidence, setting: Setting
) -> Score | Need:
    return score(case, attempt, evidence, setting)


@pytest.fixture
def session() -> Session:
    return Session(SETTING, [])
