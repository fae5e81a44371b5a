"""The catalog file: tables, glossary terms and metrics with their meaning."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class ColumnEntry(Model):
    name: str
    type: str
    description: str = ""
    synonyms: list[str] = []
    tags: list[str] = []


class TableEntry(Model):
    """`name` is `schema.table`."""

    name: str
    description: str = ""
    synonyms: list[str] = []
    columns: list[ColumnEntry] = []


class TermEntry(Model):
    """A glossary term; `filter` is the SQL predicate of the rows it names."""

    name: str
    description: str
    synonyms: list[str] = []
    columns: list[str] = []
    related: list[str] = []
    filter: str | None = None


class MetricEntry(Model):
    """A registered metric: an SQL aggregate over `table`, within `filter`."""

    name: str
    description: str
    expression: str
    table: str
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

    subject: str
    sql: str
    value: float
    rel_tolerance: float = 0.005


class Catalog(Model):
    """The whole catalog of one service."""

    service: str
    tables: list[TableEntry] = []
    terms: list[TermEntry] = []
    metrics: list[MetricEntry] = []
    lineage: list[Edge] = []
    joins: list[Edge] = []
    magnitudes: list[Magnitude] = []
