"""Schema-only empties meaning and keeps names, on every tool."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dataeval.mcp.redaction import UNREADABLE, redact_json, redact_text

TABLE = {
    "entityType": "table",
    "name": "orders",
    "displayName": "Customer orders",
    "fullyQualifiedName": "desk.shop.orders",
    "description": "One row for each order.",
    "tags": [{"tagFQN": "Tier.Gold"}],
    "owners": [{"name": "ann"}],
    "columnNames": ["id", "minutes"],
    "columns": [
        {"name": "minutes", "dataType": "INTEGER", "description": "Wall-clock time."}
    ],
}


def test_a_table_keeps_names_and_types_and_loses_its_words() -> None:
    assert redact_json(TABLE, catalog=True) == {
        "entityType": "table",
        "name": "orders",
        "displayName": "",
        "fullyQualifiedName": "desk.shop.orders",
        "description": "",
        "columnNames": ["id", "minutes"],
        "columns": [{"name": "minutes", "dataType": "INTEGER", "description": ""}],
    }


def test_a_metric_loses_its_definition_and_where_it_is_computed() -> None:
    metric = {
        "entityType": "metric",
        "name": "Mean Packing Time",
        "metricExpression": {"language": "SQL", "code": "avg(minutes)"},
        "metricType": "average",
        "unitOfMeasurement": "minutes",
        "granularity": ["team"],
        "table": "shop.orders",
        "filter": "minutes > 0",
    }
    assert redact_json(metric, catalog=True) == {
        "entityType": "metric",
        "name": "Mean Packing Time",
        "metricType": "",
        "unitOfMeasurement": "",
        "table": "",
        "filter": "",
    }


def test_the_columns_of_a_term_go_also_if_only_the_call_says_it_is_one() -> None:
    term = {"name": "Packing Time", "columns": ["shop.orders.minutes"]}
    redacted = redact_json(term, catalog=True, entity_type="glossaryTerm")
    assert redacted == {"name": "Packing Time"}
    assert redact_json(term, catalog=True, entity_type="table") == term


@pytest.mark.parametrize(
    "key", ["metric_expression", "MetricExpression", "metric-expression"]
)
def test_keys_are_compared_without_case_and_signs(key: str) -> None:
    assert redact_json({key: "avg(minutes)"}, catalog=True) == {key: ""}


@pytest.mark.parametrize(
    "text", ["Packing time is wall-clock time.", '"avg(minutes)"', "12", "{broken"]
)
def test_what_is_no_json_object_is_replaced_whole_in_a_catalog(text: str) -> None:
    assert redact_text(text, catalog=True) == UNREADABLE


def test_a_warehouse_keeps_rows_notes_and_plain_text() -> None:
    payload = {
        "note": "Some columns are not available to your role.",
        "description": "A table of orders.",
        "rows": [{"description": "a cell, not a description"}],
    }
    redacted = json.loads(redact_text(json.dumps(payload), catalog=False))
    assert redacted == {**payload, "description": ""}
    assert redact_text("3 rows", catalog=False) == "3 rows"


def test_deep_nesting_fails_closed() -> None:
    assert redact_text("[" * 100_000, catalog=True) == UNREADABLE


SECRET = "how it is defined"
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(
    around=json_values,
    key=st.sampled_from(["description", "synonyms", "metricExpression", "filter"]),
    meaning=st.sampled_from([SECRET, [SECRET], {"code": SECRET}, [[SECRET]]]),
    path=st.lists(st.sampled_from(["results", "hit", "columns"]), max_size=4),
)
def test_meaning_is_gone_at_any_depth_and_twice_is_once(
    around: Any, key: str, meaning: Any, path: list[str]
) -> None:
    data: Any = {"name": "kept", "other": around, key: meaning}
    for step in path:
        data = {step: [data]}
    once = redact_json(data, catalog=True)
    assert SECRET not in json.dumps(once)
    assert "kept" in json.dumps(once)
    assert redact_json(once, catalog=True) == once
