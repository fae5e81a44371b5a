"""The catalog file: tables, glossary terms and metrics with their meaning."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
TableName = Annotated[str, StringConstraints(pattern=r"^[^.]+\.[^.]+$")]


class Model(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False
    )


class ColumnEntry(Model):
    """A column; `type` is a plain SQL type."""

    name: Words
    type: Words
    description: str = ""
    synonyms: list[str] = []
    tags: list[str] = []


class TableEntry(Model):
    """`name` is `schema.table`."""

    name: TableName
    description: str = ""
    synonyms: list[str] = []
    columns: list[ColumnEntry] = []


class TermEntry(Model):
    """A glossary term; `filter` is the SQL predicate of the rows it names.

    `columns` are `schema.table.column`; `related` are names of terms or metrics.
    """

    name: Words
    description: Words
    synonyms: list[str] = []
    columns: list[str] = []
    related: list[str] = []
    filter: str | None = None


class MetricEntry(Model):
    """A registered metric: an SQL aggregate over `table`, within `filter`."""

    name: Words
    description: Words
    expression: Words
    table: TableName
    filter: str | None = None
    unit: str | None = None
    type: str | None = None
    granularity: list[str] = []
    terms: list[str] = []
    synonyms: list[str] = []


class Edge(Model):
    """A link between two fully qualified columns or tables."""

    source: str = Field(alias="from")
    target: str = Field(alias="to")


class Magnitude(Model):
    """A stated figure with the SQL that proves it."""

    subject: Words
    sql: Words
    value: float
    rel_tolerance: float = Field(default=0.005, ge=0, lt=1)


class Catalog(Model):
    """The whole catalog of one service."""

    service: Words
    tables: list[TableEntry] = []
    terms: list[TermEntry] = []
    metrics: list[MetricEntry] = []
    lineage: list[Edge] = []
    joins: list[Edge] = []
    magnitudes: list[Magnitude] = []
