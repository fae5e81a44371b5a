"""Rows under a pairing of columns: which returned row carries which reference row."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from pytest_dataeval.instrument.cells import Cell, scaled
from pytest_dataeval.instrument.links import NO_CLASS, Link


class WorkLimitReached(Exception):
    """The results are too ambiguous to be paired within the work limit."""


@dataclass
class Budget:
    """Work that may still be done, in rows looked at; it bounds hostile results."""

    left: int = 12_000_000

    def spend(self, rows: int) -> None:
        """Raises WorkLimitReached once nothing is left."""
        self.left -= rows
        if self.left < 0:
            raise WorkLimitReached


@dataclass
class _Group:
    """Rows on both sides that agree in the class of every column."""

    reference: list[int] = field(default_factory=list)
    returned: list[int] = field(default_factory=list)


def match_rows(
    links: Sequence[Link],
    reference_rows: Sequence[int],
    returned_rows: Sequence[int],
    budget: Budget,
    *,
    distinct: bool = False,
) -> dict[int, int]:
    """Reference row -> returned row, as many as can be matched.

    Earlier reference rows go first: a row that is matched stays matched. With
    `distinct` one returned row may carry several equal reference rows.
    """
    groups: dict[tuple[int, ...], _Group] = defaultdict(_Group)
    budget.spend((len(reference_rows) + len(returned_rows)) * max(1, len(links)))
    for row in reference_rows:
        classes = tuple(link.reference_classes[row] for link in links)
        if NO_CLASS not in classes:
            groups[classes].reference.append(row)
    for row in returned_rows:
        classes = tuple(link.returned_classes[row] for link in links)
        if classes in groups:
            groups[classes].returned.append(row)
    matched: dict[int, int] = {}
    for classes, group in groups.items():
        loose = [
            link
            for link, class_ in zip(links, classes, strict=True)
            if class_ in link.loose
        ]
        if not group.returned:
            continue
        if loose:
            matched.update(_match_group(group, loose, budget, distinct))
        elif distinct:
            matched.update(dict.fromkeys(group.reference, group.returned[0]))
        else:
            matched.update(zip(group.reference, group.returned, strict=False))
    return matched


def _match_group(
    group: _Group, links: list[Link], budget: Budget, distinct: bool
) -> dict[int, int]:
    """Maximum matching in a group: equal rows, then the nearest, then augmenting."""
    matching = _Matching(group, links, budget)
    if distinct:
        firsts = ((row, matching.partners(row)) for row in group.reference)
        return {row: partners[0] for row, partners in firsts if partners}
    matching.take_equal()
    matching.take_nearest()
    for row in group.reference:
        if row not in matching.carrier:
            matching.augment(row)
    return matching.carrier


class _Matching:
    def __init__(self, group: _Group, links: list[Link], budget: Budget) -> None:
        self.links = links
        self.budget = budget
        self.reference = group.reference
        self.lead = links[0]
        cells = self.lead.returned.cells
        self.returned = sorted(group.returned, key=lambda row: _size(cells[row]))
        self.sizes = [_size(cells[row]) for row in self.returned]
        self.carrier: dict[int, int] = {}
        self.carried: dict[int, int] = {}
        self._partners: dict[int, list[int]] = {}

    def agree(self, reference_row: int, returned_row: int) -> bool:
        self.budget.spend(len(self.links))
        return all(link.agree(reference_row, returned_row) for link in self.links)

    def take(self, reference_row: int, returned_row: int) -> None:
        self.carrier[reference_row] = returned_row
        self.carried[returned_row] = reference_row

    def take_equal(self) -> None:
        there: dict[tuple[Cell, ...], list[int]] = defaultdict(list)
        for row in reversed(self.returned):
            there[tuple(link.returned.keys[row] for link in self.links)].append(row)
        for row in self.reference:
            keys = tuple(_key(link, row) for link in self.links)
            if there.get(keys) and self.agree(row, there[keys][-1]):
                self.take(row, there[keys].pop())

    def take_nearest(self) -> None:
        free = [row for row in self.returned if row not in self.carried]
        wanted = [row for row in self.reference if row not in self.carrier]
        wanted.sort(key=self._wanted_size)
        position = 0
        for row in wanted:
            at = position
            # A few steps: rows that only differ in another column stand close.
            for candidate in free[position : position + 8]:
                at += 1
                if self.agree(row, candidate):
                    self.take(row, candidate)
                    position = at
                    break
                if _size(self.lead.returned.cells[candidate]) < self._wanted_size(row):
                    position = at

    def augment(self, row: int) -> None:
        """Kuhn's augmenting path from `row`, without recursion."""
        came_from: dict[int, int] = {}
        queue = [row]
        for current in queue:
            for candidate in self.partners(current):
                if candidate in came_from:
                    continue
                came_from[candidate] = current
                holder = self.carried.get(candidate)
                if holder is None:
                    self._shift(candidate, came_from, row)
                    return
                queue.append(holder)

    def _shift(self, end: int, came_from: dict[int, int], start: int) -> None:
        step: int | None = end
        while step is not None:
            holder = came_from[step]
            before = self.carrier.get(holder)
            self.take(holder, step)
            step = None if holder == start else before

    def partners(self, row: int) -> list[int]:
        """The returned rows of the group that agree with reference row `row`."""
        if row not in self._partners:
            size = self._wanted_size(row)
            reach = self._reach(size)
            start = bisect_left(self.sizes, size - reach)
            end = bisect_right(self.sizes, size + reach)
            self._partners[row] = [
                candidate
                for candidate in self.returned[start:end]
                if self.agree(row, candidate)
            ]
        return self._partners[row]

    def _reach(self, size: float) -> float:
        """No partner is further away than this; `agree` has the last word."""
        rule = self.lead.rule
        reach = abs(size) * rule.rel + (rule.abs or 0) + rule.integers + 1e-6
        return reach if rule.decimals is None else reach + 10.0**-rule.decimals

    def _wanted_size(self, row: int) -> float:
        cell = self.lead.reference.cells[row]
        if isinstance(cell, int | float):
            return _size(scaled(cell, self.lead.factor))
        return _size(cell)


def _key(link: Link, row: int) -> Cell:
    cell = link.reference.cells[row]
    if link.factor != 1 and isinstance(cell, int | float):
        return scaled(cell, link.factor)
    return link.reference.keys[row]


def _size(cell: Cell) -> float:
    return float(cell) if isinstance(cell, int | float) else 0.0
