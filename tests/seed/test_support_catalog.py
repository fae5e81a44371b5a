"""The catalog of the support desk says nothing that its data does not bear out."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from seed.support import CATALOG
from seed.support.schema import METADATA

Query = Callable[[str], list[tuple[Any, ...]]]

DATA = yaml.safe_load(CATALOG.read_text(encoding="utf-8"))
STORED = {
    f"{table.schema}.{table.name}.{column.name}"
    for table in METADATA.sorted_tables
    for column in table.columns
}


def figures(text: str) -> list[str]:
    """Numbers in prose; dates and priorities such as P1 are none."""
    text = re.sub(r"\b\d{4}-\d{2}-\d{2}\b|\blevels? \d( or \d)?\b", "", text)
    text = re.sub(r"\bin 2025\b", "", text)
    return re.findall(r"(?<![\w.])\d+(?:\.\d+)?", text)


@pytest.mark.parametrize(
    "magnitude", DATA["magnitudes"], ids=lambda m: f"{m['subject']}={m['value']}"
)
def test_each_stated_magnitude_is_what_the_data_gives(
    query: Query, magnitude: dict[str, Any]
) -> None:
    [(value,)] = query(magnitude["sql"])
    tolerance = magnitude.get("rel_tolerance", 0.005)
    assert float(value) == pytest.approx(magnitude["value"], rel=tolerance)


@pytest.mark.parametrize(
    "entry", DATA["terms"] + DATA["metrics"], ids=lambda e: e["name"]
)
def test_each_figure_in_a_description_is_a_magnitude_of_its_subject(
    entry: dict[str, Any],
) -> None:
    stated = {
        float(m["value"]) for m in DATA["magnitudes"] if m["subject"] == entry["name"]
    }
    assert {float(figure) for figure in figures(entry["description"])} == stated


def test_each_magnitude_belongs_to_a_term_or_metric() -> None:
    names = {entry["name"] for entry in DATA["terms"] + DATA["metrics"]}
    assert {m["subject"] for m in DATA["magnitudes"]} <= names


@pytest.mark.parametrize(
    "term", [t for t in DATA["terms"] if "filter" in t], ids=lambda t: t["name"]
)
def test_each_term_with_a_filter_names_some_rows_and_not_all(
    query: Query, term: dict[str, Any]
) -> None:
    table = term["columns"][0].rpartition(".")[0]
    [(named, everything)] = query(
        f"select count(*) filter (where {term['filter']}), count(*) from {table}"
    )
    assert 0 < named < everything


@pytest.mark.parametrize("metric", DATA["metrics"], ids=lambda m: m["name"])
def test_each_metric_runs_and_has_a_value(query: Query, metric: dict[str, Any]) -> None:
    where = f" where {metric['filter']}" if "filter" in metric else ""
    [(value,)] = query(f"select {metric['expression']} from {metric['table']}{where}")
    assert value is not None


DIMENSIONS = {
    "team": ("agents.team", "join support.agents on agents.id = tickets.agent_id"),
    "plan": (
        "customers.plan",
        "join support.customers on customers.id = tickets.customer_id",
    ),
    "region": (
        "customers.region",
        "join support.customers on customers.id = tickets.customer_id",
    ),
    "channel": ("tickets.channel", ""),
    "priority": ("tickets.priority", ""),
    "category": ("tickets.category", ""),
    "month": ("date_trunc('month', tickets.opened_at)", ""),
}


@pytest.mark.parametrize("metric", DATA["metrics"], ids=lambda m: m["name"])
def test_each_metric_can_be_split_by_the_dimensions_that_it_lists(
    query: Query, metric: dict[str, Any]
) -> None:
    where = f" where {metric['filter']}" if "filter" in metric else ""
    for dimension in metric.get("granularity", []):
        column, join = DIMENSIONS[dimension]
        groups = query(
            f"select {column}, {metric['expression']} "
            f"from {metric['table']} {join}{where} group by {column}"
        )
        assert len(groups) >= 3
        assert all(value is not None for _, value in groups)


def test_the_catalog_lists_exactly_the_columns_that_are_stored() -> None:
    listed = [f"{t['name']}.{c['name']}" for t in DATA["tables"] for c in t["columns"]]
    assert len(set(listed)) == len(listed)
    assert set(listed) == STORED


def test_terms_joins_and_metrics_point_at_things_that_exist() -> None:
    terms = {term["name"] for term in DATA["terms"]}
    tables = {table["name"] for table in DATA["tables"]}
    for term in DATA["terms"]:
        assert set(term["columns"]) <= STORED
        assert set(term.get("related", [])) <= terms
    for metric in DATA["metrics"]:
        assert metric["table"] in tables
        assert set(metric["terms"]) <= terms
    for join in DATA["joins"]:
        assert {join["from"], join["to"]} <= STORED
    for edge in DATA["lineage"]:
        assert {edge["from"], edge["to"]} <= tables


@pytest.mark.parametrize("kind", ["terms", "metrics"])
def test_no_name_or_synonym_means_two_things(kind: str) -> None:
    words = [
        word.casefold()
        for entry in DATA[kind]
        for word in [entry["name"], *entry.get("synonyms", [])]
    ]
    assert sorted(words) == sorted(set(words))
