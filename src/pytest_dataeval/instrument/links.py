"""One reference column beside one returned column: which cells may be partners.

Cells that could be partners, directly or over a chain of others, share a class.
Rows can then be compared by hashing their classes; only where a class holds a
chain (a and b agree, b and c agree, a and c do not) are pairs looked at.
"""

from __future__ import annotations

import datetime as dt
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import accumulate
from typing import Any

from pytest_dataeval.instrument.cells import (
    ZERO_DUST,
    Cell,
    NumberRule,
    cells_equal,
    exact_cell,
    is_number,
    key,
    read,
    scaled,
    slack,
)

NO_CLASS = -1

#: Slices of the sorted returned whole numbers, and of the sorted others.
_Runs = tuple[int, int, int, int]


class View:
    """The cells of one column in plain form, with its numbers sorted."""

    def __init__(self, cells: list[Cell]) -> None:
        self.cells = cells
        self.distinct = dict.fromkeys(cells)
        numbers = [c for c in self.distinct if isinstance(c, int | float)]
        self.wholes = sorted(c for c in numbers if isinstance(c, int))
        self.others = sorted(c for c in numbers if isinstance(c, float))
        self.keys = [key(cell) for cell in cells]
        self.key_set = frozenset(self.keys)

    @property
    def numbers(self) -> list[int | float]:
        """The distinct numbers of the column."""
        return [*self.wholes, *self.others]


class ColumnValues:
    """One column of a result; how its text is read depends on what it faces."""

    def __init__(self, values: Sequence[Any]) -> None:
        self._values = values
        kinds = {type(value) for value in values}
        self.has_numbers = any(
            issubclass(kind, int | float | Decimal) for kind in kinds
        )
        self.has_times = any(issubclass(kind, dt.time) for kind in kinds)
        self._has_text = any(issubclass(kind, str) for kind in kinds)
        self._views: dict[tuple[bool, bool], View] = {}

    def view(self, *, numbers: bool = False, times: bool = False) -> View:
        """The column as read; `numbers` and `times` as in `cells.read`."""
        how = (numbers, times) if self._has_text else (False, False)
        if how not in self._views:
            cells = [read(v, numbers=how[0], times=how[1]) for v in self._values]
            self._views[how] = View(cells)
        return self._views[how]

    def facing(self, other: ColumnValues) -> View:
        """The column as read beside `other`."""
        return self.view(
            numbers=self.has_numbers or other.has_numbers,
            times=self.has_times or other.has_times,
        )

    def exact(self) -> View:
        """The column as `exact` reads it: text is kept to the letter."""
        return View([exact_cell(value) for value in self._values])


@dataclass(frozen=True, slots=True, eq=False)
class Link:
    """A reference column paired with returned column `column` under `factor`.

    `reference_classes` and `returned_classes` hold one class a row; a cell
    without any partner has NO_CLASS. In a class of `loose`, sharing it is
    not enough: the two cells must be compared.
    """

    column: int
    factor: float
    reference: View
    returned: View
    rule: NumberRule
    reference_classes: list[int]
    returned_classes: list[int]
    loose: frozenset[int]

    def agree(self, reference_row: int, returned_row: int) -> bool:
        """Whether the cells of the two rows are the same value."""
        return cells_equal(
            self.reference.cells[reference_row],
            self.returned.cells[returned_row],
            self.rule,
            self.factor,
        )


def link(
    reference: View,
    returned: View,
    rule: NumberRule,
    *,
    column: int,
    factor: float = 1,
    required_rows: int | None = None,
    distinct: bool = False,
) -> Link | None:
    """Pair two columns; None if a required cell finds no partner.

    The first `required_rows` reference rows (default: all) need a partner each,
    a partner of their own unless `distinct`.
    """
    need = len(reference.cells) if required_rows is None else required_rows
    required = reference.distinct
    if need < len(reference.cells):
        required = dict.fromkeys(reference.cells[:need])
    if any(not is_number(c) and c not in returned.distinct for c in required):
        return None
    runs = _runs(reference, returned, rule, factor, required)
    if runs is None:
        return None
    classes = _NumberClasses(runs, returned, rule)
    others: dict[Cell, int] = {}
    of_reference = dict(classes.of_reference)
    of_returned = dict(classes.of_returned)
    for cell in returned.distinct:
        if not is_number(cell):
            others[cell] = classes.count + len(others)
    of_returned.update(others)
    for cell in reference.distinct:
        if not is_number(cell):
            of_reference[cell] = others.get(cell, NO_CLASS)
    found = Link(
        column,
        factor,
        reference,
        returned,
        rule,
        [of_reference.get(cell, NO_CLASS) for cell in reference.cells],
        [of_returned[cell] for cell in returned.cells],
        classes.loose,
    )
    if not distinct and not _enough(
        found.reference_classes[:need], found.returned_classes
    ):
        return None
    return found


def _enough(wanted: list[int], there: list[int]) -> bool:
    if len(wanted) > len(there):
        return False
    return Counter(wanted) <= Counter(there)


class _NumberClasses:
    """Classes of the numbers of two columns.

    Each reference number is the partner of a run of the sorted returned whole
    numbers and of a run of the sorted others; runs that touch are one class.
    """

    def __init__(
        self, runs: Mapping[int | float, _Runs], returned: View, rule: NumberRule
    ) -> None:
        wholes, others = returned.wholes, returned.others
        join_wholes = [0] * (len(wholes) + 1)
        join_others = [0] * (len(others) + 1)
        for w0, w1, o0, o1 in runs.values():
            _join(join_wholes, w0, w1)
            _join(join_others, o0, o1)
        whole_class = _number_runs(join_wholes[:-1])
        offset = whole_class[-1] + 1 if whole_class else 0
        other_class = [offset + c for c in _number_runs(join_others[:-1])]
        self.count = (other_class[-1] + 1) if other_class else offset
        parent = list(range(self.count))

        def root(node: int) -> int:
            while parent[node] != node:
                parent[node] = parent[parent[node]]
                node = parent[node]
            return node

        for w0, w1, o0, o1 in runs.values():
            if w0 < w1 and o0 < o1:
                parent[root(whole_class[w0])] = root(other_class[o0])
        self.of_reference: dict[Cell, int] = {
            number: root(whole_class[w0] if w0 < w1 else other_class[o0])
            for number, (w0, w1, o0, _) in runs.items()
        }
        self.of_returned: dict[Cell, int] = {}
        for numbers, own in ((wholes, whole_class), (others, other_class)):
            for found, class_ in zip(numbers, own, strict=True):
                self.of_returned[found] = root(class_)
        here = Counter(self.of_reference.values())
        there = Counter(self.of_returned.values())
        # Rounding makes runs that are wider than what they stand for.
        is_wide = rule.decimals is not None
        self.loose = frozenset(
            class_
            for class_, size in here.items()
            if is_wide or (size > 1 and there[class_] > 1)
        )


def _runs(
    reference: View,
    returned: View,
    rule: NumberRule,
    factor: float,
    required: Mapping[Cell, None],
) -> dict[int | float, _Runs] | None:
    """The partners of each reference number; None if a required one has none."""
    runs: dict[int | float, _Runs] = {}
    for number in reference.numbers:
        value = scaled(number, factor)
        w0, w1 = _whole_run(value, returned.wholes, rule)
        o0, o1 = _run(value, returned.others, _reach(value, rule))
        if w0 < w1 or o0 < o1:
            runs[number] = (w0, w1, o0, o1)
        elif number in required:
            return None
    return runs


def _reach(value: int | float, rule: NumberRule) -> float:
    reach = slack(value, rule)
    # A hair more: `agree` decides where a value lies on the very edge.
    reach += reach * 1e-9
    return reach if rule.decimals is None else max(reach, 10.0**-rule.decimals)


def _whole_run(
    value: int | float, wholes: list[Any], rule: NumberRule
) -> tuple[int, int]:
    if isinstance(value, int):
        return (
            bisect_left(wholes, value - rule.integers),
            bisect_right(wholes, value + rule.integers),
        )
    reach = _reach(value, rule)
    if abs(value) < ZERO_DUST:
        reach = max(reach, abs(value))
    return _run(value, wholes, reach)


def _run(value: float, numbers: list[Any], reach: float) -> tuple[int, int]:
    return bisect_left(numbers, value - reach), bisect_right(numbers, value + reach)


def _join(joins: list[int], start: int, end: int) -> None:
    """Mark that the numbers start..end-1 are one run, as a difference array."""
    if end - start > 1:
        joins[start] += 1
        joins[end - 1] -= 1


def _number_runs(joins: list[int]) -> list[int]:
    """The run each number belongs to; joins[i] > 0 ties number i to i + 1."""
    classes: list[int] = []
    current = 0
    for tied in accumulate(joins):
        classes.append(current)
        if not tied:
            current += 1
    return classes
