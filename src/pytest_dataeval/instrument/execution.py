"""execution = result_match and states_figure, for one result and one text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_dataeval.instrument.compare import Comparison, compare, is_exact
from pytest_dataeval.instrument.denials import says_nothing_there
from pytest_dataeval.instrument.evidence import Desk
from pytest_dataeval.instrument.ordering import (
    BoundaryUnknown,
    Ordering,
    boundary_of,
    ordering_of,
)
from pytest_dataeval.instrument.prose import Prose
from pytest_dataeval.instrument.rows import WorkLimitReached
from pytest_dataeval.instrument.stated import Rule, Statement
from pytest_dataeval.records import ResultSet

if TYPE_CHECKING:
    from pytest_dataeval.cases.model import Case


class Undecidable(Exception):
    """What is there cannot be compared as a whole; `reason` says which side."""

    def __init__(self, reason: str, detail: str) -> None:
        self.reason = reason
        self.detail = detail
        super().__init__(reason)


NOTHING_SAID = Statement(None)


@dataclass(frozen=True, slots=True)
class Execution:
    """The judgement of one result; `holds` is what gates."""

    holds: bool | None
    result_match: bool | None = None
    statement: Statement = NOTHING_SAID
    exact: bool | None = None
    comparison: Comparison | None = None
    reason: str | None = None
    detail: str = ""


def is_empty(result: ResultSet) -> bool:
    """No rows, or nothing but NULL in them."""
    return all(cell is None for row in result.rows for cell in row)


class Judge:
    """Judges results and the text against one reference of a case."""

    def __init__(
        self,
        case: Case,
        reference: ResultSet,
        prose: Prose | None,
        desk: Desk,
        *,
        is_main: bool = True,
    ) -> None:
        self.case = case
        self.reference = reference
        self.prose = prose
        self.desk = desk
        # Only the case's own reference has an order that is known.
        self._ordering = (
            ordering_of(case, reference, desk)
            if is_main
            else Ordering(None, None, None)
        )

    def rule(self, comparison: Comparison | None = None) -> Rule | None:
        """The statement rule for what was matched; None without a text."""
        if self.prose is None:
            return None
        if comparison is None or comparison.reference is None:
            return Rule(self.reference, self.prose, self.case)
        return Rule(comparison.reference, self.prose, self.case, comparison.left_out)

    def text_alone(self) -> Execution:
        """Where no result is compared: what the text states decides."""
        if is_empty(self.reference):
            return self._empty(None)
        rule = self.rule()
        if rule is None:
            return Execution(None)
        said = rule.judge()
        return Execution(said.holds, None, said, None, None, said.reason, said.detail)

    def judge(self, result: ResultSet) -> Execution:
        """Compare a result. Raises Undecidable where a cut result could decide."""
        if is_empty(self.reference):
            return self._empty(result)
        comparison = self._compare(result)
        rule = self.rule(comparison)
        said = rule.judge() if rule is not None else NOTHING_SAID
        exact = not result.truncated and is_exact(
            self.reference, result, ordered=bool(self.case.ordered)
        )
        reason, detail = comparison.reason, comparison.detail
        match = comparison.match
        if match and not self._may_have_extra(comparison, said):
            match, reason = False, "extra_rows"
            detail = (
                f"{comparison.extra_rows} more than the "
                f"{len(self.reference.rows)} of the reference."
            )
            if said.holds is False:
                # The rows would be free if the text had said which one it means.
                reason, detail = said.reason, said.detail
            elif result.truncated:
                return Execution(False, False, said, exact, comparison, reason, detail)
        elif match and said.holds is False:
            reason, detail = said.reason, said.detail
        if result.truncated and said.holds is not False:
            raise Undecidable(
                "result_too_large", f"It has more than {len(result.rows)} rows."
            )
        holds = match and said.holds is not False
        return Execution(
            holds, match, said, exact, comparison, None if holds else reason, detail
        )

    def _compare(self, result: ResultSet) -> Comparison:
        order = self._ordering.order
        try:
            found = compare(self.reference, result, self.case, order=order)
            if found.match or found.reason == "no_rows":
                return found
            boundary = boundary_of(self.case, self.reference, self._ordering, self.desk)
            if boundary is None:
                return found
            tied = compare(
                self.reference, result, self.case, order=order, boundary=boundary
            )
            return tied if tied.match else found
        except WorkLimitReached as error:
            raise Undecidable(
                "result_too_large",
                "Its columns are too much alike to be paired within the work limit.",
            ) from error
        except BoundaryUnknown as error:
            raise Undecidable(
                "reference_too_large", "More rows tie at the LIMIT than are fetched."
            ) from error

    def _may_have_extra(self, comparison: Comparison, said: Statement) -> bool:
        if comparison.extra_rows <= 0 or self.case.extra_rows == "allow":
            return True
        if self.case.extra_rows == "forbid" or self.prose is None:
            return False
        if len(self.reference.rows) == 1 and said.holds is not None:
            return said.holds
        return said.every_row and said.holds is not False

    def _empty(self, result: ResultSet | None) -> Execution:
        """The right answer is empty: the result must be, and the text say so."""
        match = None if result is None else is_empty(result)
        says = None
        if self.prose is not None and self.case.state != "none":
            says = says_nothing_there(self.prose)
        reason = None
        if match is False:
            reason = "not_empty"
        elif says is False:
            reason = "emptiness_not_stated"
        known = [part for part in (match, says) if part is not None]
        return Execution(
            all(known) if known else None,
            match,
            Statement(says),
            None if result is None else not result.rows and not self.reference.rows,
            reason=reason,
        )
