"""The worked examples of docs/scoring.md, put through the instrument."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path
from typing import Any

import pytest
from pages import codes, tables

from pytest_dataeval.cases.load import load_case_file
from pytest_dataeval.cases.model import Case
from pytest_dataeval.instrument.score import Setting, score
from pytest_dataeval.records import Attempt, Column, ResultSet, Score, Statement
from pytest_dataeval.warehouse.python_reference import fixed_values
from pytest_dataeval.yamlfile import parse_yaml

(EXAMPLES,) = tables("examples")
SETTING = Setting(
    dialect="duckdb",
    default_schema="main",
    columns={},
    withheld=frozenset(),
    protected=(),
    today=dt.date(2026, 1, 1),
)


def case_of(keys: str, folder: Path) -> Case:
    path = folder / "shop.yaml"
    path.write_text(
        "cases:\n  - id: L1-example\n    tier: L1\n    question: Which and how many?\n"
        f"    reference: {{value: [1]}}\n    {keys}\n"
    )
    loaded = load_case_file(path)
    assert loaded is not None
    return loaded.cases[0].case


def rows(cell: str) -> ResultSet:
    written: Any = parse_yaml(Path("cell.yaml"), codes(cell)[0].encode()).data
    return fixed_values(written) if written else ResultSet((Column("n"),), ())


@pytest.mark.parametrize(
    "row", EXAMPLES.rows, ids=lambda row: re.sub(r"\W+", "-", " ".join(row))[:70]
)
def test_an_example_scores_as_the_page_says(
    row: tuple[str, ...], tmp_path: Path
) -> None:
    keys, reference, returned, text, verdict = row
    case = case_of(" ".join(codes(keys)), tmp_path)
    attempt = Attempt(text=text, statements=(Statement("select 1 as n", ok=True),))
    evidence = {"reference": rows(reference), "statement:0": rows(returned)}
    found = score(case, attempt, evidence, SETTING)
    assert isinstance(found, Score), found
    expected = None if verdict == "pass" else codes(verdict)[0]
    assert (found.verdict == "pass", found.reason) == (verdict == "pass", expected)
