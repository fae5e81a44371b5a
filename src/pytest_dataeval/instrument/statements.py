"""Which of an agent's statements is scored, and its result when it runs again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pytest_dataeval.instrument.evidence import Desk
from pytest_dataeval.records import Attempt, ResultSet

#: Earlier statements that are looked at, from the last one back.
MAX_EARLIER = 20


@dataclass(frozen=True, slots=True)
class Scored:
    """A statement by its place among the attempt's, with its result.

    `index` is None where no statement succeeded. Without a `result`, `failure`
    is the engine's message; `is_too_large` says that a byte ceiling cut it.
    """

    index: int | None
    sql: str | None
    result: ResultSet | None
    failure: str = ""
    is_too_large: bool = False


class Statements:
    """The statements of one attempt, run again as they are needed."""

    def __init__(self, attempt: Attempt, desk: Desk) -> None:
        self._statements = attempt.statements
        self._desk = desk

    def last_success(self) -> Scored:
        """The last statement that succeeded.

        Where its success is unknown, the last one that runs again is taken.
        """
        failed: Scored | None = None
        for index in reversed(range(len(self._statements))):
            statement = self._statements[index]
            if statement.ok is False:
                continue
            scored = self._run(index)
            if statement.ok or scored.result is not None or scored.is_too_large:
                return scored
            failed = failed or scored
        return failed or Scored(None, None, None)

    def earlier(self, scored: Scored) -> Iterator[Scored]:
        """Other statements before `scored` that run again, the last one first."""
        seen = {scored.sql}
        for index in reversed(range(scored.index or 0)):
            statement = self._statements[index]
            if statement.ok is False or statement.sql in seen:
                continue
            if len(seen) > MAX_EARLIER:
                return
            seen.add(statement.sql)
            found = self._run(index)
            if found.result is not None:
                yield found

    def has_run(self, scored: Scored) -> bool:
        """Whether a query ran: it succeeded at the ask, or does now."""
        if scored.index is None:
            return False
        is_known = bool(self._statements[scored.index].ok)
        return is_known or scored.result is not None or scored.is_too_large

    def _run(self, index: int) -> Scored:
        sql = self._statements[index].sql
        if self._desk.dialect is None:
            return Scored(index, sql, None)
        found = self._desk.run(f"statement:{index}", sql, "answer")
        if isinstance(found, ResultSet):
            return Scored(index, sql, found)
        return Scored(index, sql, None, found.message, found.kind == "too_large")
