"""Catalog entries as a caller may see them, in OpenMetadata's field names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pytest_dataeval.catalog.model import (
    Catalog,
    ColumnEntry,
    Edge,
    MetricEntry,
    TableEntry,
    TermEntry,
)
from pytest_dataeval.mcp.personas import Persona
from pytest_dataeval.mcp.servers.ranking import Document, Index

ENTITY_TYPES = ("table", "glossaryTerm", "metric")

Payload = dict[str, Any]


class CallersView:
    """The part of a catalog that one caller may see, indexed for search.

    A withheld column is absent everywhere: from its table, from terms, joins and
    lineage, and a metric computed from it, or a term that names nothing else, is
    absent as a whole.
    """

    def __init__(self, catalog: Catalog, caller: Persona) -> None:
        self._service = catalog.service
        self._caller = caller
        self._joins = [e for e in catalog.joins if self._open_edge(e)]
        self._lineage = [e for e in catalog.lineage if self._open_edge(e)]
        self._hits: dict[str, Payload] = {}
        self._details: dict[str, Payload] = {}
        self._by_name: dict[str, str] = {}
        self._documents: list[Document] = []
        for table in catalog.tables:
            self._add_table(table)
        for term in catalog.terms:
            self._add_term(term)
        for metric in catalog.metrics:
            self._add_metric(metric)
        self.index = Index(self._documents)

    def hit(self, fqn: str) -> Payload:
        """The short form of an entry, as searches list it."""
        return self._hits[fqn]

    def details(self, fqn: str) -> Payload | None:
        """The long form of an entry; its name is compared without case."""
        key = self._by_name.get(fqn.lower())
        return None if key is None else self._details[key]

    def known(self, entity_type: str) -> list[str]:
        """Fully qualified names of all entries of a type."""
        return sorted(
            fqn
            for fqn, payload in self._hits.items()
            if payload["entityType"] == entity_type
        )

    def lineage(self) -> list[tuple[str, str]]:
        """Edges between fully qualified names, upstream first."""
        return [
            (self._qualify(edge.source), self._qualify(edge.target))
            for edge in self._lineage
        ]

    def _qualify(self, name: str) -> str:
        return f"{self._service}.{name}"

    def _open_edge(self, edge: Edge) -> bool:
        ends = {edge.source.lower(), edge.target.lower()}
        return not ends & self._caller.withheld

    def _keep(
        self, hit: Payload, more: Mapping[str, Any], texts: list[tuple[str, float]]
    ) -> None:
        fqn = str(hit["fullyQualifiedName"])
        self._hits[fqn] = hit
        self._details[fqn] = {**hit, **more}
        self._by_name[fqn.lower()] = fqn
        self._documents.append(Document(fqn, texts))

    def _hit(
        self, entity_type: str, name: str, fqn: str, description: str, **more: Any
    ) -> Payload:
        return {
            "entityType": entity_type,
            "name": name,
            "displayName": name.replace("_", " "),
            "fullyQualifiedName": fqn,
            "description": description,
            "service": self._service,
            **more,
        }

    def _add_table(self, table: TableEntry) -> None:
        withheld = self._caller.withheld_of(table.name)
        columns = [c for c in table.columns if c.name.lower() not in withheld]
        fqn = self._qualify(table.name)
        schema, _, name = table.name.rpartition(".")
        hit = self._hit(
            "table",
            name,
            fqn,
            table.description,
            databaseSchema=schema,
            tags=sorted({tag for column in columns for tag in column.tags}),
            synonyms=list(table.synonyms),
            columnNames=[column.name for column in columns],
        )
        joins = [
            {"from": edge.source, "to": edge.target}
            for edge in self._joins
            if edge.source.lower().startswith(table.name.lower() + ".")
            or edge.target.lower().startswith(table.name.lower() + ".")
        ]
        more = {"columns": [_column(fqn, c) for c in columns], "joins": joins}
        texts = [
            (name, 3.0),
            (" ".join(table.synonyms), 3.0),
            (table.description, 1.0),
            (" ".join(column.name for column in columns), 1.0),
            (" ".join(s for column in columns for s in column.synonyms), 0.8),
            (" ".join(column.description for column in columns), 0.4),
        ]
        self._keep(hit, more, texts)

    def _add_term(self, term: TermEntry) -> None:
        columns = [c for c in term.columns if c.lower() not in self._caller.withheld]
        if term.columns and not columns:
            return
        fqn = f"{self._service}.glossary.{term.name}"
        hit = self._hit(
            "glossaryTerm",
            term.name,
            fqn,
            term.description,
            synonyms=list(term.synonyms),
            columnNames=columns,
        )
        more: Payload = {"columns": columns, "relatedTerms": list(term.related)}
        if term.filter is not None:
            more["filter"] = term.filter
        texts = [
            (term.name, 3.0),
            (" ".join(term.synonyms), 3.0),
            (term.description, 1.0),
            (" ".join(columns), 0.5),
        ]
        self._keep(hit, more, texts)

    def _add_metric(self, metric: MetricEntry) -> None:
        if self._uses_withheld(metric):
            return
        fqn = f"{self._service}.metric.{metric.name}"
        hit = self._hit(
            "metric",
            metric.name,
            fqn,
            metric.description,
            synonyms=list(metric.synonyms),
            metricExpression=metric.expression,
            metricType=metric.type or "",
            unitOfMeasurement=metric.unit or "",
            granularity=list(metric.granularity),
            table=metric.table,
        )
        if metric.filter is not None:
            hit["filter"] = metric.filter
        more = {"glossaryTerms": list(metric.terms)}
        texts = [
            (metric.name, 3.0),
            (" ".join(metric.synonyms), 3.0),
            (" ".join(metric.terms), 1.0),
            (metric.description, 1.0),
            (" ".join(metric.granularity), 0.3),
        ]
        self._keep(hit, more, texts)

    def _uses_withheld(self, metric: MetricEntry) -> bool:
        """Whether the metric's SQL names a withheld column, of whatever table."""
        used = f"{metric.expression} {metric.filter or ''}".lower()
        names = {column.rpartition(".")[2] for column in self._caller.withheld}
        return any(re.search(rf"\b{re.escape(name)}\b", used) for name in names)


def _column(table_fqn: str, column: ColumnEntry) -> Payload:
    return {
        "name": column.name,
        "dataType": column.type,
        "description": column.description,
        "synonyms": list(column.synonyms),
        "tags": list(column.tags),
        "fullyQualifiedName": f"{table_fqn}.{column.name}",
    }
