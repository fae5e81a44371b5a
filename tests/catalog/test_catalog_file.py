"""Catalog files: what they may name."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_dataeval.catalog.load import load_catalog
from pytest_dataeval.errors import FileErrors

WHOLE = """\
service: desk
tables:
  - name: support.tickets
    columns:
      - {name: agent_id, type: INTEGER}
      - {name: minutes, type: INTEGER, synonyms: [time]}
  - name: support.agents
    columns: [{name: id, type: INTEGER}]
terms:
  - name: Resolution Time
    description: "Time to resolve."
    columns: [support.tickets.minutes]
    related: [Mean Time]
metrics:
  - name: Mean Time
    description: "The mean."
    expression: avg(minutes)
    table: support.tickets
    terms: [Resolution Time]
lineage: [{from: support.tickets, to: support.agents.id}]
joins: [{from: support.tickets.agent_id, to: support.agents.id}]
magnitudes: [{subject: mean, sql: "select 1", value: 256}]
"""


def load(tmp_path: Path, text: str) -> list[str]:
    """The problems of a catalog file: line, column, key and message."""
    path = tmp_path / "catalog.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FileErrors) as caught:
        load_catalog(path)
    return [str(p).removeprefix(f"{path}:") for p in caught.value.problems]


def test_a_whole_catalog(tmp_path: Path) -> None:
    path = tmp_path / "catalog.yaml"
    path.write_text(WHOLE)
    catalog = load_catalog(path)
    assert [table.name for table in catalog.tables] == [
        "support.tickets",
        "support.agents",
    ]
    assert catalog.joins[0].source == "support.tickets.agent_id"
    assert catalog.magnitudes[0].value == 256.0
    assert catalog.magnitudes[0].rel_tolerance == 0.005


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "    table: support.tickets",
            "    table: support.ticket",
            "18:5: metrics[0] (Mean Time).table: unknown table 'support.ticket'; known:"
            " support.agents, support.tickets; did you mean 'support.tickets'?",
        ),
        (
            "[support.tickets.minutes]",
            "[support.tickets.hours]",
            "12:15: terms[0] (Resolution Time).columns[0]: unknown column"
            " 'support.tickets.hours'; known: support.agents.id,"
            " support.tickets.agent_id, support.tickets.minutes; did you mean"
            " 'support.tickets.minutes'?",
        ),
        (
            "related: [Mean Time]",
            "related: [Median]",
            "13:15: terms[0] (Resolution Time).related[0]: unknown term or metric"
            " 'Median'; known: Mean Time, Resolution Time",
        ),
        (
            "terms: [Resolution Time]",
            "terms: [Mean Time]",
            "19:13: metrics[0] (Mean Time).terms[0]: unknown term 'Mean Time'; known:"
            " Resolution Time",
        ),
        (
            "joins: [{from: support.tickets.agent_id",
            "joins: [{from: support.tickets",
            "21:10: joins[0].from: unknown column 'support.tickets'; known:"
            " support.agents.id, support.tickets.agent_id, support.tickets.minutes; did"
            " you mean 'support.tickets.minutes'?",
        ),
        (
            "to: support.agents.id}]\njoins",
            "to: x}]\njoins",
            "20:35: lineage[0].to: unknown table or column 'x'; known: support.agents,"
            " support.agents.id, support.tickets, support.tickets.agent_id,"
            " support.tickets.minutes",
        ),
        (
            "{name: minutes,",
            "{name: agent_id,",
            "6:10: tables[0] (support.tickets).columns[1] (agent_id).name: the name"
            " 'agent_id' is used a second time; rename one",
        ),
        (
            "  - name: support.agents",
            "  - name: support.tickets",
            "7:5: tables[1] (support.tickets).name: the name 'support.tickets' is used"
            " a second time; rename one",
        ),
        (
            "  - name: support.agents",
            "  - name: agents",
            r"7:5: tables[1] (agents).name: 'agents' does not fit ^[^.]+\.[^.]+$",
        ),
        (
            "expression:",
            "expresion:",
            "15:5: metrics[0] (Mean Time).expression: missing key 'expression'",
        ),
    ],
)
def test_what_a_catalog_may_not_name(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert WHOLE.count(old) == 1
    assert message in load(tmp_path, WHOLE.replace(old, new))


def test_all_problems_of_a_catalog_come_at_once(tmp_path: Path) -> None:
    text = WHOLE.replace("related: [Mean Time]", "related: [A, B]")
    found = load(tmp_path, text.replace("terms: [Resolution Time]", "terms: [C]"))
    assert [problem.split(":")[0] for problem in found] == ["13", "13", "19"]
