"""Values that tests of the ledger share."""

from __future__ import annotations

import pytest

from pytest_dataeval.records import Score, TrialKey


@pytest.fixture
def key() -> TrialKey:
    return TrialKey("support", "L3-fastest-team", 1, "claude", "catalog", 2)


@pytest.fixture
def score() -> Score:
    return Score(
        verdict="fail",
        outcome="wrong",
        reason="wrong_rows",
        detail="1 of 3 rows",
        instrument=1,
        reference_revision=3,
        statement_index=0,
        result_match=False,
        execution=False,
        grounding=True,
        extra_rows=2,
        pairing=(("team", "name"),),
        hits=("elapsed_minutes",),
    )
