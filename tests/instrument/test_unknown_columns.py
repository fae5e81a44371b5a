"""A name that the reference does not have decides nothing by itself."""

from __future__ import annotations

import datetime as dt

import pytest

from pytest_dataeval.cases.model import Case
from pytest_dataeval.instrument.score import Setting, score
from pytest_dataeval.records import Attempt, Column, ResultSet, Score

REFERENCE = ResultSet((Column("orders"),), ((4,),))
SETTING = Setting(None, None, {}, frozenset(), (), today=dt.date(2026, 1, 31))


def scored(**keys: object) -> Score:
    case = Case.model_validate(
        {
            "id": "L1-orders",
            "tier": "L1",
            "question": "How many orders?",
            "reference": {"value": [{"orders": 4}]},
            **keys,
        }
    )
    found = score(case, Attempt("Done."), {"reference": REFERENCE}, SETTING)
    assert isinstance(found, Score)
    return found


@pytest.mark.parametrize(
    ("keys", "named"),
    [
        ({"state": ["ordrs"]}, "state names 'ordrs'"),
        ({"optional": ["ordrs"]}, "optional names 'ordrs'"),
        (
            {"tolerance": {"columns": {"ordrs": {"abs": 1.0}}}},
            "tolerance.columns names 'ordrs'",
        ),
    ],
)
def test_a_mistyped_column_scores_nothing(keys: dict[str, object], named: str) -> None:
    found = scored(**keys)
    assert (found.verdict, found.reason) == ("unscored", "unknown_column")
    assert named in found.detail
    assert "the reference has orders" in found.detail


def test_a_column_is_known_in_any_case() -> None:
    assert scored(state=["Orders"]).verdict == "fail"
