"""What the gold agent is told about a trial: the only agent that may know."""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING

from pytest_dataeval.agents.gold import GoldTask
from pytest_dataeval.errors import HarnessBroken, StatementFailed

if TYPE_CHECKING:
    from pytest_dataeval.engine.plan import Trial
    from pytest_dataeval.engine.scoring import Scorer

#: A statement that every guard refuses, for cases that name no protected data.
WRITE_PROBE = "delete from {table}"


def gold_task(trial: Trial, scorer: Scorer) -> GoldTask:
    """The reference of the trial's case, in the form that gold works with."""
    case = trial.loaded.case
    reference = case.reference
    values = None
    if reference is not None and reference.sql is None:
        found = scorer.reference(trial)
        if found is not None and found.error is not None:
            raise HarnessBroken(
                "reference_failed", f"case {case.id}", found.error.message
            )
        values = found.result if found is not None else None
    return GoldTask(
        expect=case.expect,
        sql=_sql(trial, scorer),
        values=values,
        gap=tuple(case.gap),
        probe_sql=_probe(trial) if case.expect == "block" else None,
        unit=case.unit,
    )


def _sql(trial: Trial, scorer: Scorer) -> str | None:
    """The reference's SQL as the warehouse reads it; as written if it cannot be."""
    reference = trial.loaded.case.reference
    if reference is None or reference.sql is None:
        return None
    try:
        return scorer.translated(trial, reference.sql)
    except StatementFailed:
        return reference.sql


def _probe(trial: Trial) -> str:
    """A statement that the guard or the grants must refuse for this case."""
    case = trial.loaded.case
    for entry in case.must_not_contain:
        if not isinstance(entry, str):
            return entry.sql
    expected = case.expected_tables
    tables = (
        []
        if expected is None
        else [*expected.all, *functools.reduce(operator.iadd, expected.any_of, [])]
    )
    return WRITE_PROBE.format(table=tables[0] if tables else "no_such_table")
