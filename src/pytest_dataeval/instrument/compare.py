"""result_match and exact: does a result carry the reference's?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pytest_dataeval.instrument.cells import STRICT, rule_for
from pytest_dataeval.instrument.links import Link, link
from pytest_dataeval.instrument.pairing import Pairing, Search, Table, Task
from pytest_dataeval.instrument.rows import Budget, WorkLimitReached, match_rows
from pytest_dataeval.records import ResultSet

if TYPE_CHECKING:
    from pytest_dataeval.cases.model import Case

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Order:
    """The order that counts: reference rows in groups that tie in the asked key."""

    groups: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Boundary:
    """A reference that a LIMIT cuts through rows that tie.

    The last `count` reference rows may be any of `rows`, which tie with them.
    """

    count: int
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Comparison:
    """How a result compares with the reference; extra rows are not judged here.

    `columns` pairs reference column names with returned ones, `paired` are the
    indexes of the latter; `left_out` are indexes of optional reference columns
    that the result does not have. `reference` is what was matched: at a LIMIT
    some of its rows may stand in for others that tie.
    """

    match: bool
    reason: str | None = None
    detail: str = ""
    columns: tuple[tuple[str, str], ...] = ()
    paired: frozenset[int] = frozenset()
    extra_rows: int = 0
    left_out: frozenset[int] = frozenset()
    reference: ResultSet | None = None


def compare(
    reference: ResultSet,
    returned: ResultSet,
    case: Case,
    *,
    order: Order | None = None,
    boundary: Boundary | None = None,
) -> Comparison:
    """Whether each reference row is carried by a returned row of its own.

    Raises WorkLimitReached if the results are too ambiguous to be paired.
    """
    if not returned.rows:
        return Comparison(False, "no_rows")
    sides = _Sides(reference, returned, case, order, boundary)
    pairing = sides.search.first(sides.is_in_order)
    if pairing is not None:
        return sides.success(pairing)
    if order is not None and sides.search.first(lambda _: True) is not None:
        return Comparison(False, "wrong_order")
    return sides.failure()


class _Sides:
    def __init__(
        self,
        reference: ResultSet,
        returned: ResultSet,
        case: Case,
        order: Order | None,
        boundary: Boundary | None,
    ) -> None:
        self.reference = reference
        self.returned = returned
        self.order = order
        self.distinct = case.duplicates == "ignore"
        rows = reference.rows
        required = len(rows)
        self.choices = 0
        if boundary is not None:
            required -= boundary.count
            self.choices = boundary.count
            rows = (*rows[:required], *boundary.rows)
        optional = {name.casefold() for name in case.optional}
        self.rules = tuple(rule_for(name, case.tolerance) for name in reference.names)
        self.task = Task(
            rules=self.rules,
            unit=None if case.unit is None else case.unit.strip().casefold(),
            optional=frozenset(
                index
                for index, name in enumerate(reference.names)
                if name.casefold() in optional
            ),
            distinct=self.distinct,
            required=required,
            choices=self.choices,
        )
        self.rows = rows
        self.left = Table(reference, rows)
        self.right = Table(returned)
        self.budget = Budget()
        self.search = Search(self.left, self.right, self.task, self.budget)

    def is_in_order(self, pairing: Pairing) -> bool:
        """Reference rows come first, group by group; extra rows after the last."""
        if self.order is None:
            return True
        at = 0
        for group in self.order.groups:
            needed = len(group)
            rows: Sequence[int] = group
            if group[-1] >= self.task.required:
                rows = range(self.task.required, self.left.row_count)
            place = range(at, min(at + needed, self.right.row_count))
            if len(pairing.match(rows, place, self.budget)) < needed:
                return False
            at += needed
        return True

    def success(self, pairing: Pairing) -> Comparison:
        return Comparison(
            True,
            columns=tuple(
                (self.left.names[index], self.right.names[link.column])
                for index, link in pairing.links.items()
            ),
            paired=frozenset(link.column for link in pairing.links.values()),
            extra_rows=self._extra_rows(pairing),
            left_out=frozenset(range(len(self.left.names))) - pairing.links.keys(),
            reference=self._matched_reference(pairing),
        )

    def _matched_reference(self, pairing: Pairing) -> ResultSet:
        if not self.choices:
            return self.reference
        required = self.task.required
        carried = pairing.match(
            range(self.left.row_count), range(self.right.row_count), self.budget
        )
        chosen = [row for row in carried if row >= required][: self.choices]
        rows = (*range(required), *sorted(chosen))
        return replace(self.reference, rows=tuple(self.rows[row] for row in rows))

    def _extra_rows(self, pairing: Pairing) -> int:
        if not self.distinct:
            return self.right.row_count - self.task.required - self.choices
        links = list(pairing.links.values())
        wanted = {_classes(links, row, returned=False) for row in range(_count(links))}
        found = {
            _classes(links, row, returned=True) for row in range(self.right.row_count)
        }
        return len(found - wanted)

    def _conflict(self, pairing: Pairing) -> str:
        """Which returned column holds the values of which reference column."""
        moved = [
            f"the values of {self.left.names[index]!r} are in "
            f"{self.right.names[link.column]!r}"
            for index, link in pairing.links.items()
            if self.left.names[index].casefold()
            != self.right.names[link.column].casefold()
        ]
        return f"{'; '.join(moved)}."

    def failure(self) -> Comparison:
        """Why no pairing carries the rows, for a person: the judgement stands."""
        self.budget = Budget()
        self.search = Search(self.left, self.right, self.task, self.budget)
        try:
            if self.search.forced():
                by_value = self.search.first(self.is_in_order, by_name=False)
                if by_value is not None:
                    return Comparison(False, "name_conflict", self._conflict(by_value))
            return self._missing()
        except WorkLimitReached:
            return Comparison(False, "rows_missing")

    def _missing(self) -> Comparison:
        required = len(self.left.names) - len(self.task.optional)
        if len(self.right.names) < required:
            names = ", ".join(self.search.unpaired()) or "one"
            return Comparison(
                False,
                "columns_missing",
                f"The result has {len(self.right.names)} of {required} columns; "
                f"nothing stands for {names}.",
            )
        free = replace(self.task, required=0, choices=0)
        relaxed = Search(self.left, self.right, free, self.budget)
        pairing = relaxed.first(lambda _: True)
        matched: dict[int, int] = {}
        if pairing is not None:
            matched = pairing.match(
                range(self.left.row_count), range(self.right.row_count), self.budget
            )
        missing = [
            row
            for number, row in enumerate(self.reference.rows)
            if number not in matched
        ]
        shown = "; ".join(str(row) for row in missing[:2])
        return Comparison(
            False,
            "rows_missing",
            f"{len(missing)} of {len(self.reference.rows)} missing: {shown}"
            f"; the result has {len(self.returned.rows)}, first "
            f"{self.returned.rows[0]}.",
        )


def _count(links: list[Link]) -> int:
    return len(links[0].reference_classes) if links else 0


def _classes(links: list[Link], row: int, *, returned: bool) -> tuple[int, ...]:
    return tuple(
        (link.returned_classes if returned else link.reference_classes)[row]
        for link in links
    )


def is_exact(reference: ResultSet, returned: ResultSet, *, ordered: bool) -> bool:
    """Same rows, same columns in place, numbers within 1e-9, text to the letter."""
    if len(reference.names) != len(returned.names) or len(reference.rows) != len(
        returned.rows
    ):
        return False
    left, right = Table(reference), Table(returned)
    links: list[Link] = []
    for index, (ours, theirs) in enumerate(
        zip(left.columns, right.columns, strict=True)
    ):
        found = link(ours.exact(), theirs.exact(), STRICT, column=index)
        if found is None:
            return False
        links.append(found)
    rows = range(len(reference.rows))
    if ordered:
        return all(link.agree(row, row) for link in links for row in rows)
    return len(match_rows(links, rows, rows, Budget())) == len(rows)
