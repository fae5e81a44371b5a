"""Columns: which returned column stands for which reference column.

A pairing is one-to-one. A name forces a pair where it is unique on both sides
and not made by the engine; the other columns are paired by their values, in a
search that compares whole rows at each step and never tries permutations.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from pytest_dataeval.instrument.cells import NumberRule, key
from pytest_dataeval.instrument.links import ColumnValues, Link, link
from pytest_dataeval.instrument.rows import Budget, match_rows
from pytest_dataeval.records import ResultSet

#: Names that PostgreSQL and others give to a bare call without an alias.
_CALL_NAMES = frozenset(
    {
        "array_agg",
        "avg",
        "bool",
        "case",
        "cast",
        "ceil",
        "coalesce",
        "concat",
        "count",
        "count_star",
        "date",
        "date_part",
        "date_trunc",
        "extract",
        "float4",
        "float8",
        "floor",
        "int4",
        "int8",
        "lower",
        "max",
        "median",
        "min",
        "nullif",
        "numeric",
        "rank",
        "row_number",
        "round",
        "sum",
        "text",
        "to_char",
        "upper",
        "varchar",
    }
)
_ENGINE_NAME = re.compile(
    r"|\?column\?|_?col(?:umn)?_?\d+|expr\$?_?\d+|_c\d+|f\d+_|expr\$\d+|unnamed.*"
    r"|\(no column name\)"
)
_IDENTIFIER = re.compile(r"[^\W\d][\w $#%.&/-]*")

RATIO_UNITS = frozenset({"ratio", "percent"})


class Table:
    """A result as columns; text and numbers are read when columns meet."""

    def __init__(
        self, result: ResultSet, rows: Sequence[tuple[object, ...]] | None = None
    ):
        rows = result.rows if rows is None else rows
        self.names = result.names
        self.row_count = len(rows)
        width = len(self.names)
        columns = zip(*rows, strict=True) if rows else ([] for _ in range(width))
        self.columns = [ColumnValues(list(values)) for values in columns]

    def forcing_names(self) -> dict[str, int]:
        """Folded names that stand for one column each, made by a person."""
        folded = [name.strip().casefold() for name in self.names]
        count = Counter(folded)
        return {
            name: index
            for index, name in enumerate(folded)
            if count[name] == 1 and not self._is_engine_made(index)
        }

    def _is_engine_made(self, index: int) -> bool:
        name = self.names[index].strip()
        folded = name.casefold()
        if folded in _CALL_NAMES or _ENGINE_NAME.fullmatch(folded):
            return True
        if name.isdigit():
            # DuckDB names `select 7` 7; a pivoted year is a name that differs.
            cells = self.columns[index].view().distinct
            return all(str(cell) == name for cell in cells)
        return not _IDENTIFIER.fullmatch(name)


@dataclass(frozen=True)
class Task:
    """What a pairing must achieve.

    Reference rows from `required` on are a choice: `choices` of them are needed
    (rows that tie at a LIMIT). `optional` holds indexes of reference columns,
    `rules` one rule per reference column.
    """

    rules: tuple[NumberRule, ...]
    unit: str | None = None
    optional: frozenset[int] = frozenset()
    distinct: bool = False
    required: int = 0
    choices: int = 0


@dataclass(frozen=True)
class Pairing:
    """A pairing under which every required reference row is carried.

    `links` maps a reference column to its partner; `carrier` a reference row
    to the returned row that carries it.
    """

    links: dict[int, Link]
    carrier: dict[int, int] = field(default_factory=dict)

    def match(
        self,
        reference_rows: Sequence[int],
        returned_rows: Sequence[int],
        budget: Budget,
    ) -> dict[int, int]:
        """Match some rows of both sides under this pairing."""
        links = list(self.links.values())
        return match_rows(links, reference_rows, returned_rows, budget)


class Search:
    """Finds pairings of `reference` with `returned` for one task."""

    def __init__(
        self, reference: Table, returned: Table, task: Task, budget: Budget
    ) -> None:
        self.reference = reference
        self.returned = returned
        self.task = task
        self.budget = budget
        self._links: dict[tuple[int, int], list[Link]] = {}

    def first(
        self, accept: Callable[[Pairing], bool], *, by_name: bool = True
    ) -> Pairing | None:
        """The first pairing that carries the rows and is accepted, or None."""
        return next((p for p in self.pairings(by_name=by_name) if accept(p)), None)

    def pairings(self, *, by_name: bool = True) -> Iterator[Pairing]:
        """Every pairing that carries the rows. Raises WorkLimitReached.

        Columns that hold the very same values are tried first, since that is
        cheap to see; only then those that agree within the tolerance.
        """
        forced = self.forced() if by_name else {}
        tried: dict[int, list[Link]] | None = None
        for same_only in (True, False):
            candidates = self._candidates(forced, same_only=same_only)
            if candidates is None or candidates == tried:
                continue
            tried = candidates
            order = sorted(
                candidates,
                key=lambda i, found=candidates: (  # type: ignore[misc]
                    i in self.task.optional and i not in forced,
                    i not in forced,
                    len(found[i]),
                ),
            )
            steps = _Steps(self, order, candidates, forced)
            for links in steps.walk(0, {}, None):
                pairing = self._carried(links)
                if pairing is not None:
                    yield pairing

    def _candidates(
        self, forced: dict[int, int], *, same_only: bool
    ) -> dict[int, list[Link]] | None:
        """Links of each reference column; None if a column has none."""
        taken = set(forced.values())
        free = [c for c in range(len(self.returned.names)) if c not in taken]
        candidates: dict[int, list[Link]] = {}
        for index in range(len(self.reference.names)):
            columns = free
            if index in forced:
                columns = [forced[index]]
            elif same_only:
                columns = [c for c in free if self._holds_the_same(index, c)]
            found = [link for c in columns for link in self.links(index, c)]
            if not found and (index not in self.task.optional or index in forced):
                return None
            found.sort(key=self._likeliness, reverse=True)
            candidates[index] = found
        return candidates

    def _holds_the_same(self, index: int, column: int) -> bool:
        reference = self.reference.columns[index]
        returned = self.returned.columns[column]
        there = returned.facing(reference).key_set
        required = reference.facing(returned).keys[: self.task.required]
        return all(own in there for own in required)

    def unpaired(self) -> list[str]:
        """Reference columns that no returned column can stand for."""
        forced = self.forced()
        return [
            name
            for index, name in enumerate(self.reference.names)
            if index not in self.task.optional
            and not any(
                self.links(index, column)
                for column in (
                    [forced[index]]
                    if index in forced
                    else range(len(self.returned.names))
                )
            )
        ]

    def forced(self) -> dict[int, int]:
        """Reference column -> returned column, where a name decides."""
        ours = self.reference.forcing_names()
        theirs = self.returned.forcing_names()
        return {ours[name]: theirs[name] for name in ours if name in theirs}

    def links(self, index: int, column: int) -> list[Link]:
        """The ways in which returned `column` can stand for reference `index`."""
        if (index, column) not in self._links:
            reference = self.reference.columns[index]
            returned = self.returned.columns[column]
            ours, theirs = reference.facing(returned), returned.facing(reference)
            self.budget.spend(self.reference.row_count + self.returned.row_count)
            made = (
                link(
                    ours,
                    theirs,
                    self.task.rules[index],
                    column=column,
                    factor=factor,
                    required_rows=self.task.required,
                    distinct=self.task.distinct,
                )
                for factor in self._factors(ours.numbers, theirs.numbers)
            )
            self._links[index, column] = [found for found in made if found is not None]
        return self._links[index, column]

    def _factors(
        self, ours: Sequence[int | float], theirs: Sequence[int | float]
    ) -> Iterator[float]:
        """1, and what turns a ratio into its percentage or back."""
        yield 1
        if self.task.unit is not None and self.task.unit not in RATIO_UNITS:
            return
        for factor, ratios in ((100.0, ours), (0.01, theirs)):
            if self.task.unit is None:
                plausible = _are_proper_fractions(ratios)
            else:
                # Beside other figures a count of 5 is no ratio of 500 percent.
                plausible = bool(ratios) and (
                    self._has_single_figure()
                    or any(isinstance(ratio, float) for ratio in ratios)
                    or all(abs(ratio) <= 1 for ratio in ratios)
                )
            if plausible:
                yield factor

    def _has_single_figure(self) -> bool:
        return sum(bool(c.view().numbers) for c in self.reference.columns) == 1

    def _likeliness(self, candidate: Link) -> tuple[bool, int]:
        """Right columns mostly hold the very same numbers: try those first."""
        there = candidate.returned.key_set
        same = sum(key(cell) in there for cell in candidate.reference.distinct)
        return candidate.factor == 1, same

    def _carried(self, links: dict[int, Link]) -> Pairing | None:
        """The pairing if it carries every required row and enough of the others.

        A set of rows that can be matched is part of some largest matching, so
        the two conditions may be looked at one after the other.
        """
        task = self.task
        carrier = self._match(links, task.required)
        if len(carrier) < task.required:
            return None
        if task.choices:
            everything = self._match(links, self.reference.row_count)
            if len(everything) - task.required < task.choices:
                return None
        return Pairing(links, carrier)

    def _match(self, links: dict[int, Link], reference_rows: int) -> dict[int, int]:
        return match_rows(
            list(links.values()),
            range(reference_rows),
            range(self.returned.row_count),
            self.budget,
            distinct=self.task.distinct,
        )


def _are_proper_fractions(numbers: Sequence[int | float]) -> bool:
    return all(abs(n) <= 1 for n in numbers) and any(0 < abs(n) < 1 for n in numbers)


@dataclass
class _Rows:
    """A number for every row on both sides: equal numbers agree so far."""

    reference: list[int]
    returned: list[int]


class _Steps:
    """Depth-first over reference columns; rows that cannot be carried cut a branch."""

    def __init__(
        self,
        search: Search,
        order: list[int],
        candidates: dict[int, list[Link]],
        forced: dict[int, int],
    ) -> None:
        self.search = search
        self.order = order
        self.candidates = candidates
        self.forced = forced

    def walk(
        self, depth: int, chosen: dict[int, Link], rows: _Rows | None
    ) -> Iterator[dict[int, Link]]:
        if depth == len(self.order):
            if chosen:
                yield dict(sorted(chosen.items()))
            return
        index = self.order[depth]
        used = {link.column for link in chosen.values()}
        tried: set[tuple[float, tuple[int, ...]]] = set()
        for candidate in self.candidates[index]:
            # Columns that hold the same classes lead to the same results.
            print_ = (candidate.factor, tuple(candidate.returned_classes))
            if candidate.column in used or print_ in tried:
                continue
            tried.add(print_)
            joined = self._join(rows, candidate)
            if joined is not None:
                yield from self.walk(depth + 1, {**chosen, index: candidate}, joined)
        if index in self.search.task.optional and index not in self.forced:
            yield from self.walk(depth + 1, chosen, rows)

    def _join(self, rows: _Rows | None, candidate: Link) -> _Rows | None:
        """Rows told apart by one more column; None if some cannot be carried."""
        ours, theirs = candidate.reference_classes, candidate.returned_classes
        self.search.budget.spend(len(ours) + len(theirs))
        numbers: dict[tuple[int, int], int] = {}
        before = rows or _Rows([0] * len(ours), [0] * len(theirs))
        joined = _Rows(
            [
                numbers.setdefault(pair, len(numbers))
                for pair in zip(before.reference, ours, strict=True)
            ],
            [
                numbers.setdefault(pair, len(numbers))
                for pair in zip(before.returned, theirs, strict=True)
            ],
        )
        wanted = Counter(joined.reference[: self.search.task.required])
        there = Counter(joined.returned)
        if self.search.task.distinct:
            return joined if wanted.keys() <= there.keys() else None
        return joined if wanted <= there else None
