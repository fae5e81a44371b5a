"""What a plan is: one query, or the words that nothing explains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_dataeval.agents.lexical.question import Order

# Texts that stand in a column, by (table, column).
Values = Mapping[tuple[str, str], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Dimension:
    """A column to group by, or the period of one (`month`, ...)."""

    table: str
    column: str
    period: str | None = None

    @property
    def label(self) -> str:
        return self.period or self.column


@dataclass(frozen=True, slots=True)
class Filter:
    """A predicate of the catalog, in the unqualified names of its table."""

    table: str
    sql: str


@dataclass(frozen=True, slots=True)
class Condition:
    """A column that must have one of the values, as they stand in the data."""

    table: str
    column: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Period:
    """Calendar parts that a time column must have."""

    table: str
    column: str
    year: int | None
    quarter: int | None
    month: int | None


@dataclass(frozen=True, slots=True)
class Plan:
    """One query over `table`.

    `value` is SQL in unqualified names, or None for a plain list of the
    dimensions. `definition` names the catalog entry that it follows.
    """

    table: str
    value: str | None
    label: str
    filters: tuple[Filter, ...] = ()
    conditions: tuple[Condition, ...] = ()
    period: Period | None = None
    dimensions: tuple[Dimension, ...] = ()
    order: Order | None = None
    definition: str | None = None
    unit: str | None = None


@dataclass(frozen=True, slots=True)
class Planned:
    """`plan` is None where nothing known answers the question; `missing` are the
    words that the plan, or all that is known, does not account for."""

    plan: Plan | None
    missing: tuple[str, ...] = ()
